/*
 * Copyright (C) the ngx_symcache authors
 */
#include "second_original.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "debuginfo/supplement.h"
#include "proto/hints.h"
#include "scheduler.h"

/* Reads the key from the converter's output. Its input may have taken the
 * converter over, but then it can only name a file of debug information, as
 * any client can. */
static bool read_altlink(symcache_key_t *key, const char *output)
{
    static const char prefix[] = "buildid-";
    const char *p = strstr(output, ALTLINK_NOTE);
    char text[SYMCACHE_ID_TEXT_MAX + 1];
    size_t n;

    if (p == NULL) {
        return false;
    }
    p += strlen(ALTLINK_NOTE);
    n = strspn(p, "0123456789abcdef");
    if (n == 0 || n > 2 * SYMCACHE_BUILD_ID_MAX) {
        return false;
    }
    memcpy(text, prefix, sizeof(prefix) - 1);
    memcpy(text + sizeof(prefix) - 1, p, n);
    n += sizeof(prefix) - 1;
    if (symcache_name_parse(SYMCACHE_NAME_NONE, strlen(SYMCACHE_NAME_NONE),
                            key) != SYMCACHE_OK ||
        symcache_id_parse(text, n, key) != SYMCACHE_OK) {
        return false;
    }
    key->kind = SYMCACHE_KIND_DEBUGINFO;
    return true;
}

/* Reads the key of the image from the client's hints about the module. */
static bool read_image(symcache_key_t *key, const char *hints,
                       const char *output)
{
    char name[SYMCACHE_HINT_MAX + 1], id[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_CODE_ID, id);
    symcache_hint_get(hints, SYMCACHE_HINT_CODE_FILE, name);
    if (strstr(output, IMAGE_NOTE) == NULL || id[0] == '\0' ||
        name[0] == '\0' ||
        symcache_name_parse(name, strlen(name), key) != SYMCACHE_OK ||
        symcache_id_parse(id, strlen(id), key) != SYMCACHE_OK ||
        key->id_type != SYMCACHE_ID_PE) {
        return false;
    }
    key->kind = SYMCACHE_KIND_EXECUTABLE;
    return true;
}

static bool read_key(const struct job *job, symcache_key_t *key,
                     const char *output)
{
    switch (job->original.format) {
    case FORMAT_ELF:
        return read_altlink(key, output);
    case FORMAT_PDB:
        return read_image(key, job_hints(job), output);
    default:
        return false;
    }
}

/* The search has ended. If no source has the file, convert without it. */
static void on_second(void *arg, const struct scheduler_answer *answer)
{
    struct job *job = arg;
    char path[PATH_MAX];

    job->run.second = NULL;
    if (answer->kind == SCHEDULER_HIT) {
        store_download_path(path, job->config->downloads, job->store->name,
                            answer->key);
        job->original.map = strdup(path);
    } else {
        job->run.lacks_second = answer->kind != SCHEDULER_ABSENT;
        log_info(0, "job %s: %s is not to be had: %s", job_id(job),
                 job->original.format == FORMAT_ELF ? "the file of dwz"
                                                    : "the image of the PDB",
                 answer->text != NULL ? answer->text : "");
    }
    job_set_state(job, JOB_WAITS_TRANSCODER);
}

bool job_wants_second(struct job *job, const char *output)
{
    symcache_key_t key;
    symcache_ask_t ask = {.version = order_original.version,
                          .min = order_original.version};
    struct scheduler_lookup lookup = {.store = job->store,
                                      .key = &key,
                                      .name = key.name,
                                      .ask = &ask,
                                      .via = job->via != NULL ? job->via : "",
                                      .hints = "",
                                      .wait =
                                          job->config->limits.download_time};

    if (job->run.asked_second || job_is_unverified(job) ||
        !transcode_is_ours(job_transcoder(job)) ||
        !read_key(job, &key, output)) {
        return false;
    }
    job->run.asked_second = 1;
    job_remove_work(job);
    job_set_state(job, JOB_WAITS_UPSTREAM);
    job->run.second =
        scheduler_ask(job->scheduler, &lookup, on_second, job);
    return true;
}

void job_leave_second(struct job *job)
{
    if (job->run.second != NULL) {
        scheduler_leave(job->run.second);
        job->run.second = NULL;
    }
}
