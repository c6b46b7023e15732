/*
 * Copyright (C) the ngx_symcache authors
 *
 * Patterns for names of files.  What each matches is what the crate glob says,
 * of which Symbolicator asks for neither case nor slashes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/glob.h"

static bool match(const char *pattern, const char *text)
{
    size_t steps = 1 << 16;

    return glob_matches(pattern, strlen(pattern), text, strlen(text), &steps);
}

static void matches(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        {"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true},
        {"**", "a/b", true}, {"?", "", false}, {"?", "a", true},
        {"?", "\xc3\xa4", true}, {"??", "\xc3\xa4", false},
        {"?b", "\xc3\xa4" "b", true}, {"?", "/", true},
        {"?:/windows/**", "C:/Windows/System32/a.dll", true},
        {"?:/windows/**", "/C:/Windows/a.dll", false},
        {"*.DLL", "a.dll", true}, {"*.dll", "a.dll.x", false},
        {"*a*b*c", "xaxbxbxc", true}, {"*a*b*c", "xaxcxb", false},
        {"a*", "ba", false}, {"[abc]x", "bX", true}, {"[abc]x", "dx", false},
        {"[!abc]x", "dx", true}, {"[!abc]x", "ax", false},
        {"[a-c]", "B", true}, {"[a-c]", "d", false}, {"[a-]", "-", true},
        {"[]a]", "]", true}, {"[!]a]", "b", true}, {"[!]a]", "]", false},
        {"*[0-9]", "lib1", true}, {"*[0-9]", "lib1x", false},
        {"*[a-zA-Z0-9_][0-9].dll",
         "C:/Program Files/Common Files/Company/Product/1.0/x64/lib1.dll",
         true},
        {"**/a.dll", "a.dll", true}, {"**/a.dll", "x/y/a.dll", true},
        {"**/a.dll", "xa.dll", false}, {"x/**/a.dll", "x/a.dll", true},
        {"x/**/a.dll", "x/y/z/a.dll", true}, {"x/**/a.dll", "x/ya.dll", false},
        {"x/**/y/**/a", "x/y/b/y/c/a", true}, {"**/**/a", "a", true},
        {"*/**/b*d", "a/bc/b/bd", true}, {"**/", "a/b", true},
        {"**/", "", true}, {"x**/a", "x1/a", true}, {"x**/a", "xa", false},
        {"[*]", "*", true}, {"[*]", "a", false}, {"\\*", "\\a", true},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (match(rows[i].pattern, rows[i].text) != rows[i].matches) {
            fail_msg("%s and %s", rows[i].pattern, rows[i].text);
        }
        assert_true(
            glob_is_valid(rows[i].pattern, strlen(rows[i].pattern)));
    }
}

static void invalid(void **state)
{
    static const char *const rows[] = {"[", "a[", "[]", "[!", "[!]", "[a",
                                       "[a]["};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_false(glob_is_valid(rows[i], strlen(rows[i])));
        assert_false(match(rows[i], "[a]"));
    }
}

/* Takes exponential time where each "*" is tried again.  What hostile patterns
 * need is counted, and then there is no more for any. */
static void hostile(void **state)
{
    char pattern[128], text[512];
    size_t i, steps = 1 << 20;

    (void)state;
    memset(text, 'a', sizeof(text));
    for (i = 0; i < sizeof(pattern); i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    }
    pattern[sizeof(pattern) - 1] = 'b';
    for (i = 0; i < 10000; i++) {
        assert_false(
            glob_matches(pattern, sizeof(pattern), text, sizeof(text), &steps));
    }
    assert_int_equal(steps, 0);
    assert_false(glob_matches("*", 1, "a", 1, &steps));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches),
        cmocka_unit_test(invalid),
        cmocka_unit_test(hostile),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
