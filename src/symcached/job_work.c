/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a job has on disk until it ends.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "job.h"
#include "remover.h"
#include "store.h"

const char *job_pdb_path(const struct job *job)
{
    static char path[PATH_MAX];

    store_download_path(path, job->config->downloads, job->store->name,
                        &job->key);
    return path;
}

char *job_make_work(struct workdir *workdir)
{
    char path[WORKDIR_PATH_MAX], *work;

    if (workdir == NULL) {
        errno = ENOENT;
        return NULL;
    }
    if (workdir_make(workdir, path) != 0) {
        return NULL;
    }
    work = strdup(path);
    if (work == NULL) {
        workdir_remove(path);
        errno = ENOMEM;
    }
    return work;
}

void job_remove_work(struct job *job)
{
    if (job->work != NULL) {
        remover_add(job->work);
        free(job->work);
        job->work = NULL;
    }
}

void job_discard_pdb(struct job *job)
{
    struct workdir *workdir = jobs_workdir(job->jobs, job->config->downloads);
    char aside[WORKDIR_PATH_MAX];

    if (workdir != NULL) {
        workdir_file(workdir, aside);
        if (rename(job_pdb_path(job), aside) == 0) {
            remover_add(aside);
            return;
        }
    }
    (void)unlink(job_pdb_path(job));
}

bool job_has_room(const char *root, off_t size)
{
    struct statvfs fs;

    return statvfs(root, &fs) != 0 ||
           (uint64_t)fs.f_bavail * fs.f_frsize > (uint64_t)size;
}

void job_wait_for_room(const struct job *job)
{
    struct stat st;

    if (stat(job_pdb_path(job), &st) == 0 &&
        !job_has_room(job->store->root, st.st_size)) {
        (void)remover_settle();
    }
}
