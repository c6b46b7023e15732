/*
 * Copyright (C) the ngx_symcache authors
 */
#include "intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_close.h"
#include "base/mounts.h"
#include "base/task.h"
#include "casefold_open.h"
#include "dir_places.h"

struct local_pdb {
    char *root;
    char *names[UNPACK_PLACES];
    struct dir_search search;
    uint64_t began;
    local_pdb_done_fn done;
    void *arg;
    struct local_pdb_result result;
};

static bool local_pdb_is_pdb(int fd)
{
    uint8_t head[BODY_HEAD];
    const char *what;
    ssize_t n = pread(fd, head, sizeof(head), 0);

    return n > 0 &&
           body_sniff(head, (size_t)n, &what) == BODY_ORIGINAL + FORMAT_PDB;
}

static void local_pdb_run(void *arg)
{
    struct local_pdb *local = arg;
    struct local_pdb_result *result = &local->result;
    struct stat st;
    int fd = -1, root = casefold_open_root(local->root);

    if (root < 0) {
        return;
    }
    local->search.root = root;
    fd = dir_places_open_first(&local->search, &result->place);
    if (fd >= 0 &&
        in_place_may_stay(fd, local->search.unchanged, local->search.settled,
                          local->search.max, &st) &&
        local_pdb_is_pdb(fd)) {
        result->fd = fd;
        result->size = (uint64_t)st.st_size;
    } else if (fd >= 0) {
        close(fd);
    }
    close(root);
}

static void local_pdb_done(void *arg, bool late)
{
    static const struct local_pdb_result none = {.fd = -1, .late = true};
    struct local_pdb *local = arg;

    if (late) {
        local->done(local->arg, &none);
        return;
    }
    local->result.ms = clock_since(local->began);
    local->done(local->arg, &local->result);
}

static void local_pdb_drop(void *arg)
{
    struct local_pdb *local = arg;
    size_t i;

    fd_close(local->result.fd);
    for (i = 0; i < UNPACK_PLACES; i++) {
        free(local->names[i]);
    }
    free(local->root);
    free(local);
}

static const struct task_calls local_pdb_calls = {local_pdb_run, local_pdb_done,
                                                  local_pdb_drop};

struct task *local_pdb_start(struct event_base *base,
                             const struct unpack_request *request,
                             local_pdb_done_fn done, void *arg)
{
    struct local_pdb *local;
    bool whole;
    size_t i;

    if (!mounts_is_local(request->root)) {
        errno = EXDEV;
        return NULL;
    }
    local = calloc(1, sizeof(*local));
    if (local == NULL) {
        return NULL;
    }
    local->result.fd = -1;
    local->done = done;
    local->arg = arg;
    local->began = clock_ms();
    local->search = (struct dir_search){
        .names = (const char **)local->names,
        .n = request->nplaces,
        .index2 = request->index2,
        .beneath = true,
        .any_case = true,
        .unchanged = request->unchanged,
        .settled = request->settled,
        .max = request->max,
        .socket = -1,
    };
    local->root = strdup(request->root);
    whole = local->root != NULL;
    for (i = 0; i < request->nplaces; i++) {
        local->names[i] = strdup(request->places[i]);
        whole &= local->names[i] != NULL;
    }
    if (!whole) {
        local_pdb_drop(local);
        return NULL;
    }
    return task_start(base, request->first, &local_pdb_calls, local);
}
