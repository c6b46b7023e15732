/*
 * Copyright (C) the ngx_symcache authors
 */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/task.h"
#include "symcached/space/space.h"
#include "upload.h"

#define SECONDS 600
#define CHUNK 65536

/* Numbers of parts that one file may be sent in at a time; others expire. */
#define SETS_MAX 16

struct part_join {
    char *folder;
    char *file;
    char *output;
    unsigned parts;
    uint64_t max;
    uint64_t keep;
    enum parts_state state;
    int errnum;
    unsigned missing;
    parts_done_fn done;
    void *arg;
};

void parts_name(char *name, size_t size, const char *file, unsigned parts,
                unsigned part)
{
    snprintf(name, size, "%s.%u-%u", file, parts, part);
}

/* Reads the number of parts of a name, or 0. */
static unsigned read_name(const char *name, const char *file)
{
    size_t len = strlen(file);
    unsigned parts = 0, part = 0;
    int end = 0;

    return strncmp(name, file, len) == 0 &&
                   sscanf(name + len, ".%5u-%5u%n", &parts, &part, &end) ==
                       2 &&
                   name[len + (size_t)end] == '\0' && part < parts &&
                   parts <= UPLOAD_PARTS_MAX
               ? parts
               : 0;
}

unsigned parts_other(const char *folder, const char *file, unsigned parts)
{
    struct {
        unsigned parts, there;
    } sets[SETS_MAX] = {{0, 0}};
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    unsigned n, i;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        n = read_name(entry->d_name, file);
        for (i = 0; n != 0 && n != parts && i < SETS_MAX; i++) {
            if (sets[i].parts == 0 || sets[i].parts == n) {
                sets[i].parts = n;
                sets[i].there++;
                break;
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    for (i = 0; i < SETS_MAX; i++) {
        if (sets[i].there < sets[i].parts) {
            return sets[i].parts;
        }
    }
    return 0;
}

/* the thread -------------------------------------------------------------- */

static int parts_copy_part(int in, struct limited_writer *out, char *chunk)
{
    ssize_t n;

    do {
        n = read(in, chunk, CHUNK);
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        if (n > 0 && limited_writer_write(out, chunk, (size_t)n) != 0) {
            return out->error;
        }
    } while (n != 0);
    return 0;
}

static int open_part(const struct part_join *join, unsigned part)
{
    char path[PATH_MAX], name[NAME_MAX + 1];

    parts_name(name, sizeof(name), join->file, join->parts, part);
    snprintf(path, sizeof(path), "%.2048s/%s", join->folder, name);
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Are all there?  Mostly one of the last ones is not. */
static bool has_all(struct part_join *join)
{
    char path[PATH_MAX], name[NAME_MAX + 1];
    unsigned part;

    for (part = join->parts; part > 0; part--) {
        parts_name(name, sizeof(name), join->file, join->parts, part - 1);
        snprintf(path, sizeof(path), "%.2048s/%s", join->folder, name);
        if (access(path, R_OK) != 0) {
            join->missing = part - 1;
            return false;
        }
    }
    return true;
}

static int join_all(struct part_join *join, int fd_out, char *chunk)
{
    struct limited_writer out = {
        .fd = fd_out, .max = join->max, .keep = join->keep};
    unsigned part;
    int fd, rc = 0;

    for (part = 0; part < join->parts && rc == 0; part++) {
        fd = open_part(join, part);
        if (fd < 0) {
            join->missing = part;
            return errno;
        }
        rc = parts_copy_part(fd, &out, chunk);
        close(fd);
    }
    return rc;
}

static void run_parts(void *arg)
{
    struct part_join *join = arg;
    char *chunk;
    int out;

    if (!has_all(join)) {
        return;
    }
    chunk = malloc(CHUNK);
    out = open(join->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    join->errnum = chunk == NULL || out < 0 ? errno
                                            : join_all(join, out, chunk);
    fd_close(out);
    if (out >= 0 && join->errnum != 0) {
        (void)unlink(join->output); /* the parts may be joined once more */
    }
    free(chunk);
    /* one that expired meanwhile is missing */
    join->state = join->errnum == 0        ? PARTS_JOINED
                  : join->errnum == ENOENT ? PARTS_MISSING
                                           : PARTS_FAILED;
}

static void parts_on_done(void *arg, bool late)
{
    struct part_join *join = arg;

    join->done(join->arg, late ? PARTS_FAILED : join->state,
               late ? ETIMEDOUT : join->errnum, join->missing);
}

static void drop_parts_task(void *arg)
{
    struct part_join *join = arg;

    free(join->folder);
    free(join->file);
    free(join->output);
    free(join);
}

struct task *parts_join(struct event_base *base, const char *folder,
                        const char *file, unsigned parts, const char *output,
                        uint64_t max, uint64_t keep, parts_done_fn done,
                        void *arg)
{
    static const struct task_calls calls = {run_parts, parts_on_done,
                                            drop_parts_task};
    struct part_join *join = calloc(1, sizeof(*join));

    if (join == NULL) {
        return NULL;
    }
    join->folder = strdup(folder);
    join->file = strdup(file);
    join->output = strdup(output);
    join->parts = parts;
    join->max = max;
    join->keep = keep;
    join->done = done;
    join->arg = arg;
    if (join->folder == NULL || join->file == NULL || join->output == NULL) {
        drop_parts_task(join);
        errno = ENOMEM;
        return NULL;
    }
    return task_start(base, SECONDS, &calls, join);
}
