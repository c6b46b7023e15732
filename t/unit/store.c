/*
 * Copyright (C) the ngx_symcache authors
 *
 * Publishing, scanning, touching; work folders and their locks.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "symcached/store/store.h"
#include "base/log.h"
#include "base/workdir.h"
#include "unreadable.h"

#define ID "0123456789ABCDEF0123456789ABCDEF1"

static char root[] = "/tmp/symcache-store.XXXXXX";
static symcache_key_t key;

static const char *in_root(const char *name)
{
    static char path[2][512];
    static int i;

    i = !i;
    snprintf(path[i], sizeof(path[i]), "%s/%s", root, name);
    return path[i];
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_root(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void publish(void **state)
{
    symcache_version_t v = {9, 0, 1}, found[STORE_VERSIONS_MAX];
    const char *file = "a.pdb/" ID "/a.pdb-v9.0.1.symcache";
    struct stat st;

    assert_int_equal(store_versions(root, &key, found), 0);
    write_file("new", "twelve bytes");
    assert_int_equal(chmod(in_root("new"), 0600), 0);
    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), 12);
    assert_int_equal(stat(in_root(file), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(access(in_root("new"), F_OK), -1);
    assert_int_equal(store_versions(root, &key, found), 1);
    assert_int_equal(symcache_version_cmp(&found[0], &v), 0);

    /* over an older one of the same version */
    write_file("new", "x");
    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), 1);
}

/* A cleaner removes each folder as soon as it is empty, between any two steps,
 * but no more often than *left says: one that never stops would win. */
static void clean(_Atomic int *left)
{
    pid_t parent = getppid();

    while (getppid() == parent) {
        if (*left <= 0) {
            (void)sched_yield();
            continue;
        }
        *left -= rmdir(in_root("b.pdb/" ID)) == 0;
        *left -= rmdir(in_root("b.pdb")) == 0;
    }
    _exit(0);
}

static void publish_beside_cleaners(void **state)
{
    symcache_version_t v = {9, 0, 2};
    const char *file = "b.pdb/" ID "/b.pdb-v9.0.2.symcache";
    symcache_key_t other;
    _Atomic int *left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;
    int i;

    assert_ptr_not_equal(left, MAP_FAILED);
    symcache_key_copy(&other, &key);
    other.name[0] = 'b';
    pid = fork();
    if (pid == 0) {
        clean(left);
    }
    for (i = 0; i < 200; i++) {
        write_file("new", "x");
        *left = 10;
        assert_int_equal(store_publish(root, &other, &v, in_root("new"), true),
                         1);
        assert_int_equal(unlink(in_root(file)), 0);
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(munmap(left, sizeof(*left)), 0);
}

/* A store that is removed while a file comes into it is not made again. */
static void publish_nothing(void **state)
{
    struct stat st;

    assert_int_equal(store_rename(in_root("gone"), in_root("other/b/c")), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(stat(in_root("other"), &st), -1);
}

static void publish_refuses(void **state)
{
    symcache_version_t v = {9, 9, 9};

    errno = 0;
    write_file("new", "");
    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(unlink(in_root("new")), 0);

    assert_int_equal(symlink("/etc/passwd", in_root("new")), 0);
    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(unlink(in_root("new")), 0);

    assert_int_equal(mkfifo(in_root("new"), 0600), 0);
    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(unlink(in_root("new")), 0);

    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(
        access(in_root("a.pdb/" ID "/a.pdb-v9.9.9.symcache"), F_OK), -1);
}

static void versions(void **state)
{
    symcache_version_t found[STORE_VERSIONS_MAX];
    static const char *const names[] = {
        "a.pdb-v3.1.0.symcache",    "a.pdb-v3.1.0.symcache.gz",
        "a.pdb-v4.0.0.absent",      "a.pdb-v03.2.0.symcache",
        "b.pdb-v5.0.0.symcache",    "a.pdb-v6.0.0.symcache.part",
        "a.pdb-v70000.0.0.symcache"};
    char name[128];
    size_t i;

    workdir_remove(in_root("a.pdb"));
    assert_int_equal(workdir_make_path(in_root("a.pdb/" ID)), 0);
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), "a.pdb/" ID "/%s", names[i]);
        write_file(name, "x");
    }
    write_file("a.pdb/" ID "/a.pdb-v8.0.0.symcache", ""); /* empty */
    mkdir(in_root("a.pdb/" ID "/a.pdb-v7.0.0.symcache"), 0755);

    assert_int_equal(store_versions(root, &key, found), 1);
    assert_int_equal(found[0].major, 3);
    workdir_remove(in_root("a.pdb"));
    assert_int_equal(store_versions(root, &key, found), 0);
}

/* Only what is not there is not there. */
static void unseen_versions(void **state)
{
    symcache_version_t found[STORE_VERSIONS_MAX];

    write_file("a.pdb", "no folder");
    assert_int_equal(store_versions(root, &key, found), 0);
    assert_int_equal(unlink(in_root("a.pdb")), 0);

    assert_int_equal(symlink("a.pdb", in_root("a.pdb")), 0);
    assert_int_equal(store_versions(root, &key, found), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(unlink(in_root("a.pdb")), 0);

    assert_int_equal(workdir_make_path(in_root("a.pdb/" ID)), 0);
    assert_int_equal(symlink("a.pdb-v4.0.0.symcache",
                             in_root("a.pdb/" ID "/a.pdb-v4.0.0.symcache")),
                     0);
    assert_int_equal(store_versions(root, &key, found), -1);
    assert_int_equal(errno, ELOOP);
    write_file("a.pdb/" ID "/a.pdb-v3.0.0.symcache", "x");
    assert_int_equal(store_versions(root, &key, found), 1);
    workdir_remove(in_root("a.pdb"));
}

static time_t touched(time_t age)
{
    const char *file = in_root("a.pdb/" ID "/a.pdb-v3.1.0.symcache");
    struct timespec times[2];
    symcache_version_t v = {3, 1, 0};
    struct stat st;

    times[0].tv_nsec = times[1].tv_nsec = 0;
    times[0].tv_sec = times[1].tv_sec = time(NULL) - age;
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
    store_touch(root, &key, &v);
    assert_int_equal(stat(file, &st), 0);
    return time(NULL) - st.st_mtime;
}

static void touch(void **state)
{
    assert_int_equal(workdir_make_path(in_root("a.pdb/" ID)), 0);
    write_file("a.pdb/" ID "/a.pdb-v3.1.0.symcache", "x");
    assert_in_range(touched(3000), 3000, 3010); /* used within the hour */
    assert_in_range(touched(3601), 0, 10);
    assert_in_range(touched(-5000), 0, 10); /* from a wrong clock */
}

static void transcoders(void **state)
{
    symcache_version_t v[2] = {{9, 0, 0}, {3, 1, 0}};
    char text[64] = "";
    FILE *f;

    assert_int_equal(transcoder_versions_write(root, in_root("t"), v, 2), 0);
    f = fopen(in_root(".transcoders"), "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, f), 12);
    fclose(f);
    assert_string_equal(text, "9.0.0\n3.1.0\n");
    assert_int_equal(access(in_root("t"), F_OK), -1);
}

static int entries(const char *name)
{
    struct stat st;

    return stat(in_root(name), &st) == 0 ? (int)st.st_nlink - 2 : -1;
}

static void work(void **state)
{
    struct workdir *a = workdir_open(root), *b;
    char path[WORKDIR_PATH_MAX], file[WORKDIR_PATH_MAX + 8];
    int status;
    pid_t pid;

    assert_non_null(a);
    assert_int_equal(workdir_make(a, path), 0);
    snprintf(file, sizeof(file), "%s/sub", path);
    assert_int_equal(mkdir(file, 0755), 0);
    assert_int_equal(symlink("/etc", in_root(".tmp/link")), 0);
    write_file(".tmp/stray", "x");

    /* one that dies leaves its folder, and its lock goes */
    pid = fork();
    if (pid == 0) {
        _exit(workdir_open(root) != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(entries(".tmp"), 2);

    /* it is removed, and not the one of a process that lives */
    b = workdir_open(root);
    assert_non_null(b);
    assert_int_equal(entries(".tmp"), 3);
    workdir_remove_stale(root);
    assert_int_equal(entries(".tmp"), 2);
    assert_int_equal(access(in_root(".tmp/stray"), F_OK), -1);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    assert_int_equal(access(file, F_OK), 0);

    workdir_close(b);
    assert_int_equal(entries(".tmp"), 1);
    workdir_close(a);
    assert_int_equal(entries(".tmp"), 0);
}

/* What memory is lacking for waits; what a disk does not give up is told. */
static void discard(void **state)
{
    const char *file = "a.pdb/" ID "/a.pdb-v9.0.1.symcache";
    symcache_version_t v = {9, 0, 1};
    char log[512] = "";
    FILE *f;

    write_file("new", "twelve bytes");
    assert_int_equal(store_publish(root, &key, &v, in_root("new"), true), 12);
    unreadable = ENOMEM;
    assert_false(store_discard(root, &key));
    assert_int_equal(access(in_root(file), F_OK), 0);
    assert_int_equal(log_open(in_root("log")), 0);
    unreadable = EIO;
    assert_true(store_discard(root, &key));
    unreadable = 0;
    f = fopen(in_root("log"), "r");
    assert_non_null(f);
    assert_true(fread(log, 1, sizeof(log) - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(log, "cannot be removed"));
    assert_true(store_discard(root, &key));
    assert_int_equal(access(in_root(file), F_OK), -1);
    assert_true(store_discard("/nowhere", &key));
}

static int make_root(void **state)
{
    const char *id = ID;

    return mkdtemp(root) == NULL ||
           symcache_name_parse("a.pdb", 5, &key) != SYMCACHE_OK ||
           symcache_id_parse(id, strlen(id), &key) != SYMCACHE_OK;
}

static int remove_root(void **state)
{
    workdir_remove(root);
    return access(root, F_OK) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(publish),
        cmocka_unit_test(publish_refuses),
        cmocka_unit_test(publish_beside_cleaners),
        cmocka_unit_test(publish_nothing),
        cmocka_unit_test(versions),
        cmocka_unit_test(unseen_versions),
        cmocka_unit_test(touch),
        cmocka_unit_test(transcoders),
        cmocka_unit_test(discard),
        cmocka_unit_test(work),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
