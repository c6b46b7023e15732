/*
 * Copyright (C) the ngx_symcache authors
 *
 * fakegen: a stand-in for Microsoft's symcachegen.exe, which cannot be
 * redistributed.  It obeys the contract by which the published sample server
 * calls that program, and misbehaves on demand:
 *
 *   fakegen.exe -pdb <path>
 *   _NT_SYMBOL_PATH    must be set (never used: nothing is downloaded)
 *   _NT_SYMCACHE_PATH  must be set, an existing directory: the output root
 *   writes             <root>\<pdbName>\<GUID><age>\<pdbName>-v3.1.0.symcache
 *   exit code          0; 1 usage, 2 input or output, 3 not a PDB
 *
 * The mode is, in this order: the environment variable FAKEGEN; the first
 * word of the file fakegen.mode beside the program; what follows "fg-" in the
 * PDB's name ("fg-slow.pdb", "fg-exit-3.pdb"); or "ok".  N: a number.
 *
 *   ok          the file, deterministic bytes made of GUID and age
 *   slow-N      the same after N seconds (30)
 *   memory-N    the same after committing and touching N MiB (1024)
 *   reserve-N   the same after reserving N MiB of address space (16384)
 *   noise-N     the same after N MiB of lines to stdout and to stderr (8)
 *   version     v3.2.0 instead; two: both
 *   child       the file, and a child with our handles stays for 300 s;
 *               detached: without a console; console: with one of its own
 *   nothing     exit code 0 without a file; empty: with an empty file
 *   exit-N      a line on stderr, exit code N (3)
 *   crash       access violation before anything is written
 *   partial     access violation with half of the file under its final name
 *   hang        never ends; spin: and needs a processor
 *   env         its arguments and environment on stderr, exit code 4
 */
#include <windows.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ROOM 4096 /* characters of a path */
#define MAGIC "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0\0"
#define BODY 65536 /* bytes of the result behind its first line */

typedef struct {
    const wchar_t *path;
    const wchar_t *name; /* the part behind the last separator */
    uint8_t guid[16];
    uint32_t age; /* that of the DBI stream, as in the keys of symbol stores */
} pdb_t;

static char mode[64]; /* without its number */
static unsigned number;

/* Unless all is well, says so in UTF-8, whatever the code page, and ends. */
static void need(bool ok, unsigned code, const char *what, const wchar_t *name)
{
    static char text[3 * ROOM];
    DWORD error = GetLastError();

    if (!ok) {
        WideCharToMultiByte(CP_UTF8, 0, name != NULL ? name : L"-", -1, text,
                            sizeof(text), NULL, NULL);
        fprintf(stderr, "fakegen: %s: %s (error %lu)\n", what, text, error);
        fflush(stderr);
        ExitProcess(code);
    }
}

/* MSF -------------------------------------------------------------------- */

static uint32_t u32(const uint8_t *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static void read_at(FILE *f, const pdb_t *pdb, uint64_t at, void *to, size_t n)
{
    need(_fseeki64(f, (int64_t)at, SEEK_SET) == 0 && fread(to, 1, n, f) == n,
         3, "truncated", pdb->path);
}

/* GUID of stream 1 (PDB info) and age of stream 3 (DBI). */
static void pdb_identity(pdb_t *pdb)
{
    uint8_t head[56], start[28], *map, *dir;
    uint32_t size, bytes, blocks, streams, i, n;
    size_t at; /* of the block numbers of stream i in the directory */
    FILE *f = _wfopen(pdb->path, L"rb");

    need(f != NULL, 2, "cannot open", pdb->path);
    read_at(f, pdb, 0, head, sizeof(head));
    size = u32(head + 32);
    bytes = u32(head + 44);
    need(memcmp(head, MAGIC, 32) == 0 && size >= 512 && size <= 65536 &&
             bytes >= 20 && bytes <= 1u << 28, 3, "not a PDB", pdb->path);

    blocks = (bytes + size - 1) / size;
    map = malloc((size_t)blocks * 4);
    dir = malloc((size_t)blocks * size);
    need(map != NULL && dir != NULL, 2, "out of memory", NULL);
    read_at(f, pdb, (uint64_t)u32(head + 52) * size, map, (size_t)blocks * 4);
    for (i = 0; i < blocks; i++) {
        read_at(f, pdb, (uint64_t)u32(map + i * 4) * size,
                dir + (size_t)i * size, size);
    }

    streams = u32(dir);
    at = 4 + (size_t)streams * 4;
    need(streams >= 4 && at <= bytes, 3, "too few streams", pdb->path);
    for (i = 0; i <= 3; i++) {
        n = u32(dir + 4 + i * 4);
        n = n == 0xffffffff ? 0 : n;
        if (i == 1 || i == 3) {
            need(n >= 28 && at + 4 <= bytes, 3, "no identity", pdb->path);
            read_at(f, pdb, (uint64_t)u32(dir + at) * size, start, 28);
            memcpy(i == 1 ? (void *)pdb->guid : (void *)&pdb->age,
                   start + (i == 1 ? 12 : 8), i == 1 ? 16 : 4);
        }
        at += ((size_t)n + size - 1) / size * 4;
    }
    fclose(f);
}

/* output ----------------------------------------------------------------- */

static void write_symcache(const pdb_t *pdb, const wchar_t *root,
                           const wchar_t *version, size_t body)
{
    static wchar_t path[ROOM];
    const uint8_t *g = pdb->guid;
    uint32_t x = 2166136261u ^ pdb->age;
    wchar_t id[48], *end;
    size_t i;
    FILE *f;

    swprintf(id, 48, L"%08X%04X%04X%02X%02X%02X%02X%02X%02X%02X%02X%X", u32(g),
             g[4] | g[5] << 8, g[6] | g[7] << 8, g[8], g[9], g[10], g[11],
             g[12], g[13], g[14], g[15], pdb->age);
    swprintf(path, ROOM, L"%ls\\%ls\\%ls\\%ls-v%ls.symcache", root, pdb->name,
             id, pdb->name, version);

    /* the two folders below the root */
    for (end = path + wcslen(root) + 1; (end = wcschr(end, L'\\')) != NULL;
         *end++ = L'\\') {
        *end = L'\0';
        need(CreateDirectoryW(path, NULL) ||
                 GetLastError() == ERROR_ALREADY_EXISTS,
             2, "cannot make the folder", path);
    }

    f = _wfopen(path, L"wb");
    need(f != NULL, 2, "cannot create", path);
    if (body > 0) {
        fprintf(f, "FAKEGEN 1 %ls %ls\n", id, version);
    }
    for (i = 0; i < body; i++) {
        x = (x ^ g[i & 15]) * 16777619u;
        fputc((int)(x >> 24), f);
    }
    need(fclose(f) == 0, 2, "cannot write", path); /* the disk is full */
}

/* modes ------------------------------------------------------------------ */

#define is(name) (strcmp(mode, name) == 0)
#define number_or(otherwise) (number != 0 ? number : (otherwise))

static void find_mode(const pdb_t *pdb)
{
    const char *env = getenv("FAKEGEN");
    const wchar_t *fg = wcsstr(pdb->name, L"fg-");
    static wchar_t path[ROOM];
    char *dash;
    FILE *f = NULL;

    GetModuleFileNameW(NULL, path, ROOM - 16);
    if (env == NULL && wcsrchr(path, L'\\') != NULL) {
        wcscpy(wcsrchr(path, L'\\') + 1, L"fakegen.mode");
        f = _wfopen(path, L"r");
    }
    if (env != NULL) {
        snprintf(mode, sizeof(mode), "%s", env);
    } else if (f != NULL) {
        (void)!fscanf(f, "%31s", mode);
    } else if (fg != NULL) {
        snprintf(mode, sizeof(mode), "%.*ls", (int)wcscspn(fg + 3, L"._ "),
                 fg + 3);
    }

    dash = strchr(mode, '-');
    if (dash != NULL) {
        *dash = '\0';
        number = (unsigned)atoi(dash + 1);
    }
}

/* A copy of this program that sleeps, with our handles. */
static void leave_child(DWORD flags)
{
    static wchar_t command[ROOM] = L"\"";
    STARTUPINFOW start = {.cb = sizeof(start)};
    PROCESS_INFORMATION made;

    GetModuleFileNameW(NULL, command + 1, ROOM - 16);
    wcscat(command, L"\" -sleep");
    need(CreateProcessW(NULL, command, NULL, NULL, TRUE, flags, NULL, NULL,
                        &start, &made), 2, "cannot start a child", command);
    fprintf(stderr, "fakegen: left process %lu behind\n", made.dwProcessId);
}

/* What happens before the file is written. */
static void before(const pdb_t *pdb, const wchar_t *root)
{
    bool memory = is("memory");
    size_t size = (size_t)number_or(memory ? 1024 : 16384) << 20;
    int *volatile nowhere = NULL;
    unsigned i;
    void *p;

    if (is("slow")) {
        Sleep(number_or(30) * 1000);
    } else if (is("crash")) {
        *nowhere = 1;
    } else if (is("partial")) {
        write_symcache(pdb, root, L"3.1.0", BODY / 2);
        *nowhere = 1;
    } else if (is("exit")) {
        need(false, number_or(3), "told to fail", pdb->name);
    } else if (is("hang")) {
        Sleep(INFINITE);
    } else if (is("spin")) {
        for (;;) { __asm__ volatile(""); }
    } else if (memory || is("reserve")) {
        p = VirtualAlloc(NULL, size, MEM_RESERVE | (memory ? MEM_COMMIT : 0),
                         PAGE_READWRITE);
        need(p != NULL, 2, "no memory", NULL);
        memset(p, 1, memory ? size : 0);
    }
    if (is("noise")) { /* else a call of Windows for each character */
        setvbuf(stderr, NULL, _IOFBF, 4096);
    }
    for (i = 0; is("noise") && i < number_or(8) << 14; i++) {
        printf("out %08u %050u\n", i, 0);
        fprintf(stderr, "err %08u %050u\n", i, 0);
    }
}

int wmain(int argc, wchar_t **argv)
{
    const wchar_t *symbols = _wgetenv(L"_NT_SYMBOL_PATH"), *p;
    const wchar_t *root = _wgetenv(L"_NT_SYMCACHE_PATH");
    pdb_t pdb = {0};
    DWORD attributes;
    int i;

    if (argc == 2 && wcscmp(argv[1], L"-sleep") == 0) {
        Sleep(300000);
        return 0;
    }
    need(argc == 3 && _wcsicmp(argv[1], L"-pdb") == 0, 1,
         "usage: fakegen -pdb <path>", NULL);
    pdb.path = pdb.name = argv[2];
    for (p = argv[2]; *p != L'\0'; p++) {
        pdb.name = wcschr(L"\\/:", *p) != NULL ? p + 1 : pdb.name;
    }

    find_mode(&pdb);
    if (is("env")) {
        fprintf(stderr, "%ls\n", GetCommandLineW());
        for (i = 0; _wenviron[i] != NULL; i++) {
            fprintf(stderr, "%ls\n", _wenviron[i]);
        }
        return 4;
    }

    need(symbols != NULL && root != NULL && wcslen(root) < ROOM / 2, 1,
         "_NT_SYMBOL_PATH and _NT_SYMCACHE_PATH must be set", NULL);
    attributes = GetFileAttributesW(root);
    need(attributes != INVALID_FILE_ATTRIBUTES &&
             (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0,
         2, "no such directory", root);

    pdb_identity(&pdb);
    before(&pdb, root);
    if (!is("nothing")) {
        write_symcache(&pdb, root, is("version") ? L"3.2.0" : L"3.1.0",
                       is("empty") ? 0 : BODY);
    }
    if (is("two")) {
        write_symcache(&pdb, root, L"3.2.0", BODY);
    }
    if (is("child") || is("detached") || is("console")) {
        leave_child(is("detached")  ? DETACHED_PROCESS
                    : is("console") ? CREATE_NEW_CONSOLE : 0);
    }
    return 0;
}
