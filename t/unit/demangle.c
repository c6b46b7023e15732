/*
 * Copyright (C) the ngx_symcache authors
 *
 * Readable names of decorated ones: t/data/demangle/msvc.tsv tells where they
 * are from; and names that nobody decorated.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolication/symbolication.h"

static char room[DEMANGLE_ROOM];

/* From memory of exactly the size, so that a sanitizer sees every byte too
 * far. */
static bool readable_in(uint32_t language, const char *name, size_t size,
                        struct symc_string *readable)
{
    bool is_good;
    char *copy;
    struct symc_string string;

    copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, name, size);
    string.data = copy;
    string.size = size;
    is_good = demangle(&string, language, room, readable);
    if (readable->data >= copy && readable->data <= copy + size) {
        readable->data = name + (readable->data - copy);
    }
    free(copy);
    return is_good;
}

static bool readable_of(const char *name, size_t size,
                        struct symc_string *readable)
{
    return readable_in(SYMC_NONE, name, size, readable);
}

static void reference(void **state)
{
    FILE *f;
    char *tab;
    unsigned count;
    static char line[8192];
    struct symc_string readable;

    (void)state;
    count = 0;
    f = fopen("t/data/demangle/msvc.tsv", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        tab = strchr(line, '\t');
        if (line[0] == '#' || tab == NULL) {
            continue;
        }
        *tab = '\0';
        readable_of(line, strlen(line), &readable);
        if (readable.size != strlen(tab + 1) ||
            memcmp(readable.data, tab + 1, readable.size) != 0) {
            fail_msg("%s\n    %.*s\n    %s", line, (int)readable.size,
                     readable.data, tab + 1);
        }
        count++;
    }
    fclose(f);
    assert_true(count > 100);
}

/* What the "symbolic" library does not read, or not so; as llvm-undname. */
static void beyond_the_reference(void **state)
{
    static const char *const cases[][2] = {
        {"?f@?$W@P8S@v1@ns@@EGBAXXZ@@QEAAXXZ",
         "W<void (ns::v1::S::*)(void) const &>::f(void)"},
        {"??$?RH@<lambda_0>@?0??f@S@@QEAAXXZ@QEAA?A?<auto>@@HH@Z",
         "`S::f(void)'::`1'::<lambda_0>::operator()<int>(int, int)"},
        {"??R<lambda_1>@?0???R0?0??f@S@@QEAAXXZ@QEBA?A?<auto>@@XZ@QEBA?A?3@H"
         "@Z",
         "``S::f(void)'::`1'::<lambda_1>::operator()(void) const'::`1'::"
         "<lambda_1>::operator()(int) const"},
    };
    struct symc_string readable;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        readable_of(cases[i][0], strlen(cases[i][0]), &readable);
        if (readable.size != strlen(cases[i][1]) ||
            memcmp(readable.data, cases[i][1], readable.size) != 0) {
            fail_msg("%s\n    %.*s\n    %s", cases[i][0], (int)readable.size,
                     readable.data, cases[i][1]);
        }
    }
}

/* Names of linkers, for functions of C++, of Rust and of unknown language. */
static void linkage(void **state)
{
    FILE *f;
    bool is_good;
    char *name, *language, *expected, *at;
    unsigned count = 0;
    static char line[8192];
    struct symc_string readable;

    (void)state;
    f = fopen("t/data/demangle/linkage.tsv", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#') {
            continue;
        }
        name = strtok_r(line, "\t", &at);
        language = strtok_r(NULL, "\t", &at);
        expected = strtok_r(NULL, "\t", &at);
        is_good = readable_in(language[0] == 'C'   ? 2
                              : language[0] == 'R' ? 7
                                                   : SYMC_NONE,
                              name, strlen(name), &readable);
        assert_int_equal(is_good, strcmp(name, expected) != 0);
        if (readable.size != strlen(expected) ||
            memcmp(readable.data, expected, readable.size) != 0) {
            fail_msg("%s\n    %.*s\n    %s", name, (int)readable.size,
                     readable.data, expected);
        }
        count++;
    }
    fclose(f);
    assert_true(count > 100);
}

/* A name that becomes too long in an identifier in Punycode, whose letters
 * libiberty has in memory of its own. */
static void left_in_punycode(void **state)
{
    char name[8192];
    size_t size, used[2];
    struct symc_string readable;
    unsigned i;

    (void)state;
    for (i = 0; i < 40; i++) { /* twice, as malloc() keeps what was freed */
        size = (size_t)snprintf(name, sizeof(name), "_RNvC%u%0*du8gdel_5qa",
                                4080 + i % 20, 4080 + (int)i % 20, 0);
        memset(name + sizeof("_RNvC4080") - 1, 'a', 4080 + i % 20);
        assert_int_equal(readable_in(7, name, size, &readable), i % 20 < 9);
        used[i / 20] = mallinfo2().uordblks;
    }
    assert_int_equal(used[1], used[0]);
}

/* Functions of other languages have no such names, whatever they look like. */
static void languages(void **state)
{
    struct symc_string readable;
    static const char cpp[] = "_ZN1a1bEv";
    static const char rust[] = "_RNvC6_123foo3bar";

    (void)state;
    assert_true(readable_in(2, cpp, sizeof(cpp) - 1, &readable));
    assert_true(readable_in(6, cpp, sizeof(cpp) - 1, &readable));
    assert_false(readable_in(7, cpp, sizeof(cpp) - 1, &readable));
    assert_false(readable_in(1, cpp, sizeof(cpp) - 1, &readable));
    assert_false(readable_in(4, cpp, sizeof(cpp) - 1, &readable));
    assert_true(readable_in(7, rust, sizeof(rust) - 1, &readable));
    assert_false(readable_in(2, rust, sizeof(rust) - 1, &readable));
}

/* What core.demangle of D's library says, without results and attributes. */
static void names_of_d(void **state)
{
    static const char *const names[][2] = {
        {"_D3app4factFNaNbNiNfmZm", "app.fact(ulong)"},
        {"__D3app3Foo3barMFAxaZi", "app.Foo.bar(const(char)[])"},
        {"_D3std6int1286Int1288opEqualsMxFNaNbNiNfmZb",
         "std.int128.Int128.opEquals(ulong) const"},
        {"_D3std5array__T8AppenderTAyaZQo__T3putTaZQhMFNaNbNfaZv",
         "std.array.Appender!(immutable(char)[]).Appender.put!(char)."
         "put(char)"},
        {"_D3std4file10renameImplFNeMAxaMQeMPxaMQeZv",
         "std.file.renameImpl(scope const(char)[], scope const(char)[], "
         "scope const(char)*, scope const(char)*)"},
        {"_D3std8typecons__T5TupleTAyaTQeTQhTQkTQnTQqTQtZQBd6__ctorMFNaNbNcNi"
         "NfQBsQBvQByQCbQCeQChQCkZSQDmQDl__TQDfTQDcTQDgTQDkTQDoTQDsTQDwTQEaZQ"
         "El",
         "std.typecons.Tuple!(immutable(char)[], immutable(char)[], "
         "immutable(char)[], immutable(char)[], immutable(char)[], "
         "immutable(char)[], immutable(char)[]).Tuple.this(immutable(char)[], "
         "immutable(char)[], immutable(char)[], immutable(char)[], "
         "immutable(char)[], immutable(char)[], immutable(char)[])"}};
    static const char *const again[] = {"FS1a",  "MFC1a",    "S9__T1a",
                                        "FS2Qb", "FS5aFS1a", "__T1aZFS1a"};
    struct symc_string readable;
    char name[4096];
    size_t i, n;

    (void)state;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        n = strlen(names[i][0]);
        assert_true(readable_in(3, names[i][0], n, &readable));
        assert_int_equal(readable.size, strlen(names[i][1]));
        assert_memory_equal(readable.data, names[i][1], readable.size);
        assert_false(readable_in(1, names[i][0], n, &readable));
    }
    assert_false(readable_of("_D3ap", 5, &readable));
    linkage_by(linkage_demangle_here);
    linkage_begin();
    /* each parameter is a function that has the one before it twice */
    n = (size_t)snprintf(name, sizeof(name), "_D1fFPFZv");
    for (i = 0; i < 40; i++) {
        n += (size_t)snprintf(name + n, sizeof(name) - n, "%s",
                              i == 0 ? "PFQgQiZv" : "PFQkQmZv");
    }
    n += (size_t)snprintf(name + n, sizeof(name) - n, "Zv");
    assert_false(readable_of(name, n, &readable));
    /* what is no end of parameters is read again as a type, at each level */
    for (i = 0; i < sizeof(again) / sizeof(again[0]); i++) {
        n = (size_t)snprintf(name, sizeof(name), "_D1a");
        while (n < 400) {
            n += (size_t)snprintf(name + n, sizeof(name) - n, "%s", again[i]);
        }
        assert_false(readable_of(name, n, &readable));
    }
    /* so far seven have failed */
    assert_true(readable_of(names[0][0], strlen(names[0][0]), &readable));
    linkage_by(linkage_demangle);
}

/* With a requires-clause, which libiberty of GCC 14 prints and those before do
 * not know: what llvm-cxxfilt 22 has in front of it. */
static void constrained(void **state)
{
    static const char *const names[][2] = {
        {"_ZNKSt6ranges8subrangeIPKcS2_LNS_13subrange_kindE1EE5beginEvQ"
         "8copyableIT_E",
         "std::ranges::subrange<char const*, char const*, "
         "(std::ranges::subrange_kind)1>::begin() const"},
        {"_Z5QueueI6QtListEvT_Q3QaaIT_E", "Queue<QtList>(QtList)"}};
    struct symc_string readable;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(readable_of(names[i][0], strlen(names[i][0]), &readable));
        assert_true(readable.size >= strlen(names[i][1]));
        assert_memory_equal(readable.data, names[i][1], strlen(names[i][1]));
    }
    assert_false(readable_of("_ZN1aQ", 6, &readable));
}

/* What is not understood stays as it is. */
static void refused(void **state)
{
    size_t i, n;
    struct symc_string readable;
    static const char *const names[] = {"",
                                        "?",
                                        "??",
                                        "main",
                                        "_start",
                                        "_Z1",
                                        "_ZN1aEq",
                                        "_RNvC1a",
                                        "$s4main3fooyyQo",
                                        "main()",
                                        "??@0123456789abcdef0123456789abcdef@",
                                        "??_C@_02BAABKJLB@?9?9@",
                                        "?f@@YAX1@Z",
                                        "?f@9@@YAXXZ",
                                        "?f@@YAXXZ@",
                                        "?f@@YAXPAU?$@@@Z",
                                        "?f@@Y",
                                        "?x@@3"};

    (void)state;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        n = strlen(names[i]);
        if (readable_of(names[i], n, &readable)) {
            fail_msg("%s: %.*s", names[i], (int)readable.size, readable.data);
        }
        assert_int_equal(readable.size, n);
        assert_memory_equal(readable.data, names[i], n);
    }
}

/* Every beginning of a name: no byte behind it is touched. */
static void cut(void **state)
{
    size_t n;
    struct symc_string readable;
    static const char name[] =
        "??$_Insert@AAU?$pair@$$CBKPAX@std@@V?$a@P6AXH@Z@1@@?$_Hash@V1@$0BA@"
        "@std@@QAE?AU?$pair@V?$_L@V?$_V@U?$_S@U12@@std@@@std@@@std@@_N@1@"
        "PAY01H0@Z";

    (void)state;
    for (n = 0; n <= sizeof(name) - 1; n++) {
        readable_of(name, n, &readable);
    }
}

/* Names that would become long or deep end early. */
static void limits(void **state)
{
    size_t n;
    static char name[100000];
    struct symc_string readable;

    (void)state;
    n = (size_t)snprintf(name, sizeof(name), "?f@@YAX");
    memset(name + n, 'P', 50000);
    for (; n < 50000; n++) {
        name[n] = n % 2 ? 'P' : 'A';
    }
    assert_false(readable_of(name, n, &readable));

    /* each argument is twice the one before it */
    n = (size_t)snprintf(name, sizeof(name),
                         "?f@@YAXP6AXPAH0@ZP6AX00@ZP6AX11"
                         "@ZP6AX22@ZP6AX33@ZP6AX44@ZP6AX55"
                         "@ZP6AX66@ZP6AX77@ZP6AX88@Z");
    while (n < 90000) {
        n += (size_t)snprintf(name + n, sizeof(name) - n, "P6AX9999999@Z");
    }
    n += (size_t)snprintf(name + n, sizeof(name) - n, "@Z");
    assert_false(readable_of(name, n, &readable));
}

/* A name whose form would have 2^40 bytes is left when it has too many: each
 * pointer to a function takes the one before it twice. */
static void endless(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[1000], seen[8] = "S_";
    size_t n = (size_t)snprintf(name, sizeof(name), "_Z1fPi");
    struct symc_string readable;
    unsigned i;

    (void)state;
    for (i = 1; i <= 40; i++) {
        n += (size_t)snprintf(name + n, sizeof(name) - n, "PFv%s%sE", seen,
                              seen);
        snprintf(seen, sizeof(seen), 2 * i - 1 < 36 ? "S%.0d%c_" : "S%d%c_",
                 (2 * i - 1) / 36, digits[(2 * i - 1) % 36]);
    }
    assert_false(readable_of(name, n, &readable));
    n = (size_t)snprintf(name, sizeof(name), "_Z1fi");
    assert_true(readable_of(name, n, &readable));
    assert_memory_equal(readable.data, "f(int)", readable.size);
}

/* Names that symbolic 10.2.1 does not read either: thunks of virtual bases,
 * functions of ARM64EC and managed ones; and such as are none. */
static void unknown_to_symbolic(void **state)
{
    static const char *const names[] = {
        "?w@Dd@@$4PPPPPPPM@A@EAAXXZ",
        "??_E?$basic_istream@DU?$char_traits@D@std@@@std@@"
        "$4PPPPPPPM@A@EAAPEAXI@Z",
        "?f@S@@$R477PPPPPPPM@7AEXXZ",
        "?f@@$$hYAXXZ",
        "?f@S@@$$hQEBAXH@Z",
        "?f@@$$J0YAXXZ",
        "?f@@$$FYAXXZ",
        "?w@Dd@@$4",
        "??_9S@@$BBA@",
        "??_9S@@$BBA@A",
        "??_9S@@$BBA@BA",
        "?f@@YAXXZ.",
        "?f@@YAXXZ$catch",
        "?f@@$$"};
    size_t i;
    struct symc_string readable;

    (void)state;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_false(readable_of(names[i], strlen(names[i]), &readable));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference),
        cmocka_unit_test(unknown_to_symbolic),
        cmocka_unit_test(left_in_punycode),
        cmocka_unit_test(beyond_the_reference),
        cmocka_unit_test(linkage),
        cmocka_unit_test(languages),
        cmocka_unit_test(constrained),
        cmocka_unit_test(names_of_d),
        cmocka_unit_test(refused),
        cmocka_unit_test(cut),
        cmocka_unit_test(limits),
        cmocka_unit_test(endless),
    };

    linkage_by(linkage_demangle);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
