/*
 * Copyright (C) the ngx_symcache authors
 */
#include "inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/js_id.h"
#include "proto/hints.h"
#include "scheduler.h"

/* What is noted as the source of what is made of them. */
static const char from_store[] = "store";

bool kind_has_inputs(symcache_kind_e kind)
{
    return kind == SYMCACHE_KIND_JSCACHE;
}

/* Finds the file that a hint names and its digest.  Returns NULL, or what is
 * wrong. */
static const char *find(const struct job *job, symcache_hint_e hint,
                        char path[PATH_MAX], uint8_t digest[JS_ID_SIZE],
                        struct stat *st)
{
    static const symcache_version_t version = {1, 0, 0};
    char text[SYMCACHE_HINT_MAX + 1];
    const char *wrong = NULL;
    symcache_key_t key;
    int fd;

    symcache_hint_get(job_hints(job), hint, text);
    if (!symcache_hint_file(text, &key)) {
        return "it is not said of which script it is to be made";
    }
    store_path(path, job->store->root, &key, &version, SYMCACHE_FILE_PLAIN);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1 || fstat(fd, st) != 0) {
        wrong = "the script or its map is not in the store";
    } else if (!digest_of_file(fd, digest)) {
        wrong = "the script or its map has no digest, as on file systems "
                "without extended attributes";
    }
    if (fd != -1) {
        close(fd);
    }
    return wrong;
}

/* Returns NULL, or what is wrong. */
static const char *take(struct job *job, char script[PATH_MAX],
                        char map[PATH_MAX], bool *has_map)
{
    uint8_t digests[2][JS_ID_SIZE], id[JS_ID_SIZE];
    char text[SYMCACHE_HINT_MAX + 1];
    const char *wrong;
    struct stat st;

    symcache_hint_get(job_hints(job), SYMCACHE_HINT_MAP, text);
    *has_map = text[0] != '\0';
    wrong = *has_map
                ? find(job, SYMCACHE_HINT_MAP, map, digests[1], &st)
                : NULL;
    if (wrong == NULL) {
        wrong = find(job, SYMCACHE_HINT_SCRIPT, script, digests[0],
                     &job->original.left);
    }
    if (wrong != NULL) {
        return wrong;
    }
    js_id(id, digests[0], *has_map ? digests[1] : NULL);
    return job->key.build_len == sizeof(id) &&
                   memcmp(job->key.build, id, sizeof(id)) == 0
               ? NULL
               : "the id is not the hash of the script and its map";
}

bool job_take_inputs(struct job *job)
{
    char script[PATH_MAX], map[PATH_MAX];
    bool has_map;
    const char *wrong = take(job, script, map, &has_map);

    if (wrong != NULL) {
        job_fail(job, 0, wrong);
        return false;
    }
    job->original.from = from_store;
    job->original.link = strdup(script);
    job->original.map = has_map ? strdup(map) : NULL;
    job->original.unchanged = (time_t)INT64_MAX; /* nothing writes into it */
    if (job->original.link == NULL ||
        (has_map && job->original.map == NULL)) {
        job_fail(job, ENOMEM, "its originals cannot be used");
        return false;
    }
    return true;
}
