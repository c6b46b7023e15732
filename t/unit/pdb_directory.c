/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which files of a flat directory are read, and when again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "symcached/intake/pdb_directory.h"

#define CRASH "3249D99D0C4049318610F4E4FB0B69361"
#define OTHER "0123456789ABCDEF0123456789ABCDEF1"

static char dir[] = "/tmp/sc.flat.XXXXXX";
static int root;
static int index_fd;

static void put(const char *name, const char *from)
{
    static char data[1 << 20];
    FILE *in, *out;
    char path[64];
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    in = fopen(from, "r");
    out = fopen(path, "w");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(data, 1, sizeof(data), in)) > 0) {
        assert_int_equal(fwrite(data, 1, n, out), n);
    }
    fclose(in);
    fclose(out);
}

/* One lookup.  Returns the files that were opened; *hits those that match, of
 * which the first one is told. */
static size_t look_as(const char *asked, const char *id, unsigned *hits,
                      char *first)
{
    symcache_key_t key;
    struct pdb_directory *directory;
    size_t n, i;
    int fd = memfd_create("index", MFD_CLOEXEC);

    assert_int_equal(symcache_id_parse(id, strlen(id), &key), SYMCACHE_OK);
    directory = pdb_directory_open(root, index_fd, &key, asked, false);
    assert_non_null(directory);
    assert_string_equal(directory->error, "");

    *hits = 0;
    n = directory->nfiles;
    for (i = 0; i < n; i++) {
        if (pdb_directory_look(directory, &directory->files[i], &key) &&
            (*hits)++ == 0) {
            snprintf(first, 256, "%s", directory->files[i].name);
        }
        munmap((void *)directory->files[i].map,
               directory->files[i].record.size);
        close(directory->files[i].fd);
    }
    pdb_directory_save(directory, fd);
    close(index_fd);
    index_fd = fd;

    free(directory->records);
    free(directory);
    return n;
}

static size_t look(const char *id, unsigned *hits)
{
    char first[256];

    return look_as("none.pdb", id, hits, first);
}

static void test_files_are_read_once(void **state)
{
    static const struct timespec long_ago[2];
    unsigned hits;
    char path[64];

    (void)state;
    put("a.pdb", "t/data/pdb/crash.pdb");
    put("B.PDB", "t/data/pdb/omap_stretched.pdb");
    put("no.pdb.txt", "t/data/pdb/crash.pdb");

    assert_int_equal(look(CRASH, &hits), 2);
    assert_int_equal(hits, 1);
    assert_int_equal(look(OTHER, &hits), 0);
    assert_int_equal(look(CRASH, &hits), 1);
    assert_int_equal(hits, 1);

    /* another file, and one that changed, and one that is gone */
    put("c.pdb", "t/data/pdb/crash.pdb");
    put("a.pdb", "t/data/pdb/omap_stretched.pdb");
    snprintf(path, sizeof(path), "%s/B.PDB", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(look(CRASH, &hits), 2);
    assert_int_equal(hits, 1);
    assert_int_equal(look(OTHER, &hits), 0);

    /* links count as their files; what is no file does not count */
    snprintf(path, sizeof(path), "%s/l.pdb", dir);
    assert_int_equal(symlink("c.pdb", path), 0);
    snprintf(path, sizeof(path), "%s/d.pdb", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(look(CRASH, &hits), 2);
    assert_int_equal(hits, 2);

    /* nor does a file that has been empty for long */
    put("e.pdb", "/dev/null");
    assert_int_equal(utimensat(root, "e.pdb", long_ago, 0), 0);
    assert_int_equal(look(OTHER, &hits), 0);
}

static void names_count(size_t opened)
{
    static const char *const names[] = {"m300.pdb", "M000.PDB", "m299.pdb",
                                        "m150.pdb"};
    char first[256];
    unsigned hits;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_in_range(look_as(names[i], CRASH, &hits, first), opened,
                        opened + 1);
        assert_true(hits >= opened);
        assert_int_equal(strcasecmp(first, names[i]), 0);
    }
}

/* Also if it is not among those that a full process opens. */
static void test_asked_name_comes_first(void **state)
{
    char name[16], path[64];
    unsigned hits;
    int i;

    (void)state;
    for (i = 0; i <= 300; i++) {
        snprintf(name, sizeof(name), "m%03d.pdb", i);
        put(name, "t/data/pdb/crash.pdb");
    }
    names_count(FLAT_BATCH);
    (void)look(CRASH, &hits);
    names_count(FLAT_BATCH);

    for (i = 0; i <= 300; i++) {
        snprintf(path, sizeof(path), "%s/m%03d.pdb", dir, i);
        assert_int_equal(unlink(path), 0);
    }
}

static int make_dir(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    index_fd = memfd_create("index", MFD_CLOEXEC);
    return root < 0 || index_fd < 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"a.pdb", "c.pdb", "e.pdb", "l.pdb",
                                        "no.pdb.txt"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unlinkat(root, names[i], 0);
    }
    unlinkat(root, "d.pdb", AT_REMOVEDIR);
    close(root);
    close(index_fd);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read_once),
        cmocka_unit_test(test_asked_name_comes_first),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
