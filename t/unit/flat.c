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
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "symcached/flat.h"

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

/* One lookup.  Returns the files that were opened; *hits those that match. */
static size_t look(const char *id, unsigned *hits)
{
    symcache_key_t key;
    struct flat *flat;
    size_t n, i;
    int fd = memfd_create("index", MFD_CLOEXEC);

    assert_int_equal(symcache_id_parse(id, strlen(id), &key), SYMCACHE_OK);
    flat = flat_open(root, index_fd, &key);
    assert_non_null(flat);
    assert_string_equal(flat->error, "");

    *hits = 0;
    n = flat->nfiles;
    for (i = 0; i < n; i++) {
        *hits += flat_look(flat, &flat->files[i], &key);
        munmap((void *)flat->files[i].map, flat->files[i].record.size);
        close(flat->files[i].fd);
    }
    flat_save(flat, fd);
    close(index_fd);
    index_fd = fd;

    free(flat->records);
    free(flat);
    return n;
}

static void test_files_are_read_once(void **state)
{
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
    static const char *const names[] = {"a.pdb", "c.pdb", "l.pdb",
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
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
