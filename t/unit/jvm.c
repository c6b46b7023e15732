/*
 * Copyright (C) the ngx_symcache authors
 *
 * Mappings of ProGuard and R8, and answers by them: t/data/jvm/README.md tells
 * where what is expected comes from.
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

#include "debuginfo/proguard/proguard.h"
#include "derived/proguardcache/proguardcache.h"
#include "symbolicated/api/symbolicator/jvm_answer.h"
#include "symbolication/jvm/remap.h"

struct file {
    uint8_t *data;
    size_t size;
};

static cJSON *read_json(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text;
    long size;
    cJSON *json;

    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    json = cJSON_Parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    file->data = realloc(file->data, file->size + size);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

/* Makes a cache, which must be sound.  Returns false if the mapping is none. */
static bool make(const char *mapping, struct file *file,
                 struct proguardcache_reader *reader)
{
    const struct symc_sink sink = {append, file};
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};
    char error[200] = "";

    file->data = NULL;
    file->size = 0;
    if (proguard_format.makes[0].convert((const uint8_t *)mapping,
                                         strlen(mapping), &sink, &result,
                                         &failure) != 0) {
        assert_int_equal(failure.code, FAILURE_NOT_PDB);
        return false;
    }
    assert_int_equal(proguardcache_reader_open(reader, file->data, file->size,
                                               error, sizeof(error)),
                     SYMC_OPENED);
    (void)proguardcache_verify(reader, error, sizeof(error));
    assert_string_equal(error, "");
    return true;
}

/* Answers a request by a mapping, or NULL. */
static cJSON *answer(const cJSON *json,
                     const struct proguardcache_reader *reader)
{
    struct jvm_mapping mapping = {.reader = reader};
    struct jvm_traces traces = {.mappings = &mapping,
                                .num_mappings = reader != NULL};
    const enum jvm_error errors[1] = {JVM_NO_ERROR};
    const struct jvm_sources sources = {NULL, 0};
    struct json_writer w = {0};
    struct jvm_request request;
    cJSON *with = cJSON_Duplicate(json, true), *got;
    char error[200] = "", *text;

    cJSON_AddArrayToObject(with, "sources");
    text = cJSON_PrintUnformatted(with);
    assert_int_equal(jvm_request_read(&request, text, strlen(text), 1000, 10,
                                      error, sizeof(error)),
                     0);
    assert_int_equal(jvm_answer_write(&request, &traces, &sources, errors,
                                      NULL, SIZE_MAX, &w),
                     0);
    got = cJSON_ParseWithLength(w.data, w.size);
    assert_non_null(got);
    cJSON_DeleteItemFromObject(got, "status");
    cJSON_DeleteItemFromObject(got, "errors");
    jvm_traces_free(&traces);
    jvm_request_free(&request);
    free(w.data);
    free(text);
    cJSON_Delete(with);
    return got;
}

static void check(const char *name, int at, const cJSON *got,
                  const cJSON *expected)
{
    char *a, *b;

    if (cJSON_Compare(got, expected, true)) {
        return;
    }
    a = cJSON_Print(got);
    b = cJSON_Print(expected);
    printf("%s, number %d: got\n%s\nexpected\n%s\n", name, at, a, b);
    fail();
}

/* Symbolicator has no limit: one frame of the data comes to 557, of which the
 * innermost count here.  Returns how many too many there were. */
static int cut(const cJSON *request, const cJSON *response)
{
    cJSON *options = cJSON_GetObjectItem(request, "options"), *order;
    cJSON *stack, *frames, *frame, *next;
    int same, removed = 0;

    order = cJSON_GetObjectItem(options, "frame_order");
    cJSON_ArrayForEach (stack, cJSON_GetObjectItem(response, "stacktraces")) {
        frames = cJSON_GetObjectItem(stack, "frames");
        for (frame = frames->child; frame != NULL; frame = next) {
            next = frame->next;
            same = 1;
            while (next != NULL &&
                   cJSON_Compare(cJSON_GetObjectItem(frame, "index"),
                                 cJSON_GetObjectItem(next, "index"), true)) {
                next = next->next;
                same++;
            }
            if (same > JVM_FRAMES_MAX) { /* they come in Sentry's order */
                assert_true(order == NULL ||
                            strcmp(order->valuestring, "caller_first") == 0);
                for (; same > JVM_FRAMES_MAX; same--, removed++) {
                    cJSON *after = frame->next;

                    cJSON_Delete(cJSON_DetachItemViaPointer(frames, frame));
                    frame = after;
                }
            }
        }
    }
    return removed;
}

static int check_answers(const char *path)
{
    cJSON *cases = read_json(path), *item, *got;
    struct proguardcache_reader reader;
    struct file file;
    bool is_valid;
    int i = 0, removed = 0;

    cJSON_ArrayForEach (item, cases) {
        removed += cut(cJSON_GetObjectItem(item, "request"),
                       cJSON_GetObjectItem(item, "response"));
        is_valid =
            make(cJSON_GetObjectItem(item, "mapping")->valuestring, &file,
                 &reader);
        assert_int_equal(is_valid,
                         cJSON_IsTrue(cJSON_GetObjectItem(item, "valid")));
        got = answer(cJSON_GetObjectItem(item, "request"),
                     is_valid ? &reader : NULL);
        check(path, i++, got, cJSON_GetObjectItem(item, "response"));
        cJSON_Delete(got);
        free(file.data);
    }
    assert_int_equal(i, 30);
    cJSON_Delete(cases);
    return removed;
}

static void answers(void **state)
{
    assert_int_equal(check_answers("t/data/jvm/random.json"), 0);
    assert_int_equal(check_answers("t/data/jvm/random-2.json"), 45);
}

static cJSON *text_or_null(const struct proguard_text *text)
{
    char copy[256];

    if (text->data == NULL) {
        return cJSON_CreateNull();
    }
    snprintf(copy, sizeof(copy), "%.*s", (int)text->size, text->data);
    return cJSON_CreateString(copy);
}

static cJSON *number_or_null(bool is_set, uint64_t number)
{
    return is_set ? cJSON_CreateNumber((double)number) : cJSON_CreateNull();
}

/* The record in the form of the test's data, which has types besides. */
static cJSON *describe(const struct proguard_record *r)
{
    static const char *const names[] = {
        [PROGUARD_BAD] = "bad",     [PROGUARD_HEADER] = "header",
        [PROGUARD_COMMENT] = "r8",  [PROGUARD_CLASS] = "class",
        [PROGUARD_FIELD] = "field", [PROGUARD_METHOD] = "method"};
    cJSON *out = cJSON_CreateArray(), *lines;

    cJSON_AddItemToArray(out, cJSON_CreateString(names[r->kind]));
    if (r->kind < PROGUARD_CLASS) {
        return out;
    }
    cJSON_AddItemToArray(out, text_or_null(&r->original));
    cJSON_AddItemToArray(out, text_or_null(&r->renamed));
    if (r->kind == PROGUARD_METHOD) {
        cJSON_AddItemToArray(out, text_or_null(&r->arguments));
        cJSON_AddItemToArray(out, text_or_null(&r->class));
        lines = cJSON_CreateNull();
        if (r->has_range || r->has_original) {
            cJSON_Delete(lines);
            lines = cJSON_CreateArray();
            cJSON_AddItemToArray(lines,
                                 number_or_null(r->has_range, r->start));
            cJSON_AddItemToArray(lines, number_or_null(r->has_range, r->end));
            cJSON_AddItemToArray(
                lines, number_or_null(r->has_original, r->original_start));
            cJSON_AddItemToArray(
                lines, number_or_null(r->has_original_end, r->original_end));
        }
        cJSON_AddItemToArray(out, lines);
    }
    return out;
}

/* JSON of R8 is read later than in the data, where what is wrong with it makes
 * the record a bad one; nothing is made of either. */
static bool is_bad_json(const struct proguard_record *r)
{
    struct proguard_comment comment = {0};
    bool is_bad;

    if (r->kind != PROGUARD_COMMENT) {
        return false;
    }
    assert_int_equal(proguard_comment_read(&comment, &r->json), 0);
    is_bad = comment.id == PROGUARD_OTHER &&
             memmem(r->json.data, r->json.size, "unknown", 7) == NULL;
    proguard_comment_free(&comment);
    return is_bad;
}

static void grammar(void **state)
{
    cJSON *cases = read_json("t/data/jvm/grammar.json"), *item, *expected, *got;
    struct proguard_records records;
    struct proguard_record record;
    const char *line;
    int i = 0;

    cJSON_ArrayForEach (item, cases) {
        line = cJSON_GetArrayItem(item, 0)->valuestring;
        records = (struct proguard_records){.at = line,
                                            .end = line + strlen(line)};
        cJSON_ArrayForEach (expected, cJSON_GetArrayItem(item, 1)) {
            assert_true(proguard_next(&records, &record));
            record.kind = is_bad_json(&record) ? PROGUARD_BAD : record.kind;
            if (record.kind == PROGUARD_HEADER ||
                record.kind == PROGUARD_COMMENT) {
                cJSON_DeleteItemFromArray(expected, 2);
                cJSON_DeleteItemFromArray(expected, 1);
            } else if (record.kind > PROGUARD_CLASS) {
                cJSON_DeleteItemFromArray(expected, 1);
            }
            got = describe(&record);
            check(line, i, got, expected);
            cJSON_Delete(got);
        }
        assert_false(proguard_next(&records, &record));
        i++;
    }
    assert_int_equal(i, 45);
    cJSON_Delete(cases);
}

/* Lines of a blank each, before one that is not UTF-8: each is a record that
 * does not fit, and none is a reason to read what is behind all of them. */
static void blanks_take_linear_time(void **state)
{
    const size_t n = 1 << 20;
    struct proguard_records records = {0};
    struct proguard_record record;
    char *text = malloc(4 * n);
    clock_t begin = clock();
    size_t i;

    for (i = 0; i < n; i++) {
        text[2 * i] = i % 3 == 0 ? '\f' : ' ';
        text[2 * i + 1] = '\n';
    }
    memset(text + 2 * n, 'x', 2 * n);
    text[3 * n] = ' ';
    text[4 * n - 1] = '\xff';
    records.at = text;
    records.end = text + 4 * n;
    for (i = 0; proguard_next(&records, &record); i++) {
        assert_int_equal(record.kind, PROGUARD_BAD);
    }
    assert_int_equal(i, n + 1);
    free(text);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 10);
}

/* Writes 600 methods that all became a(), the last name first; rules remove
 * 100 frames of an Error.  The compiler made m010(), if there is a comment. */
static void write_600(FILE *f, bool is_synthesized)
{
    int i;

    fprintf(f, "A -> a:\n");
    for (i = 599; i >= 0; i--) {
        fprintf(f, "    void m%03d():7 -> a\n", i);
        if (i == 599) {
            fprintf(f,
                    "      # {\"id\":\"com.android.tools.r8.rewriteFrame\","
                    "\"conditions\":[\"throws(Ljava/lang/Error;)\"],"
                    "\"actions\":[\"removeInnerFrames(100)\"]}\n");
        }
        if (i == 10 && is_synthesized) {
            fprintf(f, "      # {\"id\":\"com.android.tools.r8.synthesized\"}"
                       "\n");
        }
    }
}

static void sorted_of_600(bool is_synthesized, size_t first, size_t count)
{
    const struct symc_string descriptor = {"Ljava/lang/Error;", 17};
    const struct jvm_frame frame = {.class = {"a", 1},
                                    .method = {"a", 1},
                                    .without_synthesized = true};
    struct jvm_mapped_frames *frames = malloc(sizeof(*frames));
    struct proguardcache_reader reader;
    struct jvm_mapping mapping = {.reader = &reader};
    uint64_t work = 10000;
    struct file file;
    char *text, name[8];
    size_t size, i;
    FILE *f = open_memstream(&text, &size);

    write_600(f, is_synthesized);
    fclose(f);
    assert_true(make(text, &file, &reader));
    assert_int_equal(jvm_remap_frame(&mapping, &frame,
                                     first > 0 ? &descriptor : NULL, &work,
                                     frames),
                     JVM_MAPPED);
    assert_int_equal(frames->count, count);
    assert_int_equal(frames->left_out > 0, count == JVM_FRAMES_MAX);
    /* sorting costs more than to look at each member once */
    assert_true(work < 10000 - 2 * 600);
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "m%03zu",
                 first + i + (first == 0 && is_synthesized && i >= 10));
        assert_int_equal(frames->list[i].method.size, 4);
        assert_memory_equal(frames->list[i].method.data, name, 4);
    }
    free(frames);
    free(file.data);
    free(text);
}

/* Frames without a line are sorted by name, then rules remove the first ones,
 * then those that the compiler made are left out, and then there is a limit. */
static void limit_of_sorted(void **state)
{
    sorted_of_600(false, 100, 500);
    sorted_of_600(true, 100, 500);
    sorted_of_600(false, 0, 512);
    sorted_of_600(true, 0, 512);
}

/* As many frames as a request may have, each the first one of a stack of an
 * exception, by some mappings.  Returns the frame that the first one became. */
static struct jvm_traces_output traces_of(struct jvm_traces *traces,
                                          const char *class)
{
    const struct jvm_traces_input input = {
        .module = {class, strlen(class)},
        .function = {"a", 1},
        .signature = {"(Lx", 3}, /* which is none */
        .has_line = true,
        .line = 1};
    unsigned i;

    for (i = 0; i < 100000; i++) {
        assert_int_equal(
            jvm_traces_add(traces, &input, 1, (struct symc_string){"E", 1},
                           (struct symc_string){"", 0}),
            0);
    }
    assert_int_equal(traces->count, 100000);
    return traces->outputs[0];
}

/* Many mappings, of which none or the last one has the class; and one with
 * many rules.  Asking all for each frame took a minute. */
static void work_is_limited(void **state)
{
    static struct jvm_mapping mappings[2000];
    struct jvm_traces traces = {.mappings = mappings, .num_mappings = 2000};
    struct proguardcache_reader reader;
    struct jvm_traces_output output;
    clock_t begin = clock();
    struct file file;
    size_t size, i;
    char *text;
    FILE *f = open_memstream(&text, &size);

    for (i = 0; i < 10000; i++) {
        fprintf(f, "C%zu -> c%zu:\n    1:1:void m():7 -> a\n", i, i);
    }
    for (i = 0; i < 100000; i++) {
        fprintf(f,
                "      # {\"id\":\"com.android.tools.r8.rewriteFrame\","
                "\"conditions\":[\"throws(LF;)\"],"
                "\"actions\":[\"removeInnerFrames(1)\"]}\n");
    }
    fclose(f);
    assert_true(make(text, &file, &reader));
    for (i = 0; i < 2000; i++) {
        mappings[i].reader = &reader;
    }
    output = traces_of(&traces, "d");
    assert_false(output.is_mapped);
    assert_true(traces.left_out > 0);
    jvm_traces_free(&traces);

    traces = (struct jvm_traces){.mappings = mappings, .num_mappings = 12};
    traces_of(&traces, "d");
    assert_int_equal(traces.left_out, 0);
    jvm_traces_free(&traces);

    traces = (struct jvm_traces){.mappings = mappings, .num_mappings = 1};
    output = traces_of(&traces, "c9999");
    assert_true(output.is_mapped);
    assert_int_equal(output.frame.class.size, 5);
    assert_memory_equal(output.frame.class.data, "C9999", 5);
    jvm_traces_free(&traces);
    free(file.data);
    free(text);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_sorted),
        cmocka_unit_test(work_is_limited),
        cmocka_unit_test(grammar),
        cmocka_unit_test(blanks_take_linear_time),
        cmocka_unit_test(answers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
