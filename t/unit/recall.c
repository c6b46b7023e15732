/*
 * Copyright (C) the ngx_symcache authors
 *
 * Negative entries in memory: they hold as long as their folder is as it was.
 * The clocks are moved; the folder is a real one.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/workdir.h"
#include "proto/path.h"
#include "symcached/negcache/recall.h"

static time_t ahead;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);

    now->tv_sec += ahead;
    return rc;
}

static char root[] = "/tmp/symcache-recall.XXXXXX";
static const symcache_version_t v9 = {9, 0, 0}, v3 = {3, 1, 0};
static struct recall *recall;
static symcache_key_t key;
static char folder[1024];
static struct written written, got;

static struct recall_place look(const symcache_version_t *version)
{
    struct recall_place place;

    assert_true(recall_place(&place, root, &key, version));
    return place;
}

static void put(void)
{
    struct recall_place place = look(&v9);

    recall_put(recall, &place, &written);
}

static bool knows(const symcache_version_t *version)
{
    struct recall_place place = look(version);

    memset(&got, 0, sizeof(got));
    return recall_get(recall, &place, false, &got);
}

static bool is_alone(void)
{
    struct recall_place place = look(&v9);

    return recall_get(recall, &place, true, NULL);
}

/* Another process puts a file there, at another moment than before. */
static void change(void)
{
    struct recall_place before = look(&v9), after;
    char path[sizeof(folder) + 8];
    int fd;

    snprintf(path, sizeof(path), "%s/file", folder);
    do {
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(unlink(path), 0);
        after = look(&v9);
    } while (memcmp(&after.changed, &before.changed, sizeof(after.changed)) ==
             0);
}

static void remembers(void **state)
{
    ahead = 60;
    assert_false(knows(&v9));
    put();
    assert_true(knows(&v9));
    assert_int_equal(got.entry.reason, NEGCACHE_WRONG_FORMAT);
    assert_int_equal(got.entry.since, 1795235000);
    assert_string_equal(got.entry.text, "local: no such file; msdl: 404");
    assert_string_equal(got.entry.variants.text, "A.pdb/a.PDB");
    assert_true(got.has_fingerprint);
    assert_int_equal(got.fingerprint, 0x0123456789abcdef);

    written.entry.reason = NEGCACHE_NOTFOUND;
    put();
    assert_true(knows(&v9));
    assert_int_equal(got.entry.reason, NEGCACHE_NOTFOUND);
}

/* Each version and each kind has an entry of its own. */
static void others(void **state)
{
    ahead = 60;
    put();
    assert_false(knows(&v3));
    key.kind = SYMCACHE_KIND_PPDBCACHE;
    assert_false(knows(&v9));
    key.kind = SYMCACHE_KIND_SYMCACHE;
    assert_true(knows(&v9));
}

static void changed(void **state)
{
    ahead = 60;
    put();
    change();
    assert_false(knows(&v9));
    put();
    assert_true(knows(&v9));
    assert_int_equal(rmdir(folder), 0);
    assert_false(recall_place(&(struct recall_place){0}, root, &key, &v9));
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_false(knows(&v9));
}

/* One that has just changed may change again within the same tick. */
static void young(void **state)
{
    put();
    assert_false(knows(&v9));
    ahead = 60;
    put();
    assert_true(knows(&v9));
    ahead = -60; /* the clock is wrong now, or was */
    put();
    assert_false(knows(&v9));
}

static void old(void **state)
{
    ahead = 60;
    put();
    ahead += 59;
    assert_true(knows(&v9));
    ahead += 2;
    assert_false(knows(&v9));
}

static void alone(void **state)
{
    struct recall_place place = look(&v9);

    recall_set_alone(recall, &place);
    assert_false(is_alone());
    ahead = 60;
    put();
    assert_false(is_alone());
    recall_set_alone(recall, &place);
    assert_true(is_alone());
    assert_true(knows(&v9));
    change();
    assert_false(is_alone());
    put();
    assert_false(is_alone());
    recall_set_alone(recall, &place); /* as it was looked at before */
    assert_false(is_alone());
}

static int begin(void **state)
{
    static const char id[] = "0123456789ABCDEF0123456789ABCDEF1";
    char relative[SYMCACHE_PATH_MAX + 1];

    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    ahead = 0;
    recall = recall_new();
    written = (struct written){
        .entry = {.reason = NEGCACHE_WRONG_FORMAT,
                  .since = 1795235000,
                  .text = "local: no such file; msdl: 404",
                  .variants = {.text = "A.pdb/a.PDB"}},
        .has_fingerprint = true,
        .fingerprint = 0x0123456789abcdef,
    };
    if (mkdtemp(root) == NULL || recall == NULL ||
        symcache_name_parse("a.pdb", 5, &key) != SYMCACHE_OK ||
        symcache_id_parse(id, strlen(id), &key) != SYMCACHE_OK) {
        return -1;
    }
    symcache_path_dir(relative, &key);
    snprintf(folder, sizeof(folder), "%s/%s", root, relative);
    return workdir_make_path(folder);
}

static int end(void **state)
{
    recall_free(recall);
    workdir_remove(root);
    return access(root, F_OK) == 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(remembers), TEST(others), TEST(changed),
        TEST(young),     TEST(old),    TEST(alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
