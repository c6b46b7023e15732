/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/symbol_path: what real clients of symbol servers were seen to ask
 * (TraceEvent, ClrMD, dotnet-symbol, gdb, delve, valgrind, elfutils, LLVM), and
 * the forms of symstore.exe, SSQP and Breakpad.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "proto/path.h"
#include "proto/symbol_path.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define GUID "3249D99D0C4049318610F4E4FB0B6936"
#define LOWER "3249d99d0c4049318610f4e4fb0b6936"
#define TEN "aBcDeFgHiJ"
#define LONG TEN TEN TEN TEN TEN
#define BUILD "93ac61ec5a8eb1396f9fbd350e3169a558528a40"
#define UUID "93ac61ec5a8eb1396f9fbd350e3169a5"

struct row {
    const char *path;
    symcache_symbol_e form;
    const char *key;  /* as symcache_key_print() has it */
    const char *file; /* among the downloads */
};

static void check(const struct row *rows, size_t n)
{
    char key[SYMCACHE_KEY_TEXT_MAX + 1], file[SYMCACHE_PATH_MAX + 1];
    symcache_request_t req;
    size_t i;

    for (i = 0; i < n; i++) {
        print_message("# %s\n", rows[i].path);
        memset(&req, 0, sizeof(req));
        assert_int_equal(
            symcache_symbol_parse(rows[i].path, strlen(rows[i].path), &req),
            rows[i].form);
        symcache_key_print(key, &req.key);
        assert_string_equal(key, rows[i].key);
        assert_int_equal(symcache_path_original(file, &req.key),
                         strlen(rows[i].file));
        assert_string_equal(file, rows[i].file);
        assert_int_equal(req.version.major, 1);
    }
}

/* The last letter is replaced, or ".gz" follows. */
static void packed(void **state)
{
    static const struct row rows[] = {
        {"Crash.pdb/" GUID "1/CRASH.PD_", SYMCACHE_SYMBOL_STORE,
         "cabinet:crash.pdb/" GUID "1",
         "crash.pdb/" GUID "1/crash.pdb.cabinet"},
        {"cr/crash.pdb/" GUID "1/crash.pd_", SYMCACHE_SYMBOL_TWO_TIER,
         "cabinet:crash.pdb/" GUID "1",
         "crash.pdb/" GUID "1/crash.pdb.cabinet"},
        {"foo\xc3\xa9/" GUID "1/foo_", SYMCACHE_SYMBOL_STORE,
         "cabinet:foo\xc3\xa9/" GUID "1",
         "foo\xc3\xa9/" GUID "1/foo\xc3\xa9.cabinet"},
        {"a.exe/00d9f64e6c000/a.ex_", SYMCACHE_SYMBOL_STORE,
         "cabinet:a.exe/00D9F64E6c000", "a.exe/00D9F64E6c000/a.exe.cabinet"},
        {"a.exe/00d9f64e6c000/a.exe.GZ", SYMCACHE_SYMBOL_STORE,
         "gzip:a.exe/00D9F64E6c000", "a.exe/00D9F64E6c000/a.exe.gzip"},
        {"crash.pdb/" GUID "1/crash.pdb.gz", SYMCACHE_SYMBOL_STORE,
         "gzip:crash.pdb/" GUID "1", "crash.pdb/" GUID "1/crash.pdb.gzip"},
        {"crash.pdb/" GUID "1/crash.sym.gz", SYMCACHE_SYMBOL_STORE,
         "symgzip:crash.pdb/" GUID "1",
         "crash.pdb/" GUID "1/crash.pdb.symgzip"},
        {"libc.so.6/" GUID "0/libc.so.6.sym.gz", SYMCACHE_SYMBOL_STORE,
         "symgzip:libc.so.6/" GUID "0",
         "libc.so.6/" GUID "0/libc.so.6.symgzip"},
    };

    check(rows, N(rows));
}

static void asked(void **state)
{
    static const struct row rows[] = {
        /* PDBs, as TraceEvent, dotnet-symbol and symsrv spell them */
        {"/crash.pdb/" GUID "1a/crash.pdb", SYMCACHE_SYMBOL_STORE,
         "debuginfo:crash.pdb/" GUID "1A", "crash.pdb/" GUID "1A/crash.pdb"},
        {"//Crash.PDB/" LOWER "1/crash.pdb", SYMCACHE_SYMBOL_STORE,
         "debuginfo:crash.pdb/" GUID "1", "crash.pdb/" GUID "1/crash.pdb"},
        {"app.pdb/" LOWER "FFFFFFFF/app.pdb", SYMCACHE_SYMBOL_STORE,
         "debuginfo:app.pdb/" GUID "FFFFFFFF",
         "app.pdb/" GUID "FFFFFFFF/app.pdb"},
        {"a b+c#d%.pdb/" GUID "1/a b+c#d%.pdb", SYMCACHE_SYMBOL_STORE,
         "debuginfo:a b+c#d%.pdb/" GUID "1",
         "a b+c#d%.pdb/" GUID "1/a b+c#d%.pdb"},
        {"foo_/" GUID "1/foo_", SYMCACHE_SYMBOL_STORE,
         "debuginfo:foo_/" GUID "1", "foo_/" GUID "1/foo_"},
        /* images, with a time stamp that begins with zeros */
        {"a.exe/00d9f64e6c000/a.exe", SYMCACHE_SYMBOL_STORE,
         "executable:a.exe/00D9F64E6c000",
         "a.exe/00D9F64E6c000/a.exe.executable"},
        {"A.EXE/ffffffff1000/a.exe", SYMCACHE_SYMBOL_STORE,
         "executable:a.exe/FFFFFFFF1000",
         "a.exe/FFFFFFFF1000/a.exe.executable"},
        {"ntdll.dll/5DDC1E9A6C000/ntdll.dll", SYMCACHE_SYMBOL_STORE,
         "executable:ntdll.dll/5DDC1E9A6c000",
         "ntdll.dll/5DDC1E9A6c000/ntdll.dll.executable"},
        /* SSQP */
        {"libcoreclr.so/elf-buildid-" BUILD "/libcoreclr.so",
         SYMCACHE_SYMBOL_STORE, "executable:libcoreclr.so/buildid-" BUILD,
         "libcoreclr.so/buildid-" BUILD "/libcoreclr.so.executable"},
        {"_.debug/elf-buildid-sym-" BUILD "/_.debug", SYMCACHE_SYMBOL_STORE,
         "debuginfo:_/buildid-" BUILD, "_/buildid-" BUILD "/_"},
        {"_.debug/ELF-BuildID-sym-" UUID "00000000/_.debug",
         SYMCACHE_SYMBOL_STORE, "debuginfo:_/buildid-" UUID,
         "_/buildid-" UUID "/_"},
        {"_.debug/elf-buildid-sym-0123456789abcdef000000000000000000000000/"
         "_.debug",
         SYMCACHE_SYMBOL_STORE, "debuginfo:_/buildid-0123456789abcdef",
         "_/buildid-0123456789abcdef/_"},
        {"a.dylib/mach-uuid-" UUID "/a.dylib", SYMCACHE_SYMBOL_STORE,
         "executable:a.dylib/buildid-" UUID,
         "a.dylib/buildid-" UUID "/a.dylib.executable"},
        {"_.dwarf/mach-uuid-sym-" UUID "/_.dwarf", SYMCACHE_SYMBOL_STORE,
         "debuginfo:_/buildid-" UUID, "_/buildid-" UUID "/_"},
        /* a PDB that is compressed, in a folder of its own */
        {"crash.pdb/" GUID "1/msfz0/crash.pdb", SYMCACHE_SYMBOL_MSFZ,
         "debuginfo:crash.pdb/" GUID "1", "crash.pdb/" GUID "1/crash.pdb"},
        /* Breakpad */
        {"crash.pdb/" GUID "1/crash.sym", SYMCACHE_SYMBOL_STORE,
         "sym:crash.pdb/" GUID "1", "crash.pdb/" GUID "1/crash.pdb.sym"},
        {"libc.so.6/" GUID "0/libc.so.6.sym", SYMCACHE_SYMBOL_STORE,
         "sym:libc.so.6/" GUID "0", "libc.so.6/" GUID "0/libc.so.6.sym"},
        /* files of which only the path is known: PerfView's maps of ReadyToRun
         * images, SSQP's source files */
        {"a.r2rmap/r2rmap-v1-" LOWER "/a.r2rmap", SYMCACHE_SYMBOL_STORE,
         "file:r2rmap-v1-%2fa.r2rmap/hash-" LOWER,
         "r2rmap-v1-%2fa.r2rmap/hash-" LOWER "/r2rmap-v1-%2fa.r2rmap.file"},
        {"Foo.cs/SHA1-" BUILD "/foo.cs", SYMCACHE_SYMBOL_STORE,
         "file:sha1-%2ffoo.cs/hash-" BUILD,
         "sha1-%2ffoo.cs/hash-" BUILD "/sha1-%2ffoo.cs.file"},
        {"fo/foo.cs/sha1-" BUILD "/foo.cs", SYMCACHE_SYMBOL_TWO_TIER,
         "file:sha1-%2ffoo.cs/hash-" BUILD,
         "sha1-%2ffoo.cs/hash-" BUILD "/sha1-%2ffoo.cs.file"},
        /* two tiers */
        {"cr/crash.pdb/" GUID "1/crash.pdb", SYMCACHE_SYMBOL_TWO_TIER,
         "debuginfo:crash.pdb/" GUID "1", "crash.pdb/" GUID "1/crash.pdb"},
        {"/Cr//crash.pdb/" GUID "1/crash.pdb", SYMCACHE_SYMBOL_TWO_TIER,
         "debuginfo:crash.pdb/" GUID "1", "crash.pdb/" GUID "1/crash.pdb"},
        {"\xc3\x84q/\xc3\x84q.pdb/" GUID "1/\xc3\x84q.pdb",
         SYMCACHE_SYMBOL_TWO_TIER, "debuginfo:\xc3\x84q.pdb/" GUID "1",
         "\xc3\x84q.pdb/" GUID "1/\xc3\x84q.pdb"},
        /* debuginfod */
        {"/buildid/" BUILD "/debuginfo", SYMCACHE_SYMBOL_BUILD_ID,
         "debuginfo:_/buildid-" BUILD, "_/buildid-" BUILD "/_"},
        {"buildid/93AC61EC/executable", SYMCACHE_SYMBOL_BUILD_ID,
         "executable:_/buildid-93ac61ec", "_/buildid-93ac61ec/_.executable"},
        {"//buildid/93AC61EC//Source//usr/src/A%_.c/",
         SYMCACHE_SYMBOL_BUILD_ID,
         "source:%2fusr%2fsrc%2f%41%25_.c/buildid-93ac61ec",
         "%2fusr%2fsrc%2f%41%25_.c/buildid-93ac61ec/"
         "%2fusr%2fsrc%2f%41%25_.c.source"},
        {"buildid/93AC61EC/source/...", SYMCACHE_SYMBOL_BUILD_ID,
         "source:%2f.../buildid-93ac61ec",
         "%2f.../buildid-93ac61ec/%2f....source"},
        {"buildid/93AC61EC/section/.text.a*\xff", SYMCACHE_SYMBOL_BUILD_ID,
         "section:%2etext.a%2a%ff/buildid-93ac61ec",
         "%2etext.a%2a%ff/buildid-93ac61ec/%2etext.a%2a%ff.section"},
        {"buildid/93AC61EC/section/_", SYMCACHE_SYMBOL_BUILD_ID,
         "section:%5f/buildid-93ac61ec", "%5f/buildid-93ac61ec/%5f.section"},
    };

    check(rows, N(rows));
}

static symcache_kind_e unescaped(char *buf, const char *name)
{
    symcache_key_t key;

    assert_int_equal(symcache_name_parse(name, strlen(name), &key),
                     SYMCACHE_OK);
    key.kind = SYMCACHE_KIND_SOURCE;
    if (symcache_symbol_unescape(buf, &key)) {
        return SYMCACHE_KIND_SOURCE;
    }
    key.kind = SYMCACHE_KIND_SECTION;
    return symcache_symbol_unescape(buf, &key) ? SYMCACHE_KIND_SECTION
                                               : SYMCACHE_KINDS;
}

/* What a key stands for is asked of servers: it has no second form. */
static void names_of_paths(void **state)
{
    static const char *const wrong[] = {
        "_", "%2", "%", "%zz", "%00", "a%0a", "%61",
        "%2e", "%2e%2e", "a%2fb", "usr%2fa.c", "%2f", "%2f%2fa", "%2f..%2fa",
        "%2fa%2f", "%2fa%2f.%2fb", "%2f%2e%2e", "%2fa%",
    };
    char buf[SYMCACHE_NAME_MAX + 1];
    size_t i;

    assert_int_equal(unescaped(buf, "%2fusr%2f%41.c"), SYMCACHE_KIND_SOURCE);
    assert_string_equal(buf, "/usr/A.c");
    assert_int_equal(unescaped(buf, "%2etext"), SYMCACHE_KIND_SECTION);
    assert_string_equal(buf, ".text");
    for (i = 0; i < N(wrong); i++) {
        print_message("# %s\n", wrong[i]);
        assert_int_equal(unescaped(buf, wrong[i]), SYMCACHE_KINDS);
    }
}

static void refused(void **state)
{
    static const char *const rows[] = {
        /* the other forms, and those of files that are not packed */
        "crash.pdb/" GUID "1/file.ptr",
        "cr/crash.pdb/" GUID "1/file.ptr",
        "crash.pdb/" GUID "1/crash.p__", "crash.pdb/" GUID "1/other.pd_",
        "crash.pdb/" GUID "1/_", "crash.pdb/" GUID "1/crash.pd__",
        "crash.pdb/" GUID "1/crash.gz", "crash.pdb/" GUID "1/.gz",
        "crash.pdb/" GUID "1/msfz0/crash.pd_",
        "crash.pdb/3B7D8475121000/crash.pd_", "a.exe/00d9f64e6c000/a.sym.gz",
        "foo\xc3\xa9/" GUID "1/foo\xc3_", "foo\xa9\xa9/" GUID "1/foo_",
        "buildid/" BUILD "/debuginf_", "buildid/" BUILD "/executable.gz",
        "libcoreclr.so/elf-buildid-" BUILD "/libcoreclr.so.gz",
        "_.debug/elf-buildid-sym-" BUILD "/_.debu_",
        "index2.txt", "pingme.txt", "000Admin/lastid.txt", "file.ptr",
        "cr/file.ptr", "crash.pdb/" GUID "1/refs.ptr",
        "buildid/" BUILD "/section", "buildid/" BUILD "/section/",
        "buildid/" BUILD "/section/a/b", "buildid/" BUILD "/section/..",
        "buildid/" BUILD "/source", "buildid/" BUILD "/source//",
        "buildid/" BUILD "/source/usr/../a.c",
        "buildid/" BUILD "/source/usr/./a.c", "buildid/" BUILD "/source/a\nb",
        "buildid/" BUILD "/sources/usr/a.c", "buildid/x/source/usr/a.c",
        "ab/buildid/" BUILD "/source/usr/a.c",
        /* too long for a file's name */
        "buildid/" BUILD "/source/" LONG "/" LONG "/" LONG "/a.c",
        /* cut at "#"; SRV*cache*URL1*URL2 of TraceEvent */
        "a b+c", "*http:/other/crash.pdb/" GUID "1/crash.pdb",
        "crash.pdb/" GUID "1/other.pdb",
        "crash.pdb/" GUID "1/crash.pdb/x",
        "crash.pdb/" GUID "1/msfz0/crash.sym",
        "a.exe/00d9f64e6c000/msfz0/a.exe",
        "xx/crash.pdb/" GUID "1/crash.pdb",
        "crash.pdb//crash.pdb/" GUID "1/crash.pdb",
        "", "/", "///", "crash.pdb", "crash.pdb/" GUID "1",
        /* ids */
        "crash.pdb/" GUID "/crash.pdb",
        "crash.pdb/" GUID "01/crash.pdb",
        "crash.pdb/" GUID "123456789/crash.pdb",
        "crash.pdb/5DDC1E9A6C000/crash.pdb", /* PDB 2.0 */
        "a.exe/5DDC1E9A/a.exe", "a.exe/5DDC1E9A06c000/a.exe",
        "a.exe/5DDC1E9A6c000/a.sym",
        "a.exe/buildid-" BUILD "/a.exe",
        "a.so/elf-buildid-/a.so", "a.so/elf-buildid-abc/a.so",
        "a.so/elf-buildid-sym-" BUILD "/a.so",
        "a.so/sha1-" BUILD "/b.so", ".a/sha1-" BUILD "/.a",
        "a.so/sha1-" BUILD "0/a.so", "a.so/sha1-abcd/a.so",
        "a.so/sha1_" BUILD "/a.so", "a.so/-" BUILD "/a.so",
        "a.so/sha1-" BUILD BUILD "/a.so", "../sha1-" BUILD "/..",
        "a.so/a23456789-123456789-123456789-12345-" BUILD "/a.so",
        "b.so/elf-buildid-" BUILD "/a.so", "a\n/sha1-" BUILD "/a\n",
        "x.debug/elf-buildid-sym-" BUILD "/x.debug",
        "buildid//debuginfo", "buildid/abc/debuginfo",
        "buildid/xy/debuginfo", "buildid/../debuginfo",
        "buildid/" UUID UUID UUID UUID "00/debuginfo",
        /* names */
        "../" GUID "1/..", "./" GUID "1/.", ".tmp/" GUID "1/.tmp",
        ".x.pdb/" GUID "1/.x.pdb", ".x.exe/5DAA0E70A3000/.x.exe",
        "..\\a.pdb/" GUID "1/..\\a.pdb", "a:b/" GUID "1/a:b",
        "a\n/" GUID "1/a\n",
    };
    symcache_request_t req;
    size_t i;

    for (i = 0; i < N(rows); i++) {
        print_message("# %s\n", rows[i]);
        memset(&req, 0, sizeof(req));
        assert_int_equal(symcache_symbol_parse(rows[i], strlen(rows[i]), &req),
                         SYMCACHE_SYMBOL_NONE);
    }
}

/* What the key of a file stands for, and keys that are none. */
static void names_of_files(void **state)
{
    static const char *const good[][3] = {
        {"sha1-%2ffoo.cs", "foo.cs", "sha1-"},
        {"r2rmap-v1-%2fa%20b.r2rmap", "a b.r2rmap", "r2rmap-v1-"},
    };
    static const char *const bad[] = {
        "foo.cs",          "sha1-",           "sha1-%2f",  "%2ffoo.cs",
        "sha1%2ffoo.cs",   "sha1-%2fa%2fb",   "-%2fa",     "sha1-%2f%2e%2e",
        "sha1-%2f%46oo.cs", "sha1-foo.cs%2fa", "sha1-%2f%0a", "sha1-%2fa%"};
    char name[SYMCACHE_NAME_MAX + 1], wanted[128];
    char id[SYMCACHE_FILE_WORD_MAX + 2 * SYMCACHE_HASH_MAX + 1];
    symcache_key_t key;
    size_t i;

    for (i = 0; i < N(good); i++) {
        assert_int_equal(symcache_name_parse(good[i][0], strlen(good[i][0]),
                                             &key),
                         SYMCACHE_OK);
        assert_int_equal(symcache_id_parse("hash-" LOWER, 37, &key),
                         SYMCACHE_OK);
        key.kind = SYMCACHE_KIND_FILE;
        assert_true(symcache_symbol_file(name, id, &key));
        assert_string_equal(name, good[i][1]);
        snprintf(wanted, sizeof(wanted), "%s%s", good[i][2], LOWER);
        assert_string_equal(id, wanted);
    }
    for (i = 0; i < N(bad); i++) {
        assert_int_equal(symcache_name_parse(bad[i], strlen(bad[i]), &key),
                         SYMCACHE_OK);
        assert_int_equal(symcache_id_parse("hash-" LOWER, 37, &key),
                         SYMCACHE_OK);
        key.kind = SYMCACHE_KIND_FILE;
        assert_false(symcache_symbol_file(name, id, &key));
    }
}

/* The end of the path is that of the buffer, so that a tool sees each byte that
 * is read behind it. */
static void cut(void **state)
{
    static const char *const paths[] = {
        "cr/crash.pdb/" GUID "1/crash.sym",
        "a.cs/sha1-" BUILD "/a.cs",
        "_.debug/elf-buildid-sym-" BUILD "/_.debug",
        "buildid/" BUILD "/executable",
    };
    symcache_request_t req;
    size_t i, len;

    for (i = 0; i < N(paths); i++) {
        for (len = 0; len <= strlen(paths[i]); len++) {
            char *p = test_malloc(len + 1);

            memcpy(p, paths[i], len);
            assert_int_equal(symcache_symbol_parse(p, len, &req) !=
                                 SYMCACHE_SYMBOL_NONE,
                             len == strlen(paths[i]));
            test_free(p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked),          cmocka_unit_test(packed),
        cmocka_unit_test(names_of_paths), cmocka_unit_test(refused),
        cmocka_unit_test(names_of_files), cmocka_unit_test(cut),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
