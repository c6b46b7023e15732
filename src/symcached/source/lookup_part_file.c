/*
 * Copyright (C) the ngx_symcache authors
 *
 * What happens to a body, whichever type of source it came from.
 */
#include "lookup_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "symcached/upload_index/upload_index.h"
#include "symcached/intake/intake.h"
#include "metrics/metrics.h"
#include "base/async_unlink.h"
#include "base/disk_full.h"
#include "base/log.h"
#include "proto/properties.h"
#include "symcached/space/space.h"
#include "uploads.h"

/* Moves the file away for the next one: truncating a large one is slow. */
static void part_discard(struct lookup *lookup, int fd, const char *path)
{
    char aside[PATH_MAX];
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        snprintf(aside, sizeof(aside), "%s.%u", path, ++lookup->aside);
        if (rename(path, aside) == 0) {
            async_unlink_add(aside);
        }
    }
    close(fd);
}

int lookup_make_folder(const struct lookup *lookup)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.*s",
             (int)(strrchr(lookup->file, '/') - lookup->file), lookup->file);
    return mkdir(folder, 0755) == 0 || errno == EEXIST ? 0 : -1;
}

static int part_open(struct lookup *lookup, int *fd, const char *path)
{
    const int flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;

    if (*fd >= 0) {
        part_discard(lookup, *fd, path);
    }

    *fd = open(path, flags, 0644);
    if (*fd < 0 && errno == ENOENT && lookup_make_folder(lookup) == 0) {
        *fd = open(path, flags, 0644);
    }
    if (*fd >= 0) {
        return 0;
    }
    if (disk_is_full(errno)) { /* no inode is left */
        int errnum = errno;

        disk_space_want_in(lookup->config->downloads, 0);
        errno = errnum;
    }
    return -1;
}

int lookup_open_part(struct lookup *lookup)
{
    return part_open(lookup, &lookup->part_fd, lookup->part);
}

void lookup_drop_part(struct lookup *lookup)
{
    if (lookup->part_fd >= 0) {
        part_discard(lookup, lookup->part_fd, lookup->part);
        lookup->part_fd = -1;
    }
}

void lookup_fail(struct lookup *lookup, const char *what)
{
    char detail[256];

    snprintf(detail, sizeof(detail), "%s: %s", what, strerror(errno));
    lookup_attempt_here(lookup, SOURCE_FAILED_HERE, detail);
    lookup_end(lookup);
}

void lookup_publish(struct lookup *lookup, const char *from,
                    const char *detail)
{
    struct stat st;

    if (!uploads_take_found(lookup)) {
        return;
    }
    if (stat(from, &st) != 0 || rename(from, lookup->file) != 0) {
        lookup_fail(lookup, "rename");
        return;
    }

    if (lookup->properties != NULL) {
        (void)lsetxattr(lookup->file, SYMCACHE_PROPERTIES_ATTRIBUTE,
                        lookup->properties, strlen(lookup->properties), 0);
    }
    if (lookup->received.bytes == 0) {
        lookup->received.bytes = (uint64_t)st.st_size;
    }
    lookup_attempt_here(lookup, SOURCE_FOUND, detail);
    lookup_end(lookup);
}

enum source_outcome lookup_outcome(const struct lookup *lookup,
                                   const struct unpack_attempt *attempt)
{
    return attempt->other && lookup->source->layout == LAYOUT_FLAT
               ? SOURCE_NOT_FOUND
               : attempt->outcome;
}

void lookup_had_no_space(const struct lookup *lookup, uint64_t wanted)
{
    if (wanted > 0) {
        metrics_add(METRIC_FETCH_NO_SPACE, 1);
        disk_space_want_for(lookup->out_fd, wanted);
    }
}

/* The compressed form of a PDB that was sent compressed is also kept, for
 * clients that accept it.  If it is missing, they get the PDB. */
static void part_keep_compressed(const struct lookup *lookup)
{
    char *place;
    uint8_t head[BODY_HEAD];
    const char *what;
    ssize_t n = pread(lookup->part_fd, head, sizeof(head), 0);

    if (n <= 0 || body_sniff(head, (size_t)n, &what) != BODY_MSFZ ||
        asprintf(&place, "%s%s", lookup->file,
                 symcache_kind(SYMCACHE_KIND_MSFZ)->end) < 0) {
        return;
    }
    if (rename(lookup->part, place) != 0) {
        log_warn(errno, "\"%s\" cannot be kept compressed", lookup->place);
    }
    free(place);
}

static void part_on_checked(void *arg, const struct unpack_result *result)
{
    const struct unpack_attempt *attempt;
    struct lookup *lookup = arg;

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->publics_only = result->publics_only;
    lookup->features = result->features;
    lookup->received.ms += result->ms;
    lookup_had_no_space(lookup, result->wanted);
    attempt = &result->attempts[result->nattempts - 1];

    switch (result->found) {
    case UNPACK_IN:
        lookup_publish(lookup, lookup->part, attempt->detail);
        return;
    case UNPACK_OUT:
        part_keep_compressed(lookup);
        lookup_publish(lookup, lookup->out, attempt->detail);
        return;
    default:
        lookup_attempt_here(lookup, lookup_outcome(lookup, attempt),
                            attempt->detail);
        lookup->resume(lookup);
        return;
    }
}

void lookup_unpack(struct lookup *lookup, enum lookup_step step,
                   struct unpack_request *request, unpack_done_fn done)
{
    const struct limits_config *limits = &lookup->config->limits;
    symcache_key_t key = lookup->key;
    struct unpack *unpack;

    if (lookup->by_index || lookup->any_name) {
        upload_index_set_name(&key, SYMCACHE_NAME_NONE);
    }
    if (part_open(lookup, &lookup->out_fd, lookup->out) != 0) {
        lookup_fail(lookup, "open");
        return;
    }

    request->key = &key;
    request->formats =
        symcache_key_is_url(&lookup->key) ||
                lookup->key.kind == SYMCACHE_KIND_FILE
            ? 1u << FORMAT_ANY
            : lookup->formats & config_source_formats(lookup->source);
    request->checksum = lookup->checksum[0] != '\0' ? lookup->checksum : NULL;
    request->max = limits->download_size;
    request->seconds = limits->download_time;
    request->out = lookup->out_fd;
    request->cache = &lookup->config->cache;
    request->keep = disk_space_kept(lookup->out_fd, request->cache);

    unpack = unpack_start(lookup->sources->base, request, done, lookup);
    if (unpack == NULL) {
        lookup_fail(lookup, "unpacking");
        return;
    }
    if (request->gone != NULL) {
        host_slot_share(request->gone_arg);
    }
    lookup_set_step(lookup, step, unpack);
}

void lookup_check_part(struct lookup *lookup)
{
    struct unpack_request request = {0};

    if (lookup_offer_part(lookup)) {
        return;
    }
    request.in = lookup->part_fd;
    request.coded = lookup->coded;
    lookup_unpack(lookup, LOOKUP_CHECKS, &request, part_on_checked);
}
