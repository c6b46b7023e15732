/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which source a job asks next.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "proto/path.h"
#include "symcached/job/source_order.h"
#include "symcached/source/layout.h"

static char *command[] = {"x", "{pdb}", NULL};
static struct transcoder_config made[] = {
    {.version = {3, 1, 0}, .inputs = 1, .command = command},
    {.version = {9, 0, 0}, .inputs = 1, .command = command},
    {.version = {9, 2, 0}}};
static const struct source_type originals = {.has_symcaches = false},
                                symcaches = {.has_symcaches = true};
static struct source_config sources[] = {
    {.name = "pdb1", .type = &originals},
    {.name = "box3", .type = &symcaches, .version = {3, 1, 0}},
    {.name = "box9", .type = &symcaches, .version = {9, 2, 0}},
    {.name = "pdb2", .type = &originals},
};
static struct source_config *all[] = {&sources[0], &sources[1], &sources[2],
                                      &sources[3]};
static char root[64];
static struct store_config store = {.name = "s",
                                    .root = root,
                                    .transcoders = made,
                                    .ntranscoders = 3,
                                    .sources = all,
                                    .nsources = 4};
static symcache_key_t key;

static const char *rest(struct source_order *order)
{
    static char text[128];
    const struct source_config *source;

    text[0] = '\0';
    while ((source = source_order_next(order)) != NULL) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 text[0] != '\0' ? " " : "", source->name);
    }
    return text;
}

static bool has_way(const symcache_version_t *target)
{
    return source_order_has_way(&store, &key, target);
}

static const char *asked(struct source_order *order, int target)
{
    source_order_begin(order, &store, &key, &made[target]);
    return rest(order);
}

/* A SymCache of that version on disk. */
static void hold(const symcache_version_t *version, char path[1024])
{
    char relative[SYMCACHE_PATH_MAX + 1];
    FILE *f;
    char *p;

    symcache_path_file(relative, &key, version, SYMCACHE_FILE_PLAIN);
    snprintf(path, 1024, "%s/%s", root, relative);
    for (p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("x", f);
    fclose(f);
}

static void asks_for_the_version_first(void **state)
{
    struct source_order order;

    assert_string_equal(asked(&order, 0), "pdb1 box3 pdb2");
    assert_false(order.not_newer);
    assert_string_equal(asked(&order, 1), "pdb1 pdb2 box3");
    assert_string_equal(asked(&order, 2), "box9 pdb1 box3 pdb2");
    assert_ptr_equal(order.transcoders[FORMAT_PDB], &made[1]);
    assert_null(source_order_next(&order));
}

static void leaves_pdbs_out(void **state)
{
    struct source_order order;

    source_order_begin(&order, &store, &key, &made[0]);
    assert_string_equal(source_order_next(&order)->name, "pdb1");
    assert_string_equal(rest(&order), "box3 pdb2");
    source_order_rewind(&order);
    assert_string_equal(rest(&order), "pdb1 box3 pdb2");

    made[0].command = made[1].command = NULL;
    assert_string_equal(asked(&order, 2), "box9 box3");
    assert_null(order.transcoders[FORMAT_PDB]);
    made[0].command = made[1].command = command;
}

static void leaves_out_what_no_transcoder_takes(void **state)
{
    struct source_order order;

    sources[0].layout = LAYOUT_BREAKPAD;
    assert_string_equal(asked(&order, 1), "pdb2 box3");
    assert_true(has_way(&made[1].version));
    made[1].inputs |= 1u << FORMAT_BREAKPAD;
    assert_string_equal(asked(&order, 1), "pdb1 pdb2 box3");
    assert_ptr_equal(order.transcoders[FORMAT_BREAKPAD], &made[1]);

    store.nsources = 1;
    assert_true(has_way(&made[1].version));
    assert_false(has_way(&(symcache_version_t){4, 0, 0}));
    made[1].inputs = 1u << FORMAT_PDB;
    assert_false(has_way(&made[1].version));
    store.nsources = 4;
    sources[0].layout = LAYOUT_SYMSTORE;
}

static void betters_what_is_held(void **state)
{
    static const symcache_version_t v31 = {3, 1, 0}, v305 = {3, 0, 5};
    struct source_order order;
    char path[1024];

    hold(&v31, path);
    assert_string_equal(asked(&order, 2), "box9 pdb1 pdb2");
    assert_true(order.has_on_disk);
    assert_true(order.not_newer);
    unlink(path);

    hold(&v305, path);
    assert_string_equal(asked(&order, 2), "box9 pdb1 box3 pdb2");
    assert_true(order.has_on_disk);
    assert_int_equal(symcache_version_cmp(&order.on_disk, &v305), 0);
    assert_false(order.not_newer);
    unlink(path);

    assert_string_equal(asked(&order, 2), "box9 pdb1 box3 pdb2");
    assert_false(order.has_on_disk);
}

static int make_root(void **state)
{
    static const char guid[] = "3249D99D0C4049318610F4E4FB0B69361";

    snprintf(root, sizeof(root), "/tmp/sc.order.XXXXXX");
    return mkdtemp(root) != NULL &&
                   symcache_name_parse("a.pdb", 5, &key) == SYMCACHE_OK &&
                   symcache_id_parse(guid, sizeof(guid) - 1, &key) ==
                       SYMCACHE_OK
               ? 0
               : -1;
}

/* Spellings that were left out: at the end, once, unless a source failed. */
static void asks_for_what_is_left_at_the_end(void **state)
{
    struct source_order order;

    source_order_begin(&order, &store, &key, &made[0]);
    assert_int_equal(source_order_variants(&order, &sources[0], 5), 5);
    assert_int_equal(source_order_variants(&order, &sources[3], 0), 0);
    assert_string_equal(source_order_next(&order)->name, "pdb1");
    source_order_left_out(&order, &sources[0]);
    source_order_absent(&order, &sources[0]);
    assert_string_equal(rest(&order), "box3 pdb2 pdb1");
    assert_true(order.is_last);
    assert_int_equal(source_order_variants(&order, &sources[0], 7),
                     5 | LAYOUT_SET_OTHERS);
    assert_string_equal(rest(&order), "");

    source_order_rewind(&order);
    assert_false(order.is_last);
    assert_string_equal(source_order_next(&order)->name, "pdb1");
    source_order_left_out(&order, &sources[0]);
    order.is_unsure = true;
    assert_string_equal(rest(&order), "box3 pdb2");
}

static int remove_root(void **state)
{
    char path[1024], relative[SYMCACHE_PATH_MAX + 1];

    symcache_path_dir(relative, &key);
    snprintf(path, sizeof(path), "%s/%s", root, relative);
    while (strlen(path) >= strlen(root)) {
        (void)rmdir(path);
        *strrchr(path, '/') = '\0';
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_for_the_version_first),
        cmocka_unit_test(leaves_pdbs_out),
        cmocka_unit_test(leaves_out_what_no_transcoder_takes),
        cmocka_unit_test(betters_what_is_held),
        cmocka_unit_test(asks_for_what_is_left_at_the_end),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
