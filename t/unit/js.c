/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names and URLs of scripts, by what a model of Symbolicator's rules makes of
 * them, and places of scripts, by what Symbolicator itself answered.  Where
 * both are from: t/data/javascript/README.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/sourcemap/sourcemap.h"
#include "json/json.h"
#include "symbolication/js/js.h"

#define DATA "t/data/javascript/"
#define ROOM 1000

struct file {
    char *data;
    size_t size;
};

static struct file load(const char *path)
{
    FILE *f = fopen(path, "rbe");
    struct file file = {NULL, 0};

    if (f == NULL) {
        return file;
    }
    fseek(f, 0, SEEK_END);
    file.size = (size_t)ftell(f);
    rewind(f);
    file.data = malloc(file.size + 1);
    assert_int_equal(fread(file.data, 1, file.size, f), file.size);
    fclose(f);
    return file;
}

static struct json parse(struct file *file)
{
    struct json json = {0};
    struct json_error error;

    assert_non_null(file->data);
    assert_int_equal(
        json_read(&json, file->data, file->size, SIZE_MAX, &error),
        file->size);
    return json;
}

static struct symc_string text(const struct json *json, uint32_t value)
{
    struct symc_string string = {NULL, 0};

    if (json->values[value].type == JSON_STRING) {
        string.data = json_text(json, value);
        string.size = json->values[value].size;
    }
    return string;
}

static void check(struct symc_string input, struct symc_string got,
                  struct symc_string wanted)
{
    if (got.size != wanted.size ||
        (got.size > 0 && memcmp(got.data, wanted.data, got.size) != 0)) {
        fail_msg("%.*s: %.*s, not %.*s", (int)input.size, input.data,
                 (int)got.size, got.data, (int)wanted.size, wanted.data);
    }
}

/* Writes what a rule makes of a row into to; the last item is what is wanted.
 */
typedef struct symc_string rule(const struct json *json, uint32_t row,
                                char *to);

static struct symc_string made(char *to, size_t size)
{
    struct symc_string string = {to, size};

    assert_true(size <= ROOM);
    return string;
}

static struct symc_string join(const struct json *json, uint32_t row, char *to)
{
    return made(to,
                js_join(text(json, row + 1), text(json, row + 2), to, ROOM));
}

static struct symc_string module(const struct json *json, uint32_t row,
                                 char *to)
{
    return made(to, js_module_name(text(json, row + 1), to));
}

static struct symc_string fold(const struct json *json, uint32_t row, char *to)
{
    return made(to, js_fold(text(json, row + 1), to, ROOM));
}

static struct symc_string stem(const struct json *json, uint32_t row, char *to)
{
    return made(to, js_stem(text(json, row + 1), to, ROOM));
}

static struct symc_string filename(const struct json *json, uint32_t row,
                                   char *to)
{
    return js_file_names(text(json, row + 1), text(json, row + 1), true, to)
        .filename;
}

static void names(void **state)
{
    static const struct {
        const char *name;
        rule *make;
    } rules[] = {{"join", join},
                 {"mod", module},
                 {"fold", fold},
                 {"stem", stem},
                 {"names", filename}};
    size_t i;
    uint32_t row, list;
    char to[ROOM];
    struct file file = load(DATA "names.json");
    struct json json = parse(&file);

    for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        list = json_member(&json, 0, rules[i].name);
        assert_true(json.values[list].size >= 5);
        for (row = list + 1; row < json.values[list].end;
             row = json.values[row].end) {
            check(text(&json, row + 1), rules[i].make(&json, row, to),
                  text(&json, json.values[row].end - 1));
        }
    }
    json_free(&json);
    free(file.data);
}

static void candidates(void **state)
{
    uint32_t row, list, i, item, n;
    char to[ROOM];
    struct symc_string got[4];
    struct file file = load(DATA "names.json");
    struct json json = parse(&file);

    list = json_member(&json, 0, "cand");
    for (row = list + 1; row < json.values[list].end;
         row = json.values[row].end) {
        item = row + 2;
        n = js_candidates(text(&json, row + 1), to, got);
        assert_int_equal(n, json.values[item].size);
        for (i = 0; i < n; i++) {
            check(text(&json, row + 1), got[i], text(&json, item + 1 + i));
        }
    }
    json_free(&json);
    free(file.data);
}

/* What comments refer to. */
static void references(void **state)
{
    static const struct {
        const char *script;
        const char *map;
        const char *id;
    } rows[] = {
        {"x\n//# sourceMappingURL=a.js.map", "a.js.map", NULL},
        {"//@ sourceMappingURL= a.map?q#f \n//# debugId=1-2\n", "a.map",
         "1-2"},
        {"//# sourceMappingURL=a\n//# sourceMappingURL=b\t", "b", NULL},
        {"//# sourceMappingURL=a\nx sourceMappingURL=b\n//@ debugId=1", "a",
         NULL},
        {"sourceMappingURL=b", NULL, NULL},
        {"//# sourceMappingURL=data:,%7B%7d#x", "data:,%7B%7d#x", NULL},
        {"//# sourceMappingURL=", NULL, NULL},
        {"", NULL, NULL},
    };
    size_t i;
    struct symc_string got, wanted;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        got = js_source_mapping_url(rows[i].script, strlen(rows[i].script));
        wanted.data = rows[i].map;
        wanted.size = wanted.data != NULL ? strlen(wanted.data) : 0;
        assert_int_equal(got.data == NULL, wanted.data == NULL);
        check(wanted, got, wanted);
        got = js_debug_id(rows[i].script, strlen(rows[i].script));
        wanted.data = rows[i].id;
        wanted.size = wanted.data != NULL ? strlen(wanted.data) : 0;
        assert_int_equal(got.data == NULL, wanted.data == NULL);
        check(wanted, got, wanted);
    }
}

static void data_urls(void **state)
{
    static const struct {
        const char *url;
        const char *text; /* NULL: refused */
    } rows[] = {
        {"data:application/json;base64,e30=", "{}"},
        {"data:application/json;charset=utf-8;base64,e30=", "{}"},
        {"data:,%7B%7d", "{}"},
        {"data:application/json,{%}", "{%}"},
        {"data:,%7B%7d#x", "{}"},
        {"data:;base64,e30", "{}"},
        {"data:;base64,e31=", "{}"}, /* a bit is left over */
        {"data:;base64,e3 0\t", "{}"},
        {"data:;BASE64,e30%3D#x=", "{}"},
        {"data:;base64,e30gIA", "{}  "},
        {"data:;base64,e3=", NULL},
        {"data:;base64,e30==", NULL},
        {"data:;base64,e30gI", NULL},
        {"data:;base64,e30g====", NULL},
        {"data:;base64,e3=0", NULL},
        {"data:;base64,e3-0", NULL},
        {"data:;base64,/w==", NULL}, /* no UTF-8 */
        {"data:;base64,", ""},
        {"data:x", NULL},
        {"http://x", NULL},
    };
    size_t i, size;
    char to[100];
    struct symc_string url, got, wanted;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        url.data = rows[i].url;
        url.size = strlen(url.data);
        assert_int_equal(js_data_url_read(url, to, &size),
                         rows[i].text != NULL);
        if (rows[i].text != NULL) {
            got.data = to;
            got.size = size;
            wanted.data = rows[i].text;
            wanted.size = strlen(wanted.data);
            check(url, got, wanted);
        }
    }
}

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;

    file->data = realloc(file->data, file->size + size + 1);
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

static struct file convert(const char *tool)
{
    char path[200];
    struct file script, map, cache = {NULL, 0};
    const struct symc_sink sink = {append, &cache};
    struct debuginfo_result result = {0};
    struct failure failure = {FAILURE_NONE, ""};

    snprintf(path, sizeof(path), DATA "shop/%s.js", tool);
    script = load(path);
    snprintf(path, sizeof(path), DATA "shop/%s.js.map", tool);
    map = load(path);
    if (sourcemap_convert((uint8_t *)script.data, script.size,
                          (uint8_t *)map.data, map.size, &sink, &result,
                          &failure) != 0) {
        fail_msg("%s: %s", tool, failure.text);
    }
    free(script.data);
    free(map.data);
    return cache;
}

static uint64_t number(const struct json *json, uint32_t value)
{
    uint64_t n;

    return json_integer(json, value, &n) == JSON_INTEGER_POSITIVE ? n
                                                                  : UINT64_MAX;
}

/* Compares a row of "peer": line, column, filename, line, column, function. */
static void compare(const struct jscache_reader *reader,
                    const struct json *json, uint32_t row)
{
    char to[ROOM], name[ROOM];
    struct jscache_token token;
    struct jscache_file file;
    static const struct symc_string given = {"<given>", 7}, none = {NULL, 0};
    struct symc_string function;
    uint64_t line = number(json, row + 1), column = number(json, row + 2);
    bool is_found = jscache_reader_lookup(reader, (uint32_t)line,
                                          (uint32_t)column, false, &token);

    if (is_found == (json->values[row + 3].type == JSON_NULL)) {
        fail_msg("%d:%d: %sfound", (int)line, (int)column,
                 is_found ? "" : "not ");
    }
    if (!is_found) {
        return;
    }
    assert_true(jscache_reader_file(reader, token.file, &file));
    check(file.name, js_file_names(file.name, none, true, name).filename,
          text(json, row + 3));
    assert_int_equal(token.line, number(json, row + 4));
    assert_int_equal(token.column, number(json, row + 5));
    function = js_frame_function(&token, given, none);
    check(file.name, made(to, js_fold(function, to, ROOM)),
          text(json, row + 6));
}

static void peer(void **state)
{
    static const char *const tools[] = {
        "babel-inline", "esbuild", "esbuild-nocontent",
        "indexed",      "rollup",  "terser",
        "tsc",          "webpack", "webpack-names"};
    size_t i;
    unsigned n = 0;
    uint32_t row, list;
    char path[200];
    struct file cache, file;
    struct json json;
    struct jscache_reader reader;

    for (i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        cache = convert(tools[i]);
        assert_int_equal(jscache_reader_open(&reader, cache.data, cache.size,
                                             path, sizeof(path)),
                         SYMC_OPENED);
        snprintf(path, sizeof(path), DATA "shop/%s.positions.json", tools[i]);
        file = load(path);
        json = parse(&file);
        list = json_member(&json, 0, "peer");
        for (row = list + 1; row < json.values[list].end;
             row = json.values[row].end) {
            compare(&reader, &json, row);
            n++;
        }
        json_free(&json);
        free(file.data);
        free(cache.data);
    }
    assert_int_equal(n, 1704);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names), cmocka_unit_test(candidates),
        cmocka_unit_test(references), cmocka_unit_test(data_urls),
        cmocka_unit_test(peer)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
