/*
 * Copyright (C) the ngx_symcache authors
 *
 * The digest that lies with a file: who may believe it, and what takes it
 * away.  On a file system without extended attributes there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/digest_attribute.h"
#include "symcached/store/provenance.h"
#include "symcached/store/store.h"

/* of RFC 9530, appendix B.1 */
#define BODY "{\"hello\": \"world\"}\n"
#define SUM "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

static char dir[PATH_MAX - 64], path[PATH_MAX];
static symcache_key_t key;
static const symcache_version_t version = {3, 1, 0};

/* As the module asks. */
static bool holds(void)
{
    symcache_digest_t digest;
    symcache_digest_times_t times;
    struct stat st;
    ssize_t n =
        getxattr(path, SYMCACHE_DIGEST_ATTRIBUTE, &digest, sizeof(digest));

    assert_int_equal(stat(path, &st), 0);
    times = (symcache_digest_times_t){st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                                      st.st_ctim.tv_sec, st.st_ctim.tv_nsec};
    return n > 0 && strcmp(digest.text, SUM) == 0 &&
           symcache_digest_holds(&digest, (size_t)n, &times);
}

static void note(int fd)
{
    struct digest *digest = digest_new();

    digest_add(digest, BODY, strlen(BODY));
    digest_note(fd, digest);
}

/* A file that was noted, and has its name. */
static void publish_with(bool has_digest)
{
    char file[PATH_MAX];
    int fd;

    snprintf(file, sizeof(file), "%s/made", dir);
    fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, BODY, strlen(BODY)), strlen(BODY));
    note(fd);
    close(fd);
    assert_int_equal(store_publish(dir, &key, &version, file, has_digest),
                     strlen(BODY));
}

static void publish(void)
{
    publish_with(true);
}

static int setup(void **state)
{
    static const char id[] = "3249D99D0C4049318610F4E4FB0B69361";
    char file[PATH_MAX];
    int fd;

    snprintf(dir, sizeof(dir), "%.1000s/digest.XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(symcache_id_parse(id, strlen(id), &key), SYMCACHE_OK);
    snprintf(key.name, sizeof(key.name), "a.pdb");
    key.name_len = 5;
    store_path(path, dir, &key, &version, SYMCACHE_FILE_PLAIN);

    snprintf(file, sizeof(file), "%s/x", dir);
    fd = open(file, O_RDWR | O_CREAT, 0600);
    if (fsetxattr(fd, "user.x", "x", 1, 0) != 0) {
        print_message("# no extended attributes in %s\n", dir);
        *state = dir;
    }
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    char command[PATH_MAX + 16];

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

#define NEEDS_ATTRIBUTES()                                                    \
    do {                                                                      \
        if (*state != NULL) {                                                 \
            return; /* group_setup() has said why */                          \
        }                                                                     \
    } while (0)

static void streams(void **state)
{
    struct digest *digest = digest_new();
    char text[SYMCACHE_DIGEST_TEXT + 1];
    size_t i;

    for (i = 0; i < strlen(BODY); i++) {
        digest_add(digest, BODY + i, 1);
    }
    digest_text(digest, text);
    digest_free(digest);
    assert_string_equal(text, SUM);
}

static void sealed_when_published(void **state)
{
    NEEDS_ATTRIBUTES();
    publish();
    assert_true(holds());
}

/* Before that it is nobody's business. */
static void not_sealed_before(void **state)
{
    int fd;

    NEEDS_ATTRIBUTES();
    publish();
    fd = open(path, O_RDONLY);
    note(fd);
    close(fd);
    assert_false(holds());
    assert_false(digest_unseal_path(path));
    digest_seal_path(path);
    assert_true(holds());
}

static void survives_a_touch_of_ours(void **state)
{
    struct timespec old[2] = {{1000000000, 5}, {1000000000, 5}};
    struct stat st;

    NEEDS_ATTRIBUTES();
    publish();
    assert_true(digest_unseal_path(path));
    assert_false(holds());
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    digest_seal_path(path);
    assert_true(holds());

    store_touch(dir, &key, &version);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mtim.tv_sec > 1000000000);
    assert_true(holds());
}

/* When the digest was sealed, by the clock of the file system. */
static int64_t sealed(void)
{
    symcache_digest_t digest;

    assert_int_equal(getxattr(path, SYMCACHE_DIGEST_ATTRIBUTE, &digest,
                              sizeof(digest)),
                     sizeof(digest));
    return digest.times.ctime * 1000000000 + digest.times.ctime_nsec;
}

static void survives_provenance(void **state)
{
    int64_t before;

    NEEDS_ATTRIBUTES();
    publish();
    before = sealed();
    do {
        provenance_note(path, "source", false, 0);
        assert_true(holds());
    } while (sealed() == before); /* the clock has ticks */
}

/* What happens in the second after a seal may be the seal itself. */
static void wait_for_the_seal(void)
{
    struct timespec now, nap = {0, 10 * 1000 * 1000};

    do {
        nanosleep(&nap, NULL);
        clock_gettime(CLOCK_REALTIME, &now);
    } while (now.tv_sec * 1000000000 + now.tv_nsec - sealed() < 1010000000);
}

static void ends_with_an_edit(void **state)
{
    struct timespec times[2];
    struct stat st;
    int fd;

    NEEDS_ATTRIBUTES();
    publish();
    assert_int_equal(stat(path, &st), 0);
    wait_for_the_seal();
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 3), 1);
    close(fd);
    assert_false(holds());

    /* and does not come back with the time, nor with a touch */
    times[0] = times[1] = st.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_false(holds());
    times[0].tv_sec = times[1].tv_sec = 1000000000;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    store_touch(dir, &key, &version);
    assert_false(holds());
    provenance_note(path, "source", false, 0);
    assert_false(holds());
    digest_seal_path(path);
    assert_false(holds());
}

/* A tool that copies attributes does not bring a digest in. */
static void is_not_taken_from_a_transcoder(void **state)
{
    char file[PATH_MAX];
    symcache_digest_t digest;
    int fd;

    NEEDS_ATTRIBUTES();
    publish();
    assert_int_equal(getxattr(path, SYMCACHE_DIGEST_ATTRIBUTE, &digest,
                              sizeof(digest)),
                     sizeof(digest));
    snprintf(file, sizeof(file), "%s/copied", dir);
    fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, "other", 5), 5);
    assert_int_equal(fsetxattr(fd, SYMCACHE_DIGEST_ATTRIBUTE, &digest,
                               sizeof(digest), 0),
                     0);
    close(fd);
    assert_int_equal(store_publish(dir, &key, &version, file, true), 5);
    assert_false(holds());
}

/* The last one, as nothing is taken afterwards. */
static void is_taken_later(void **state)
{
    NEEDS_ATTRIBUTES();
    publish_with(false);
    file_digest_settle(60000);
    assert_true(holds());
    assert_true(file_digest_may_wait());
    publish_with(false);
    assert_false(holds()); /* and not the one that the file came with */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams),
        cmocka_unit_test(sealed_when_published),
        cmocka_unit_test(not_sealed_before),
        cmocka_unit_test(survives_a_touch_of_ours),
        cmocka_unit_test(survives_provenance),
        cmocka_unit_test(ends_with_an_edit),
        cmocka_unit_test(is_not_taken_from_a_transcoder),
        cmocka_unit_test(is_taken_later),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
