/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions of scripts and their names (t/data/javascript/README.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debuginfo/jsscopes/jsscopes.h"
#include "json/json.h"

#define DATA "t/data/javascript/scopes.json"
#define ROOM 1000

static char *name_of(const struct jsscopes *s, uint32_t scope, char *to)
{
    uint32_t i;
    size_t n = 0;
    const struct jsscopes_part *part;

    for (i = 0; i < s->list[scope].num_parts; i++) {
        part = &s->parts[s->list[scope].first_part + i];
        assert_true(n + part->size < ROOM);
        memcpy(to + n, part->text, part->size);
        n += part->size;
    }
    to[n] = '\0';
    return to;
}

/* Compares a name with null, {"anonymous": true} or a text. */
static void check_name(const struct json *json, uint32_t value,
                       const char *name, const char *script)
{
    const struct json_value *v = &json->values[value];

    if (v->type == JSON_STRING
            ? strlen(name) != v->size ||
                  memcmp(name, json_text(json, value), v->size) != 0
            : name[0] != '\0') {
        fail_msg("%s: %s", script, name);
    }
}

static uint64_t number(const struct json *json, uint32_t value)
{
    uint64_t n = UINT64_MAX;

    (void)json_integer(json, value, &n);
    return n;
}

static void check_scopes(const struct json *json, uint32_t list,
                         const struct jsscopes *s, const char *script)
{
    size_t n = 0;
    uint32_t row;
    char name[ROOM];

    assert_int_equal(s->count, json->values[list].size);
    for (row = list + 1; row < json->values[list].end;
         row = json->values[row].end) {
        if (s->list[n].start != number(json, row + 1) ||
            s->list[n].end != number(json, row + 2)) {
            fail_msg("%s: %u to %u", script, s->list[n].start, s->list[n].end);
        }
        check_name(json, row + 3, name_of(s, (uint32_t)n++, name), script);
    }
}

static void check_index(const struct json *json, uint32_t list,
                        const struct jsscopes *s, const char *script)
{
    ssize_t i, n;
    uint32_t row;
    char name[ROOM];
    struct jsscopes_change *changes;

    n = jsscopes_index(s, &changes);
    assert_int_equal(n, json->values[list].size);
    for (i = 0, row = list + 1; i < n; i++, row = json->values[row].end) {
        assert_int_equal(changes[i].at, number(json, row + 1));
        name[0] = '\0';
        if (changes[i].scope != JSSCOPES_OUTSIDE) {
            assert_int_not_equal(json->values[row + 2].type, JSON_NULL);
            name_of(s, changes[i].scope, name);
        }
        check_name(json, row + 2, name, script);
    }
    free(changes);
}

static void given(void **state)
{
    static char text[100000];
    FILE *f = fopen(DATA, "rbe");
    size_t size;
    uint32_t row, script;
    unsigned n = 0;
    char source[ROOM];
    struct json json = {0};
    struct json_error json_error;
    struct jsscopes s;
    struct jsscopes_error error;
    enum jsscopes_status status;

    assert_non_null(f);
    size = fread(text, 1, sizeof(text), f);
    fclose(f);
    assert_int_equal(json_read(&json, text, size, SIZE_MAX, &json_error),
                     size);
    for (row = 1; row < json.values[0].end; row = json.values[row].end) {
        script = json_member(&json, row, "source");
        snprintf(source, sizeof(source), "%.*s", (int)json.values[script].size,
                 json_text(&json, script));
        memset(&s, 0, sizeof(s));
        status = jsscopes_read(&s, source, strlen(source), &error);
        if (json_member(&json, row, "error") != 0) {
            assert_int_equal(status, JSSCOPES_BAD_SYNTAX);
        } else if (status != JSSCOPES_OK) {
            fail_msg("%s: byte %zu: %s", source, error.at, error.reason);
        } else {
            check_scopes(&json, json_member(&json, row, "scopes"), &s, source);
            check_index(&json, json_member(&json, row, "index"), &s, source);
        }
        jsscopes_free(&s);
        n++;
    }
    assert_int_equal(n, 57);
    json_free(&json);
}

/* Scripts that end in the middle of something: what was read is in them. */
static void cut(void **state)
{
    static const char *const scripts[] = {
        "x = () => a\\u{",  "x = () => a\\u", "x = () => a\\", "x = 'a\\",
        "x = /a\\",         "x = `a\\",       "x = `${",       "x = 1e",
        "x = () => a /* *", "x = 0x",         "x = #",         "new ."};
    size_t i;
    struct jsscopes s;
    struct jsscopes_error error;
    enum jsscopes_status status;

    for (i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        size_t size = strlen(scripts[i]);
        char *script = malloc(size); /* so that a byte too many is seen */

        memcpy(script, scripts[i], size);
        memset(&s, 0, sizeof(s));
        status = jsscopes_read(&s, script, size, &error);
        if (status == JSSCOPES_OK) {
            assert_true(s.count == 0 || s.list[0].end <= size);
        } else {
            assert_int_equal(status, JSSCOPES_BAD_SYNTAX);
            assert_true(error.at <= size);
        }
        jsscopes_free(&s);
        free(script);
    }
}

/* Comments of HTML, which scripts may have, as acorn and SWC read them. */
static void html_comments(void **state)
{
    static const struct {
        const char *script;
        uint32_t start; /* of the only function */
    } cases[] = {{"<!-- function no() {}\nx = () => 1", 26},
                 {"--> function no() {}\nx = () => 1", 25},
                 {"#!sh\n \t--> function no() {}\nx = () => 1", 32},
                 {"x = () => 1 <!-- function no() {}", 4},
                 {"x = () => 1\n /**/ --> function no() {}", 4},
                 {"x = () => 1 /*\n*/ --> function no() {}", 4},
                 {"for (;i-->0;) x = () => 1", 18},
                 {"i --> 0; x = () => 1", 13},
                 {"i < !--k; x = () => 1", 14}};
    size_t i;
    char name[ROOM];
    struct jsscopes s;
    struct jsscopes_error error;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *script = cases[i].script;

        memset(&s, 0, sizeof(s));
        if (jsscopes_read(&s, script, strlen(script), &error) != JSSCOPES_OK ||
            s.count != 1 || s.list[0].start != cases[i].start) {
            fail_msg("%s", script);
        }
        assert_string_equal(name_of(&s, 0, name), "x");
        jsscopes_free(&s);
    }
}

/* Writes nothing behind the name: no escape becomes longer than it is. */
static void unescaped(void **state)
{
    static const struct {
        const char *from, *to;
    } names[] = {{"gr\\u00F6\\u00DFe", "gr\xC3\xB6\xC3\x9F" "e"},
                 {"\\u{1F600}", "\xF0\x9F\x98\x80"},
                 {"\\uD83D\\uDE00", "\xF0\x9F\x98\x80"},
                 {"a\\", "a\\"},
                 {"\\\n\\\n\\\n", "\\\n\\\n\\\n"},
                 {"\\\xFF", "\\\xFF"},
                 {"\\u{a}\\\n\\\n\\\n\\\n\\\n\\\n",
                  "\n\\\n\\\n\\\n\\\n\\\n\\\n"}};
    size_t i, n, size;
    char *name;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size = strlen(names[i].from);
        name = malloc(size);
        assert_non_null(name);
        memcpy(name, names[i].from, size);
        n = jsscopes_unescape(name, size);
        assert_int_equal(n, strlen(names[i].to));
        assert_memory_equal(name, names[i].to, n);
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(given),
                                       cmocka_unit_test(unescaped),
                                       cmocka_unit_test(cut),
                                       cmocka_unit_test(html_comments)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
