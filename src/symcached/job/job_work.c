/*
 * Copyright (C) the ngx_symcache authors
 *
 * The work folder of a job, which is on the file system of what it makes.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "job_state.h"
#include "base/async_unlink.h"

char *job_name_work(struct workdir *workdir)
{
    char path[WORKDIR_PATH_MAX];

    if (workdir == NULL) {
        errno = ENOENT;
        return NULL;
    }
    return workdir_file(workdir, path) == 0 ? strdup(path) : NULL;
}

char *job_make_work(struct workdir *workdir)
{
    char *work = job_name_work(workdir);

    if (work != NULL && mkdir(work, 0755) != 0) {
        free(work);
        return NULL;
    }
    return work;
}

void job_remove_work(struct job *job)
{
    if (job->work != NULL) {
        async_unlink_add(job->work);
        free(job->work);
        job->work = NULL;
    }
}
