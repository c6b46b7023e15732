/*
 * Copyright (C) the ngx_symcache authors
 *
 * The grammar of _NT_SYMBOL_PATH, after the vendor's documentation.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "config/sympath.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct sympath path;

/* "s" store, "f" folder, "u" URL, "?" before what may be missing */
static const char *read_path(const char *value)
{
    static char text[65536];
    size_t i, len = 0;

    if (sympath_parse(&path, value) != 0) {
        return path.error;
    }
    text[0] = '\0';
    for (i = 0; i < path.n; i++) {
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%c:%s",
                             i > 0 ? " " : "", path.places[i].cache ? "?" : "",
                             "usf"[path.places[i].kind], path.places[i].text);
    }
    return text;
}

static void reads_the_grammar(void **state)
{
    static const struct {
        const char *value;
        const char *places;
    } cases[] = {
        {"srv*https://a", "u:https://a"},
        {"SRV*https://a/b/", "u:https://a/b"},
        {"srv*\\\\srv\\sym", "s:\\\\srv\\sym"},
        {"srv*c:\\cache*https://a", "?s:c:\\cache u:https://a"},
        {"srv**https://a", "u:https://a"},
        {"srv*c:\\c**https://a", "?s:c:\\c u:https://a"},
        {"srv*c:\\c*", "s:c:\\c"},
        {"srv*c:\\a*\\\\b\\c*http://d", "?s:c:\\a ?s:\\\\b\\c u:http://d"},
        {"srv*c:\\s*https://a*https://b", "?s:c:\\s u:https://a u:https://b"},
        {"symsrv*symsrv.dll*c:\\s*https://a", "?s:c:\\s u:https://a"},
        {"SymSrv*SYMSRV.DLL*https://a", "u:https://a"},
        {"cache*c:\\c;srv*https://a", "?s:c:\\c u:https://a"},
        {"cache*;srv*https://a", "u:https://a"},
        {"cache*c:\\c", "?s:c:\\c"},
        {"c:\\a;d:/b", "f:c:\\a f:d:/b"},
        {"c:", "f:c:"},
        {"\\\\srv\\share", "f:\\\\srv\\share"},
        {"\\\\?\\UNC\\srv\\share", "f:\\\\?\\UNC\\srv\\share"},
        {"/srv/symbols", "f:/srv/symbols"},
        {"https://a", "u:https://a"},
        {" c:\\a ; ;; srv* https://a ; ", "f:c:\\a u:https://a"},
        {"\"srv*https://a\"", "u:https://a"},
        {".sympath srv*https://a", "u:https://a"},
        {".sympath+ c:\\a", "f:c:\\a"},
        {"set _NT_SYMBOL_PATH=srv*https://a", "u:https://a"},
        {"_NT_SYMBOL_PATH=\"c:\\a b\"", "f:c:\\a b"},
        {"cache*c:\\c;SRV*https://a;srv*c:\\c*https://b",
         "?s:c:\\c u:https://a u:https://b"},
        {"srv*c:\\c*https://a;C:\\C", "s:c:\\c u:https://a"},
        {"srv*https://a/%20b%C3%A9", "u:https://a/%20b%C3%A9"},
        {"srv*https://[::1]:80/a", "u:https://[::1]:80/a"},
        {"%SYMPATH_TEST%\\b", "f:c:\\t\\b"},
        {"srv*%SYMPATH_TEST%*https://a/%SYMPATH_WORD%/b",
         "?s:c:\\t u:https://a/word/b"},
        {"c:\\50%", "f:c:\\50%"},
    };
    size_t i;

    setenv("SYMPATH_TEST", "c:\\t", 1);
    setenv("SYMPATH_WORD", "word", 1);
    for (i = 0; i < COUNT(cases); i++) {
        assert_string_equal(read_path(cases[i].value), cases[i].places);
    }
}

static void says_what_it_cannot_express(void **state)
{
    static const struct {
        const char *value;
        const char *reason;
    } cases[] = {
        {"", "names no place"},
        {" ; ;", "names no place"},
        {"cache*", "names no place"},
        {"srv*", "own folder"},
        {"srv***", "own folder"},
        {"srv", "no * after"},
        {"symsrv*", "only symsrv.dll"},
        {"symsrv*symsrv.dll", "names no store"},
        {"symsrv*other.dll*https://a", "only symsrv.dll"},
        {"cache*a*b", "one folder"},
        {"foo*c:\\a", "neither srv*"},
        {"c:\\a*b", "neither srv*"},
        {"symbols", "is neither a share"},
        {"..\\symbols", "is neither a share"},
        {"srv*.*https://a", "is neither a share"},
        {"c:symbols", "is neither a share"},
        {"\\symbols", "is neither a share"},
        {"srv*ftp://a", "only http and https"},
        {"srv*file:///etc", "only http and https"},
        {"srv*https:/a", "only http and https"},
        {"srv*https://", "only http and https"},
        {"srv*https://?x", "no host"},
        {"srv*https://u:p@a", "user name"},
        {"srv*https://a?sas=1", "query"},
        {"srv*https://a#b", "query"},
        {"srv*https://a\\b", "a blank, a quote"},
        {"srv*https://a b", "a blank, a quote"},
        {"c:\\a\x01", "control character"},
        {"c:\\a\nb", "control character"},
        {"c:\\a|b", "sign that no folder has"},
        {"%SYMPATH_NONE%", "not set"},
        {"srv*1*2*3*4*5*6*7*8*9*10*11", "more than 10 stores"},
    };
    size_t i;

    unsetenv("SYMPATH_NONE");
    for (i = 0; i < COUNT(cases); i++) {
        if (strstr(read_path(cases[i].value), cases[i].reason) == NULL) {
            fail_msg("%s: %s", cases[i].value, read_path(cases[i].value));
        }
    }
}

static void survives_hostile_values(void **state)
{
    static char text[70000], word[300];
    const char signs[] = "*;%\\:/ \"srvcacheh.tp";
    unsigned seed = 1;
    size_t i, j, n;

    memset(text, 'a', sizeof(text) - 1);
    assert_non_null(strstr(read_path(text), "too long"));
    text[30000] = '\0';
    assert_non_null(strstr(read_path(text), "too long"));
    memset(text, '*', 30000);
    assert_non_null(strstr(read_path(text), "neither srv"));
    memcpy(text, "srv", 3);
    assert_non_null(strstr(read_path(text), "more than 10"));
    memset(text, ';', 30000);
    assert_non_null(strstr(read_path(text), "names no place"));
    memset(text, '%', 30000);
    assert_int_equal(sympath_parse(&path, text), -1);

    memcpy(text, "c:\\", 3);
    memset(text + 3, 'a', SYMPATH_TEXT - 4);
    text[SYMPATH_TEXT - 1] = '\0';
    assert_int_equal(sympath_parse(&path, text), 0);
    text[SYMPATH_TEXT - 1] = 'a';
    text[SYMPATH_TEXT] = '\0';
    assert_non_null(strstr(read_path(text), "too long"));
    setenv("SYMPATH_LONG", text, 1);
    assert_non_null(strstr(read_path("c:\\%SYMPATH_LONG%"), "too long"));

    for (n = 0, i = 0; i <= SYMPATH_PLACES; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "c:\\%zu;", i);
    }
    assert_non_null(strstr(read_path(text), "more than 64 places"));

    for (i = 0; i < 200000; i++) {
        for (j = 0; j < sizeof(word) - 1; j++) {
            seed = seed * 1103515245 + 12345;
            word[j] = signs[(seed >> 16) % (sizeof(signs) - 1)];
            if (seed >> 16 & 64 && j > i % 200) {
                break;
            }
        }
        word[j] = '\0';
        if (sympath_parse(&path, word) != 0) {
            assert_true(path.error[0] != '\0');
        } else {
            assert_in_range(path.n, 1, SYMPATH_PLACES);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_grammar),
        cmocka_unit_test(says_what_it_cannot_express),
        cmocka_unit_test(survives_hostile_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
