/*
 * Copyright (C) the ngx_symcache authors
 */
#include "joining.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "config/config.h"
#include "symcached/space/space.h"
#include "parts.h"
#include "sharing.h"
#include "upload_state.h"

static void on_joined(void *arg, enum parts_state state, int errnum)
{
    struct upload *u = arg;
    char path[PATH_MAX];

    u->join = NULL;
    if (state == PARTS_FAILED && errnum == EFBIG) {
        upload_refuse(u, 413,
                      "the parts together: there is more than "
                      "\"uploads.max_size\" allows");
        return;
    }
    if (state == PARTS_FAILED) {
        upload_refuse_errno(u, errnum, "the parts cannot be joined");
        return;
    }
    if (state == PARTS_MISSING) {
        upload_finish(u, 200);
        return;
    }
    publication_settled(u->publication);
    publication_free(u->publication);
    u->publication = NULL;
    u->part[0] = '\0';
    u->shares = sharing_is_wanted(u->config);
    u->shared = false;
    u->unpacking.left = u->config->uploads.max_size;
    snprintf(path, sizeof(path), "%s/joined", u->work);
    close(u->in);
    u->in = open(path, O_RDONLY | O_CLOEXEC);
    if (u->in < 0) {
        upload_refuse_errno(u, errno, "the parts cannot be read");
        return;
    }
    unpacking_start(u);
}

static void start_join(struct upload *u)
{
    char folder[PATH_MAX], output[PATH_MAX];
    int work = open(u->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    u->joins = true;
    u->waits = false;
    snprintf(folder, sizeof(folder), "%.1024s%s/%.255s/%s",
             u->config->uploads.root, u->result.is_try ? "/" UPLOADS_TRY : "",
             u->request.name, u->request.id);
    snprintf(output, sizeof(output), "%s/joined", u->work);
    u->join = parts_join(u->uploads->base, folder, u->request.file,
                         u->request.parts, output,
                         u->config->uploads.max_size,
                         disk_space_kept(work, &u->config->cache), on_joined,
                         u);
    if (work >= 0) {
        close(work);
    }
    if (u->join == NULL) {
        upload_refuse_errno(u, errno, "no thread to join parts");
    }
}

static bool is_joining(const struct upload *u)
{
    const struct upload *other;

    LIST_FOREACH(other, &u->uploads->running, entry)
    {
        if (other->joins && strcmp(other->request.id, u->request.id) == 0) {
            return true;
        }
    }
    return false;
}

/* One upload after the other, so that what was read last is stored last. */
void joining_start(struct upload *u)
{
    u->waits = is_joining(u);
    if (!u->waits) {
        start_join(u);
    }
}

void joining_next(struct uploads *uploads)
{
    struct upload *u;

    LIST_FOREACH(u, &uploads->running, entry)
    {
        if (u->waits && !is_joining(u)) {
            start_join(u);
            return;
        }
    }
}

/* The number of parts of another upload of the same file, if it is another
 * number; or 0.  What it brings is perhaps not in the folder yet. */
static unsigned parts_running(const struct upload *u)
{
    const struct upload *other;

    LIST_FOREACH(other, &u->uploads->running, entry)
    {
        if (other->part[0] != '\0' &&
            other->request.parts != u->request.parts &&
            other->request.only_try == u->request.only_try &&
            strcmp(other->request.id, u->request.id) == 0 &&
            strcmp(other->request.file, u->request.file) == 0) {
            return other->request.parts;
        }
    }
    return 0;
}

/* Returns false when it is refused: another number of parts is coming in. */
bool joining_check(struct upload *u)
{
    char folder[PATH_MAX];
    unsigned other;

    snprintf(folder, sizeof(folder), "%.1024s%s/%.255s/%s",
             u->config->uploads.root,
             u->request.only_try ? "/" UPLOADS_TRY : "", u->request.name,
             u->request.id);
    other = parts_other(folder, u->request.file, u->request.parts);
    other = other != 0 ? other : parts_running(u);
    if (other != 0) {
        upload_refuse(u, 409,
                      "the file is being sent in %u parts, and not in %u",
                      other, u->request.parts);
        return false;
    }
    if (u->request.parts > 1) {
        parts_name(u->part, sizeof(u->part), u->request.file,
                   u->request.parts, u->request.part);
    }
    return true;
}
