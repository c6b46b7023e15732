/*
 * Copyright (C) the ngx_symcache authors
 *
 * A PDB whose id was not checked yet.  A process that only reads its id takes
 * a tenth of the time of a conversion, and our converter can also report the
 * id.  So a PDB that will be converted, and seems to be the right one, is
 * converted first.  If the converter cannot confirm it, it is checked like any
 * other file.
 */
#include "lookup_steps.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Would the lookup's owner take a PDB without a look at it? */
static bool may_offer(const struct lookup *lookup)
{
    return lookup->unchanged != 0 && lookup->callbacks.unverified != NULL &&
           lookup->attempt_queue == NULL &&
           !config_source_is_ready_made(lookup->source, &lookup->key) &&
           lookup->key.kind == SYMCACHE_KIND_SYMCACHE &&
           lookup->key.id_type == SYMCACHE_ID_DEBUG &&
           !lookup->is_offered_no_more &&
           (lookup->formats & config_source_formats(lookup->source) &
            1u << FORMAT_PDB);
}

/* Hands `file`, or the one at the path `here`, to the owner.  The host is free
 * for others. */
static void offer(struct lookup *lookup, const char *here)
{
    lookup_set_step(lookup, LOOKUP_UNVERIFIED, NULL);
    host_leave(lookup->slot);
    lookup->slot = NULL;
    lookup->callbacks.unverified(lookup->arg, here);
}

bool lookup_offer_part(struct lookup *lookup)
{
    uint8_t head[BODY_HEAD];
    const char *what;
    struct stat st;
    ssize_t n;

    if (!may_offer(lookup)) {
        return false;
    }
    n = pread(lookup->part_fd, head, sizeof(head), 0);
    if (n <= 0 ||
        body_sniff(head, (size_t)n, &what) != BODY_ORIGINAL + FORMAT_PDB ||
        fstat(lookup->part_fd, &st) != 0 ||
        rename(lookup->part, lookup->file) != 0) {
        return false;
    }
    lookup->offered = (uint64_t)st.st_size;
    close(lookup->part_fd); /* as many may wait as jobs do */
    lookup->part_fd = -1;
    offer(lookup, NULL);
    return true;
}

/* Makes the offered file the received one again, so that it is checked. */
static int take_part_back(struct lookup *lookup)
{
    if (rename(lookup->file, lookup->part) != 0) {
        return -1;
    }
    lookup->part_fd = open(lookup->part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return lookup->part_fd < 0 ? -1 : 0;
}

static void on_local_pdb(void *arg, const struct local_pdb_result *result)
{
    enum breaker_end end = result->late ? BREAKER_FAULT : BREAKER_GOOD;
    struct lookup *lookup = arg;
    char detail[64] = "", path[PATH_MAX];

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->dir.seen = true;
    lookup->received.ms = result->ms;
    if (result->late) {
        snprintf(detail, sizeof(detail), "no answer within %u s",
                 lookup->config->limits.first_byte_time);
    }
    lookup_leave_dir(lookup, end, detail);
    if (result->late) {
        lookup_attempt_here(lookup, SOURCE_FAILED, detail);
        lookup_end(lookup);
    } else if (result->fd >= 0 && in_place_path(result->fd, path) == 0) {
        lookup_set_dir_place(lookup, result->place);
        lookup->offered = result->size;
        lookup->received.bytes = result->size;
        lookup->in_dir = true;
        offer(lookup, path);
    } else {
        lookup_run_dir(lookup);
    }
}

bool lookup_find_local_pdb(struct lookup *lookup)
{
    struct unpack_request request = {0};
    struct task *task;

    if (!may_offer(lookup) || lookup->dir.flat || lookup->dir.seen) {
        return false;
    }
    if (!lookup_enter_dir(lookup, &request)) {
        return true;
    }
    task =
        local_pdb_start(lookup->sources->base, &request, on_local_pdb, lookup);
    if (task == NULL) {
        lookup_leave_dir(lookup, BREAKER_NOTHING, "");
        return false;
    }
    lookup_set_step(lookup, LOOKUP_FINDS_LOCAL, task);
    return true;
}

void lookup_verified(struct lookup *lookup, bool publics_only,
                     unsigned features)
{
    char detail[64];

    lookup->publics_only = publics_only;
    lookup->features = features;
    lookup->received.bytes = lookup->offered;
    snprintf(detail, sizeof(detail), "%llu bytes%s",
             (unsigned long long)lookup->offered,
             publics_only ? ", public symbols only" : "");
    lookup_attempt_here(lookup, SOURCE_FOUND, detail);
    if (lookup->found != NULL) {
        lookup->found(lookup);
    }
    lookup_cancel(lookup);
}

void lookup_check_unverified(struct lookup *lookup)
{
    lookup->is_offered_no_more = true;
    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    if (lookup->source->origin != NULL) {
        lookup->slot = host_enter(lookup->sources->hosts,
                                  lookup->source->origin, true);
    }
    if (lookup->in_dir) {
        (void)unlink(lookup->file);
        lookup->in_dir = false;
        lookup_run_dir(lookup);
    } else if (take_part_back(lookup) != 0) {
        lookup_fail(lookup, "what was received");
    } else {
        lookup_check_part(lookup);
    }
}
