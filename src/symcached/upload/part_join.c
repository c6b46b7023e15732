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

static void start_join(struct upload *upload);

static void print_folder(char folder[PATH_MAX], const struct upload *upload,
                         bool is_try)
{
    snprintf(folder, PATH_MAX, "%.1024s%s/%.255s/%s",
             upload->config->uploads.root, is_try ? "/" UPLOADS_TRY : "",
             upload->request.name, upload->request.id);
}

/* parts that other machines have taken ------------------------------------ */

/* Gives the part its name, unless it was uploaded here meanwhile.  Returns 0,
 * or an errno. */
static int keep_part(const struct upload *upload, const char *got)
{
    char folder[PATH_MAX], name[NAME_MAX + 1], path[2 * PATH_MAX];
    int rc = retention_set_expires(got, upload->config->uploads.parts_kept);

    print_folder(folder, upload, upload->result.is_try);
    parts_name(name, sizeof(name), upload->request.file, upload->request.parts,
               upload->missing);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (rc == 0 && link(got, path) != 0 && errno != EEXIST) {
        rc = errno;
    }
    (void)unlink(got);
    return rc;
}

static void on_part(void *arg, const struct tier_result *result)
{
    struct upload *upload = arg;
    char got[PATH_MAX];
    int errnum;

    upload->get = NULL;
    if (result->outcome == TIER_ABSENT) {
        upload_finish(upload, 200);
        return;
    }
    if (result->outcome != TIER_HIT) {
        upload_refuse(upload, 503,
                      "the tier \"%s\" does not tell of part %u: %s",
                      upload->config->uploads.tier->name, upload->missing,
                      result->detail);
        return;
    }
    close(upload->got);
    upload->got = -1;
    snprintf(got, sizeof(got), "%s/part", upload->work);
    errnum = keep_part(upload, got);
    if (errnum == ENOENT) { /* what was sent whole meanwhile took the folder */
        upload_refuse(upload, 503, "the other parts are gone");
    } else if (errnum != 0) {
        upload_refuse_errno(upload, errnum,
                            "a part of the tier cannot be kept");
    } else {
        start_join(upload);
    }
}

/* Looks for a part in the tier. */
static void get_part(struct upload *upload)
{
    char name[NAME_MAX + 1], path[PATH_MAX], got[PATH_MAX];

    parts_name(name, sizeof(name), upload->request.file, upload->request.parts,
               upload->missing);
    snprintf(path, sizeof(path), "%s%.255s/%s/%s",
             upload->result.is_try ? UPLOADS_TRY "/" : "",
             upload->request.name, upload->request.id, name);
    snprintf(got, sizeof(got), "%s/part", upload->work);
    upload->got = open(got, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (upload->got >= 0) {
        upload->get = tiers_get_original(
            scheduler_get_tiers(upload->uploads->scheduler), upload->config,
            upload->config->uploads.tier, path, upload->got, on_part, upload);
    }
    if (upload->get == NULL) {
        upload_refuse_errno(upload, errno,
                            "a part of the tier cannot be read");
    }
}

/* all parts --------------------------------------------------------------- */

static void on_joined(void *arg, enum parts_state state, int errnum,
                      unsigned missing)
{
    struct upload *upload = arg;
    char path[PATH_MAX];

    upload->join = NULL;
    upload->missing = missing;
    if (state == PARTS_FAILED && errnum == EFBIG) {
        upload_refuse_size(upload, "the parts together");
        return;
    }
    if (state == PARTS_FAILED) {
        upload_refuse_errno(upload, errnum, "the parts cannot be joined");
        return;
    }
    if (state == PARTS_MISSING && tier_copy_is_wanted(upload->config)) {
        get_part(upload);
        return;
    }
    if (state == PARTS_MISSING) {
        upload_finish(upload, 200);
        return;
    }
    publication_settled(upload->publication);
    publication_free(upload->publication);
    upload->publication = NULL;
    upload->part[0] = '\0';
    upload->shares = tier_copy_is_wanted(upload->config);
    upload->shared = false;
    upload->unpacking.left = upload->config->uploads.max_size;
    snprintf(path, sizeof(path), "%s/joined", upload->work);
    close(upload->in);
    upload->in = open(path, O_RDONLY | O_CLOEXEC);
    if (upload->in < 0) {
        upload_refuse_errno(upload, errno, "the parts cannot be read");
        return;
    }
    unpacking_start(upload);
}

static void start_join(struct upload *upload)
{
    char folder[PATH_MAX], output[PATH_MAX];
    int work = open(upload->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    upload->joins = true;
    upload->waits = false;
    print_folder(folder, upload, upload->result.is_try);
    snprintf(output, sizeof(output), "%s/joined", upload->work);
    upload->join = parts_join(
        upload->uploads->base, folder, upload->request.file,
        upload->request.parts, output, upload->config->uploads.max_size,
        disk_space_kept(work, &upload->config->cache), on_joined, upload);
    fd_close(work);
    if (upload->join == NULL) {
        upload_refuse_errno(upload, errno, "no thread to join parts");
    }
}

static bool is_joining(const struct upload *upload)
{
    const struct upload *other;

    LIST_FOREACH(other, &upload->uploads->running, entry)
    {
        if (other->joins &&
            strcmp(other->request.id, upload->request.id) == 0) {
            return true;
        }
    }
    return false;
}

/* One upload after the other, so that the one read last is stored last. */
void part_join_start(struct upload *upload)
{
    upload->waits = is_joining(upload);
    if (!upload->waits) {
        start_join(upload);
    }
}

void part_join_next(struct uploads *uploads)
{
    struct upload *upload;

    LIST_FOREACH(upload, &uploads->running, entry)
    {
        if (upload->waits && !is_joining(upload)) {
            start_join(upload);
            return;
        }
    }
}

/* The number of parts of another running upload of the same file, if that
 * differs; or 0.  Its parts may not be in the folder yet. */
static unsigned parts_running(const struct upload *upload)
{
    const struct upload *other;

    LIST_FOREACH(other, &upload->uploads->running, entry)
    {
        if (other->part[0] != '\0' &&
            other->request.parts != upload->request.parts &&
            other->request.only_try == upload->request.only_try &&
            strcmp(other->request.id, upload->request.id) == 0 &&
            strcmp(other->request.file, upload->request.file) == 0) {
            return other->request.parts;
        }
    }
    return 0;
}

/* Returns false when it is refused: another number of parts is coming in.  A
 * whole file is none. */
bool part_join_check(struct upload *upload)
{
    char folder[PATH_MAX];
    unsigned other;

    if (upload->request.parts == 1) {
        return true;
    }
    print_folder(folder, upload, upload->request.only_try);
    other = parts_other(folder, upload->request.file, upload->request.parts);
    other = other != 0 ? other : parts_running(upload);
    if (other != 0) {
        upload_refuse(upload, 409,
                      "the file is being sent in %u parts, and not in %u",
                      other, upload->request.parts);
        return false;
    }
    parts_name(upload->part, sizeof(upload->part), upload->request.file,
               upload->request.parts, upload->request.part);
    return true;
}
