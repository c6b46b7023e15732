/*
 * Copyright (C) the ngx_symcache authors
 *
 * What happens to a body, a directory or a file.ptr, whichever type of source
 * it came from.
 */
#include "lookup_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "symcached/upload_index/upload_index.h"
#include "symcached/intake/intake.h"
#include "metrics/metrics.h"
#include "base/origin.h"
#include "base/async_unlink.h"
#include "base/log.h"
#include "proto/properties.h"
#include "symcached/space/space.h"

#define LOOKUP_POINTERS 3

/* children that may look at one flat directory: twice what its files need */
#define LOOKUP_DIR_RUNS (2 * FLAT_FILES / FLAT_BATCH)

/* Moves the file away for the next one: truncating a large one is slow. */
static void lookup_discard_file(struct lookup *lookup, int fd,
                                const char *path)
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

static int lookup_open(struct lookup *lookup, int *fd, const char *path)
{
    const int flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;

    if (*fd >= 0) {
        lookup_discard_file(lookup, *fd, path);
    }

    *fd = open(path, flags, 0644);
    if (*fd < 0 && errno == ENOENT && lookup_make_folder(lookup) == 0) {
        *fd = open(path, flags, 0644);
    }
    return *fd < 0 ? -1 : 0;
}

int lookup_open_part(struct lookup *lookup)
{
    return lookup_open(lookup, &lookup->part_fd, lookup->part);
}

void lookup_drop_part(struct lookup *lookup)
{
    if (lookup->part_fd >= 0) {
        lookup_discard_file(lookup, lookup->part_fd, lookup->part);
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

/* The PDB is whole, checked and on disk: gives it its name. */
static void lookup_publish(struct lookup *lookup, const char *from,
                           const char *detail)
{
    struct stat st;

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

/* A PDB with another identity is unusable.  But in a flat directory, where only
 * names tell files apart, it is another build's, and the wanted one absent. */
static enum source_outcome lookup_outcome(const struct lookup *lookup,
                                          const struct unpack_attempt *attempt)
{
    return attempt->other && lookup->source->layout == LAYOUT_FLAT
               ? SOURCE_NOT_FOUND
               : attempt->outcome;
}

static void lookup_had_no_space(const struct lookup *lookup, uint64_t wanted)
{
    if (wanted > 0) {
        metrics_add(METRIC_FETCH_NO_SPACE, 1);
        disk_space_want_for(lookup->out_fd, wanted);
    }
}

/* The compressed form of a PDB that was sent compressed is also kept, for
 * clients that accept it.  If it is missing, they get the PDB. */
static void keep_compressed(const struct lookup *lookup)
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

static void lookup_on_checked(void *arg, const struct unpack_result *result)
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
        keep_compressed(lookup);
        lookup_publish(lookup, lookup->out, attempt->detail);
        return;
    default:
        lookup_attempt_here(lookup, lookup_outcome(lookup, attempt),
                            attempt->detail);
        lookup->resume(lookup);
        return;
    }
}

/* Starts a child that searches or checks, and enters its step. */
static void lookup_unpack(struct lookup *lookup, enum lookup_step step,
                          struct unpack_request *request, unpack_done_fn done)
{
    const struct limits_config *limits = &lookup->config->limits;
    symcache_key_t key = lookup->key;
    struct unpack *unpack;

    if (lookup->by_index) { /* whatever name the file has in it */
        index_set_name(&key, SYMCACHE_NAME_NONE);
    }
    if (lookup_open(lookup, &lookup->out_fd, lookup->out) != 0) {
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
    lookup_unpack(lookup, LOOKUP_CHECKS, &request, lookup_on_checked);
}

/* directories ---------------------------------------------------------------
 */

void lookup_set_dir_place(struct lookup *lookup, size_t place)
{
    snprintf(lookup->place, sizeof(lookup->place), "%s/%s", lookup->dir.root,
             lookup->dir.places[place]);
}

static void lookup_read_pointer(struct lookup *lookup)
{
    uint8_t text[FILE_PTR_MAX];
    ssize_t n = pread(lookup->out_fd, text, sizeof(text), 0);

    if (n < 0) {
        lookup_fail(lookup, "read");
        return;
    }
    lookup_pointer(lookup, text, (size_t)n);
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
    if (memory->index >= 0) {
        close(memory->index);
    }
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
        lookup_read_pointer(lookup);
    } else if (failed) {
        lookup_end(lookup);
    } else {
        lookup->resume(lookup);
    }
}

/* Does rel end with <name>/<GUIDAGE>/<name>? */
static bool lookup_in_store(const struct lookup *lookup, const char *rel)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    char tail[2 * SYMCACHE_NAME_MAX + SYMCACHE_ID_TEXT_MAX + 3];
    size_t len = strlen(rel), n;

    symcache_id_print(id, &lookup->key);
    snprintf(tail, sizeof(tail), "%s/%s/%s", lookup->key.name, id,
             lookup->key.name);

    n = strlen(tail);
    return len >= n && strcasecmp(rel + len - n, tail) == 0 &&
           (len == n || rel[len - n - 1] == '/');
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

/* file.ptr ------------------------------------------------------------------
 */

/* Looks for the file that a file.ptr names, for its packed form, and, if that
 * is a place in a symbol store, for the file.ptr next to it. */
static void lookup_follow_rel(struct lookup *lookup, const char *root,
                              char rel[FILE_PTR_TEXT])
{
    char packed[FILE_PTR_TEXT], pointer[FILE_PTR_TEXT + sizeof("file.ptr")];
    struct lookup_dir dir = {.root = root,
                             .places = {rel, packed, pointer},
                             .nplaces = 2,
                             .beneath = true};
    const char *slash = strrchr(rel, '/');

    snprintf(packed, sizeof(packed), "%s", rel);
    layout_pack(packed);

    if (slash != NULL && lookup_in_store(lookup, rel)) {
        snprintf(pointer, sizeof(pointer), "%.*s/file.ptr", (int)(slash - rel),
                 rel);
        dir.nplaces = 3;
    }

    lookup_dir(lookup, &dir);
}

static void lookup_follow_path(struct lookup *lookup, const char *text)
{
    const struct source_config *source = lookup->source;
    char rel[FILE_PTR_TEXT], detail[FILE_PTR_TEXT + 64];
    const char *root, *refused;

    refused = config_map_location(
        source->map, source->nmap,
        source->path != NULL ? source->path : source->url, text, &root, rel);
    if (refused != NULL) {
        snprintf(detail, sizeof(detail), "%s: \"%.300s\"", refused, text);
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND, detail);
        lookup->resume(lookup);
        return;
    }

    if (root == source->url) {
        source_http_pointed_below(lookup, rel);
    } else {
        lookup_follow_rel(lookup, root, rel);
    }
}

void lookup_pointer(struct lookup *lookup, const uint8_t *data, size_t len)
{
    char text[FILE_PTR_TEXT], detail[320];
    enum file_ptr_kind kind = file_ptr_parse(data, len, text);

    if (++lookup->pointers > LOOKUP_POINTERS) {
        lookup_attempt_here(lookup, SOURCE_UNUSABLE,
                            "too many file.ptr in a chain");
        lookup->resume(lookup);
        return;
    }

    switch (kind) {
    case FILE_PTR_PATH:
        lookup_follow_path(lookup, text);
        return;
    case FILE_PTR_URL:
        source_http_pointed(lookup, text);
        return;
    case FILE_PTR_MESSAGE:
        snprintf(detail, sizeof(detail), "MSG: %.300s", text);
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND, detail);
        break;
    case FILE_PTR_BAD:
        lookup_attempt_here(lookup, SOURCE_UNUSABLE, text);
        break;
    }

    lookup->resume(lookup);
}
