/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expected paths: the documented layouts of symbol stores, with the examples
 * that their documents use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "symcached/source/layout.h"

#define CRASH "3249D99D0C4049318610F4E4FB0B69361"
#define CRASH_LOWER "3249d99d0c4049318610f4e4fb0b69361"
#define BUILD_UPPER "93AC61EC5A8EB1396F9FBD350E3169A558528A40"
#define BUILD "93ac61ec5a8eb1396f9fbd350e3169a558528a40"

static const struct source_config symstore = {.layout = LAYOUT_SYMSTORE};
static const struct source_config two_tier = {.layout = LAYOUT_TWO_TIER};
static const struct source_config unified = {.layout = LAYOUT_UNIFIED};

struct walk_case {
    struct source_config source;
    const char *name;
    const char *id;
    const char *paths[12];
};

/* a miss, from the first place to the last; index2.txt is not there */
static const struct walk_case walk_cases[] = {
    {{.layout = LAYOUT_SYMSTORE},
     "crash.pdb",
     CRASH,
     {"crash.pdb/" CRASH "/crash.pdb", "crash.pdb/" CRASH "/crash.pd_",
      "crash.pdb/" CRASH "/file.ptr", "crash.pdb/" CRASH_LOWER "/crash.pdb",
      "crash.pdb/" CRASH_LOWER "/crash.pd_",
      "crash.pdb/" CRASH_LOWER "/file.ptr", "index2.txt"}},
    {{.layout = LAYOUT_SYMSTORE},
     "Crash.Pdb",
     CRASH,
     {"Crash.Pdb/" CRASH "/Crash.Pdb", "Crash.Pdb/" CRASH "/Crash.Pd_",
      "Crash.Pdb/" CRASH "/file.ptr", "crash.pdb/" CRASH_LOWER "/crash.pdb",
      "crash.pdb/" CRASH_LOWER "/crash.pd_",
      "crash.pdb/" CRASH_LOWER "/file.ptr", "crash.pdb/" CRASH "/crash.pdb",
      "crash.pdb/" CRASH "/crash.pd_", "crash.pdb/" CRASH "/file.ptr",
      "index2.txt"}},
    {{.layout = LAYOUT_SYMSTORE, .casing = CASING_LOWER},
     "Crash.Pdb",
     CRASH,
     {"crash.pdb/" CRASH_LOWER "/crash.pdb",
      "crash.pdb/" CRASH_LOWER "/crash.pd_",
      "crash.pdb/" CRASH_LOWER "/file.ptr", "index2.txt"}},
    {{.layout = LAYOUT_TWO_TIER, .casing = CASING_UPPER},
     "Crash.Pdb",
     CRASH,
     {"CR/CRASH.PDB/" CRASH "/CRASH.PDB", "CR/CRASH.PDB/" CRASH "/CRASH.PD_",
      "CR/CRASH.PDB/" CRASH "/FILE.PTR"}},
    /* .sym in place of .pdb, behind other names; ages as Breakpad has them */
    {{.layout = LAYOUT_BREAKPAD},
     "Crash.Pdb",
     "3249D99D0C4049318610F4E4FB0B6936A",
     {"Crash.Pdb/3249D99D0C4049318610F4E4FB0B6936a/Crash.sym",
      "Crash.Pdb/3249D99D0C4049318610F4E4FB0B6936a/Crash.sym.gz",
      "crash.pdb/3249D99D0C4049318610F4E4FB0B6936a/crash.sym",
      "crash.pdb/3249D99D0C4049318610F4E4FB0B6936a/crash.sym.gz",
      "crash.pdb/3249D99D0C4049318610F4E4FB0B6936A/crash.sym",
      "crash.pdb/3249D99D0C4049318610F4E4FB0B6936A/crash.sym.gz",
      "Crash.Pdb/3249D99D0C4049318610F4E4FB0B6936A/Crash.sym",
      "Crash.Pdb/3249D99D0C4049318610F4E4FB0B6936A/Crash.sym.gz"}},
    {{.layout = LAYOUT_BREAKPAD, .forms = {FORM_PLAIN}, .nforms = 1},
     "libc.so.6",
     "3249D99D0C4049318610F4E4FB0B69360",
     {"libc.so.6/3249D99D0C4049318610F4E4FB0B69360/libc.so.6.sym"}},
    /* Symbolicator's examples */
    {{.layout = LAYOUT_NATIVE},
     "crash.pdb",
     CRASH,
     {"crash.pdb/" CRASH "/crash.pdb", "crash.pdb/" CRASH "/crash.pd_",
      "crash.pdb/" CRASH_LOWER "/crash.pdb",
      "crash.pdb/" CRASH_LOWER "/crash.pd_"}},
    {{.layout = LAYOUT_NATIVE, .casing = CASING_LOWER},
     "Crash.Exe",
     "5AB380779000",
     {"crash.exe/5ab380779000/crash.exe", "crash.exe/5ab380779000/crash.ex_"}},
    /* a key of digits has one case */
    {{.layout = LAYOUT_TWO_TIER},
     "nt.pdb",
     "012345678901234567890123456789012",
     {"nt/nt.pdb/012345678901234567890123456789012/nt.pdb",
      "nt/nt.pdb/012345678901234567890123456789012/nt.pd_",
      "nt/nt.pdb/012345678901234567890123456789012/file.ptr"}},
    /* the directory of the first tier: characters, not bytes; no dot */
    {{.layout = LAYOUT_TWO_TIER},
     "x.pdb",
     "012345678901234567890123456789012",
     {"x/x.pdb/012345678901234567890123456789012/x.pdb",
      "x/x.pdb/012345678901234567890123456789012/x.pd_",
      "x/x.pdb/012345678901234567890123456789012/file.ptr"}},
    {{.layout = LAYOUT_TWO_TIER},
     "q",
     "012345678901234567890123456789012",
     {"q/q/012345678901234567890123456789012/q",
      "q/q/012345678901234567890123456789012/_",
      "q/q/012345678901234567890123456789012/file.ptr"}},
    {{.layout = LAYOUT_TWO_TIER},
     "\xc3\xa4\xe2\x82\xac.pd\xc3\xa4",
     "012345678901234567890123456789012",
     {"\xc3\xa4\xe2\x82\xac/\xc3\xa4\xe2\x82\xac.pd\xc3\xa4/"
      "012345678901234567890123456789012/\xc3\xa4\xe2\x82\xac.pd\xc3\xa4",
      "\xc3\xa4\xe2\x82\xac/\xc3\xa4\xe2\x82\xac.pd\xc3\xa4/"
      "012345678901234567890123456789012/\xc3\xa4\xe2\x82\xac.pd_",
      "\xc3\xa4\xe2\x82\xac/\xc3\xa4\xe2\x82\xac.pd\xc3\xa4/"
      "012345678901234567890123456789012/file.ptr"}},
    {{.layout = LAYOUT_SSQP},
     "Crash.pdb",
     CRASH,
     {"crash.pdb/" CRASH_LOWER "/crash.pdb",
      "crash.pdb/" CRASH_LOWER "/crash.pd_",
      "crash.pdb/" CRASH_LOWER "/file.ptr"}},
    /* the age of a portable PDB is the one part in upper case */
    {{.layout = LAYOUT_SSQP},
     "a.pdb",
     "3249D99D0C4049318610F4E4FB0B6936FFFFFFFF",
     {"a.pdb/3249d99d0c4049318610f4e4fb0b6936FFFFFFFF/a.pdb",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936FFFFFFFF/a.pd_",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936FFFFFFFF/file.ptr",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936ffffffff/a.pdb",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936ffffffff/a.pd_",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936ffffffff/file.ptr"}},
    {{.layout = LAYOUT_SSQP},
     "a.pdb",
     "3249D99D0C4049318610F4E4FB0B6936A",
     {"a.pdb/3249d99d0c4049318610f4e4fb0b6936a/a.pdb",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936a/a.pd_",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936a/file.ptr",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936A/a.pdb",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936A/a.pd_",
      "a.pdb/3249d99d0c4049318610f4e4fb0b6936A/file.ptr"}},
    {{.layout = LAYOUT_UNIFIED},
     "Crash.pdb",
     CRASH,
     {"32/49d99d0c4049318610f4e4fb0b69361/debuginfo"}},
    {{.layout = LAYOUT_FLAT},
     "Crash.pdb",
     CRASH,
     {"Crash.pdb", "Crash.pd_", "crash.pdb", "crash.pd_"}},
    /* forms in another order, and not all of them */
    {{.layout = LAYOUT_TWO_TIER,
      .casing = CASING_LOWER,
      .forms = {FORM_POINTER, FORM_PLAIN},
      .nforms = 2},
     "crash.pdb",
     CRASH,
     {"cr/crash.pdb/" CRASH_LOWER "/file.ptr",
      "cr/crash.pdb/" CRASH_LOWER "/crash.pdb"}},
    /* images, by time stamp and size: symstore.exe writes the first in upper
     * and the second in lower case, and so does dotnet-symbol */
    {{.layout = LAYOUT_SYMSTORE, .forms = {FORM_PLAIN}, .nforms = 1},
     "NtDll.dll",
     "0DDC1E9A6c000",
     {"NtDll.dll/0DDC1E9A6c000/NtDll.dll", "ntdll.dll/0ddc1e9a6c000/ntdll.dll",
      "ntdll.dll/0DDC1E9A6c000/ntdll.dll", "index2.txt"}},
    {{.layout = LAYOUT_TWO_TIER, .casing = CASING_LOWER},
     "a.exe",
     "0DDC1E9A6c000",
     {"a/a.exe/0ddc1e9a6c000/a.exe", "a/a.exe/0ddc1e9a6c000/a.ex_",
      "a/a.exe/0ddc1e9a6c000/file.ptr"}},
    {{.layout = LAYOUT_SSQP, .forms = {FORM_PLAIN}, .nforms = 1},
     "NtDll.dll",
     "0DDC1E9A6c000",
     {"ntdll.dll/0DDC1E9A6c000/ntdll.dll",
      "ntdll.dll/0ddc1e9a6c000/ntdll.dll"}},
    {{.layout = LAYOUT_UNIFIED}, "a.exe", "0DDC1E9A6c000", {NULL}},
    {{.layout = LAYOUT_BREAKPAD}, "a.exe", "0DDC1E9A6c000", {NULL}},
    {{.layout = LAYOUT_FLAT}, "a.exe", "0DDC1E9A6c000", {NULL}},
    {{.layout = LAYOUT_DEBUGINFOD}, "a.exe", "0DDC1E9A6c000", {NULL}},
    {{.layout = LAYOUT_DEBUGINFOD}, "a.pdb", CRASH, {NULL}},
    /* build ids: debuginfod's web API, SSQP, and Symbolicator's layouts, which
     * have the paths of SSQP in those of symstore.exe */
    {{.layout = LAYOUT_DEBUGINFOD},
     "_",
     "buildid-" BUILD,
     {"buildid/" BUILD "/debuginfo"}},
    {{.layout = LAYOUT_SSQP, .forms = {FORM_PLAIN}, .nforms = 1},
     "_",
     "buildid-" BUILD,
     {"_.debug/elf-buildid-sym-" BUILD "/_.debug"}},
    /* 8 bytes, filled to 20; 16 bytes, which may be a UUID of Mach-O */
    {{.layout = LAYOUT_SSQP, .forms = {FORM_PLAIN}, .nforms = 1},
     "_",
     "buildid-0123456789abcdef",
     {"_.debug/elf-buildid-sym-0123456789abcdef000000000000000000000000"
      "/_.debug"}},
    {{.layout = LAYOUT_SSQP, .forms = {FORM_PLAIN}, .nforms = 1},
     "_",
     "buildid-67e9247c814e392ba027dbde6748fcbf",
     {"_.debug/elf-buildid-sym-67e9247c814e392ba027dbde6748fcbf00000000"
      "/_.debug",
      "_.dwarf/mach-uuid-sym-67e9247c814e392ba027dbde6748fcbf/_.dwarf"}},
    {{.layout = LAYOUT_TWO_TIER, .forms = {FORM_PLAIN}, .nforms = 1},
     "_",
     "buildid-" BUILD,
     {"_/_.debug/elf-buildid-sym-" BUILD "/_.debug"}},
    {{.layout = LAYOUT_UNIFIED},
     "_",
     "buildid-" BUILD,
     {"93/ac61ec5a8eb1396f9fbd350e3169a558528a40/debuginfo"}},
    /* gdb's manual, "Debugging Information in Separate Files" */
    {{.layout = LAYOUT_BUILD_ID},
     "_",
     "buildid-" BUILD,
     {"93/ac61ec5a8eb1396f9fbd350e3169a558528a40.debug"}},
    {{.layout = LAYOUT_BUILD_ID}, "a.pdb", CRASH, {NULL}},
    /* Symbolicator's page: the id in upper and in lower case */
    {{.layout = LAYOUT_SLASHSYMBOLS},
     "eboot.bin",
     "buildid-" BUILD,
     {"eboot.bin/" BUILD_UPPER "/symbols", "eboot.bin/" BUILD "/symbols"}},
    {{.layout = LAYOUT_SLASHSYMBOLS},
     "Game.prx",
     "buildid-0123456789abcdef",
     {"Game.prx/0123456789ABCDEF/symbols", "game.prx/0123456789abcdef/symbols",
      "game.prx/0123456789ABCDEF/symbols",
      "Game.prx/0123456789abcdef/symbols"}},
    {{.layout = LAYOUT_SLASHSYMBOLS, .casing = CASING_LOWER},
     "Game.exe",
     "5AB380779000",
     {"game.exe/5ab380779000/symbols"}},
    {{.layout = LAYOUT_SLASHSYMBOLS},
     "a.exe",
     "5AB3807790a0",
     {"a.exe/5AB3807790A0/symbols", "a.exe/5ab3807790a0/symbols"}},
    {{.layout = LAYOUT_SLASHSYMBOLS}, "_", "buildid-" BUILD, {NULL}},
    {{.layout = LAYOUT_SLASHSYMBOLS}, "a.pdb", CRASH, {NULL}},
    {{.layout = LAYOUT_BUILD_ID}, "a.exe", "0DDC1E9A6c000", {NULL}},
    {{.layout = LAYOUT_BREAKPAD}, "a.so", "buildid-" BUILD, {NULL}},
    {{.layout = LAYOUT_FLAT}, "a.so", "buildid-" BUILD, {NULL}},
};

/* the same for executables */
static const struct walk_case executable_cases[] = {
    {{.layout = LAYOUT_DEBUGINFOD},
     "_",
     "buildid-" BUILD,
     {"buildid/" BUILD "/executable"}},
    {{.layout = LAYOUT_SSQP, .forms = {FORM_PLAIN}, .nforms = 1},
     "LibFoo.so",
     "buildid-" BUILD,
     {"libfoo.so/elf-buildid-" BUILD "/libfoo.so"}},
    {{.layout = LAYOUT_SSQP},
     "_",
     "buildid-" BUILD,
     {NULL}}, /* nobody knows its name */
    {{.layout = LAYOUT_SYMSTORE, .forms = {FORM_PLAIN}, .nforms = 1},
     "LibFoo.so",
     "buildid-" BUILD,
     {"LibFoo.so/elf-buildid-" BUILD "/LibFoo.so",
      "libfoo.so/elf-buildid-" BUILD "/libfoo.so", "index2.txt"}},
    {{.layout = LAYOUT_UNIFIED},
     "_",
     "buildid-" BUILD,
     {"93/ac61ec5a8eb1396f9fbd350e3169a558528a40/executable"}},
    {{.layout = LAYOUT_BUILD_ID},
     "_",
     "buildid-" BUILD,
     {"93/ac61ec5a8eb1396f9fbd350e3169a558528a40"}},
};

/* the same for files of which only the path is known */
static const struct walk_case file_cases[] = {
    {{.name = "a", .layout = LAYOUT_SYMSTORE}, "sha1-%2ffoo.cs", "hash-" BUILD,
     {"foo.cs/sha1-" BUILD "/foo.cs", "foo.cs/sha1-" BUILD "/file.ptr",
      "index2.txt"}},
    {{.name = "a", .layout = LAYOUT_TWO_TIER, .forms = {FORM_PLAIN},
      .nforms = 1},
     "r2rmap-v1-%2fa.r2rmap", "hash-67e9247c814e392ba027dbde6748fcbf",
     {"a/a.r2rmap/r2rmap-v1-67e9247c814e392ba027dbde6748fcbf/a.r2rmap"}},
    {{.name = "a", .layout = LAYOUT_SSQP, .forms = {FORM_PLAIN}, .nforms = 1},
     "r2rmap-v1-%2fa.r2rmap", "hash-67e9247c814e392ba027dbde6748fcbf",
     {"a.r2rmap/r2rmap-v1-67e9247c814e392ba027dbde6748fcbf/a.r2rmap"}},
    /* of no usual path, and layouts that have no such paths */
    {{.name = "a", .layout = LAYOUT_SSQP}, "r2rmap-v1-%2fa.map",
     "hash-67e9247c814e392ba027dbde6748fcbf", {NULL}},
    {{.name = "a", .layout = LAYOUT_SSQP}, "md5-%2fa.cs",
     "hash-67e9247c814e392ba027dbde6748fcbf", {NULL}},
    {{.layout = LAYOUT_FLAT}, "sha1-%2ffoo.cs", "hash-" BUILD, {NULL}},
};

static void key_of(symcache_key_t *key, const char *name, const char *id)
{
    assert_int_equal(symcache_name_parse(name, strlen(name), key),
                     SYMCACHE_OK);
    assert_int_equal(symcache_id_parse(id, strlen(id), key), SYMCACHE_OK);
}

static void check_places(const struct walk_case *c, size_t n,
                         symcache_kind_e kind)
{
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;
    size_t i;

    for (; n > 0; n--, c++) {
        struct layout_memory memory = {0};

        key_of(&key, c->name, c->id);
        key.kind = (uint8_t)kind;
        layout_begin(&walk, &c->source, &key, c->name, &memory);
        for (i = 0; c->paths[i] != NULL; i++) {
            assert_true(layout_next(&walk, &place));
            assert_string_equal(place.path, c->paths[i]);
            if (place.form == FORM_INDEX) {
                layout_index(&walk, false);
            }
        }
        assert_false(layout_next(&walk, &place));
    }
}

static void test_places_of_a_miss(void **state)
{
    (void)state;
    check_places(walk_cases, sizeof(walk_cases) / sizeof(walk_cases[0]),
                 SYMCACHE_KIND_SYMCACHE);
    check_places(executable_cases,
                 sizeof(executable_cases) / sizeof(executable_cases[0]),
                 SYMCACHE_KIND_EXECUTABLE);
    check_places(file_cases, sizeof(file_cases) / sizeof(file_cases[0]),
                 SYMCACHE_KIND_FILE);
}

static bool has_place(const struct source_config *source,
                      const symcache_key_t *key, const char *name,
                      const char *path)
{
    const struct layout_memory memory = {0};
    struct layout_place place;
    struct layout_walk walk;

    layout_begin(&walk, source, key, name, &memory);
    while (layout_next(&walk, &place)) {
        if (strcmp(place.path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* A miss under any spelling is remembered as one of the name in lower case. */
static void test_any_name_asks_for_lower_case(void **state)
{
    static const enum source_layout layouts[] = {
        LAYOUT_SYMSTORE, LAYOUT_TWO_TIER, LAYOUT_SSQP,
        LAYOUT_UNIFIED,  LAYOUT_FLAT,     LAYOUT_BREAKPAD};
    static const char *const ids[] = {CRASH,
                                      "3249D99D0C4049318610F4E4FB0B6936A",
                                      "3249D99D0C4049318610F4E4FB0B6936"
                                      "FFFFFFFF"};
    const struct layout_memory memory = {0};
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;
    size_t i, j;

    (void)state;
    for (i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct source_config source = {.layout = layouts[i]};

        for (j = 0; j < sizeof(ids) / sizeof(ids[0]); j++) {
            key_of(&key, "crash.pdb", ids[j]);
            layout_begin(&walk, &source, &key, "crash.pdb", &memory);
            while (layout_next(&walk, &place)) {
                assert_true(has_place(&source, &key, "Crash.Pdb", place.path));
            }
        }
    }
}

/* what the source says about index2.txt */
enum index_answer { PRESENT, ABSENT, UNSURE };

/* Walks to a path, which is a hit, or to the end.  Returns the questions. */
static unsigned ask(struct layout_memory *memory, const char *name,
                    const char *hit, enum index_answer index, char *trace)
{
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;
    unsigned n = 0;

    key_of(&key, name, CRASH);
    layout_begin(&walk, &symstore, &key, name, memory);
    while (layout_next(&walk, &place)) {
        n++;
        if (trace != NULL) {
            memcpy(trace, place.path, strlen(place.path) + 1);
        }
        if (place.form == FORM_INDEX && index != UNSURE) {
            layout_index(&walk, index == PRESENT);
        } else if (hit != NULL && strcmp(place.path, hit) == 0) {
            layout_hit(&walk, memory);
            return n;
        }
    }
    return n;
}

/* six places in each number of tiers: three forms, two spellings */
struct tier_case {
    bool two_tier; /* the last hit was there */
    enum index_answer index;
    unsigned one, two; /* places asked with so many tiers */
    bool two_first;
};

/* An absence is both numbers of tiers, or one and a plain answer to that. */
static const struct tier_case tier_cases[] = {
    {false, ABSENT, 6, 0, false}, {false, PRESENT, 6, 6, false},
    {false, UNSURE, 6, 6, false}, {true, PRESENT, 0, 6, true},
    {true, ABSENT, 6, 6, true},   {true, UNSURE, 6, 6, true},
};

static void test_tiers_of_a_miss(void **state)
{
    const struct tier_case *c = tier_cases;
    size_t n = sizeof(tier_cases) / sizeof(tier_cases[0]);
    unsigned asked, one, two, index, seen_two_first;
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;

    (void)state;
    key_of(&key, "crash.pdb", CRASH);
    for (; n > 0; n--, c++) {
        const struct layout_memory memory = {.two_tier = c->two_tier,
                                             .had_any = true};

        asked = one = two = index = seen_two_first = 0;
        layout_begin(&walk, &symstore, &key, "crash.pdb", &memory);
        while (layout_next(&walk, &place)) {
            if (place.form == FORM_INDEX) {
                index++;
                if (c->index != UNSURE) {
                    layout_index(&walk, c->index == PRESENT);
                }
                continue;
            }
            if (strncmp(place.path, "cr/", 3) == 0) {
                seen_two_first |= asked == 0;
                two++;
            } else {
                one++;
            }
            asked++;
        }
        assert_int_equal(one, c->one);
        assert_int_equal(two, c->two);
        assert_int_equal(seen_two_first, c->two_first);
        assert_int_equal(index, 1);
        assert_false(layout_next(&walk, &place));
    }
}

static void test_index2_is_asked_for_on_demand(void **state)
{
    static const struct layout_memory memory;
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;
    unsigned n;

    (void)state;
    key_of(&key, "crash.pdb", CRASH);
    layout_begin(&walk, &unified, &key, "crash.pdb", &memory);
    layout_want_index(&walk);
    for (n = 0; layout_next(&walk, &place); n++) {
        assert_int_equal(place.form, n == 0 ? FORM_PLAIN : FORM_INDEX);
        if (place.form == FORM_INDEX) {
            assert_string_equal(place.path, "index2.txt");
            layout_index(&walk, true);
        }
    }
    assert_int_equal(n, 2);

    /* where it is asked for anyway, once */
    layout_begin(&walk, &symstore, &key, "crash.pdb", &memory);
    layout_want_index(&walk);
    for (n = 0; layout_next(&walk, &place); n++) {
        if (place.form == FORM_INDEX) {
            layout_index(&walk, false);
        }
    }
    assert_int_equal(n, 7);
}

static void test_two_tiers_are_found_and_lost_again(void **state)
{
    struct layout_memory memory = {0};
    const char *deep = "cr/crash.pdb/" CRASH "/crash.pdb";
    const char *plain = "crash.pdb/" CRASH "/crash.pdb";

    (void)state;
    assert_int_equal(ask(&memory, "crash.pdb", deep, PRESENT, NULL), 8);
    assert_int_equal(ask(&memory, "crash.pdb", deep, PRESENT, NULL), 1);
    assert_int_equal(ask(&memory, "crash.pdb", NULL, PRESENT, NULL), 7);
    /* converted back */
    assert_int_equal(ask(&memory, "crash.pdb", plain, ABSENT, NULL), 8);
    assert_int_equal(ask(&memory, "crash.pdb", plain, ABSENT, NULL), 1);
}

/* Whatever one walk heard, the next one finds what is there. */
static void test_no_answer_hides_a_file(void **state)
{
    static const char *const hits[] = {
        "crash.pdb/" CRASH "/crash.pdb",
        "crash.pdb/" CRASH_LOWER "/file.ptr",
        "cr/crash.pdb/" CRASH "/crash.pd_",
        "cr/crash.pdb/" CRASH_LOWER "/crash.pdb",
    };
    enum index_answer lie, answer;
    char trace[LAYOUT_PATH_MAX + 1];
    size_t before, i;

    (void)state;
    for (before = 0; before < 4; before++) {
        for (i = 0; i < 4; i++) {
            for (lie = PRESENT; lie <= UNSURE; lie++) {
                struct layout_memory memory = {0};

                /* the truth, or no plain answer; the second tier needs it */
                answer = i < 2 ? ABSENT : PRESENT;
                ask(&memory, "crash.pdb", hits[before],
                    before < 2 ? ABSENT : PRESENT, NULL);
                ask(&memory, "never.pdb", NULL, lie, NULL);
                ask(&memory, "crash.pdb", hits[i], answer, trace);
                assert_string_equal(trace, hits[i]);
                ask(&memory, "crash.pdb", hits[i], UNSURE, trace);
                assert_string_equal(trace, hits[i]);
            }
        }
    }
}

static void test_a_miss_changes_no_memory(void **state)
{
    struct layout_memory memory = {0}, before;
    enum index_answer index;

    (void)state;
    ask(&memory, "crash.pdb", "cr/crash.pdb/" CRASH_LOWER "/file.ptr", PRESENT,
        NULL);
    before = memory;
    for (index = PRESENT; index <= UNSURE; index++) {
        ask(&memory, "never.pdb", NULL, index, NULL);
        assert_memory_equal(&memory, &before, sizeof(memory));
    }
}

static void test_a_hit_costs_nothing_more(void **state)
{
    struct layout_memory memory = {0};

    (void)state;
    assert_int_equal(ask(&memory, "crash.pdb", "crash.pdb/" CRASH "/crash.pdb",
                         ABSENT, NULL),
                     1);
}

static void test_what_worked_last_comes_first(void **state)
{
    struct layout_memory memory = {0};
    char trace[LAYOUT_PATH_MAX + 1] = "";

    (void)state;
    ask(&memory, "crash.pdb", "crash.pdb/" CRASH_LOWER "/file.ptr", ABSENT,
        NULL);
    assert_int_equal(ask(&memory, "b.pdb", "b.pdb/" CRASH_LOWER "/file.ptr",
                         ABSENT, trace),
                     1);
    assert_string_equal(trace, "b.pdb/" CRASH_LOWER "/file.ptr");
}

/* Hits and misses before it change what a miss asks first, and nothing else.
 */
static void test_a_miss_asks_for_everything_always(void **state)
{
    struct layout_memory memory = {0};
    unsigned i;

    (void)state;
    for (i = 0; i < 100; i++) {
        assert_int_equal(ask(&memory, "never.pdb", NULL, ABSENT, NULL), 7);
    }
    for (i = 0; i < 100; i++) {
        ask(&memory, "crash.pdb", "crash.pdb/" CRASH "/crash.pdb", ABSENT,
            NULL);
        assert_int_equal(ask(&memory, "never.pdb", NULL, ABSENT, NULL), 7);
        assert_int_equal(ask(&memory, "Never.pdb", NULL, ABSENT, NULL), 10);
    }
    /* the first thing ever in that form and spelling */
    assert_int_equal(ask(&memory, "late.pdb",
                         "late.pdb/" CRASH_LOWER "/file.ptr", ABSENT, NULL),
                     6);
}

static void add_all(struct layout_walk *walk,
                    char places[][LAYOUT_PATH_MAX + 1], size_t *n)
{
    struct layout_place place;

    while (layout_next(walk, &place)) {
        if (place.form == FORM_INDEX) {
            layout_index(walk, false);
        }
        assert_true(*n < 64);
        memcpy(places[(*n)++], place.path, sizeof(place.path));
    }
}

/* Of each set of spellings: what it leaves out, and nothing else, is given by
 * the others of it, and it tells whether that is anything. */
static void test_two_walks_give_all_places_once(void **state)
{
    static char places[64][LAYOUT_PATH_MAX + 1];
    const struct layout_memory memory = {0};
    const struct walk_case *c = walk_cases;
    size_t cases = sizeof(walk_cases) / sizeof(walk_cases[0]);
    size_t i, k, n, first, found;
    struct layout_walk walk;
    symcache_key_t key;
    unsigned set;
    bool left_out;

    (void)state;
    for (; cases > 0; cases--, c++) {
        for (set = 1; set < 2 * LAYOUT_SET_TWO_TIER; set++) {
            n = 0;
            key_of(&key, c->name, c->id);
            layout_begin(&walk, &c->source, &key, c->name, &memory);
            left_out = layout_limit(&walk, set);
            add_all(&walk, places, &n);
            first = n;
            layout_begin(&walk, &c->source, &key, c->name, &memory);
            assert_false(layout_limit(&walk, set | LAYOUT_SET_OTHERS));
            add_all(&walk, places, &n);
            assert_int_equal(left_out, n > first);

            for (i = 0; i < n; i++) {
                for (k = 0; k < i; k++) {
                    assert_string_not_equal(places[i], places[k]);
                }
            }
            for (i = 0; c->paths[i] != NULL; i++) {
                for (k = 0, found = 0; k < n; k++) {
                    found += strcmp(places[k], c->paths[i]) == 0;
                }
                assert_int_equal(found, 1);
            }
            if (c->source.layout != LAYOUT_SYMSTORE) {
                assert_int_equal(n, i);
            }
        }
    }
}

static void test_what_has_worked_is_a_set(void **state)
{
    struct layout_memory memory = {0};
    char trace[LAYOUT_PATH_MAX + 1];
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;

    (void)state;
    assert_int_equal(layout_answered(&memory), 0);
    ask(&memory, "crash.pdb", "crash.pdb/" CRASH_LOWER "/file.ptr", ABSENT,
        trace);
    ask(&memory, "Crash.pdb", "Crash.pdb/" CRASH "/Crash.pdb", ABSENT, trace);

    /* the last one, the other one, and nothing else */
    key_of(&key, "Late.pdb", CRASH);
    layout_begin(&walk, &symstore, &key, "Late.pdb", &memory);
    assert_true(layout_limit(&walk, layout_answered(&memory)));
    assert_true(layout_next(&walk, &place));
    assert_string_equal(place.path, "Late.pdb/" CRASH "/Late.pdb");
    assert_true(layout_next(&walk, &place) && layout_next(&walk, &place));
    assert_true(layout_next(&walk, &place));
    assert_string_equal(place.path, "late.pdb/" CRASH_LOWER "/late.pdb");
    assert_true(layout_next(&walk, &place) && layout_next(&walk, &place));
    assert_false(layout_next(&walk, &place));
}

static void test_places_without_regard_to_case(void **state)
{
    static const char *const expected[] = {
        "Crash.pdb/" CRASH "/Crash.pdb",    "Crash.pdb/" CRASH "/Crash.pd_",
        "Crash.pdb/" CRASH "/file.ptr",     "index2.txt",
        "Cr/Crash.pdb/" CRASH "/Crash.pdb", "Cr/Crash.pdb/" CRASH "/Crash.pd_",
        "Cr/Crash.pdb/" CRASH "/file.ptr",
    };
    struct layout_place places[LAYOUT_PLACES];
    symcache_key_t key;
    size_t i, index;

    (void)state;
    key_of(&key, "Crash.pdb", CRASH);
    assert_int_equal(
        layout_places(places, &symstore, &key, "Crash.pdb", &index), 7);
    assert_int_equal(index, 3);
    for (i = 0; i < 7; i++) {
        assert_string_equal(places[i].path, expected[i]);
    }

    assert_int_equal(
        layout_places(places, &two_tier, &key, "Crash.pdb", &index), 3);
    assert_int_equal(index, 0);
    assert_string_equal(places[0].path, expected[4]);

    assert_int_equal(
        layout_places(places, &unified, &key, "Crash.pdb", &index), 1);
    assert_string_equal(places[0].path,
                        "32/49d99d0c4049318610f4e4fb0b69361/debuginfo");
}

static void test_forms_of_places(void **state)
{
    (void)state;
    assert_int_equal(layout_form("http://h/a.pdb/K/a.pdb"), FORM_PLAIN);
    assert_int_equal(layout_form("/s/a.pdb/K/a.pd_"), FORM_PACKED);
    assert_int_equal(layout_form("/s/a.pdb/K/FILE.PTR"), FORM_POINTER);
    assert_int_equal(layout_form("http://h/index2.txt"), FORM_INDEX);
    assert_int_equal(layout_form("32/49d9/debuginfo"), FORM_PLAIN);
    assert_int_equal(layout_form("a.so/K/a.so.sym"), FORM_PLAIN);
    assert_int_equal(layout_form("a.so/K/a.so.sym.gz"), FORM_PACKED);
    assert_int_equal(layout_form(""), FORM_PLAIN);
}

static void test_longest_path_fits(void **state)
{
    char name[SYMCACHE_NAME_MAX + 1], id[SYMCACHE_ID_TEXT_MAX + 1];
    struct layout_memory memory = {0};
    struct layout_place place;
    struct layout_walk walk;
    symcache_key_t key;

    (void)state;
    memset(name, 'n', SYMCACHE_NAME_MAX);
    memcpy(name, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 8);
    name[SYMCACHE_NAME_MAX] = '\0';
    key_of(&key, name, "3249D99D0C4049318610F4E4FB0B6936FFFFFFFF");
    layout_begin(&walk, &two_tier, &key, name, &memory);
    assert_true(layout_next(&walk, &place));
    assert_int_equal(strlen(place.path), 8 + 1 + 255 + 1 + 40 + 1 + 255);

    snprintf(id, sizeof(id), "buildid-%0128d", 1);
    key_of(&key, name, id);
    key.kind = SYMCACHE_KIND_EXECUTABLE;
    layout_begin(&walk, &two_tier, &key, name, &memory);
    assert_true(layout_next(&walk, &place));
    assert_int_equal(strlen(place.path), 8 + 1 + 255 + 1 + 140 + 1 + 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_a_miss),
        cmocka_unit_test(test_any_name_asks_for_lower_case),
        cmocka_unit_test(test_tiers_of_a_miss),
        cmocka_unit_test(test_index2_is_asked_for_on_demand),
        cmocka_unit_test(test_two_tiers_are_found_and_lost_again),
        cmocka_unit_test(test_no_answer_hides_a_file),
        cmocka_unit_test(test_a_miss_changes_no_memory),
        cmocka_unit_test(test_a_hit_costs_nothing_more),
        cmocka_unit_test(test_what_worked_last_comes_first),
        cmocka_unit_test(test_a_miss_asks_for_everything_always),
        cmocka_unit_test(test_two_walks_give_all_places_once),
        cmocka_unit_test(test_what_has_worked_is_a_set),
        cmocka_unit_test(test_places_without_regard_to_case),
        cmocka_unit_test(test_forms_of_places),
        cmocka_unit_test(test_longest_path_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
