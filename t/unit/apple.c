/*
 * Copyright (C) the ngx_symcache authors
 *
 * Apple's crash reports as text.  What is expected of the reports is what the
 * crate apple-crash-report-parser 0.6.0 reads (t/data/apple/README.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "reports/apple/apple.h"
#include "reports/apple/line_parser.h"

#define DATA "t/data/apple/"

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = calloc(1, 1 << 20);

    assert_non_null(f);
    *size = fread(data, 1, (1 << 20) - 1, f);
    fclose(f);
    return data;
}

static void check_text(const char *what, struct apple_text text,
                       const cJSON *expected)
{
    if (expected == NULL) {
        assert_null(text.data);
        return;
    }
    if (text.data == NULL || text.size != strlen(expected->valuestring) ||
        memcmp(text.data, expected->valuestring, text.size) != 0) {
        fail_msg("%s: \"%.*s\" instead of \"%s\"", what, (int)text.size,
                 text.data, expected->valuestring);
    }
}

static void check_number(const char *what, uint64_t number,
                         const cJSON *expected)
{
    if (number != strtoull(expected->valuestring, NULL, 0)) {
        fail_msg("%s: %#llx instead of %s", what, (unsigned long long)number,
                 expected->valuestring);
    }
}

static void check_frame(const struct apple_frame *frame, const cJSON *expected)
{
    const cJSON *line = cJSON_GetObjectItem(expected, "lineno");

    check_number("address", frame->address,
                 cJSON_GetObjectItem(expected, "instruction_addr"));
    check_text("module", frame->module,
               cJSON_GetObjectItem(expected, "module"));
    check_text("symbol", frame->symbol,
               cJSON_GetObjectItem(expected, "symbol"));
    check_text("file", frame->file, cJSON_GetObjectItem(expected, "filename"));
    assert_int_equal(frame->line, line != NULL ? line->valueint : 0);
}

static void check_registers(const struct apple_report *report,
                            const cJSON *expected)
{
    char name[32];
    size_t i;

    assert_int_equal(report->num_registers, cJSON_GetArraySize(expected));
    for (i = 0; i < report->num_registers; i++) {
        snprintf(name, sizeof(name), "%.*s",
                 (int)report->registers[i].name.size,
                 report->registers[i].name.data);
        check_number(name, report->registers[i].value,
                     cJSON_GetObjectItem(expected, name));
    }
}

static void check_thread(const struct apple_report *report, size_t i,
                         const cJSON *expected)
{
    const struct apple_thread *thread = &report->threads[i];
    const cJSON *frame, *registers = cJSON_GetObjectItem(expected, "registers");
    size_t n = 0;

    assert_int_equal(thread->id, cJSON_GetObjectItem(expected, "id")->valueint);
    assert_int_equal(thread->has_crashed,
                     cJSON_IsTrue(cJSON_GetObjectItem(expected, "crashed")));
    check_text("name", thread->name, cJSON_GetObjectItem(expected, "name"));
    cJSON_ArrayForEach(frame, cJSON_GetObjectItem(expected, "frames")) {
        assert_true(n < thread->num_frames);
        check_frame(&report->frames[thread->first + n++], frame);
    }
    assert_int_equal(n, thread->num_frames);
    if (registers != NULL) {
        check_registers(report, registers);
    }
}

static void check_image(const struct apple_image *image, const cJSON *expected)
{
    struct apple_text id;
    uint8_t uuid[16];

    id.data = cJSON_GetObjectItem(expected, "uuid")->valuestring;
    id.size = strlen(id.data);
    assert_true(parse_uuid(id, uuid));
    assert_memory_equal(image->uuid, uuid, 16);
    check_number("base", image->base, cJSON_GetObjectItem(expected, "addr"));
    assert_true((double)image->size ==
                cJSON_GetObjectItem(expected, "size")->valuedouble);
    check_text("path", image->path, cJSON_GetObjectItem(expected, "path"));
}

static void check_report(const char *name, const cJSON *expected)
{
    const cJSON *item, *text;
    struct apple_report report;
    char path[256];
    size_t size, n;
    char *data;

    snprintf(path, sizeof(path), DATA "%s.txt", name);
    data = read_file(path, &size);
    assert_int_equal(apple_read(&report, data, size, SIZE_MAX, 0), 0);
    n = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(expected, "threads")) {
        assert_true(n < report.num_threads);
        check_thread(&report, n++, item);
    }
    assert_int_equal(n, report.num_threads);
    n = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(expected, "binary_images")) {
        assert_true(n < report.num_images);
        check_image(&report.images[n++], item);
    }
    assert_int_equal(n, report.num_images);
    text = cJSON_GetObjectItem(expected, "application_specific_information");
    if (text != NULL) {
        check_text("information", apple_details(&report), text);
    }
    assert_null(report.cut);
    apple_free(&report);
    free(data);
}

static void reports_are_read_as_upstream(void **state)
{
    size_t size;
    char *data = read_file(DATA "parsed.json", &size);
    cJSON *all = cJSON_Parse(data), *one;

    assert_non_null(all);
    cJSON_ArrayForEach(one, all) {
        check_report(one->string, one);
    }
    cJSON_Delete(all);
    free(data);
}

/* lines -------------------------------------------------------------------- */

static struct apple_text text_of(const char *text)
{
    return (struct apple_text){text, strlen(text)};
}

static void times(void **state)
{
    static const struct {
        const char *text;
        int64_t time; /* by "date -u -d" */
    } good[] = {{"2019-01-09 17:42:22 +0000", 1547055742},
                {"2025-05-15 13:08:02.1234 +0000", 1747314482},
                {"2000-02-29 23:59:59 -0730", 951895799},
                {"1969-12-31 23:59:59 +00:00", -1}};
    static const char *const bad[] = {
        "", "2019-01-09", "2019-13-09 17:42:22 +0000",
        "2019-02-29 17:42:22 +0000", "2019-01-09 24:00:00 +0000",
        "2019-01-09 17:42:22", "2019-01-09 17:42:22. +0000",
        "2019-01-09 17:42:22 +2400", "2019-01-09 17:42:22 +0000 x",
        "99999999999999999999-01-09 17:42:22 +0000"};
    int64_t time;
    size_t i;

    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(parse_time(text_of(good[i].text), &time));
        assert_int_equal(time, good[i].time);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(parse_time(text_of(bad[i]), &time));
    }
}

static void frames(void **state)
{
    static const struct {
        const char *line, *module, *symbol, *file;
        uint32_t number;
    } cases[] = {
        {"0 App 0x1 f", "App", "f", NULL, 0},
        {"12  A B c   0x1  f + 1 + 2", "A B c", "f + 1", NULL, 0},
        {"0 0x2 0x1 f + 1", "0x2", "f", NULL, 0},
        {"0 A 0x1 f (b) (c.m:3)", "A", "f (b)", "c.m", 3},
        {"0 A 0x1 f (/d (1)/c (2).m:3)", "A", "f", "/d (1)/c (2).m", 3},
        {"0 A 0x1 f(_:) + 62 (c.m:3)", "A", "f(_:)", "c.m", 3},
        {"0 A 0x1 f(int (*)(char)) + 62", "A", "f(int (*)(char))", NULL, 0},
        {"0 A 0x1 f (c.m:99999999999) + 1", "A", "f (c.m:99999999999)", NULL,
         0},
        {"0 ??? 0x1 ???", NULL, NULL, NULL, 0},
        {"0 A 0x1 f(x:) + 3", "A", "f(x:)", NULL, 0},
        {"0 ??? 0x1 0x1 + 0", NULL, NULL, NULL, 0},
        {"0   0x1 f", " ", "f", NULL, 0},
        {"0 A 0x1 (c.m:3)", "A", "(c.m:3)", NULL, 0},
    };
    static const char *const none[] = {"", "0", "0 A", "0 A 0x1", "x A 0x1 f",
                                       "0 A 0xg f", " 0 A 0x1 f", "0  0x1 f"};
    struct apple_frame frame;
    line_error error = NULL;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const wanted[] = {cases[i].module, cases[i].symbol,
                                      cases[i].file};
        const struct apple_text *got[] = {&frame.module, &frame.symbol,
                                          &frame.file};
        size_t k;

        assert_true(parse_frame_line(text_of(cases[i].line), false, &frame,
                                     &error));
        assert_null(error);
        assert_int_equal(frame.line, cases[i].number);
        for (k = 0; k < 3; k++) {
            if (wanted[k] == NULL) {
                assert_null(got[k]->data);
            } else if (!line_is(*got[k], wanted[k])) {
                fail_msg("%s: \"%.*s\"", cases[i].line, (int)got[k]->size,
                         got[k]->data);
            }
        }
    }
    for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_false(parse_frame_line(text_of(none[i]), true, &frame, &error));
    }
}

#define ID "00112233445566778899aabbccddeeff"

static void images(void **state)
{
    static const char *const lines[] = {
        " 0x1 - 0x2 App arm64  <" ID "> /App",
        "0x1-0x2 +App arm64 (1.0) <" ID "> /App",
        "0x1 - 0x2 a b c arm64 (1 (2) <" ID "> /a b",
        "0x1 - 0x2 App arm64 (1.0)  <" ID "> /A <x> y",
    };
    static const char *const lenient[] = {
        "0x1 - 0x2 App arm64 <" ID "> /App", /* one blank */
        "0x1 - 0x2 com.app (1.0 - 2) <" ID "> /App",
        "0x1 - 0x2 App <" ID ">",
    };
    static const char *const none[] = {
        "", "0x1 - 0x2", "0x1 - 0x2 App arm64  <> /App",
        "0x1 0x2 App arm64  <" ID "> /App", "0x1 - 0x2 App arm64  " ID};
    struct apple_image image;
    line_error error = NULL;
    size_t i;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_true(
            parse_image_line(text_of(lines[i]), false, &image, &error));
        assert_null(error);
        assert_int_equal(image.base, 1);
        assert_int_equal(image.size, 1);
        assert_true(line_starts(image.path, "/"));
    }
    for (i = 0; i < sizeof(lenient) / sizeof(lenient[0]); i++) {
        assert_false(
            parse_image_line(text_of(lenient[i]), false, &image, &error));
        assert_true(
            parse_image_line(text_of(lenient[i]), true, &image, &error));
        assert_int_equal(image.uuid[15], 0xff);
    }
    for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_false(
            parse_image_line(text_of(none[i]), false, &image, &error));
        assert_false(parse_image_line(text_of(none[i]), true, &image, &error));
    }
}

/* limits and errors -------------------------------------------------------- */

static void read_text(struct apple_report *report, const char *text,
                      const char *error)
{
    int rc = apple_read(report, text, strlen(text), 3, 0);

    assert_int_equal(rc, error != NULL ? -1 : 0);
    if (error != NULL) {
        assert_string_equal(report->error, error);
    }
}

static void an_error_names_its_line(void **state)
{
    struct apple_report report;

    read_text(&report, "a: b\r\nIncident Identifier: TODO\r\n",
              "line 2: the incident's id is none");
    apple_free(&report);
    read_text(&report, "Thread 0:\n0 A 0x1 f (a:4294967296)",
              "line 2: a number is too large");
    apple_free(&report);
    read_text(&report, "a: b\n\xff", "line 2: it is not UTF-8");
    apple_free(&report);
}

/* With the corrections, one damaged line costs that line only. */
static void other_lines_outlive_a_damaged_one(void **state)
{
    static const char text[] =
        "Date/Time: TODO\nExit: \xe9\xff\xfe\nThread 0 name: L\xe9o\xc3\n"
        "Thread 0 Crashed:\n0 A 0x1 f\n"
        "1 A 0x11111111111111111 g\n2 A 0x3 h\n\n"
        "Binary Images:\n"
        "0x1 - 0x2 A arm64  <" ID "> /A\n"
        "0x2 - 0x1 B arm64  <" ID "> /B\n"
        "0x11111111111111111 - 0x1 C arm64  <" ID "> /C\n"
        "\xc2\xa7x1 - 0x1 D arm64  <" ID "> /D\n"
        "0x5 - 0x6 E arm64  <" ID "> /E\n";
    struct apple_report report;

    assert_int_equal(apple_read(&report, text, strlen(text), 9, ~0u), 0);
    assert_true(line_is(report.threads[0].name, "L?o?"));
    assert_int_equal(report.num_frames, 2);
    assert_int_equal(report.frames[1].address, 3);
    assert_int_equal(report.num_images, 2);
    assert_true(line_is(report.images[1].path, "/E"));
    apple_free(&report);
}

/* What a mail or a ticket puts in front of lines, some of which lose blanks at
 * their end. */
static void a_quoted_report_is_read(void **state)
{
    static const char *const quotes[] = {"", "> ", ">> ", "    ", "| > ",
                                         "\t"};
    static const char *const lines[] = {"Incident Identifier: " ID,
                                        "Thread 0 Crashed:", "0 A 0x1 f", "",
                                        "Thread 0 crashed with X Thread State:",
                                        "  rax: 0x1", "", "Binary Images:",
                                        "0x1 - 0x2 A arm64  <" ID "> /A"};
    struct apple_report report;
    char text[1024];
    size_t i, k, n;

    for (i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
        n = (size_t)snprintf(text, sizeof(text), "He wrote:\n\n");
        for (k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s\n",
                                  quotes[i], lines[k]);
            if (lines[k][0] == '\0' && quotes[i][0] != '\0') {
                text[--n - 1] = '\n';
            }
        }
        assert_true(apple_is_report(text, n));
        assert_int_equal(apple_read(&report, text, n, 9, ~0u), 0);
        assert_int_equal(report.num_frames, 1);
        assert_int_equal(report.num_registers, 1);
        assert_int_equal(report.num_images, 1);
        apple_free(&report);
    }
}

static void what_is_too_much_is_left_out(void **state)
{
    struct apple_report report;

    read_text(&report, "Thread 0:\n0 A 0x1 f\n1 A 0x2 f\nThread 1:\n"
                       "0 A 0x3 f\n1 A 0x4 f\nThread 1 name: n\nThread 1: m\n",
              NULL);
    assert_int_equal(report.num_frames, 3);
    assert_int_equal(report.threads[1].num_frames, 1);
    assert_string_equal(report.cut, "frames");
    assert_true(line_is(report.threads[1].name, "n"));
    assert_true(line_is(report.threads[2].name, "m"));
    apple_free(&report);
}

/* Each line is looked through once, though every "(" of it could begin the
 * version of an image. */
static void what_is_no_image_costs_little(void **state)
{
    static char text[8u << 20];
    static const char head[] = "Thread 0:\n0 A 0x1 f\n\nBinary Images:\n";
    static const char begin[] = "0x1 - 0x2 ((", end[] = ") <a> /b\n";
    clock_t before = clock();
    struct apple_report report;
    char *p;

    memset(text, '(', sizeof(text));
    memcpy(text, head, sizeof(head) - 1);
    for (p = text + sizeof(head) - 1; p + 4000 < text + sizeof(text);
         p += 4000) {
        memcpy(p, begin, sizeof(begin) - 1);
        memcpy(p + 4001 - sizeof(end), end, sizeof(end) - 1);
    }
    assert_int_equal(
        apple_read(&report, text, (size_t)(p - text), 4, APPLE_MAC), 0);
    assert_int_equal(report.num_images, 0);
    apple_free(&report);
    assert_true((clock() - before) / CLOCKS_PER_SEC < 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_image_costs_little),
        cmocka_unit_test(reports_are_read_as_upstream),
        cmocka_unit_test(times),
        cmocka_unit_test(frames),
        cmocka_unit_test(images),
        cmocka_unit_test(an_error_names_its_line),
        cmocka_unit_test(other_lines_outlive_a_damaged_one),
        cmocka_unit_test(a_quoted_report_is_read),
        cmocka_unit_test(what_is_too_much_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
