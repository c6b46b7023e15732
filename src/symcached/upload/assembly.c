/*
 * Copyright (C) the ngx_symcache authors
 */
#include "assembly.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/hash_table.h"
#include "base/log.h"
#include "config/config.h"
#include "symcached/intake/upload_report.h"
#include "symcached/job/job.h"
#include "bundle_listing.h"
#include "chunk_join.h"
#include "upload_state.h"

/* Files that are remembered; those that are done make room. */
#define ENTRIES_MAX 20000

/* Answers that wait until files end, each of which needs memory. */
#define WATCHES_MAX 16

/* Chunks of all files that are not done: 20 MB. */
#define CHUNKS_KEPT 1000000

struct assembly_entry {
    TAILQ_ENTRY(assembly_entry) next;
    struct assemblies *assemblies;
    struct upload_sum sum;
    enum assembly_state state;
    char *name;
    struct upload_sum *chunks; /* until it is done */
    size_t nchunks;
    bool only_try;
    unsigned expires;
    struct build_labels labels;
    bool is_artifacts;
    char *user, *release, *dist; /* or NULL */
    char *text;                 /* why it failed */
    struct symstore_path place; /* of one that is done, and its file then: */
    ino_t inode;
    off_t size;
    struct timespec stored;
    struct upload_sum successor; /* that has taken its place since */
    struct bundle_listing *listing; /* or NULL */
};

struct assemblies {
    struct uploads *uploads;
    TAILQ_HEAD(entries, assembly_entry) entries; /* the oldest first */
    struct table by_sum;
    size_t nchunks;        /* of all that are not done */
    struct assembly_entry *running; /* one at a time */
    bool is_beginning;
    LIST_HEAD(, assembly_watch) watches;
    unsigned nwatches;
    char *text; /* that was told last */
};

static uint64_t assembly_hash(const struct assemblies *assemblies,
                              const struct upload_sum *sum)
{
    return table_hash((uintptr_t)assemblies, sum->bytes, sizeof(sum->bytes));
}

static struct assembly_entry *
find_assembly(const struct assemblies *assemblies,
              const struct assembly_request *request)
{
    uint64_t hash = assembly_hash(assemblies, &request->sum);
    struct assembly_entry *assembly;
    size_t at = 0;

    while ((assembly = (struct assembly_entry *)table_next(
                &assemblies->by_sum, hash, &at)) != NULL) {
        if (memcmp(&assembly->sum, &request->sum, sizeof(assembly->sum)) ==
                0 &&
            assembly->only_try == request->only_try &&
            memcmp(&assembly->labels, &request->labels,
                   sizeof(assembly->labels)) == 0 &&
            strcmp(assembly->name, request->name) == 0) {
            break;
        }
    }
    return assembly;
}

static void drop_chunks(struct assembly_entry *assembly)
{
    if (assembly->chunks != NULL) {
        assembly->assemblies->nchunks -= assembly->nchunks;
    }
    free(assembly->chunks);
    assembly->chunks = NULL;
}

static void forget_assembly(struct assembly_entry *assembly)
{
    struct assemblies *assemblies = assembly->assemblies;

    TAILQ_REMOVE(&assemblies->entries, assembly, next);
    table_remove(&assemblies->by_sum,
                 assembly_hash(assemblies, &assembly->sum),
                 (uintptr_t)assembly);
    if (assembly->listing != NULL) {
        bundle_listing_cancel(assembly->listing);
    }
    free(assembly->name);
    drop_chunks(assembly);
    free(assembly->user);
    free(assembly->release);
    free(assembly->dist);
    free(assembly->text);
    free(assembly);
}

/* Drops one that is done if there are as many as may be.  Returns false if
 * none that is remembered is done.
 */
static bool drop_oldest(struct assemblies *assemblies)
{
    struct assembly_entry *assembly;

    if (assemblies->by_sum.count < ENTRIES_MAX) {
        return true;
    }
    TAILQ_FOREACH(assembly, &assemblies->entries, next)
    {
        if (assembly->state >= ASSEMBLY_DONE) {
            forget_assembly(assembly);
            return true;
        }
    }
    return false;
}

static struct assembly_entry *
add_assembly(struct assemblies *assemblies,
             const struct assembly_request *request)
{
    struct assembly_entry *assembly =
        request->nchunks <= CHUNKS_KEPT - assemblies->nchunks &&
                drop_oldest(assemblies)
            ? calloc(1, sizeof(*assembly))
            : NULL;

    if (assembly == NULL) {
        return NULL;
    }
    assembly->assemblies = assemblies;
    assembly->sum = request->sum;
    assembly->state = ASSEMBLY_WAITS;
    assembly->only_try = request->only_try;
    assembly->expires = request->expires;
    assembly->labels = request->labels;
    assembly->nchunks = request->nchunks;
    assembly->is_artifacts = request->is_artifacts;
    assembly->user = request->user != NULL ? strdup(request->user) : NULL;
    assembly->release =
        request->release != NULL ? strdup(request->release) : NULL;
    assembly->dist = request->dist != NULL ? strdup(request->dist) : NULL;
    assembly->name = strdup(request->name);
    assembly->chunks = chunk_sums_copy(request->chunks, request->nchunks);
    if (assembly->chunks != NULL) {
        assemblies->nchunks += request->nchunks;
    }
    TAILQ_INSERT_TAIL(&assemblies->entries, assembly, next);
    if (assembly->name == NULL || assembly->chunks == NULL ||
        (assembly->release == NULL) != (request->release == NULL) ||
        (assembly->dist == NULL) != (request->dist == NULL) ||
        table_add(&assemblies->by_sum,
                  assembly_hash(assemblies, &assembly->sum),
                  (uintptr_t)assembly) != 0) {
        forget_assembly(assembly);
        return NULL;
    }
    return assembly;
}

/* NULL only after a reload, see assemblies_ask(). */
static const char *root_of(const struct assemblies *assemblies)
{
    return scheduler_config(assemblies->uploads->scheduler)->uploads.root;
}

bool assemblies_watch(struct assemblies *assemblies,
                      struct assembly_watch *watch)
{
    if (assemblies->nwatches == WATCHES_MAX) {
        return false;
    }
    watch->assemblies = assemblies;
    LIST_INSERT_HEAD(&assemblies->watches, watch, entry);
    assemblies->nwatches++;
    return true;
}

void assembly_unwatch(struct assembly_watch *watch)
{
    LIST_REMOVE(watch, entry);
    watch->assemblies->nwatches--;
}

void assemblies_stop(struct assemblies *assemblies)
{
    struct assembly_watch *watch;

    while (assemblies != NULL &&
           (watch = LIST_FIRST(&assemblies->watches)) != NULL) {
        watch->stop(watch->arg);
    }
}

/* status: of a failure. */
static void end_assembly(struct assembly_entry *assembly, int status,
                         const char *failure)
{
    struct assemblies *assemblies = assembly->assemblies;
    struct assembly_watch *watch;

    assemblies->running = NULL;
    assembly->listing = NULL;
    assembly->state = failure == NULL ? ASSEMBLY_DONE : ASSEMBLY_FAILED;
    if (failure != NULL) {
        log_info(0, "upload user=%s status=%d file=%s is not taken: %s",
                 assembly->user != NULL ? assembly->user : "-", status,
                 assembly->name, failure);
        free(assembly->text);
        assembly->text = strdup(failure);
    }
    drop_chunks(assembly);
    LIST_FOREACH(watch, &assemblies->watches, entry)
    {
        watch->ended(watch->arg);
    }
}

static void on_noted(void *arg, const char *failure)
{
    struct assembly_entry *assembly = arg;
    struct assemblies *assemblies = assembly->assemblies;

    end_assembly(assembly, 503, failure);
    assemblies_next(assemblies);
}

/* Looks at the file of one that is done.  Returns false if it is not there. */
static bool look_at_file(const struct assembly_entry *assembly,
                         const char *root, struct stat *st)
{
    char path[PATH_MAX], file[PATH_MAX];

    upload_file_path(file, &assembly->place, assembly->only_try);
    snprintf(path, sizeof(path), "%.2000s/%.2000s", root, file);
    return lstat(path, st) == 0;
}

/* A bundle is stored: notes the ids by which it is found.  Returns false if
 * that fails. */
static bool note_bundle(struct assembly_entry *assembly,
                        const struct upload_result *result)
{
    char sum[ARTIFACTS_SUM + 1];
    struct bundle_to_list note = {
        .config = result->config,
        .sum = sum,
        .debug_ids = result->debug_ids,
        .release = assembly->release,
        .dist = assembly->dist,
        .is_try = assembly->only_try,
    };

    chunk_print_sum(sum, &assembly->sum);
    assembly->listing = bundle_listing_start(assembly->assemblies->uploads,
                                             &note, on_noted, assembly);
    return assembly->listing != NULL;
}

/* Reports doubts to the client and in the log. */
static void take_doubts(struct assembly_entry *assembly, const char *doubts)
{
    char sum[ARTIFACTS_SUM + 1];

    if (doubts != NULL) {
        chunk_print_sum(sum, &assembly->sum);
        log_warn(0, "upload: the bundle %s is taken, but %s", sum, doubts);
        free(assembly->text);
        assembly->text = strdup(doubts);
    }
}

static bool has_same_place(const struct assembly_entry *a,
                           const struct assembly_entry *b)
{
    return a->only_try == b->only_try &&
           memcmp(&a->labels, &b->labels, sizeof(a->labels)) == 0 &&
           strcmp(a->place.name, b->place.name) == 0 &&
           strcmp(a->place.id, b->place.id) == 0 &&
           strcmp(a->place.file, b->place.file) == 0;
}

/* Notes which file has taken the place of those that had it, with the same
 * labels: with others it counts for its own build only. */
static void note_successor(const struct assembly_entry *assembly)
{
    struct assembly_entry *former;

    TAILQ_FOREACH(former, &assembly->assemblies->entries, next)
    {
        if (former->state == ASSEMBLY_DONE &&
            has_same_place(former, assembly)) {
            former->successor = assembly->sum;
        }
    }
}

static void assembly_on_done(void *arg, const struct upload_result *result)
{
    struct assembly_entry *assembly = arg;
    struct stat st = {.st_ino = 0};

    if (result->status >= 300 || result->nfiles == 0) {
        end_assembly(assembly, result->status,
                     result->text != NULL ? result->text : "");
        return;
    }
    assembly->place = result->files[0].place;
    (void)look_at_file(assembly, result->config->uploads.root, &st);
    assembly->inode = st.st_ino;
    assembly->size = st.st_size;
    assembly->stored = st.st_mtim;
    if (!assembly->is_artifacts) {
        note_successor(assembly);
        end_assembly(assembly, 0, NULL);
        return;
    }
    take_doubts(assembly, result->doubts);
    if (!note_bundle(assembly, result)) {
        end_assembly(assembly, 503, "out of memory");
    }
}

static struct assembly_entry *
first_that_waits(const struct assemblies *assemblies)
{
    struct assembly_entry *assembly;

    TAILQ_FOREACH(assembly, &assemblies->entries, next)
    {
        if (assembly->state == ASSEMBLY_WAITS) {
            break;
        }
    }
    return assembly;
}

static void begin_assembly(struct assemblies *assemblies,
                           struct assembly_entry *assembly)
{
    const struct uploads_config *config =
        &scheduler_config(assemblies->uploads->scheduler)->uploads;
    char id[sizeof("hash-") + ARTIFACTS_SUM];
    struct upload_request request = {.name = assembly->name,
                                     .id = "",
                                     .file = "",
                                     .is_object = true,
                                     .sum = assembly->sum,
                                     .chunks = assembly->chunks,
                                     .nchunks = assembly->nchunks,
                                     .only_try = assembly->only_try,
                                     .expires = assembly->expires,
                                     .labels = assembly->labels,
                                     .user = assembly->user,
                                     .replace = config->replace};

    if (assembly->is_artifacts) {
        chunk_print_sum(stpcpy(id, "hash-"), &assembly->sum);
        request.name = SYMCACHE_NAME_NONE;
        request.id = id;
        request.file = ARTIFACTS_FILE;
        request.is_artifacts = true;
        request.is_object = false;
    }
    assemblies->running = assembly;
    assembly->state = ASSEMBLY_RUNS;
    uploads_take(assemblies->uploads, &request, assembly_on_done, assembly);
}

void assemblies_next(struct assemblies *assemblies)
{
    struct assembly_entry *assembly;

    if (assemblies->is_beginning) {
        return; /* one that has ended at once; the loop below goes on */
    }
    assemblies->is_beginning = true;
    while (assemblies->running == NULL &&
           uploads_are_taken(assemblies->uploads) &&
           (assembly = first_that_waits(assemblies)) != NULL) {
        begin_assembly(assemblies, assembly);
    }
    assemblies->is_beginning = false;
}

/* Returns how many chunks are missing, or -1 without memory. */
static int find_missing(const struct assemblies *assemblies,
                        const struct assembly_request *request, bool **missing)
{
    const char *root = root_of(assemblies);
    char path[PATH_MAX], folder[PATH_MAX];
    size_t i;
    int n = 0;

    *missing = calloc(request->nchunks, sizeof(**missing));
    if (*missing == NULL) {
        return -1;
    }
    snprintf(folder, sizeof(folder), "%.2000s%s", root,
             request->only_try ? "/" UPLOADS_TRY : "");
    for (i = 0; i < request->nchunks; i++) {
        chunk_print_path(path, folder, &request->chunks[i]);
        (*missing)[i] = access(path, R_OK) != 0;
        n += (*missing)[i];
    }
    return n;
}

/* A file that was done may have been removed or replaced since. */
static bool assembly_is_there(const struct assembly_entry *assembly)
{
    struct stat st;

    return look_at_file(assembly, root_of(assembly->assemblies), &st) &&
           st.st_ino == assembly->inode &&
           st.st_mtim.tv_sec == assembly->stored.tv_sec &&
           st.st_mtim.tv_nsec == assembly->stored.tv_nsec;
}

static bool is_better(const struct assembly_entry *a,
                      const struct assembly_entry *b)
{
    unsigned a_debug = a->place.features & SYMCACHE_HAS_DEBUG;
    unsigned b_debug = b->place.features & SYMCACHE_HAS_DEBUG;

    return a_debug != b_debug ? a_debug != 0 : a->size > b->size;
}

/* Has another file of the request taken the place of one that is done, and is
 * it as good? */
static bool is_replaced(const struct assembly_entry *assembly,
                        const struct assembly_request *request)
{
    struct assemblies *assemblies = assembly->assemblies;
    const struct assembly_entry *other = NULL;
    char sum[ARTIFACTS_SUM + 1];
    size_t at = 0;

    chunk_print_sum(sum, &assembly->successor);
    if (cJSON_GetObjectItem(request->files, sum) == NULL) {
        return false;
    }
    do {
        other = (const struct assembly_entry *)table_next(
            &assemblies->by_sum,
            assembly_hash(assemblies, &assembly->successor), &at);
    } while (other != NULL &&
             (other->state != ASSEMBLY_DONE ||
              !has_same_place(other, assembly) || is_better(assembly, other) ||
              !assembly_is_there(other)));
    return other != NULL;
}

static void answer_entry(struct assembly_entry *assembly,
                         struct assembly_answer *answer)
{
    answer->state = assembly->state;
    if (assembly->state == ASSEMBLY_DONE) {
        answer->place = &assembly->place;
        answer->text = assembly->text;
    } else if (assembly->state == ASSEMBLY_FAILED) {
        free(assembly->assemblies->text);
        answer->text = assembly->assemblies->text = assembly->text;
        assembly->text = NULL;
        forget_assembly(assembly); /* it may be tried again */
    }
}

int assemblies_ask(struct assemblies *assemblies,
                   const struct assembly_request *request,
                   struct assembly_answer *answer)
{
    struct assembly_entry *assembly = find_assembly(assemblies, request);
    int n;

    memset(answer, 0, sizeof(*answer));
    if (root_of(assemblies) == NULL) {
        answer->state = ASSEMBLY_FAILED;
        answer->text = "the configuration has no \"uploads\"";
        return 0;
    }
    if (assembly != NULL && assembly->state == ASSEMBLY_DONE &&
        !assembly_is_there(assembly) && !is_replaced(assembly, request)) {
        forget_assembly(assembly);
        assembly = NULL;
    }
    if (assembly != NULL) {
        answer_entry(assembly, answer);
        return 0;
    }
    n = find_missing(assemblies, request, &answer->missing);
    if (n != 0) {
        return n < 0 ? -1 : 0; /* ASSEMBLY_MISSING */
    }
    free(answer->missing);
    answer->missing = NULL;
    assembly = add_assembly(assemblies, request);
    if (assembly == NULL) {
        return -1;
    }
    answer->state = ASSEMBLY_WAITS;
    assemblies_next(assemblies);
    return 0;
}

struct assemblies *assemblies_new(struct uploads *uploads)
{
    struct assemblies *assemblies = calloc(1, sizeof(*assemblies));

    if (assemblies != NULL) {
        assemblies->uploads = uploads;
        TAILQ_INIT(&assemblies->entries);
    }
    return assemblies;
}

void assemblies_free(struct assemblies *assemblies)
{
    struct assembly_entry *assembly;

    if (assemblies == NULL) {
        return;
    }
    while ((assembly = TAILQ_FIRST(&assemblies->entries)) != NULL) {
        forget_assembly(assembly);
    }
    table_free(&assemblies->by_sum);
    free(assemblies->text);
    free(assemblies);
}
