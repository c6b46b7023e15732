/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is remembered of where absent files were looked for: how much, and for
 * which absence.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "symbolicated/files/files.h"

#define TOTAL_MAX (1024 * 1024)

static int root; /* of an empty store */
static struct module_cache *cache;
static char text[MODULE_ATTEMPTS_MAX + 1];

static int begin(void **state)
{
    char path[] = "/tmp/sc.XXXXXX";

    assert_non_null(mkdtemp(path));
    root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    assert_int_equal(rmdir(path), 0);
    cache = module_cache_new(NULL);
    assert_non_null(cache);
    memset(text, 'x', sizeof(text));
    return 0;
}

static int end(void **state)
{
    module_cache_free(cache);
    return close(root);
}

static symcache_key_t key_of(unsigned n)
{
    symcache_key_t key = {.kind = 0};
    char name[32];

    snprintf(name, sizeof(name), "m%u.pdb", n);
    assert_int_equal(symcache_name_parse(name, strlen(name), &key),
                     SYMCACHE_OK);
    key.age = 1;
    return key;
}

static struct module_asker asker(uint64_t call)
{
    return (struct module_asker){call, clock_ms()};
}

static struct module_question question_of(const symcache_key_t *key,
                                          const char *hints)
{
    return (struct module_question){key, key->name, key->name_len, hints};
}

/* The key is looked for, and absent. */
static void add_absence(unsigned n, const char *hints)
{
    const struct module_asker who = asker(1);
    symcache_key_t key = key_of(n);
    const struct module_question question = question_of(&key, hints);
    struct module *module;
    unsigned reason;

    assert_int_equal(module_cache_find(cache, root, root, &question, &who,
                                       &module, &reason),
                     MODULE_FIND_NONE);
    module_cache_absent(cache, root, &question, &who, clock_ms() + 60000, 1);
}

static bool find(unsigned n, const char *hints, struct module_absence *absence)
{
    const struct module_asker who = asker(1);
    symcache_key_t key = key_of(n);
    const struct module_question question = question_of(&key, hints);

    return module_cache_find_absence(cache, root, root, &question, &who,
                                     absence);
}

static size_t size_of(unsigned n)
{
    struct module_absence absence;

    assert_true(find(n, NULL, &absence));
    return absence.attempts != NULL ? absence.size : 0;
}

static void add_text(unsigned n, size_t size)
{
    struct module_absence absence;
    symcache_key_t key = key_of(n);

    assert_true(find(n, NULL, &absence));
    module_cache_add_attempts(cache, root, &key, absence.number, text, size);
}

static void test_size(void **state)
{
    struct module_absence absence;

    assert_false(find(0, NULL, &absence));
    add_absence(0, NULL);
    assert_int_equal(size_of(0), 0);
    add_text(0, MODULE_ATTEMPTS_MAX + 1);
    assert_int_equal(size_of(0), 0);
    add_text(0, MODULE_ATTEMPTS_MAX);
    assert_int_equal(size_of(0), MODULE_ATTEMPTS_MAX);
    assert_true(find(0, NULL, &absence));
    assert_memory_equal(absence.attempts, text, absence.size);
}

/* All that is remembered goes when there is no room for one more. */
static void test_total(void **state)
{
    const unsigned most = TOTAL_MAX / MODULE_ATTEMPTS_MAX;
    unsigned i;

    for (i = 0; i < most; i++) {
        add_absence(i, NULL);
        add_text(i, MODULE_ATTEMPTS_MAX);
    }
    for (i = 0; i < most; i++) {
        assert_int_equal(size_of(i), MODULE_ATTEMPTS_MAX);
    }
    add_absence(most, NULL);
    add_text(most, 1);
    for (i = 0; i < most; i++) {
        assert_int_equal(size_of(i), 0);
    }
    assert_int_equal(size_of(most), 1);
}

static void test_other_hints(void **state)
{
    struct module_absence absence;

    add_absence(0, NULL);
    add_text(0, 7);
    assert_false(find(0, "hint", &absence));
    add_absence(0, "hint");
    assert_true(find(0, "hint", &absence));
    assert_null(absence.attempts);
}

static void test_other_spelling(void **state)
{
    const struct module_asker who = asker(1);
    symcache_key_t key = key_of(0);
    const struct module_question question = {&key, "M0.pdb", 6, NULL};
    struct module_absence absence;

    add_absence(0, NULL);
    assert_false(module_cache_find_absence(cache, root, root, &question, &who,
                                           &absence));
    module_cache_absent(cache, root, &question, &who, clock_ms() + 60000, 1);
    assert_true(module_cache_find_absence(cache, root, root, &question, &who,
                                          &absence));
    assert_false(find(0, NULL, &absence));
}

/* An answer that comes when the absence is another one. */
static void test_late(void **state)
{
    struct module_absence before, absence;
    symcache_key_t key = key_of(0);

    add_absence(0, "hint");
    assert_true(find(0, "hint", &before));
    add_absence(0, NULL);
    assert_int_not_equal(before.number, 0);
    module_cache_add_attempts(cache, root, &key, before.number, text, 7);
    assert_int_equal(size_of(0), 0);
    assert_true(find(0, NULL, &absence));
    assert_int_not_equal(absence.number, before.number);
}

static void test_time(void **state)
{
    const struct module_asker later = {2, clock_ms() + 60001};
    struct module_absence absence;
    symcache_key_t key = key_of(0);
    const struct module_question question = question_of(&key, NULL);

    add_absence(0, NULL);
    add_text(0, 7);
    assert_false(module_cache_find_absence(cache, root, root, &question,
                                           &later, &absence));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_size, begin, end),
        cmocka_unit_test_setup_teardown(test_total, begin, end),
        cmocka_unit_test_setup_teardown(test_other_hints, begin, end),
        cmocka_unit_test_setup_teardown(test_other_spelling, begin, end),
        cmocka_unit_test_setup_teardown(test_late, begin, end),
        cmocka_unit_test_setup_teardown(test_time, begin, end),
    };

    return cmocka_run_group_tests_name("module_cache", tests, NULL, NULL);
}
