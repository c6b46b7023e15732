/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that are mapped: which of them are the same as before.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/properties.h"
#include "proto/provenance.h"
#include "symbolicated/files/mapped_modules.h"

static struct mapped_modules *mapped;
static char dir[] = "/tmp/sc.XXXXXX";
static int folder;

static const char *unreadable; /* an attribute */

/* In the place of the C library's. */
ssize_t fgetxattr(int fd, const char *name, void *value, size_t size)
{
    static ssize_t (*real)(int, const char *, void *, size_t);

    if (unreadable != NULL && strcmp(name, unreadable) == 0) {
        errno = EIO;
        return -1;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "fgetxattr");
    }
    return real(fd, name, value, size);
}

static struct module *open_file(symcache_kind_e kind)
{
    return mapped_modules_open(mapped, folder, -1, "x/file", kind);
}

/* An empty file of another URL may have the inode of one that is gone: it
 * differs in nothing but its attributes. */
static void test_empty_file(void **state)
{
    struct module *before, *after, *other;
    int fd = openat(folder, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    if (fsetxattr(fd, SYMCACHE_PROPERTIES_ATTRIBUTE, "a", 1, 0) != 0 &&
        errno == ENOTSUP) {
        print_message("skipped: /tmp has no extended attributes\n");
        close(fd);
        return;
    }
    before = open_file(SYMCACHE_KIND_SOURCE);
    assert_non_null(before);
    assert_true(before->sound);
    assert_string_equal(before->properties, "a");
    assert_int_equal(fsetxattr(fd, SYMCACHE_PROPERTIES_ATTRIBUTE, "b", 1, 0),
                     0);
    after = open_file(SYMCACHE_KIND_SOURCE);
    assert_non_null(after);
    assert_string_equal(after->properties, "b");
    other = open_file(SYMCACHE_KIND_SYMCACHE);
    assert_non_null(other);
    assert_false(other->sound);
    module_unref(before);
    module_unref(after);
    module_unref(other);
    close(fd);
}

/* Equal files may have been made links of each other, also such of two kinds.
 */
static void test_two_kinds(void **state)
{
    struct module *source, *names, *again;
    int fd = openat(folder, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    source = open_file(SYMCACHE_KIND_SOURCE);
    assert_non_null(source);
    assert_true(source->sound);
    names = open_file(SYMCACHE_KIND_SYMCACHE);
    assert_non_null(names);
    assert_int_equal(names->kind, SYMCACHE_KIND_SYMCACHE);
    assert_false(names->sound);
    again = open_file(SYMCACHE_KIND_SOURCE);
    assert_ptr_equal(again, source);
    module_unref(source);
    module_unref(names);
    module_unref(again);
    close(fd);
}

/* A file whose attributes cannot be read now is not remembered without them. */
static void test_unreadable(void **state)
{
    static const char *const names[] = {SYMCACHE_PROVENANCE_ATTRIBUTE,
                                        SYMCACHE_PLACES_ATTRIBUTE,
                                        SYMCACHE_PROPERTIES_ATTRIBUTE};
    struct module *module;
    size_t i;
    int fd = openat(folder, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "other", 5), 5);
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unreadable = names[i];
        assert_null(open_file(SYMCACHE_KIND_SOURCE));
        assert_int_equal(errno, EIO);
    }
    unreadable = NULL;
    module = open_file(SYMCACHE_KIND_SOURCE);
    assert_non_null(module);
    module_unref(module);
    close(fd);
}

static int begin(void **state)
{
    assert_non_null(mkdtemp(dir));
    folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    mapped = mapped_modules_new();
    mapped_modules_limit(mapped, 10, 1 << 20);
    return folder >= 0 && mapped != NULL ? 0 : -1;
}

static int end(void **state)
{
    unlinkat(folder, "file", 0);
    close(folder);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty_file),
                                       cmocka_unit_test(test_two_kinds),
                                       cmocka_unit_test(test_unreadable)};

    return cmocka_run_group_tests_name("mapped_modules", tests, begin, end);
}
