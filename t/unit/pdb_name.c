/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names that are handed to transcoders, and those that are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symcached/transcode/pdb_name.h"

static void assert_all(const char *const *names, size_t n, bool expected)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (pdb_name_is_plain(names[i]) != expected) {
            fail_msg("\"%s\" is %s", names[i], expected ? "refused" : "taken");
        }
    }
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void plain_names(void **state)
{
    static const char *const names[] = {
        "a",           "9",           "ntdll.pdb",     "NTDLL.PDB",
        "a.b-c_d+e.f", "a..pdb",      "a.pdb-",        "7zip.pdb",
        "c.pdb",       "con1.pdb",    "console.pdb",   "xcon.pdb",
        "null.pdb",    "com.pdb",     "com10.pdb",     "comx.pdb",
        "lpt.pdb",     "a.con.pdb",   "a.nul",         "nul-.pdb",
        "auxiliary",   "prn_.pdb",
    };

    assert_all(names, COUNT(names), true);
}

static void letters(void **state)
{
    static const char *const names[] = {
        "a b.pdb",   "a&b.pdb",   "a|b.pdb",  "a;b.pdb",  "a<b.pdb",
        "a>b.pdb",   "a$b.pdb",   "a`b.pdb",  "a'b.pdb",  "a\"b.pdb",
        "a%b%.pdb",  "a^b.pdb",   "a!b.pdb",  "a(b).pdb", "a{b}.pdb",
        "a[b].pdb",  "a*.pdb",    "a?.pdb",   "a~1.pdb",  "a#b.pdb",
        "a=b.pdb",   "a,b.pdb",   "a@b.pdb",  "a:b.pdb",  "a/b.pdb",
        "a\\b.pdb",  "a\tb.pdb",  "a\nb.pdb", "a\x7f",    "\xc3\xbc.pdb",
        "\xc2\xb9",  "a\xdc\xae\xdc\xaex.pdb", "a\xff.pdb",
    };

    assert_all(names, COUNT(names), false);
}

static void ends(void **state)
{
    static const char *const names[] = {
        "",      ".",       "..",     ".pdb",    "-pdb",    "--help",
        "+x",    "_x.pdb",  "a.pdb.", "a.pdb..", " a.pdb",  "a.pdb ",
        "@/etc", "\xc3\xbc", "a\n",
    };

    assert_all(names, COUNT(names), false);
}

static void devices(void **state)
{
    static const char *const names[] = {
        "con",      "CON",       "Con.pdb",  "con.a.pdb", "prn.pdb",
        "AUX.pdb",  "nul",       "NUL.PDB",  "nul.",      "com0.pdb",
        "COM1",     "com9.pdb",  "lpt0.pdb", "LPT9.pdb",  "lpt1.tar.gz",
        "conin$",   "CONOUT$",   "conin$.pdb",
        "com\xc2\xb9.pdb", /* a superscript one */
    };

    assert_all(names, COUNT(names), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names),
        cmocka_unit_test(letters),
        cmocka_unit_test(ends),
        cmocka_unit_test(devices),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
