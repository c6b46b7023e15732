/*
 * Copyright (C) the ngx_symcache authors
 */
#include "assembly.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/hash_table.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "symcached/intake/upload_report.h"
#include "symcached/job/job.h"
#include "symcached/space/space.h"
#include "bundle_listing.h"
#include "upload_state.h"

#define SECONDS 600
#define BUFFER 65536

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

/* the file of chunks ------------------------------------------------------ */

struct assembly_join {
    char *root;
    char *output;
    struct upload_sum *chunks;
    size_t nchunks;
    struct upload_sum sum;
    uint64_t max;
    uint64_t keep;
    int errnum;
    bool is_other;    /* it has another SHA-1 */
    unsigned damaged; /* chunks that have it, too, and were removed */
    struct upload *upload;
};

static struct upload_sum *copy_sums(const struct upload_sum *sums, size_t n)
{
    struct upload_sum *copy = malloc(n * sizeof(*copy));

    if (copy != NULL) {
        memcpy(copy, sums, n * sizeof(*copy));
    }
    return copy;
}

static void print_sum(char text[ARTIFACTS_SUM + 1],
                      const struct upload_sum *sum)
{
    hex_print(text, sum->bytes, sizeof(sum->bytes), HEX_LOWER);
}

static void print_chunk(char path[PATH_MAX], const char *root,
                        const struct upload_sum *sum)
{
    char text[ARTIFACTS_SUM + 1];

    print_sum(text, sum);
    snprintf(path, PATH_MAX, "%.2048s/" SYMCACHE_NAME_NONE "/hash-%s/%s", root,
             text, UPLOAD_CHUNK);
}

/* out may be NULL.  Returns 0, or an errno. */
static int append_chunk(const struct assembly_join *join,
                        const struct upload_sum *chunk,
                        struct limited_writer *out, EVP_MD_CTX *sha1,
                        char *buffer)
{
    char path[PATH_MAX];
    ssize_t n;
    int fd, rc = 0;

    print_chunk(path, join->root, chunk);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    do {
        n = read(fd, buffer, BUFFER);
        if (n < 0 && errno != EINTR) {
            rc = errno;
        } else if (n > 0 &&
                   EVP_DigestUpdate(sha1, buffer, (size_t)n) != 1) {
            rc = ENOMEM;
        } else if (n > 0 && out != NULL &&
                   limited_writer_write(out, buffer, (size_t)n) != 0) {
            rc = out->error;
        }
    } while (n != 0 && rc == 0);
    close(fd);
    return rc;
}

/* Returns 0, or an errno. */
static int join_all(struct assembly_join *join, int fd, EVP_MD_CTX *sha1,
                    char *buffer)
{
    struct limited_writer out = {
        .fd = fd, .max = join->max, .keep = join->keep};
    struct upload_sum sum;
    size_t i;
    int rc = 0;

    if (fd < 0) {
        return errno;
    }
    if (buffer == NULL || sha1 == NULL ||
        EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) != 1) {
        return ENOMEM;
    }
    for (i = 0; i < join->nchunks && rc == 0; i++) {
        rc = append_chunk(join, &join->chunks[i], &out, sha1, buffer);
    }
    if (rc == 0 && EVP_DigestFinal_ex(sha1, sum.bytes, NULL) != 1) {
        rc = ENOMEM;
    }
    join->is_other = rc == 0 && memcmp(&sum, &join->sum, sizeof(sum)) != 0;
    return rc;
}

/* Removes the chunks that a disk has changed: clients send what is missing. */
static void drop_damaged(struct assembly_join *join, EVP_MD_CTX *sha1,
                         char *buffer)
{
    struct upload_sum sum;
    char path[PATH_MAX];
    size_t i;

    for (i = 0; i < join->nchunks; i++) {
        if (EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) != 1 ||
            append_chunk(join, &join->chunks[i], NULL, sha1, buffer) != 0 ||
            EVP_DigestFinal_ex(sha1, sum.bytes, NULL) != 1 ||
            memcmp(&sum, &join->chunks[i], sizeof(sum)) == 0) {
            continue;
        }
        print_chunk(path, join->root, &join->chunks[i]);
        join->damaged += unlink(path) == 0;
    }
}

static void run_join(void *arg)
{
    struct assembly_join *join = arg;
    int fd = open(join->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EVP_MD_CTX *sha1 = EVP_MD_CTX_new();
    char *buffer = malloc(BUFFER);

    join->errnum = join_all(join, fd, sha1, buffer);
    if (join->is_other) {
        drop_damaged(join, sha1, buffer);
    }
    fd_close(fd);
    EVP_MD_CTX_free(sha1);
    free(buffer);
}

static void on_joined(void *arg, bool late)
{
    struct assembly_join *join = arg;
    struct upload *u = join->upload;

    u->join = NULL;
    if (late) {
        upload_refuse(u, 503, "the disk does not answer");
    } else if (join->errnum == ENOENT) {
        upload_refuse(u, 503, "a chunk has expired: send it again");
    } else if (join->errnum == EFBIG) {
        upload_refuse_size(u, "the chunks together");
    } else if (join->errnum != 0) {
        upload_refuse_errno(u, join->errnum, "the chunks cannot be joined");
    } else if (join->damaged > 0) {
        log_error(0, "upload: %u chunks are not what they were: they are "
                  "removed, and to be sent again", join->damaged);
        upload_refuse(u, 503, "a chunk was damaged here: send it again");
    } else if (join->is_other) {
        upload_refuse(u, 400, "the chunks make a file of another SHA-1");
    } else if ((u->in = open(join->output, O_RDONLY | O_CLOEXEC)) < 0) {
        upload_refuse_errno(u, errno, "the joined chunks cannot be read");
    } else {
        unpacking_start(u);
    }
}

static void drop_assembly(void *arg)
{
    struct assembly_join *join = arg;

    free(join->root);
    free(join->output);
    free(join->chunks);
    free(join);
}

void assembly_join(struct upload *u)
{
    static const struct task_calls calls = {run_join, on_joined,
                                            drop_assembly};
    const char *root = u->config->uploads.root;
    struct assembly_join *join = calloc(1, sizeof(*join));
    int work = open(u->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (join != NULL &&
        asprintf(&join->root, "%s%s", root,
                 u->request.only_try ? "/" UPLOADS_TRY : "") < 0) {
        join->root = NULL;
    }
    if (join != NULL && asprintf(&join->output, "%s/joined", u->work) < 0) {
        join->output = NULL;
    }
    if (join != NULL) {
        join->chunks = copy_sums(u->request.chunks, u->request.nchunks);
    }
    if (join == NULL || join->root == NULL || join->output == NULL ||
        join->chunks == NULL) {
        if (join != NULL) {
            drop_assembly(join);
        }
        upload_refuse_errno(u, ENOMEM, "the chunks cannot be joined");
    } else {
        join->nchunks = u->request.nchunks;
        join->sum = u->request.sum;
        join->max = u->config->uploads.max_size;
        join->keep = disk_space_kept(work, &u->config->cache);
        join->upload = u;
        u->join = task_start(u->uploads->base, SECONDS, &calls, join);
        if (u->join == NULL) {
            upload_refuse_errno(u, errno, "no thread to join chunks");
        }
    }
    fd_close(work);
}

/* what becomes of files --------------------------------------------------- */

static uint64_t hash_of(const struct assemblies *assemblies,
                        const struct upload_sum *sum)
{
    return table_hash((uintptr_t)assemblies, sum->bytes, sizeof(sum->bytes));
}

static struct assembly_entry *
find_assembly(const struct assemblies *assemblies,
              const struct assembly_request *request)
{
    uint64_t hash = hash_of(assemblies, &request->sum);
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
    table_remove(&assemblies->by_sum, hash_of(assemblies, &assembly->sum),
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
    assembly->chunks = copy_sums(request->chunks, request->nchunks);
    if (assembly->chunks != NULL) {
        assemblies->nchunks += request->nchunks;
    }
    TAILQ_INSERT_TAIL(&assemblies->entries, assembly, next);
    if (assembly->name == NULL || assembly->chunks == NULL ||
        (assembly->release == NULL) != (request->release == NULL) ||
        (assembly->dist == NULL) != (request->dist == NULL) ||
        table_add(&assemblies->by_sum, hash_of(assemblies, &assembly->sum),
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

    print_sum(sum, &assembly->sum);
    assembly->listing = bundle_listing_start(assembly->assemblies->uploads,
                                             &note, on_noted, assembly);
    return assembly->listing != NULL;
}

/* Reports doubts to the client and in the log. */
static void take_doubts(struct assembly_entry *assembly, const char *doubts)
{
    char sum[ARTIFACTS_SUM + 1];

    if (doubts != NULL) {
        print_sum(sum, &assembly->sum);
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

static void on_done(void *arg, const struct upload_result *result)
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
        print_sum(stpcpy(id, "hash-"), &assembly->sum);
        request.name = SYMCACHE_NAME_NONE;
        request.id = id;
        request.file = ARTIFACTS_FILE;
        request.is_artifacts = true;
        request.is_object = false;
    }
    assemblies->running = assembly;
    assembly->state = ASSEMBLY_RUNS;
    uploads_take(assemblies->uploads, &request, on_done, assembly);
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
        print_chunk(path, folder, &request->chunks[i]);
        (*missing)[i] = access(path, R_OK) != 0;
        n += (*missing)[i];
    }
    return n;
}

/* A file that was done may have been removed or replaced since. */
static bool is_there(const struct assembly_entry *assembly)
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

    print_sum(sum, &assembly->successor);
    if (cJSON_GetObjectItem(request->files, sum) == NULL) {
        return false;
    }
    do {
        other = (const struct assembly_entry *)table_next(
            &assemblies->by_sum, hash_of(assemblies, &assembly->successor),
            &at);
    } while (other != NULL &&
             (other->state != ASSEMBLY_DONE ||
              !has_same_place(other, assembly) || is_better(assembly, other) ||
              !is_there(other)));
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
        !is_there(assembly) && !is_replaced(assembly, request)) {
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
