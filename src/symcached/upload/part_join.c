/*
 * Copyright (C) the ngx_symcache authors
 */
#include "part_join.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "config/config.h"
#include "symcached/job/job.h"
#include "symcached/space/space.h"
#include "symcached/tier/tier.h"
#include "parts.h"
#include "retention.h"
#include "tier_copy.h"
#include "upload_state.h"

static void start_join(struct upload *u);

static void print_folder(char folder[PATH_MAX], const struct upload *u,
                         bool is_try)
{
    snprintf(folder, PATH_MAX, "%.1024s%s/%.255s/%s", u->config->uploads.root,
             is_try ? "/" UPLOADS_TRY : "", u->request.name, u->request.id);
}

/* parts that other machines have taken ------------------------------------ */

/* Gives the part its name, unless it was uploaded here meanwhile.  Returns 0,
 * or an errno. */
static int keep_part(const struct upload *u, const char *got)
{
    char folder[PATH_MAX], name[NAME_MAX + 1], path[2 * PATH_MAX];
    int rc = retention_set_expires(got, u->config->uploads.parts_kept);

    print_folder(folder, u, u->result.is_try);
    parts_name(name, sizeof(name), u->request.file, u->request.parts,
               u->missing);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (rc == 0 && link(got, path) != 0 && errno != EEXIST) {
        rc = errno;
    }
    (void)unlink(got);
    return rc;
}

static void on_part(void *arg, const struct tier_result *result)
{
    struct upload *u = arg;
    char got[PATH_MAX];
    int errnum;

    u->get = NULL;
    if (result->outcome == TIER_ABSENT) {
        upload_finish(u, 200);
        return;
    }
    if (result->outcome != TIER_HIT) {
        upload_refuse(u, 503, "the tier \"%s\" does not tell of part %u: %s",
                      u->config->uploads.tier->name, u->missing,
                      result->detail);
        return;
    }
    close(u->got);
    u->got = -1;
    snprintf(got, sizeof(got), "%s/part", u->work);
    errnum = keep_part(u, got);
    if (errnum == ENOENT) { /* what was sent whole meanwhile took the folder */
        upload_refuse(u, 503, "the other parts are gone");
    } else if (errnum != 0) {
        upload_refuse_errno(u, errnum, "a part of the tier cannot be kept");
    } else {
        start_join(u);
    }
}

/* Looks for a part in the tier. */
static void get_part(struct upload *u)
{
    char name[NAME_MAX + 1], path[PATH_MAX], got[PATH_MAX];

    parts_name(name, sizeof(name), u->request.file, u->request.parts,
               u->missing);
    snprintf(path, sizeof(path), "%s%.255s/%s/%s",
             u->result.is_try ? UPLOADS_TRY "/" : "", u->request.name,
             u->request.id, name);
    snprintf(got, sizeof(got), "%s/part", u->work);
    u->got = open(got, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (u->got >= 0) {
        u->get = tiers_get_original(scheduler_get_tiers(u->uploads->scheduler),
                                    u->config, u->config->uploads.tier, path,
                                    u->got, on_part, u);
    }
    if (u->get == NULL) {
        upload_refuse_errno(u, errno, "a part of the tier cannot be read");
    }
}

/* all parts --------------------------------------------------------------- */

static void on_joined(void *arg, enum parts_state state, int errnum,
                      unsigned missing)
{
    struct upload *u = arg;
    char path[PATH_MAX];

    u->join = NULL;
    u->missing = missing;
    if (state == PARTS_FAILED && errnum == EFBIG) {
        upload_refuse_size(u, "the parts together");
        return;
    }
    if (state == PARTS_FAILED) {
        upload_refuse_errno(u, errnum, "the parts cannot be joined");
        return;
    }
    if (state == PARTS_MISSING && tier_copy_is_wanted(u->config)) {
        get_part(u);
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
    u->shares = tier_copy_is_wanted(u->config);
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
    print_folder(folder, u, u->result.is_try);
    snprintf(output, sizeof(output), "%s/joined", u->work);
    u->join =
        parts_join(u->uploads->base, folder, u->request.file, u->request.parts,
                   output, u->config->uploads.max_size,
                   disk_space_kept(work, &u->config->cache), on_joined, u);
    fd_close(work);
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

/* One upload after the other, so that the one read last is stored last. */
void part_join_start(struct upload *u)
{
    u->waits = is_joining(u);
    if (!u->waits) {
        start_join(u);
    }
}

void part_join_next(struct uploads *uploads)
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

/* The number of parts of another running upload of the same file, if that
 * differs; or 0.  Its parts may not be in the folder yet. */
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
bool part_join_check(struct upload *u)
{
    char folder[PATH_MAX];
    unsigned other;

    print_folder(folder, u, u->request.only_try);
    other = parts_other(folder, u->request.file, u->request.parts);
    other = other != 0 ? other : parts_running(u);
    if (other != 0) {
        upload_refuse(u, 409,
                      "the file is being sent in %u parts, and not in %u",
                      other, u->request.parts);
        return false;
    }
    if (u->request.parts > 1) {
        parts_name(u->part, sizeof(u->part), u->request.file, u->request.parts,
                   u->request.part);
    }
    return true;
}
