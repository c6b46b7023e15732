/*
 * Copyright (C) the ngx_symcache authors
 *
 * The steps of an upload:
 *
 *   1. Child processes unpack the body into a work folder, so many files at a
 *      time as one has descriptors for (unpacking.h).
 *   2. A thread gives the files their names (publication.h).  Before, they are
 *      stored in the tier, if there is one (tier_copy.h).
 *   3. What was known of their keys is dropped, here (invalidation.h) and on
 *      other machines (peers.h).
 *   4. Only then is the client answered.
 *
 * A part of a symbfile goes through all steps as a file of its own.  If all
 * parts are there then, the whole one is made of them and takes the steps 1 to
 * 3 once more (part_join.h).
 */
#include "upload_state.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/async_unlink.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "base/workdir.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "symcached/job/job.h"
#include "symcached/tier/tier.h"
#include "bundle_listing.h"
#include "cleaner.h"
#include "invalidation.h"
#include "part_join.h"
#include "recovery.h"
#include "tier_copy.h"
#include "peer_notification.h"
#include "warm.h"
#include "write_ahead_log.h"

/* Uploads that are worked on, and others that wait until one of these has
 * ended, each with a descriptor; more are told to come again. */
#define UPLOADS_MAX 4
#define WAITING_MAX 64

/* the end ---------------------------------------------------------------- */

static void share_next(struct uploads *uploads);
static void begin_next(struct uploads *uploads);

static void upload_free(struct upload *u)
{
    struct uploads *uploads = u->uploads;

    unpacking_cancel(&u->unpacking);
    task_cancel(u->join);
    if (u->task != NULL) {
        task_cancel(u->task); /* which frees the publication */
    } else {
        publication_free(u->publication);
    }
    if (u->tier_copy != NULL) {
        tier_copy_cancel(u->tier_copy);
    }
    invalidation_cancel(u->invalidation);
    peer_notification_cancel(u->notification);
    if (u->get != NULL) {
        tiers_get_cancel(u->get);
    }
    fd_close(u->got);
    fd_close(u->in);
    fd_close(u->disk);
    if (u->work[0] != '\0') {
        async_unlink_add(u->work);
    }
    LIST_REMOVE(u, entry);
    if (u->awaits_turn) {
        uploads->nwaiting--;
    } else {
        uploads->n--;
    }
    config_unref(u->config);
    free(u->texts);
    free(u->debug_ids);
    free(u->doubts);
    free(u);
    share_next(uploads);
    part_join_next(uploads);
    assemblies_next(uploads->assemblies);
    begin_next(uploads);
}

void upload_finish(struct upload *u, int status)
{
    u->result.status = status;
    u->result.text = u->text;
    u->result.config = u->config;
    u->result.archive = u->archive[0] != '\0' ? u->archive : NULL;
    if (status >= 300) {
        refusal_count(status);
        u->result.nfiles = 0;
    }
    if (u->publication != NULL && !u->uploads->stopping) {
        publication_settled(u->publication);
    }
    u->done(u->arg, &u->result);
    upload_free(u);
}

/* 3: invalidation --------------------------------------------------------- */

static bool is_stored(const struct upload_file *file)
{
    return file->fate == UPLOAD_NEW || file->fate == UPLOAD_REPLACED;
}

static void log_file(const struct upload *u, const struct upload_file *file)
{
    log_info(0, "upload user=%s file=%s/%s/%s bytes=%" PRIu64 " %s%s",
             u->request.user != NULL ? u->request.user : "-",
             file->place.name, file->place.id, file->place.file, file->size,
             u->result.is_try ? "try " : "",
             file->fate == UPLOAD_NEW ? "stored" : "replaced");
}

static void ignore_removal(void *arg, int status, const char *text)
{
}

/* The tier may have the bytes of another machine, or, after an upload that may
 * replace files, none: then the next request looks there. */
static void give_way(const struct upload *u, const struct upload_file *file)
{
    const struct symstore_path *place = &file->place;
    struct removal_request told = {.name = place->name,
                                   .id = place->id,
                                   .file = place->file,
                                   .is_try = u->result.is_try,
                                   .is_told = true,
                                   .keeps = !u->request.replace,
                                   .gives_way = true,
                                   .nids = place->nids};
    size_t i;

    for (i = 0; i < place->nids; i++) {
        symcache_id_print(told.ids[i], &place->ids[i]);
    }
    removals_start(u->uploads->removals, &told, ignore_removal, NULL);
}

/* All machines know: tells the client, unless it was a part. */
static void on_told(void *arg, const char *untold)
{
    struct upload *u = arg;
    struct publication *p = u->publication;
    bool all_same = true;
    size_t i;

    u->notification = NULL;
    u->result.untold = untold;
    for (i = 0; i < p->nfiles; i++) {
        if (is_stored(&p->files[i])) {
            all_same = false;
            log_file(u, &p->files[i]);
            metrics_add(METRIC_UPLOADED_FILES, 1);
            metrics_add(METRIC_UPLOADED_BYTES, p->files[i].size);
        } else {
            metrics_add(METRIC_UPLOADS_SAME, 1);
        }
        if (p->files[i].is_overtaken) {
            give_way(u, &p->files[i]);
        }
        if (u->request.warm) {
            warm_file(u->uploads->scheduler, &p->files[i].place,
                      u->result.is_try);
        }
    }
    u->result.files = p->files;
    u->result.nfiles = p->nfiles;
    if (u->part[0] != '\0') {
        part_join_start(u);
        return;
    }
    upload_finish(u, all_same && u->request.name != NULL ? 200 : 201);
}

static void on_dropped(void *arg, bool is_made)
{
    struct upload *u = arg;

    u->invalidation = NULL;
    u->notification =
        peers_tell(u->uploads->peers, u->publication->files,
                   u->publication->nfiles, u->result.is_try, on_told, u);
    if (u->notification == NULL) {
        upload_refuse_errno(u, ENOMEM, "files cannot be announced");
    }
}

static void drop_all(struct upload *u)
{
    u->invalidation = invalidation_start(
        u->uploads->base, u->uploads->scheduler, u->publication->files,
        u->publication->nfiles, u->result.is_try, on_dropped, u);
    if (u->invalidation == NULL) {
        upload_refuse_errno(u, ENOMEM, "files cannot be announced");
    }
}

/* 2: files get their names ------------------------------------------------ */

static void on_shared(void *arg, const struct upload_file *other, int status,
                      const char *failure)
{
    struct upload *u = arg;

    u->tier_copy = NULL;
    u->shares = false;
    u->shared = true;
    if (failure != NULL) {
        upload_refuse(u, status, "%s", failure);
    } else if (other != NULL) {
        upload_refuse(u, u->request.name != NULL ? 409 : 400,
               "%s/%s/%s is there with other content", other->place.name,
               other->place.id, other->place.file);
    } else {
        upload_publish(u);
    }
}

/* Are its files being changed, in the tier and then here? */
static bool changes_files(const struct upload *u)
{
    return u->publication != NULL && (u->tier_copy != NULL || u->shared);
}

/* Does another upload change one of its files, or will one that came before?
 * With two at a time, the tier could keep the bytes of one, and this machine
 * those of the other. */
static bool is_overtaking(const struct upload *u)
{
    const struct upload *other;
    bool came_before = false; /* the latest is the first of the list */

    LIST_FOREACH(other, &u->uploads->running, entry)
    {
        if (other == u) {
            came_before = true;
        } else if (other->result.is_try == u->result.is_try &&
                   other->publication != NULL &&
                   (came_before || changes_files(other)) &&
                   publications_overlap(other->publication, u->publication)) {
            return true;
        }
    }
    return false;
}

/* Uploads that wait for the one that has ended, or for another one. */
static void share_next(struct uploads *uploads)
{
    struct upload *u;

    do {
        LIST_FOREACH(u, &uploads->running, entry)
        {
            if (u->awaits_other && !uploads->stopping) {
                u->awaits_other = false;
                upload_publish(u); /* what is there may be another file now */
                break;
            }
        }
    } while (u != NULL);
}

/* Other machines have the files before this one. */
static void share_upload(struct upload *u)
{
    struct tier_copy *tier_copy;

    if (is_overtaking(u)) {
        u->awaits_other = true;
        return;
    }

    /* or the tier could lose what it has just confirmed */
    if (removals_have(u->uploads->removals, u->publication->files,
                      u->publication->nfiles, u->result.is_try)) {
        upload_refuse(u, 503, "a file of this name is just being removed");
        return;
    }
    tier_copy =
        tier_copy_start(scheduler_get_tiers(u->uploads->scheduler), u->config,
                        u->publication->files, u->publication->nfiles,
                        u->result.is_try, u->request.replace, on_shared, u);
    if (tier_copy != NULL) {
        u->tier_copy = tier_copy;
    }
}

static void on_published(void *arg, bool late)
{
    struct upload *u = arg;
    struct publication *p = u->publication;

    u->task = NULL;
    u->publication = NULL;
    if (late) {
        upload_refuse(u, 503, "the disk does not answer");
        return;
    }
    if (p->errnum != 0 && !p->compares) {
        /* some files may have their names: as after a kill */
        write_ahead_log_leave(p->intent);
        p->intent = NULL;
        recoveries_look(u->uploads->recoveries);
    } else if (p->errnum != 0 || p->conflict != NULL) {
        publication_settled(p);
    }
    if (p->errnum == EEXIST) {
        upload_refuse(u, 503, "another machine is just storing the file");
        return;
    }
    if (p->errnum != 0) {
        upload_refuse_errno(u, p->errnum,
                            "no file is stored in \"uploads.root\"");
        return;
    }
    if (p->conflict != NULL) {
        upload_refuse(u, u->request.name != NULL ? 409 : 400, "%s",
                      p->conflict);
        return;
    }
    if (p->index_errnum != 0) {
        log_error(p->index_errnum, "uploads: the index is not written: files "
                  "are not found under other names, until a pass of cleaning "
                  "makes their entries");
    }
    p = u->publication = publication_take_over(p);
    if (p == NULL) {
        upload_refuse_errno(u, ENOMEM, "files cannot be announced");
        return;
    }
    if (u->shares) {
        share_upload(u);
        return;
    }
    if (u->shared) {
        tier_copy_settle(p->files, p->nfiles);
    }
    drop_all(u);
}

void upload_publish(struct upload *u)
{
    u->publication->compares = u->shares;
    u->publication->replace = u->request.replace || u->shared;
    free(u->publication->user);
    u->publication->user =
        u->request.user != NULL ? strdup(u->request.user) : NULL;
    u->publication->expires = u->part[0] != '\0'
                                  ? u->config->uploads.parts_kept
                                  : u->request.expires;
    if (u->part[0] == '\0') {
        u->publication->labels = u->request.labels;
    }
    u->publication->shortens = u->request.replace && u->request.name != NULL;
    u->task = publication_start(u->uploads->base, u->publication,
                                on_published, u);
    if (u->task == NULL) {
        u->publication = NULL;
        upload_refuse_errno(u, errno, "no thread to store files");
    }
}

/* the beginning ------------------------------------------------------------ */

static void remove_stale(void *arg)
{
    workdir_remove_stale(arg);
}

static void ignore_end(void *arg, bool late)
{
}

/* The files that a killed helper has left there can take long to remove. */
static void clear_root(struct uploads *uploads, const char *root)
{
    static const struct task_calls calls = {remove_stale, ignore_end, free};
    char *copy = root != NULL ? strdup(root) : NULL;

    if (copy != NULL) {
        (void)task_start(uploads->base, 0, &calls, copy);
    }
}

/* The root is another one after a reload. */
static int open_root(struct uploads *uploads, const char *root)
{
    if (strcmp(uploads->root != NULL ? uploads->root : "", root) != 0) {
        clear_root(uploads, root);
        workdir_close(uploads->workdir);
        free(uploads->root);
        uploads->workdir = NULL;
        uploads->root = strdup(root);
    }
    if (uploads->root != NULL && uploads->workdir == NULL) {
        uploads->workdir = workdir_open(root);
    }
    return uploads->workdir != NULL ? 0 : -1;
}

/* Appends a copy of a text; NULL stays NULL. */
static const char *copy_text(char **at, const char *text)
{
    char *start = *at;

    if (text == NULL) {
        return NULL;
    }
    *at = stpcpy(start, text) + 1;
    return start;
}

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static struct upload *upload_new(struct uploads *uploads,
                                 const struct upload_request *request)
{
    struct upload *u = calloc(1, sizeof(*u));
    char *at;

    if (u == NULL) {
        return NULL;
    }
    u->request = *request;
    u->texts = malloc(text_size(request->name) + text_size(request->id) +
                      text_size(request->file) +
                      text_size(request->boundary) + text_size(request->user) +
                      1);
    if (u->texts == NULL) {
        free(u);
        return NULL;
    }
    at = u->texts;
    u->request.name = copy_text(&at, request->name);
    u->request.id = copy_text(&at, request->id);
    u->request.file = copy_text(&at, request->file);
    u->request.boundary = copy_text(&at, request->boundary);
    u->request.user = copy_text(&at, request->user);
    u->uploads = uploads;
    u->config = config_ref((struct config *)scheduler_config(
        uploads->scheduler));
    u->in = u->got = u->disk = -1;
    unpacking_init(&u->unpacking, u->config->uploads.max_size);
    LIST_INSERT_HEAD(&uploads->running, u, entry);
    u->awaits_turn = true;
    uploads->nwaiting++;
    return u;
}

size_t uploads_count_untold(const struct uploads *uploads)
{
    return peers_count_untold(uploads->peers);
}

bool uploads_are_taken(const struct uploads *uploads)
{
    return !uploads->stopping && uploads->n < UPLOADS_MAX;
}

struct assemblies *uploads_assemblies(const struct uploads *uploads)
{
    return uploads->assemblies;
}

/* A configuration may come without any while an upload comes or waits. */
static bool has_root(struct upload *u)
{
    if (u->config->uploads.root == NULL) {
        upload_refuse(u, 404, "the configuration has no \"uploads\"");
        return false;
    }
    return true;
}

/* Its turn has come. */
static void begin_upload(struct upload *u)
{
    struct uploads *uploads = u->uploads;

    u->awaits_turn = false;
    uploads->nwaiting--;
    uploads->n++;

    /* there may be another one since it came */
    config_unref(u->config);
    u->config = config_ref((struct config *)scheduler_config(
        uploads->scheduler));
    u->shares = tier_copy_is_wanted(u->config);
    u->unpacking.left = u->config->uploads.max_size;
    if (!has_root(u)) {
        return;
    }
    if (open_root(uploads, u->config->uploads.root) != 0 ||
        workdir_make(uploads->workdir, u->work) != 0) {
        u->work[0] = '\0';
        upload_refuse_errno(u, errno, "\"uploads.root\" cannot be used");
        return;
    }
    u->disk = open(u->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->disk < 0) {
        upload_refuse_errno(u, errno, "\"uploads.root\" cannot be used");
        return;
    }
    if (u->request.nchunks > 0) {
        assembly_join(u);
    } else if (!u->request.is_symbfile || part_join_check(u)) {
        unpacking_start(u);
    }
}

/* Begins the one that waits for the longest time, if there is a place. */
static void begin_next(struct uploads *uploads)
{
    struct upload *u, *oldest = NULL;

    if (!uploads_are_taken(uploads)) {
        return;
    }
    LIST_FOREACH(u, &uploads->running, entry) /* the latest is the first */
    {
        oldest = u->awaits_turn ? u : oldest;
    }
    if (oldest != NULL) {
        begin_upload(oldest);
    }
}

void uploads_take(struct uploads *uploads,
                  const struct upload_request *request, upload_done_fn done,
                  void *arg)
{
    struct upload_result busy = {.status = 503,
                                 .text = "too many uploads at a time"};
    struct upload *u = NULL;
    char path[PATH_MAX];
    int status;

    if ((!uploads_are_taken(uploads) &&
         (uploads->stopping || uploads->nwaiting >= WAITING_MAX)) ||
        (u = upload_new(uploads, request)) == NULL) {
        refusal_count(busy.status);
        done(arg, &busy);
        return;
    }
    u->done = done;
    u->arg = arg;
    if (!has_root(u)) {
        return;
    }
    if (request->nchunks == 0 && request->body == NULL) {
        status = 503;
        snprintf(u->text, sizeof(u->text), "no descriptor for the body");
        u->in = fcntl(request->body_fd, F_DUPFD_CLOEXEC, 0);
    } else if (request->nchunks == 0) {
        u->in = nginx_body_file_open(u->config->uploads.spool, request->body,
                                     &status, u->text, sizeof(u->text));
    }
    if (u->in < 0 && request->nchunks == 0) {
        upload_path_print(path, sizeof(path), u);
        log_error(0, "upload%s: %s", path, u->text);
        upload_finish(u, status);
        return;
    }
    if (uploads_are_taken(uploads)) {
        begin_upload(u);
    }
}

struct uploads *uploads_new(struct event_base *base,
                            struct scheduler *scheduler)
{
    struct uploads *uploads = calloc(1, sizeof(*uploads));

    if (uploads == NULL) {
        return NULL;
    }
    uploads->base = base;
    uploads->scheduler = scheduler;
    LIST_INIT(&uploads->running);
    LIST_INIT(&uploads->told);
    uploads->peers = peers_new(base, scheduler);
    uploads->assemblies = assemblies_new(uploads);
    uploads->recoveries =
        uploads->peers != NULL
            ? recoveries_new(base, scheduler, uploads->peers)
            : NULL;
    uploads->removals = uploads->recoveries != NULL
                            ? removals_new(base, scheduler, uploads->peers)
                            : NULL;
    uploads->cleaner = uploads->removals != NULL
                           ? cleaner_new(base, scheduler, uploads)
                           : NULL;
    if (uploads->cleaner == NULL || uploads->assemblies == NULL) {
        uploads_free(uploads);
        return NULL;
    }
    /* there may be no upload for a long time */
    clear_root(uploads, scheduler_config(scheduler)->uploads.root);
    recoveries_look(uploads->recoveries);
    return uploads;
}

void uploads_configure(struct uploads *uploads)
{
    peers_look(uploads->peers);
    recoveries_look(uploads->recoveries);
}

static bool is_at(const struct symstore_path *place, const char *path)
{
    size_t name = strlen(place->name), id = strlen(place->id);

    return strncmp(path, place->name, name) == 0 && path[name] == '/' &&
           strncmp(path + name + 1, place->id, id) == 0 &&
           path[name + 1 + id] == '/' &&
           strcmp(path + name + id + 2, place->file) == 0;
}

/* Returns the file of an upload that runs, or NULL. */
static struct upload_file *find_file(const struct upload *u, const char *path,
                                     bool is_try)
{
    size_t i;

    for (i = 0; u->publication != NULL && u->result.is_try == is_try &&
                i < u->publication->nfiles;
         i++) {
        if (is_at(&u->publication->files[i].place, path)) {
            return &u->publication->files[i];
        }
    }
    return NULL;
}

bool uploads_store(const struct uploads *uploads, const char *path,
                   bool is_try)
{
    const struct upload *u;

    LIST_FOREACH(u, &uploads->running, entry)
    {
        if (find_file(u, path, is_try) != NULL) {
            return true;
        }
    }
    return false;
}

void uploads_overtake(struct uploads *uploads, const char *path, bool is_try)
{
    struct upload_file *file;
    struct upload *u;

    LIST_FOREACH(u, &uploads->running, entry)
    {
        file = changes_files(u) ? find_file(u, path, is_try) : NULL;
        if (file != NULL) {
            file->is_overtaken = true;
        }
    }
}

struct removals *uploads_removals(const struct uploads *uploads)
{
    return uploads->removals;
}

void uploads_stop(struct uploads *uploads)
{
    struct upload *u;

    uploads->stopping = true;
    assemblies_stop(uploads->assemblies);
    while ((u = LIST_FIRST(&uploads->running)) != NULL) {
        upload_refuse(u, 503, "the helper stops");
    }
    bundle_listing_stop(uploads);
}

bool uploads_are_stopped(const struct uploads *uploads)
{
    return uploads->stopping;
}

size_t uploads_builds(const struct uploads *uploads)
{
    return cleaner_builds(uploads->cleaner);
}

void uploads_free(struct uploads *uploads)
{
    if (uploads == NULL) {
        return;
    }
    uploads_stop(uploads);
    assemblies_free(uploads->assemblies);
    cleaner_free(uploads->cleaner);
    removals_free(uploads->removals);
    recoveries_free(uploads->recoveries);
    peers_free(uploads->peers);
    workdir_close(uploads->workdir);
    free(uploads->root);
    free(uploads);
}
