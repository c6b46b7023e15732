/*
 * Copyright (C) the ngx_symcache authors
 *
 * SourceCaches of source bundles: what is found in them, by the answers of a
 * second reader (t/data/sourcebundle/README.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "debuginfo/sourcebundle/sourcebundle.h"
#include "derived/sourcecache/sourcecache.h"
#include "json/json.h"
#include "proto/key.h"
#include "symbolication/source_context.h"

#define FOLDER "t/data/sourcebundle/"

struct file {
    uint8_t *data;
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    file->data = realloc(file->data, file->size + size + 1);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    file->data[file->size] = '\0';
    return 0;
}

static struct file read_file(const char *name)
{
    struct file file = {NULL, 0};
    char path[300], buf[4096];
    size_t n;
    FILE *f;

    snprintf(path, sizeof(path), FOLDER "%s", name);
    f = fopen(path, "rb");
    assert_non_null(f);
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
        append(&file, buf, n);
    }
    fclose(f);
    return file;
}

static struct json read_json(const char *name, struct file *text)
{
    struct json json = {0};
    struct json_error error;

    *text = read_file(name);
    assert_int_equal(json_read(&json, (char *)text->data, text->size, 100000,
                               &error),
                     text->size);
    return json;
}

static struct symc_string text_of(const struct json *json, uint32_t value)
{
    struct symc_string text = {json_text(json, value),
                                  json->values[value].size};

    return text;
}

static void assert_text(struct symc_string got, struct symc_string want)
{
    char a[1000], b[1000];

    snprintf(a, sizeof(a), "%.*s", (int)got.size, got.data);
    snprintf(b, sizeof(b), "%.*s", (int)want.size, want.data);
    assert_string_equal(a, b);
}

static bool is_null(const struct json *json, uint32_t value)
{
    return json->values[value].type == JSON_NULL;
}

static bool find(const struct sourcecache_reader *r, const struct json *json,
                 uint32_t ask, struct sourcecache_entry *entry)
{
    static const char *const types[] = {"", "source", "minified_source",
                                        "source_map", "indexed_ram_bundle"};
    struct symc_string key = text_of(json, ask + 2);
    uint8_t guid[16];
    uint32_t age;
    unsigned type;

    if (json_is(json, ask + 1, "path")) {
        return sourcecache_find_path(r, key.data, key.size, entry);
    }
    if (json_is(json, ask + 1, "url")) {
        return sourcecache_find_url(r, key.data, key.size, entry);
    }
    assert_true(json_is(json, ask + 1, "debug_id"));
    for (type = 0; !json_is(json, ask + 2, types[type]); type++) {
    }
    key = text_of(json, ask + 3);
    assert_true(symcache_debug_id_read(key.data, key.size, guid, &age));
    return sourcecache_find_id(r, guid, age, type, entry);
}

static void check_link(const struct sourcecache_reader *r,
                       const struct json *json, struct symc_string path,
                       uint32_t answer)
{
    char url[500];
    struct symc_string got = {url, 0};

    got.size = sourcecache_link(r, path.data, path.size, url, sizeof(url));
    if (is_null(json, answer)) {
        assert_int_equal(got.size, 0);
        return;
    }
    assert_text(got, text_of(json, answer));
    /* too little room is told, and nothing is written behind it */
    url[3] = '#';
    assert_true(sourcecache_link(r, path.data, path.size, url, 3) > 3);
    assert_int_equal(url[3], '#');
}

static void check_question(const struct sourcecache_reader *r,
                           const struct json *json, uint32_t ask)
{
    struct sourcecache_entry entry;
    uint32_t answer = json_is(json, ask + 1, "debug_id") ? ask + 4 : ask + 3;
    bool found;

    if (json_is(json, ask + 1, "link")) {
        check_link(r, json, text_of(json, ask + 2), answer);
        return;
    }
    found = find(r, json, ask, &entry);
    if (is_null(json, answer)) {
        assert_false(found);
        return;
    }
    assert_true(found);
    if (json_is(json, answer, "error")) {
        assert_int_not_equal(entry.status, SOURCECACHE_TEXT);
        assert_null(entry.text.data);
    } else if (!json_is(json, answer, "error or text")) {
        assert_int_equal(entry.status, SOURCECACHE_TEXT);
        assert_text(entry.name, text_of(json, answer));
    }
}

static void check_map(const struct sourcecache_reader *r,
                      const struct json *json, uint32_t member)
{
    struct sourcecache_entry entry;
    struct symc_string name = text_of(json, member);
    uint32_t i = 0;

    do {
        assert_true(sourcecache_reader_entry(r, i++, &entry));
    } while (entry.name.size != name.size ||
             memcmp(entry.name.data, name.data, name.size) != 0);
    assert_text(entry.map, text_of(json, member + 1));
}

/* The marks of a line that was cut, and what is left. */
static void assert_line(const struct source_line *line,
                        struct symc_string want)
{
    char text[400];

    snprintf(text, sizeof(text), "%s%.*s%s",
             line->is_cut_before ? "{snip} " : "", (int)line->text.size,
             line->text.data, line->is_cut_behind ? " {snip}" : "");
    assert_text((struct symc_string){text, strlen(text)}, want);
}

static unsigned assert_list(const struct source_line *lines,
                            const struct json *json, uint32_t list)
{
    uint32_t i, at = list + 1, n = json->values[list].size;

    for (i = 0; i < n; i++, at = json->values[at].end) {
        assert_line(&lines[i], text_of(json, at));
    }
    return n;
}

static void check_context(const struct sourcecache_reader *r,
                          const struct json *json, uint32_t ask)
{
    struct symc_string path = text_of(json, ask + 1);
    struct sourcecache_entry entry;
    struct source_context context;
    struct text_lines known = {0};
    uint32_t at = ask + 3;
    uint64_t line;
    unsigned n;
    bool found;

    json_integer(json, ask + 2, &line);
    assert_true(sourcecache_find_path(r, path.data, path.size, &entry));
    found =
        source_context_read(&context, &known, r, &entry, (uint32_t)line);
    text_lines_free(&known);
    assert_int_equal(found, !is_null(json, at));
    if (!found) {
        return;
    }
    n = assert_list(context.lines, json, at);
    assert_int_equal(n, context.before);
    at = json->values[at].end;
    assert_line(&context.lines[n], text_of(json, at));
    n += 1 + assert_list(context.lines + n + 1, json, json->values[at].end);
    assert_int_equal(n, context.count);
}

static void each(const struct sourcecache_reader *r, const struct json *json,
                 uint32_t list,
                 void (*check)(const struct sourcecache_reader *,
                               const struct json *, uint32_t))
{
    uint32_t i, at = list + 1;

    for (i = 0; list != 0 && i < json->values[list].size; i++) {
        check(r, json, at);
        at = json->values[json->values[list].type == JSON_OBJECT ? at + 1
                                                                  : at]
                 .end;
    }
}

static int convert(const struct file *bundle, struct file *cache,
                   struct failure *failure)
{
    struct symc_sink sink = {append, cache};
    struct debuginfo_result result = {0};

    memset(cache, 0, sizeof(*cache));
    return sourcebundle_format.makes[0].convert(bundle->data, bundle->size,
                                                &sink, &result, failure);
}

static void check_bundle(const struct json *json, const char *name,
                         uint32_t expected)
{
    struct file bundle, cache = {NULL, 0};
    struct failure failure = {FAILURE_NONE, ""};
    struct sourcecache_reader reader;
    char path[200], error[200] = "";
    uint32_t wrong = json_member(json, expected, "error");
    size_t size;

    snprintf(path, sizeof(path), "own/%s", name);
    bundle = read_file(path);
    if (wrong != 0 && json_is(json, wrong, "not a bundle")) {
        assert_false(sourcebundle_sniff(bundle.data, bundle.size));
        free(bundle.data);
        return;
    }
    assert_true(sourcebundle_sniff(bundle.data, bundle.size));
    assert_int_equal(convert(&bundle, &cache, &failure), wrong != 0 ? -1 : 0);
    if (wrong == 0) {
        assert_int_equal(sourcecache_reader_open(&reader, cache.data,
                                                 cache.size, error,
                                                 sizeof(error)),
                         SYMC_OPENED);
        assert_int_equal(sourcecache_verify(&reader, error, sizeof(error)),
                         SYMC_SOUND);
        each(&reader, json, json_member(json, expected, "ask"),
             check_question);
        each(&reader, json, json_member(json, expected, "sourcemap"),
             check_map);
        each(&reader, json, json_member(json, expected, "context"),
             check_context);
        /* cut off anywhere, it is refused */
        for (size = 0; size < cache.size; size += 1 + size / 16) {
            assert_int_not_equal(sourcecache_reader_open(&reader, cache.data,
                                                         size, error,
                                                         sizeof(error)),
                                 SYMC_OPENED);
        }
    }
    free(bundle.data);
    free(cache.data);
}

static void test_bundles(void **state)
{
    struct file text;
    struct json json = read_json("own/expected.json", &text);
    uint32_t bundles = json_member(&json, 0, "bundles"), at = bundles + 1;
    uint32_t i, n = json.values[bundles].size;
    char name[100];

    (void)state;
    assert_int_equal(n, 23);
    for (i = 0; i < n; i++, at = json.values[at + 1].end) {
        snprintf(name, sizeof(name), "%.*s", (int)json.values[at].size,
                 json_text(&json, at));
        printf("# %s\n", name);
        check_bundle(&json, name, at + 1);
    }
    json_free(&json);
    free(text.data);
}

static void begin(struct sourcecache_writer *w, uint32_t slashes,
                  const struct symc_sink *sink)
{
    struct sourcecache_identity identity = {"guidguidguidgui", 1};

    memset(w, 0, sizeof(*w));
    assert_int_equal(sourcecache_writer_begin(w, &identity, slashes, sink),
                     SYMC_OK);
}

static void finish(struct sourcecache_writer *w, const struct file *cache,
                   struct sourcecache_reader *reader)
{
    char error[200] = "";

    assert_int_equal(sourcecache_writer_finish(w), SYMC_OK);
    sourcecache_writer_free(w);
    assert_int_equal(sourcecache_reader_open(reader, cache->data, cache->size,
                                             error, sizeof(error)),
                     SYMC_OPENED);
    assert_int_equal(sourcecache_verify(reader, error, sizeof(error)),
                     SYMC_SOUND);
    assert_string_equal(error, "");
}

static void check_rule(const struct sourcecache_reader *r,
                       const struct json *json, uint32_t ask)
{
    check_link(r, json, text_of(json, ask + 1), ask + 2);
}

/* Links as a portable PDB has them, where slashes are not changed. */
static void test_links(void **state)
{
    struct file text, cache = {NULL, 0};
    struct symc_sink sink = {append, &cache};
    struct json json = read_json("sourcelink.json", &text);
    struct sourcecache_writer w;
    struct sourcecache_reader reader;
    struct symc_text rule, url;
    uint32_t i, rules = json_member(&json, 0, "rules"), at = rules + 1;

    (void)state;
    begin(&w, false, &sink);
    for (i = 0; i < json.values[rules].size; i++, at += 2) {
        rule.data = json_text(&json, at);
        rule.size = json.values[at].size;
        url.data = json_text(&json, at + 1);
        url.size = json.values[at + 1].size;
        assert_int_equal(sourcecache_writer_link(&w, &rule, &url), SYMC_OK);
    }
    finish(&w, &cache, &reader);
    each(&reader, &json, json_member(&json, 0, "ask"), check_rule);
    json_free(&json);
    free(text.data);
    free(cache.data);
}

/* Every line of a long text, of which every 32nd has a mark. */
static void test_lines(void **state)
{
    char text[4000] = "", want[20];
    struct file cache = {NULL, 0};
    struct symc_sink sink = {append, &cache};
    struct sourcecache_file file = {.path = {"a", 1}};
    struct sourcecache_writer w;
    struct sourcecache_reader reader;
    struct sourcecache_entry entry;
    struct symc_string lines[3], block;
    size_t n = 0;
    uint32_t at;
    unsigned i, k, got;

    (void)state;
    for (i = 1; i <= 200; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "line %u%s", i,
                              i == 200    ? ""
                              : i % 2 ? "\n"
                                      : "\r\n");
    }
    begin(&w, true, &sink);
    assert_int_equal(sourcecache_writer_file(&w, &file), SYMC_OK);
    assert_int_equal(sourcecache_writer_text(&w, 0, text, n), SYMC_OK);
    finish(&w, &cache, &reader);
    assert_true(sourcecache_find_path(&reader, "a", 1, &entry));
    assert_int_equal(entry.lines, 200);
    for (i = 0; i <= 201; i++) {
        at = i;
        got = sourcecache_block(&reader, &entry, &at, &block)
                  ? sourcecache_text_lines(block.data, block.size, at, 3,
                                           lines)
                  : 0;
        assert_int_equal(got, i == 0 || i > 200 ? 0 : i > 198 ? 201 - i : 3);
        for (k = 0; k < got; k++) {
            snprintf(want, sizeof(want), "line %u", i + k);
            assert_text(lines[k], (struct symc_string){want, strlen(want)});
        }
    }
    free(cache.data);
}

/* A text of lines of all lengths, of which one in ten is long: what was noted
 * of it says what reading it from its beginning says. */
static void test_lines_of_long_text(void **state)
{
    struct text_lines known = {0};
    struct symc_string text, want[11], got[11];
    char *data = malloc(1 << 20);
    size_t n = 0, length, i, count;
    unsigned number = 1, line;

    (void)state;
    while (n < (1 << 20) - 10000) {
        number = number * 1103515245u + 12345;
        length = number >> 16 & ((number >> 8) % 10 == 0 ? 0x1FFF : 0x3F);
        memset(data + n, 'x', length);
        n += length;
        if (length % 7 == 3) {
            data[n++] = '\r';
        }
        data[n++] = '\n';
    }
    text = (struct symc_string){data, n};
    for (i = 0; i < 3000; i++) {
        number = number * 1103515245u + 12345;
        line = 1 + (number >> 16) % 3000;
        count = sourcecache_text_lines(data, n, line, 11, want);
        assert_int_equal(text_lines_find(&known, text, line, 11, got), count);
        while (count-- > 0) {
            assert_ptr_equal(got[count].data, want[count].data);
            assert_int_equal(got[count].size, want[count].size);
        }
    }
    text_lines_free(&known);
    free(data);
}

/* Frames at each of the last lines of a long text, each of which reading from
 * the beginning would take a minute for all; so do lines that are long, or
 * empty. */
static void test_lines_take_linear_time(void **state)
{
    const size_t sizes[] = {64 << 20, 64 << 20, 16384};
    const size_t lengths[] = {30, 1 << 20, 1};
    struct text_lines known = {0};
    struct symc_string text, got[11];
    char *data = malloc(sizes[0]);
    clock_t begin = clock();
    size_t i, k, size;

    (void)state;
    for (k = 0; k < 3; k++) {
        size = sizes[k];
        memset(data, 'x', size);
        for (i = lengths[k] - 1; i < size; i += lengths[k]) {
            data[i] = '\n';
        }
        text = (struct symc_string){data, size};
        for (i = 0; i < 300000; i++) {
            (void)text_lines_find(&known, text,
                                  (uint32_t)(size / lengths[k] - i % 50), 11,
                                  got);
        }
        text_lines_free(&known);
    }
    free(data);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 10);
}

/* As many links as there may be, below a common folder, which each frame of a
 * request may ask for; their paths are longer than what is compared at once,
 * or not. */
static void test_links_of_long_paths(void **state)
{
    char path[3000], url[64];
    struct sourcecache_writer w;
    struct sourcecache_reader reader;
    clock_t before = clock();
    unsigned i, common;

    (void)state;
    for (common = 400; common <= 2400; common += 2000) {
        struct file cache = {NULL, 0};
        const struct symc_sink sink = {append, &cache};

        begin(&w, true, &sink);
        memset(path, 'A', common);
        for (i = 0; i < SOURCECACHE_LINKS_MAX; i++) {
            const struct symc_text pattern = {
                path, common + (uint32_t)snprintf(path + common, 16,
                                                  "/%04u/*", i)};
            const struct symc_text target = {
                url, (uint32_t)snprintf(url, sizeof(url),
                                        "https://x.example/%u/*", i)};

            assert_int_equal(sourcecache_writer_link(&w, &pattern, &target),
                             SYMC_OK);
        }
        finish(&w, &cache, &reader);
        memset(path, 'a', common);
        for (i = 0; i < 20000; i++) {
            snprintf(path + common, 16, "/%04u/b", 1000 + i);
            assert_int_equal(sourcecache_link(&reader, path, strlen(path), url,
                                              sizeof(url)),
                             0);
            i += common > 1024 ? 999 : 0;
        }
        snprintf(path + common, 16, "/0999/B");
        assert_int_equal(
            sourcecache_link(&reader, path, strlen(path), url, sizeof(url)),
            strlen("https://x.example/999/B"));
        assert_memory_equal(url, "https://x.example/999/B",
                            strlen("https://x.example/999/B"));
        free(cache.data);
    }
    assert_true((clock() - before) / CLOCKS_PER_SEC < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_of_long_paths),
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_of_long_text),
        cmocka_unit_test(test_lines_take_linear_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("SourceCache", tests, NULL, NULL);
}
