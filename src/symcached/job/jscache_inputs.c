/*
 * Copyright (C) the ngx_symcache authors
 */
#include "jscache_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest_attribute.h"
#include "base/fd_close.h"
#include "base/fd_write.h"
#include "base/jscache_id.h"
#include "base/task.h"
#include "proto/hints.h"
#include "scheduler_state.h"

#define PIECE 65536 /* bytes that are copied at a time */

/* The name noted as the source of files made from inputs. */
static const char from_store[] = "store";

enum { SCRIPT, MAP, INPUTS };

/* The thread's own. */
struct inputs {
    struct job *job;
    char root[PATH_MAX];          /* of the store */
    char paths[INPUTS][PATH_MAX]; /* in which bytes of a SourceCache are
                                     written; then of the inputs */
    symcache_hint_file_t files[INPUTS];
    bool has_map;
    uint8_t id[JS_ID_SIZE]; /* of what was found */
    struct stat script;
    const char *wrong; /* or NULL */
    int errnum;
};

bool kind_has_inputs(symcache_kind_e kind)
{
    return kind == SYMCACHE_KIND_JSCACHE;
}

/* in the thread ----------------------------------------------------------- */

/* Opens the file of an input, the newest one.  Returns -1 if there is none. */
static int inputs_open_file(const struct inputs *inputs,
                            const symcache_key_t *key, char path[PATH_MAX])
{
    symcache_version_t versions[STORE_VERSIONS_MAX], *best = versions;
    int i, n = store_versions(inputs->root, key, versions);

    for (i = 1; i < n; i++) {
        if (symcache_version_cmp(&versions[i], best) > 0) {
            best = &versions[i];
        }
    }
    if (n <= 0) {
        return -1;
    }
    store_path(path, inputs->root, key, best, SYMCACHE_FILE_PLAIN);
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Copies bytes of a file to another one.  Returns 0, or an errno; ENODATA: the
 * file has no such bytes. */
static int copy_input(int from, int to, uint64_t offset, uint64_t left,
                      EVP_MD_CTX *md)
{
    uint8_t piece[PIECE];
    ssize_t n;

    for (; left > 0; left -= (uint64_t)n, offset += (uint64_t)n) {
        n = pread(from, piece, left < PIECE ? (size_t)left : PIECE,
                  (off_t)offset);
        if (n <= 0) {
            return n == 0 ? ENODATA : errno;
        }
        if (EVP_DigestUpdate(md, piece, (size_t)n) != 1) {
            return ENOMEM;
        }
        if (fd_write(to, piece, (size_t)n) != 0) {
            return errno;
        }
    }
    return 0;
}

/* Writes bytes of a SourceCache to a file of their own. */
static int jscache_take_bytes(int from, const symcache_hint_file_t *file,
                              const char *path, uint8_t digest[JS_ID_SIZE])
{
    int to =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    int errnum = to < 0 ? errno : 0;

    if (errnum == 0 &&
        (md == NULL || EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1)) {
        errnum = ENOMEM;
    }
    if (errnum == 0) {
        errnum = copy_input(from, to, file->offset, file->size, md);
    }
    if (errnum == 0 && EVP_DigestFinal_ex(md, digest, NULL) != 1) {
        errnum = ENOMEM;
    }
    EVP_MD_CTX_free(md);
    fd_close(to);
    return errnum;
}

/* Finds an input and its digest. */
static void find_input(struct inputs *inputs, int which,
                       uint8_t digest[JS_ID_SIZE])
{
    const symcache_hint_file_t *file = &inputs->files[which];
    char path[PATH_MAX];
    int fd = inputs_open_file(inputs, &file->key, path);

    if (fd == -1) {
        inputs->wrong = "the script or its map is not in the store";
        return;
    }
    if (file->key.kind == SYMCACHE_KIND_SOURCECACHE) {
        inputs->errnum =
            jscache_take_bytes(fd, file, inputs->paths[which], digest);
        if (inputs->errnum == ENODATA) {
            inputs->errnum = 0;
            inputs->wrong = "the bundle is smaller than what is said of it";
        } else if (inputs->errnum != 0) {
            inputs->wrong = "a file of a bundle cannot be copied";
        }
    } else if (!digest_of_file(fd, digest)) {
        inputs->wrong = "the script or its map has no digest, as on file "
                        "systems without extended attributes";
    } else {
        memcpy(inputs->paths[which], path, sizeof(path));
    }
    close(fd);
}

static void run_copy(void *arg)
{
    struct inputs *inputs = arg;
    uint8_t digests[INPUTS][JS_ID_SIZE];

    find_input(inputs, SCRIPT, digests[SCRIPT]);
    if (inputs->wrong == NULL && inputs->has_map) {
        find_input(inputs, MAP, digests[MAP]);
    }
    if (inputs->wrong != NULL) {
        return;
    }
    jscache_id(inputs->id, digests[SCRIPT],
               inputs->has_map ? digests[MAP] : NULL);
    if (stat(inputs->paths[SCRIPT], &inputs->script) != 0) {
        inputs->errnum = errno;
        inputs->wrong = "the script is gone";
    }
}

/* in the loop ------------------------------------------------------------- */

static void copy_done(void *arg, bool late)
{
    struct inputs *inputs = arg;
    struct job *job = inputs->job;
    const char *wrong = inputs->wrong;

    job->run.inputs = NULL;
    if (late) {
        job_fail(job, 0, "the disk of the store does not answer");
        return;
    }
    if (wrong == NULL &&
        (job->key.build_len != JS_ID_SIZE ||
         memcmp(job->key.build, inputs->id, JS_ID_SIZE) != 0)) {
        wrong = "the id is not the hash of the script and its map";
    }
    if (wrong != NULL) {
        job_fail(job, inputs->errnum, wrong);
        return;
    }
    job->original.from = from_store;
    job->original.left = inputs->script;
    job->original.link = strdup(inputs->paths[SCRIPT]);
    job->original.seconds[SECOND_FILE] =
        inputs->has_map ? strdup(inputs->paths[MAP]) : NULL;
    job->original.unchanged = (time_t)INT64_MAX; /* nothing writes into it */
    if (job->original.link == NULL ||
        (inputs->has_map && job->original.seconds[SECOND_FILE] == NULL)) {
        job_fail(job, ENOMEM, "its originals cannot be used");
        return;
    }
    job_start_transcoder(job);
}

/* Reads what the hints say.  Returns false if they name no script. */
static bool read_hints(struct inputs *inputs, const char *hints)
{
    char text[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_MAP, text);
    inputs->has_map = text[0] != '\0';
    if (inputs->has_map && !symcache_hint_file(text, &inputs->files[MAP])) {
        return false;
    }
    symcache_hint_get(hints, SYMCACHE_HINT_SCRIPT, text);
    return symcache_hint_file(text, &inputs->files[SCRIPT]);
}

void job_take_inputs(struct job *job)
{
    static const struct task_calls calls = {run_copy, copy_done, free};
    struct inputs *inputs = calloc(1, sizeof(*inputs));

    if (inputs == NULL) {
        job_fail(job, ENOMEM, "its originals cannot be used");
        return;
    }
    if (!read_hints(inputs, job_hints(job))) {
        free(inputs);
        job_fail(job, 0, "it is not said of which script it is to be made");
        return;
    }
    inputs->job = job;
    snprintf(inputs->root, sizeof(inputs->root), "%s", job->store->root);
    snprintf(inputs->paths[SCRIPT], PATH_MAX, "%s/script", job->work);
    snprintf(inputs->paths[MAP], PATH_MAX, "%s/map", job->work);
    job->run.inputs =
        task_start(job->scheduler->base, job->config->limits.first_byte_time,
                   &calls, inputs);
    if (job->run.inputs == NULL) {
        job_fail(job, errno, "its originals cannot be looked for");
    }
}

void job_leave_inputs(struct job *job)
{
    if (job->run.inputs != NULL) {
        task_cancel(job->run.inputs);
        job->run.inputs = NULL;
    }
}
