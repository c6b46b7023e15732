/*
 * Copyright (C) the ngx_symcache authors
 *
 * The search for places below a directory, by children that unpack and check
 * what they find there.
 */
#include "lookup_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "base/origin.h"

/* children that may look at one flat directory: twice what its files need */
#define LOOKUP_DIR_RUNS (2 * FLAT_FILES / FLAT_BATCH)

/* The PDB stays in its directory. */
static void lookup_link(struct lookup *lookup, int fd, const char *detail)
{
    if (lookup_make_folder(lookup) != 0 ||
        in_place_link(fd, lookup->file) != 0) {
        lookup_fail(lookup, "link");
        return;
    }
    lookup_publish(lookup, lookup->file, detail);
}

void lookup_set_dir_place(struct lookup *lookup, size_t place)
{
    snprintf(lookup->place, sizeof(lookup->place), "%s/%s", lookup->dir.root,
             lookup->dir.places[place]);
}

static void lookup_on_dir(void *arg, const struct unpack_result *result);

/* The child writes a new index, which replaces the old one only when it is
 * complete, because other lookups may be reading the old one. */
static int lookup_set_index(struct lookup *lookup,
                            struct unpack_request *request)
{
    struct source_memory *memory =
        sources_memory(lookup->sources, lookup->source);

    lookup->dir.new_index = memfd_create("index", MFD_CLOEXEC);
    if (memory == NULL || lookup->dir.new_index < 0) {
        return -1;
    }
    request->flat = true;
    request->places[0] = lookup->name; /* in place of "*.pdb" */
    request->new_index = lookup->dir.new_index;
    request->index =
        memory->index >= 0 ? memory->index : lookup->dir.new_index;
    return 0;
}

/* Keeps the new index, unless the child died before it wrote any of it. */
static void lookup_keep_index(struct lookup *lookup)
{
    struct source_memory *memory =
        sources_memory(lookup->sources, lookup->source);
    struct stat st;

    if (lookup->dir.new_index < 0) {
        return;
    }
    if (fstat(lookup->dir.new_index, &st) != 0 || st.st_size == 0) {
        close(lookup->dir.new_index);
        lookup->dir.new_index = -1;
        return;
    }
    fd_close(memory->index);
    memory->index = lookup->dir.new_index;
    lookup->dir.new_index = -1;
}

void lookup_leave_dir(struct lookup *lookup, enum breaker_end end,
                      const char *detail)
{
    if (lookup->dir.host != NULL) {
        host_end(lookup->dir.host, &lookup->config->limits, end,
                 lookup->dir.probe, detail);
        lookup->dir.host = NULL;
    }
    host_leave(lookup->dir.slot);
    lookup->dir.slot = NULL;
}

/*
 * A directory has limits and a breaker as hosts do, and one that a file.ptr
 * leads to has its own.
 */
bool lookup_enter_dir(struct lookup *lookup, struct unpack_request *request)
{
    const struct limits_config *limits = &lookup->config->limits;
    const struct source_config *source = lookup->source;
    struct hosts *hosts = lookup->sources->hosts;
    char *origin = origin_directory(lookup->dir.root);
    char reason[HOST_REASON] = "out of memory";
    struct host_slot *slot = lookup->slot;
    size_t i;

    if (origin != NULL) {
        lookup->dir.host =
            host_begin(hosts, origin, limits, &lookup->dir.probe, reason,
                       &lookup->received.retry_after);
    }
    if (lookup->dir.host != NULL && strcmp(origin, source->origin) != 0) {
        lookup->dir.slot = host_enter(hosts, origin, false);
        slot = lookup->dir.slot;
    }
    free(origin);
    if (lookup->dir.host == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED, reason);
        lookup_end(lookup);
        return false;
    }

    request->first = limits->first_byte_time < limits->download_time
                         ? limits->first_byte_time
                         : limits->download_time;
    if (slot != NULL) {
        request->gone = host_slot_gone;
        request->gone_arg = slot;
    }
    request->max = limits->download_size;
    request->in = -1;
    request->root = lookup->dir.root;
    request->beneath = lookup->dir.beneath;
    request->unchanged = lookup->unchanged;
    /* uploads get their names when they are whole */
    request->settled =
        lookup->unchanged -
        (config_source_is_uploads(source) ? 0 : IN_PLACE_SETTLED);
    request->index2 = lookup->dir.index2;
    request->nplaces = lookup->dir.nplaces;
    for (i = 0; i < request->nplaces; i++) {
        request->places[i] = lookup->dir.places[i];
    }
    return true;
}

void lookup_run_dir(struct lookup *lookup)
{
    struct unpack_request request = {0};

    if (lookup_find_local_pdb(lookup) || !lookup_enter_dir(lookup, &request)) {
        return;
    }
    if (lookup->dir.flat && lookup_set_index(lookup, &request) != 0) {
        lookup_fail(lookup, "index");
        return;
    }
    lookup_unpack(lookup, LOOKUP_SEARCHES, &request, lookup_on_dir);
}

/* The directory has more files than one child looks at. */
static void lookup_on_part_of_dir(struct lookup *lookup)
{
    if (++lookup->dir.runs > LOOKUP_DIR_RUNS) {
        lookup_attempt_here(lookup, SOURCE_FAILED,
                            "the directory changes too fast");
        lookup_end(lookup);
        return;
    }
    lookup_run_dir(lookup);
}

/* Judges the directory by the end of a child: a child that died has shown
 * neither that the directory works nor that it does not. */
static enum breaker_end dir_end(const struct unpack_result *result)
{
    if (result->silent) {
        return BREAKER_FAULT;
    }
    return result->died ? BREAKER_NOTHING : BREAKER_GOOD;
}

static void lookup_on_dir(void *arg, const struct unpack_result *result)
{
    const struct unpack_attempt *attempt;
    struct lookup *lookup = arg;
    bool failed = false;
    size_t i, n = result->nattempts;

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->publics_only = result->publics_only;
    lookup->features = result->features;
    lookup_had_no_space(lookup, result->wanted);
    lookup_leave_dir(lookup, dir_end(result),
                     n > 0 ? result->attempts[n - 1].detail : "");
    lookup_keep_index(lookup);
    if (result->again) {
        lookup_on_part_of_dir(lookup);
        return;
    }

    /* the place that had the file is reported below or after a later step */
    for (i = 0; i < n - (result->found != UNPACK_NONE); i++) {
        attempt = &result->attempts[i];
        failed |= source_outcome_is_failure(attempt->outcome);
        lookup_set_dir_place(lookup, attempt->place);
        lookup->received.ms = i + 1 == n ? result->ms : 0;
        lookup_attempt_here(lookup, lookup_outcome(lookup, attempt),
                            attempt->detail);
    }

    lookup->received.ms = result->ms;
    attempt = &result->attempts[n - 1];
    lookup_set_dir_place(lookup, attempt->place);

    if (result->found == UNPACK_OUT) {
        lookup_publish(lookup, lookup->out, attempt->detail);
    } else if (result->found == UNPACK_HERE) {
        lookup_link(lookup, result->here, attempt->detail);
    } else if (result->found == UNPACK_POINTER) {
        lookup_file_ptr(lookup, lookup->out_fd);
    } else if (failed) {
        lookup_end(lookup);
    } else {
        lookup->resume(lookup);
    }
}

/* Returns 0 or -1. */
static int lookup_set_dir(struct lookup *lookup, const char *root,
                          const char *const *places, size_t nplaces)
{
    char *new_root = strdup(root);
    bool whole = new_root != NULL;
    size_t i;

    for (i = 0; i < lookup->dir.nplaces; i++) {
        free(lookup->dir.places[i]);
    }
    free(lookup->dir.root);
    lookup->dir.root = new_root;

    for (i = 0; i < nplaces; i++) {
        lookup->dir.places[i] = strdup(places[i]);
        whole &= lookup->dir.places[i] != NULL;
    }
    lookup->dir.nplaces = nplaces;
    return whole ? 0 : -1;
}

void lookup_dir(struct lookup *lookup, const struct lookup_dir *dir)
{
    memset(&lookup->received, 0, sizeof(lookup->received));
    lookup->dir.beneath = dir->beneath;
    lookup->dir.index2 = dir->index2;
    lookup->dir.flat = dir->flat;
    lookup->dir.runs = 0;
    lookup->dir.seen = false;

    if (lookup_set_dir(lookup, dir->root, dir->places, dir->nplaces) != 0) {
        snprintf(lookup->place, sizeof(lookup->place), "%s", dir->root);
        lookup_attempt_here(lookup, SOURCE_FAILED_HERE, "out of memory");
        lookup_end(lookup);
        return;
    }
    lookup_set_dir_place(lookup, 0);
    lookup_run_dir(lookup);
}
