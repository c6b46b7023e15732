/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which parts of a PDB a conversion touches: its pages are taken away, and
 * given back one by one as they are asked for.  With the names of PDBs (of
 * blocks of 4096 bytes) prints the same table for them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/le.h"
#include "debuginfo/pdb/msf.h"
#include "debuginfo/pdb/pdb.h"
#include "derived/symcache/writer.h"
#include "debuginfo/pdb/dbi.h"

#define PAGE 4096

enum part {
    PART_REST, /* directory, free blocks */
    PART_INFO,
    PART_NAMES,
    PART_TYPES,
    PART_IDS,
    PART_DBI,
    PART_SECTIONS,
    PART_OMAP,
    PART_MODULES,
    PART_RECORDS,
    PART_OTHER, /* of no use for a SymCache */
    PARTS
};

static const char *const part_names[PARTS] = {"directory, free blocks",
                                              "info",
                                              "/names",
                                              "types",
                                              "ids",
                                              "DBI",
                                              "section headers",
                                              "OMAP",
                                              "modules",
                                              "symbol records",
                                              "the rest"};

static uint8_t *file;
static size_t file_size;
static uint8_t *is_touched; /* by page */

static void on_fault(int signo, siginfo_t *info, void *context)
{
    size_t page;

    (void)context;
    page = (size_t)((uint8_t *)info->si_addr - file) / PAGE;
    if ((uint8_t *)info->si_addr < file || page >= file_size / PAGE ||
        is_touched[page]) {
        signal(signo, SIG_DFL);
        return;
    }
    is_touched[page] = 1;
    mprotect(file + page * PAGE, PAGE, PROT_READ);
}

static void load(const char *name)
{
    FILE *f;
    struct stat st;

    f = fopen(name, "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    file_size = (size_t)st.st_size & ~(size_t)(PAGE - 1);
    file = mmap(NULL, file_size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(file != MAP_FAILED);
    assert_int_equal(fread(file, 1, file_size, f), file_size);
    fclose(f);
    is_touched = calloc(file_size / PAGE, 1);
    assert_non_null(is_touched);
}

static void mark(enum part *parts, size_t n, uint32_t stream, enum part part)
{
    if (stream < n) {
        parts[stream] = part;
    }
}

/* What each stream is for. */
static enum part *parts_of_streams(const struct msf *msf)
{
    size_t i;
    uint32_t len;
    enum part *parts;
    const uint8_t *p;
    struct dbi dbi;
    struct failure failure = {FAILURE_NONE, ""};

    parts = calloc(msf->num_streams + 1, sizeof(*parts));
    assert_non_null(parts);
    assert_int_equal(dbi_read(&dbi, msf, &failure), 0);
    for (i = 0; i < msf->num_streams; i++) {
        p = msf_run(msf, (uint32_t)i, 0, 4, &len);
        parts[i] = p != NULL && len >= 4 && le32(p) == 0xEFFEEFFE ? PART_NAMES
                                                                  : PART_OTHER;
    }
    mark(parts, i, 1, PART_INFO);
    mark(parts, i, 2, PART_TYPES);
    mark(parts, i, 3, PART_DBI);
    mark(parts, i, 4, PART_IDS);
    mark(parts, i, dbi.symbol_stream, PART_RECORDS);
    mark(parts, i, dbi.slots[DBI_SECTIONS], PART_SECTIONS);
    mark(parts, i, dbi.slots[DBI_ORIGINAL_SECTIONS], PART_SECTIONS);
    mark(parts, i, dbi.slots[DBI_OMAP_FROM_SOURCE], PART_OMAP);
    mark(parts, i, dbi.slots[DBI_OMAP_TO_SOURCE], PART_OMAP);
    for (i = 0; i < dbi.num_modules; i++) {
        mark(parts, msf->num_streams, dbi.modules[i].stream, PART_MODULES);
    }
    dbi_free(&dbi);
    return parts;
}

static uint8_t *parts_of_pages(void)
{
    uint32_t i, k, at;
    uint8_t *pages;
    char error[256];
    struct msf msf;
    enum part *streams;

    assert_int_equal(msf_open(&msf, file, file_size, error, sizeof(error)),
                     MSF_OK);
    assert_int_equal(msf.block_size, PAGE);
    streams = parts_of_streams(&msf);
    pages = calloc(file_size / PAGE, 1);
    assert_non_null(pages);
    for (i = 1; i < msf.num_streams; i++) {
        for (k = 0; k < msf.streams[i].blocks; k++) {
            at = le32(msf.dir + msf.streams[i].list + 4 * (size_t)k);
            assert_true(at < file_size / PAGE);
            pages[at] = (uint8_t)streams[i];
        }
    }
    free(streams);
    msf_close(&msf);
    return pages;
}

static int discard(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return 0;
}

static void convert(void)
{
    int rc;
    struct debuginfo_result result = {0};
    struct symc_sink sink = {discard, NULL};
    struct failure failure = {FAILURE_NONE, ""};
    struct sigaction action, before;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    mprotect(file, file_size, PROT_NONE);
    rc = pdb_format.makes->convert(file, file_size, &sink, &result, &failure);
    mprotect(file, file_size, PROT_READ);
    sigaction(SIGSEGV, &before, NULL);
    if (rc != 0) {
        fail_msg("%s", failure.text);
    }
}

static void touch(const char *name, size_t touched[PARTS], size_t all[PARTS])
{
    size_t i;
    uint8_t *pages;

    load(name);
    pages = parts_of_pages();
    convert();
    memset(touched, 0, PARTS * sizeof(*touched));
    memset(all, 0, PARTS * sizeof(*all));
    for (i = 0; i < file_size / PAGE; i++) {
        all[pages[i]]++;
        touched[pages[i]] += is_touched[i];
    }
    free(pages);
    free(is_touched);
    munmap(file, file_size);
}

static void print_table(const char *name)
{
    unsigned i;
    size_t touched[PARTS], all[PARTS];

    touch(name, touched, all);
    printf("# %s\n", name);
    for (i = 0; i < PARTS; i++) {
        printf("# %-24s %9zu KiB, read %9zu\n", part_names[i], 4 * all[i],
               4 * touched[i]);
    }
}

static void what_is_of_no_use_is_not_touched(void **state)
{
    size_t touched[PARTS], all[PARTS];

    (void)state;
    touch("t/data/pdb/crash.pdb", touched, all);
    assert_true(all[PART_OTHER] > 10);
    assert_int_equal(touched[PART_OTHER], 0);
    /* and what is needed is seen to be */
    assert_int_equal(touched[PART_INFO], all[PART_INFO]);
    assert_int_equal(touched[PART_RECORDS], all[PART_RECORDS]);
    assert_true(touched[PART_MODULES] > all[PART_MODULES] / 2);
    assert_true(touched[PART_DBI] > 0 && touched[PART_DBI] < all[PART_DBI]);
}

int main(int argc, char **argv)
{
    int i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_of_no_use_is_not_touched),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    for (i = 1; i < argc; i++) {
        print_table(argv[i]);
    }
    return argc > 1
               ? 0
               : cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
