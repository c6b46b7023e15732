/*
 * Copyright (C) the ngx_symcache authors
 *
 * An original that is stored in a tier as the probe of its breaker, and files
 * that wait meanwhile: they go on when it has ended.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/workdir.h"
#include "config/config.h"
#include "symcached/source/sources.h"
#include "symcached/tier/call.h"

#define ID "0123456789ABCDEF0123456789ABCDEF1"

static int gate[2]; /* a pipe */
static atomic_bool is_held, is_gone;

/* In place of libc's: the look at the tier's folder, with which that at an
 * object ends, waits for the gate. */
int access(const char *path, int mode)
{
    size_t n = strlen(path);
    char c;

    if (is_held && n > 5 && strcmp(path + n - 5, "/tier") == 0) {
        is_held = read(gate[0], &c, 1) < 0;
    }
    if (is_gone && n > 5 && strcmp(path + n - 5, "/tier") == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static atomic_bool is_broken;

/* In place of libc's: nothing can be written. */
int fsync(int fd)
{
    if (is_broken) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

struct fleet {
    char dir[64];
    struct event_base *base;
    struct config *config;
    struct tiers *tiers;
    struct tier *tier;
    struct workdir *workdir;
    int ended;
};

static void write_config(const char *dir, const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f,
            "{\"listen\": \"unix:%s/sock\", \"downloads\": \"%s/downloads\","
            " \"tiers\": {\"fleet\": {\"type\": \"filesystem\","
            " \"path\": \"%s/tier\"}},"
            " \"stores\": {\"default\": {\"root\": \"%s/store\","
            " \"tier\": \"fleet\"}}}",
            dir, dir, dir, dir);
    fclose(f);
}

static int open_fleet(void **state)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    char path[128], error[512] = "";

    assert_int_equal(pipe(gate), 0);
    snprintf(fleet->dir, sizeof(fleet->dir), "/tmp/symcache-original.XXXXXX");
    assert_non_null(mkdtemp(fleet->dir));
    snprintf(path, sizeof(path), "%s/tier", fleet->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/config", fleet->dir);
    write_config(fleet->dir, path);
    if (config_read(path, source_types, &fleet->config, error,
                    sizeof(error)) != 0) {
        fail_msg("%s", error);
    }
    fleet->config->uploads.tier = &fleet->config->tiers[0];
    snprintf(path, sizeof(path), "%s/store", fleet->dir);
    fleet->workdir = workdir_open(path);
    fleet->base = event_base_new();
    fleet->tiers = tiers_new(fleet->base, fleet->config);
    assert_non_null(fleet->tiers);
    fleet->tier = tiers_find(fleet->tiers, "fleet");
    *state = fleet;
    return 0;
}

static int close_fleet(void **state)
{
    struct fleet *fleet = *state;

    close(gate[0]);
    close(gate[1]);
    tiers_free(fleet->tiers);
    config_unref(fleet->config);
    workdir_close(fleet->workdir);
    event_base_free(fleet->base);
    workdir_remove(fleet->dir);
    free(fleet);
    return 0;
}

static void on_end(void *arg, enum tier_original_outcome outcome,
                   const char *detail)
{
    struct fleet *fleet = arg;

    fleet->ended++;
}

/* The breaker's pause is over, and the look at an original is the probe. */
static struct tier_original *begin_probe(struct fleet *fleet)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct tier_original *original;

    is_held = true;
    fleet->tier->put.breaker.state = BREAKER_OPEN;
    fleet->tier->put.breaker.until = 0;
    original = tiers_store_original(fleet->tiers, fleet->config,
                                    "a.pdb/" ID "/a.pdb", fd,
                                    TIER_ORIGINAL_LOOK, "", on_end, fleet);
    assert_non_null(original);
    close(fd);
    while (fleet->tier->put.running == 0) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_ONCE), 0);
    }
    assert_int_equal(fleet->tier->put.breaker.state, BREAKER_HALF_OPEN);
    return original;
}

/* A file that is gone when its turn comes is published meanwhile. */
static void add_file(struct fleet *fleet)
{
    symcache_key_t key = {0};
    symcache_version_t version = {0};

    assert_int_equal(symcache_name_parse("b.pdb", 5, &key), SYMCACHE_OK);
    assert_int_equal(symcache_id_parse(ID, strlen(ID), &key), SYMCACHE_OK);
    tiers_put(fleet->tiers, &fleet->config->stores[0], fleet->workdir, &key,
              &version, false);
    assert_int_equal(fleet->tier->nputs, 1);
}

/* Nothing is left to be done at once. */
static void run_dry(struct fleet *fleet)
{
    while (fleet->tier->put.running + fleet->tier->nputs > 0 &&
           event_base_get_num_events(fleet->base, EVENT_BASE_COUNT_ACTIVE) >
               0) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_NONBLOCK), 0);
    }
}

static void a_probe_ends(void **state)
{
    struct fleet *fleet = *state;

    (void)begin_probe(fleet);
    add_file(fleet);
    run_dry(fleet);
    assert_int_equal(fleet->tier->nputs, 1);
    assert_int_equal(write(gate[1], "", 1), 1);
    while (fleet->ended == 0) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_ONCE), 0);
    }
    run_dry(fleet);
    assert_int_equal(fleet->tier->put.breaker.state, BREAKER_CLOSED);
    assert_int_equal(fleet->tier->nputs, 0);
}

static void a_probe_is_cancelled(void **state)
{
    struct fleet *fleet = *state;
    struct tier_original *original = begin_probe(fleet);

    add_file(fleet);
    run_dry(fleet);
    assert_int_equal(fleet->tier->nputs, 1);
    tiers_original_cancel(original);
    assert_int_equal(write(gate[1], "", 1), 1);
    run_dry(fleet);
    assert_int_equal(fleet->tier->nputs, 0);
}

static void run_original(struct fleet *fleet, int fd,
                         enum tier_original_mode mode)
{
    int ended = fleet->ended;

    assert_non_null(tiers_store_original(fleet->tiers, fleet->config,
                                         "c.pdb/" ID "/c.pdb", fd, mode, "",
                                         on_end, fleet));
    while (fleet->ended == ended) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_ONCE), 0);
    }
}

/* The looks before them succeed. */
static void writes_fail(void **state)
{
    struct fleet *fleet = *state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), i;

    is_broken = true;
    for (i = 1; i <= 3; i++) {
        assert_int_equal(fleet->tier->put.breaker.state, BREAKER_CLOSED);
        /* each has hung for ten seconds */
        fleet->tier->put.breaker.since -= 10500;
        run_original(fleet, fd, TIER_ORIGINAL_KEEP);
    }
    assert_int_equal(fleet->tier->put.breaker.state, BREAKER_OPEN);

    /* a look alone does not show that files are taken again */
    fleet->tier->put.breaker.until = 0;
    for (i = 4; i <= 5; i++) {
        run_original(fleet, fd,
                     i == 4 ? TIER_ORIGINAL_LOOK : TIER_ORIGINAL_KEEP);
        assert_int_equal(fleet->tier->put.breaker.state, BREAKER_CLOSED);
        assert_int_equal(tiers_refuse_files(fleet->tiers,
                                            fleet->config->uploads.tier),
                         i == 4);
        is_broken = false;
    }
    close(fd);
}

/* The tier does not answer, and then it does: no file has been refused. */
static void looks_fail(void **state)
{
    struct fleet *fleet = *state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), i;

    is_gone = true;
    for (i = 1; i <= 4; i++) {
        assert_int_equal(fleet->tier->put.breaker.state,
                         i < 4 ? BREAKER_CLOSED : BREAKER_OPEN);
        is_gone = i < 4;
        fleet->tier->put.breaker.until = 0;
        run_original(fleet, fd, TIER_ORIGINAL_LOOK);
    }
    assert_int_equal(fleet->tier->put.breaker.state, BREAKER_CLOSED);
    assert_false(
        tiers_refuse_files(fleet->tiers, fleet->config->uploads.tier));
    close(fd);
}

/* A tier that is full when files are written, and then does not answer, has
 * taken none when it does. */
static void is_full(void **state)
{
    struct fleet *fleet = *state;
    struct tier_way *way = &fleet->tier->put;
    struct tier_call call = {.refusal = 507};
    int i;

    for (i = 0; i < 2; i++) {
        call.looks = false;
        way->running = 3;
        tier_way_ends(fleet->tier, way, &call, TIER_REPLY_FAULT, false, "full");
        call.looks = true;
        tier_way_ends(fleet->tier, way, &call, TIER_REPLY_DONE, false, "");
        assert_true(way->writes_fail);
        call.refusal = 0;
        tier_way_ends(fleet->tier, way, &call, TIER_REPLY_FAULT, false, "mute");
        assert_true(way->writes_fail);
        way->is_unproved = true;
        if (i == 0) { /* until one is written */
            call.looks = false;
            way->running = 1;
            tier_way_ends(fleet->tier, way, &call, TIER_REPLY_DONE, false, "");
        } else { /* or its configuration is another one */
            tiers_configure(fleet->tiers, fleet->config);
        }
        assert_false(way->writes_fail);
        assert_false(
            tiers_refuse_files(fleet->tiers, fleet->config->uploads.tier));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_fail, open_fleet, close_fleet),
        cmocka_unit_test_setup_teardown(looks_fail, open_fleet, close_fleet),
        cmocka_unit_test_setup_teardown(is_full, open_fleet, close_fleet),
        cmocka_unit_test_setup_teardown(a_probe_ends, open_fleet, close_fleet),
        cmocka_unit_test_setup_teardown(a_probe_is_cancelled, open_fleet,
                                        close_fleet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
