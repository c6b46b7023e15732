/*
 * Copyright (C) the ngx_symcache authors
 */
#include "altlink.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "debuginfo/supplement.h"
#include "scheduler.h"

/* Reads the key from what the converter has said, which may have been taken
 * over by its file: it can name any file of debug information, as any client
 * can. */
static bool read_key(symcache_key_t *key, const char *output)
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

/* The file is there, or nobody has it: then the names stay away. */
static void on_altlink(void *arg, const struct scheduler_answer *answer)
{
    struct job *job = arg;
    char path[PATH_MAX];

    job->run.altlink = NULL;
    if (answer->kind == SCHEDULER_HIT) {
        store_download_path(path, job->config->downloads, job->store->name,
                            answer->key);
        job->original.map = strdup(path);
    } else {
        job->run.lacks_altlink = answer->kind != SCHEDULER_ABSENT;
        log_info(0, "job %s: the file of dwz is not to be had: %s",
                 job_id(job), answer->text != NULL ? answer->text : "");
    }
    job_set_state(job, JOB_WAITS_TRANSCODER);
}

bool job_wants_altlink(struct job *job, const char *output)
{
    symcache_key_t key;
    symcache_ask_t ask = {.version = order_original.version,
                          .min = order_original.version};
    struct scheduler_lookup lookup = {.store = job->store,
                                      .key = &key,
                                      .name = SYMCACHE_NAME_NONE,
                                      .ask = &ask,
                                      .via = job->via != NULL ? job->via : "",
                                      .hints = "",
                                      .wait =
                                          job->config->limits.download_time};

    if (job->run.asked_altlink || job_is_unverified(job) ||
        !transcode_is_ours(job_transcoder(job)) ||
        job->original.format != FORMAT_ELF || !read_key(&key, output)) {
        return false;
    }
    job->run.asked_altlink = 1;
    job_remove_work(job);
    job_set_state(job, JOB_WAITS_UPSTREAM);
    job->run.altlink =
        scheduler_ask(job->scheduler, &lookup, on_altlink, job);
    return true;
}

void job_leave_altlink(struct job *job)
{
    if (job->run.altlink != NULL) {
        scheduler_leave(job->run.altlink);
        job->run.altlink = NULL;
    }
}
