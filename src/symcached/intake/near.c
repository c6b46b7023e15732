/*
 * Copyright (C) the ngx_symcache authors
 */
#include "intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mounts.h"
#include "base/task.h"
#include "casefold_open.h"
#include "places.h"

struct near {
    char *root;
    char *names[UNPACK_PLACES];
    struct places_search search;
    uint64_t began;
    near_done_fn done;
    void *arg;
    struct near_result result;
};

static bool is_pdb(int fd)
{
    uint8_t head[BODY_HEAD];
    const char *what;
    ssize_t n = pread(fd, head, sizeof(head), 0);

    return n > 0 &&
           body_sniff(head, (size_t)n, &what) == BODY_ORIGINAL + FORMAT_PDB;
}

static void near_run(void *arg)
{
    struct near *near = arg;
    struct near_result *result = &near->result;
    struct stat st;
    int fd = -1, root = casefold_open_root(near->root);

    if (root < 0) {
        return;
    }
    near->search.root = root;
    fd = places_open_first(&near->search, &result->place);
    if (fd >= 0 &&
        here_may_stay(fd, near->search.unchanged, near->search.settled,
                      near->search.max, &st) &&
        is_pdb(fd)) {
        result->fd = fd;
        result->size = (uint64_t)st.st_size;
    } else if (fd >= 0) {
        close(fd);
    }
    close(root);
}

static void near_done(void *arg, bool late)
{
    static const struct near_result none = {.fd = -1, .late = true};
    struct near *near = arg;

    if (late) {
        near->done(near->arg, &none);
        return;
    }
    near->result.ms = clock_since(near->began);
    near->done(near->arg, &near->result);
}

static void near_drop(void *arg)
{
    struct near *near = arg;
    size_t i;

    if (near->result.fd >= 0) {
        close(near->result.fd);
    }
    for (i = 0; i < UNPACK_PLACES; i++) {
        free(near->names[i]);
    }
    free(near->root);
    free(near);
}

static const struct task_calls near_calls = {near_run, near_done, near_drop};

struct task *near_start(struct event_base *base,
                        const struct unpack_request *request,
                        near_done_fn done, void *arg)
{
    struct near *near;
    bool whole;
    size_t i;

    if (!mounts_is_local(request->root)) {
        errno = EXDEV;
        return NULL;
    }
    near = calloc(1, sizeof(*near));
    if (near == NULL) {
        return NULL;
    }
    near->result.fd = -1;
    near->done = done;
    near->arg = arg;
    near->began = clock_ms();
    near->search = (struct places_search){
        .names = (const char **)near->names,
        .n = request->nplaces,
        .index2 = request->index2,
        .beneath = true,
        .any_case = true,
        .unchanged = request->unchanged,
        .settled = request->settled,
        .max = request->max,
        .socket = -1,
    };
    near->root = strdup(request->root);
    whole = near->root != NULL;
    for (i = 0; i < request->nplaces; i++) {
        near->names[i] = strdup(request->places[i]);
        whole &= near->names[i] != NULL;
    }
    if (!whole) {
        near_drop(near);
        return NULL;
    }
    return task_start(base, request->first, &near_calls, near);
}
