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
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "base/workdir.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "symcached/job/job.h"
#include "symcached/tier/tier.h"
#include "bundle_listing.h"
#include "chunk_join.h"
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

static void ignore_end(void *arg, bool late)
{
}

static void run_remove_work(void *arg)
{
    workdir_remove(arg);
}

/* In a thread of its own: others that remove something do not wait for a disk
 * that hangs, nor does a stop, after which the next start removes it. */
static void remove_work(struct uploads *uploads, const char *work)
{
    static const struct task_calls calls = {run_remove_work, ignore_end, free};
    char *copy = work[0] != '\0' ? strdup(work) : NULL;

    if (copy != NULL) {
        (void)task_start(uploads->base, 0, &calls, copy);
    }
}

static void share_next(struct uploads *uploads);
static void begin_next(struct uploads *uploads);

static void upload_free(struct upload *upload)
{
    struct uploads *uploads = upload->uploads;

    unpacking_cancel(&upload->unpacking);
    task_cancel(upload->join);
    task_cancel(upload->completion);
    if (upload->task != NULL) {
        task_cancel(upload->task); /* which frees the publication */
    } else {
        publication_free(upload->publication);
    }
    if (upload->tier_copy != NULL) {
        tier_copy_cancel(upload->tier_copy);
    }
    invalidation_cancel(upload->invalidation);
    peer_notification_cancel(upload->notification);
    if (upload->get != NULL) {
        tiers_get_cancel(upload->get);
    }
    fd_close(upload->got);
    fd_close(upload->in);
    fd_close(upload->disk);
    remove_work(uploads, upload->work);
    LIST_REMOVE(upload, entry);
    if (upload->awaits_turn) {
        uploads->nwaiting--;
    } else {
        uploads->n--;
    }
    config_unref(upload->config);
    free(upload->texts);
    free(upload->debug_ids);
    free(upload->doubts);
    free(upload);
    share_next(uploads);
    part_join_next(uploads);
    assemblies_next(uploads->assemblies);
    begin_next(uploads);
}

void upload_finish(struct upload *upload, int status)
{
    upload->result.status = status;
    upload->result.text = upload->text;
    upload->result.config = upload->config;
    upload->result.archive =
        upload->archive[0] != '\0' ? upload->archive : NULL;
    if (status >= 300) {
        refusal_count(status);
        upload->result.nfiles = 0;
    }
    if (upload->publication != NULL && !upload->uploads->stopping) {
        publication_settled(upload->publication);
    }
    upload->done(upload->arg, &upload->result);
    upload_free(upload);
}

/* 3: invalidation --------------------------------------------------------- */

static bool is_stored(const struct upload_file *file)
{
    return file->fate == UPLOAD_NEW || file->fate == UPLOAD_REPLACED;
}

static void log_file(const struct upload *upload,
                     const struct upload_file *file)
{
    log_info(0, "upload user=%s file=%s/%s/%s bytes=%" PRIu64 " %s%s",
             upload->request.user != NULL ? upload->request.user : "-",
             file->place.name, file->place.id, file->place.file, file->size,
             upload->result.is_try ? "try " : "",
             file->fate == UPLOAD_NEW ? "stored" : "replaced");
}

static void ignore_removal(void *arg, int status, const char *text)
{
}

/* The tier may have the bytes of another machine, or, after an upload that may
 * replace files, none: then the next request looks there. */
static void give_way(const struct upload *upload,
                     const struct upload_file *file)
{
    const struct symstore_path *place = &file->place;
    struct removal_request told = {.name = place->name,
                                   .id = place->id,
                                   .file = place->file,
                                   .is_try = upload->result.is_try,
                                   .is_told = true,
                                   .keeps = !upload->request.replace,
                                   .gives_way = true,
                                   .nids = place->nids};
    size_t i;

    for (i = 0; i < place->nids; i++) {
        symcache_id_print(told.ids[i], &place->ids[i]);
    }
    removals_start(upload->uploads->removals, &told, ignore_removal, NULL);
}

/* All files are stored.  Tells the client, unless it was a part. */
static void upload_end(struct upload *upload)
{
    struct publication *publication = upload->publication;
    bool all_same = true;
    size_t i;

    upload->result.untold = upload->untold;
    for (i = 0; i < publication->nfiles; i++) {
        if (is_stored(&publication->files[i])) {
            all_same = false;
            log_file(upload, &publication->files[i]);
            metrics_add(METRIC_UPLOADED_FILES, 1);
            metrics_add(METRIC_UPLOADED_BYTES, publication->files[i].size);
        } else {
            metrics_add(METRIC_UPLOADS_SAME, 1);
        }
        if (publication->files[i].is_overtaken) {
            give_way(upload, &publication->files[i]);
        }
        if (upload->request.warm) {
            warm_file(upload->uploads->scheduler, &publication->files[i].place,
                      upload->result.is_try);
        }
    }
    upload->result.files = publication->files;
    upload->result.nfiles = publication->nfiles;
    if (upload->part[0] != '\0') {
        part_join_start(upload);
        return;
    }
    upload_finish(upload,
                  all_same && upload->request.name != NULL ? 200 : 201);
}

static void on_complete(void *arg)
{
    struct upload *upload = arg;

    upload->completion = NULL;
    upload_end(upload);
}

/* All machines know, or get to know. */
static void upload_on_told(void *arg, const char *untold)
{
    struct upload *upload = arg;

    upload->notification = NULL;
    snprintf(upload->untold, sizeof(upload->untold), "%s", untold);
    upload->completion =
        publication_complete(upload->uploads->base, upload->publication,
                             untold[0] == '\0', on_complete, upload);
    if (upload->completion == NULL) {
        on_complete(upload);
    }
}

static void upload_on_dropped(void *arg, bool is_made)
{
    struct upload *upload = arg;

    upload->invalidation = NULL;
    upload->notification =
        peers_tell(upload->uploads->peers, upload->publication->files,
                   upload->publication->nfiles, upload->result.is_try,
                   upload_on_told, upload);
    if (upload->notification == NULL) {
        upload_refuse_errno(upload, ENOMEM, "files cannot be announced");
    }
}

static void upload_drop_all(struct upload *upload)
{
    upload->invalidation = invalidation_start(
        upload->uploads->base, upload->uploads->scheduler,
        upload->publication->files, upload->publication->nfiles,
        upload->result.is_try, upload_on_dropped, upload);
    if (upload->invalidation == NULL) {
        upload_refuse_errno(upload, ENOMEM, "files cannot be announced");
    }
}

/* 2: files get their names ------------------------------------------------ */

static void on_shared(void *arg, const struct upload_file *other, int status,
                      const char *failure)
{
    struct upload *upload = arg;

    upload->tier_copy = NULL;
    upload->shares = false;
    upload->shared = true;
    if (failure != NULL) {
        upload_refuse(upload, status, "%s", failure);
    } else if (other != NULL) {
        upload_refuse(upload, upload->request.name != NULL ? 409 : 400,
                      "%s/%s/%s is there with other content",
                      other->place.name, other->place.id, other->place.file);
    } else {
        upload_publish(upload);
    }
}

/* Are its files being changed, in the tier and then here? */
static bool changes_files(const struct upload *upload)
{
    return upload->publication != NULL &&
           (upload->tier_copy != NULL || upload->shared);
}

/* Does another upload change one of its files, or will one that came before?
 * With two at a time, the tier could keep the bytes of one, and this machine
 * those of the other. */
static bool is_overtaking(const struct upload *upload)
{
    const struct upload *other;
    bool came_before = false; /* the latest is the first of the list */

    LIST_FOREACH(other, &upload->uploads->running, entry)
    {
        if (other == upload) {
            came_before = true;
        } else if (other->result.is_try == upload->result.is_try &&
                   other->publication != NULL &&
                   (came_before || changes_files(other)) &&
                   publications_overlap(other->publication,
                                        upload->publication)) {
            return true;
        }
    }
    return false;
}

/* Uploads that wait for the one that has ended, or for another one. */
static void share_next(struct uploads *uploads)
{
    struct upload *upload;

    do {
        LIST_FOREACH(upload, &uploads->running, entry)
        {
            if (upload->awaits_other && !uploads->stopping) {
                upload->awaits_other = false;
                upload_publish(
                    upload); /* what is there may be another file now */
                break;
            }
        }
    } while (upload != NULL);
}

/* Other machines have the files before this one. */
static void share_upload(struct upload *upload)
{
    struct tier_copy *tier_copy;

    if (is_overtaking(upload)) {
        upload->awaits_other = true;
        return;
    }

    /* or the tier could lose what it has just confirmed */
    if (removals_have(upload->uploads->removals, upload->publication->files,
                      upload->publication->nfiles, upload->result.is_try)) {
        upload_refuse(upload, 503,
                      "a file of this name is just being removed");
        return;
    }
    tier_copy = tier_copy_start(
        scheduler_get_tiers(upload->uploads->scheduler), upload->config,
        upload->publication->files, upload->publication->nfiles,
        upload->result.is_try, upload->request.replace, on_shared, upload);
    if (tier_copy != NULL) {
        upload->tier_copy = tier_copy;
    }
}

static void on_published(void *arg, bool late)
{
    struct upload *upload = arg;
    struct publication *publication = upload->publication;

    upload->task = NULL;
    upload->publication = NULL;
    if (late) {
        upload_refuse(upload, 503, "the disk does not answer");
        return;
    }
    if (publication->errnum != 0 && !publication->compares) {
        /* some files may have their names: as after a kill */
        write_ahead_log_leave(publication->intent);
        publication->intent = NULL;
        recoveries_look(upload->uploads->recoveries);
    } else if (publication->errnum != 0 || publication->conflict != NULL) {
        publication_settled(publication);
    }
    if (publication->errnum == EEXIST) {
        upload_refuse(upload, 503, "another machine is just storing the file");
        return;
    }
    if (publication->errnum != 0) {
        upload_refuse_errno(upload, publication->errnum,
                            "no file is stored in \"uploads.root\"");
        return;
    }
    if (publication->conflict != NULL) {
        upload_refuse(upload, upload->request.name != NULL ? 409 : 400, "%s",
                      publication->conflict);
        return;
    }
    if (publication->index_errnum != 0) {
        log_error(publication->index_errnum,
                  "uploads: the index is not written: files "
                  "are not found under other names, until a pass of cleaning "
                  "makes their entries");
    }
    publication = upload->publication = publication_take_over(publication);
    if (publication == NULL) {
        upload_refuse_errno(upload, ENOMEM, "files cannot be announced");
        return;
    }
    if (upload->shares) {
        share_upload(upload);
        return;
    }
    if (upload->shared) {
        tier_copy_settle(publication->files, publication->nfiles);
    }
    upload_drop_all(upload);
}

void upload_publish(struct upload *upload)
{
    upload->publication->compares = upload->shares;
    upload->publication->replace = upload->request.replace || upload->shared;
    free(upload->publication->user);
    upload->publication->user =
        upload->request.user != NULL ? strdup(upload->request.user) : NULL;
    upload->publication->expires = upload->part[0] != '\0'
                                       ? upload->config->uploads.parts_kept
                                       : upload->request.expires;
    if (upload->part[0] == '\0') {
        upload->publication->labels = upload->request.labels;
    }
    upload->publication->shortens =
        upload->request.replace && upload->request.name != NULL;
    upload->task = publication_start(
        upload->uploads->base, upload->publication, on_published, upload);
    if (upload->task == NULL) {
        upload->publication = NULL;
        upload_refuse_errno(upload, errno, "no thread to store files");
    }
}

/* the beginning ------------------------------------------------------------ */

static void remove_stale(void *arg)
{
    workdir_remove_stale(arg);
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

/* Where an upload is worked on, see uploads_disk_call(). */
struct upload_place {
    struct config *config; /* reference */
    struct workdir *former; /* of another root, or NULL */
    struct workdir *workdir; /* NULL: is to be opened */
    bool is_opened;          /* it was */
    char work[WORKDIR_PATH_MAX];
    int disk;
    int errnum;
};

static void run_upload_place(void *data)
{
    struct upload_place *place = data;

    workdir_close(place->former);
    place->former = NULL;
    place->errnum = root_mark_check(place->config);
    if (place->errnum != 0) {
        return;
    }
    if (place->workdir == NULL) {
        place->workdir = workdir_open(place->config->uploads.root);
        place->is_opened = place->workdir != NULL;
    }
    if (place->workdir == NULL ||
        workdir_make(place->workdir, place->work) != 0) {
        place->errnum = errno;
        place->work[0] = '\0';
        return;
    }
    place->disk = open(place->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    place->errnum = place->disk < 0 ? errno : 0;
}

/* Others may work in a folder that was there before. */
static void drop_upload_place(void *data)
{
    struct upload_place *place = data;

    fd_close(place->disk);
    workdir_close(place->former);
    if (place->is_opened) {
        workdir_close(place->workdir);
    } else if (place->work[0] != '\0') {
        workdir_remove(place->work);
    }
    config_unref(place->config);
}

/* What a thread may be working with is left to the next start. */
static struct workdir *take_workdir(struct uploads *uploads)
{
    struct workdir *workdir = uploads->workdir;

    uploads->workdir = NULL;
    return uploads->root != NULL && uploads_disk_hangs(uploads->root)
               ? NULL
               : workdir;
}

/* The root is another one after a reload.  Returns 0, or an errno. */
static int upload_take_place(struct upload *upload)
{
    struct uploads *uploads = upload->uploads;
    const char *root = upload->config->uploads.root;
    struct upload_place place = {.disk = -1};
    int errnum;

    if (uploads->root == NULL || strcmp(uploads->root, root) != 0) {
        if (!uploads_disk_hangs(root)) {
            clear_root(uploads, root);
        }
        place.former = take_workdir(uploads);
        free(uploads->root);
        uploads->root = strdup(root);
    }
    place.config = config_ref(upload->config);
    place.workdir = uploads->workdir;
    errnum = uploads_disk_call(root, run_upload_place, drop_upload_place,
                               &place, sizeof(place));
    if (errnum != 0) {
        return errnum;
    }
    config_unref(place.config);
    uploads->workdir = place.workdir;
    memcpy(upload->work, place.work, sizeof(upload->work));
    upload->disk = place.disk;
    return place.errnum;
}

/* Appends a copy of a text; NULL stays NULL. */
static const char *upload_copy_text(char **at, const char *text)
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
    struct upload *upload = calloc(1, sizeof(*upload));
    char *at;

    if (upload == NULL) {
        return NULL;
    }
    upload->request = *request;
    upload->texts =
        malloc(text_size(request->name) + text_size(request->id) +
               text_size(request->file) + text_size(request->boundary) +
               text_size(request->user) + 1);
    if (upload->texts == NULL) {
        free(upload);
        return NULL;
    }
    at = upload->texts;
    upload->request.name = upload_copy_text(&at, request->name);
    upload->request.id = upload_copy_text(&at, request->id);
    upload->request.file = upload_copy_text(&at, request->file);
    upload->request.boundary = upload_copy_text(&at, request->boundary);
    upload->request.user = upload_copy_text(&at, request->user);
    upload->uploads = uploads;
    upload->config =
        config_ref((struct config *)scheduler_config(uploads->scheduler));
    upload->in = upload->got = upload->disk = -1;
    unpacking_init(&upload->unpacking, upload->config->uploads.max_size);
    LIST_INSERT_HEAD(&uploads->running, upload, entry);
    upload->awaits_turn = true;
    uploads->nwaiting++;
    return upload;
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
static bool has_root(struct upload *upload)
{
    if (upload->config->uploads.root == NULL) {
        upload_refuse(upload, 404, "the configuration has no \"uploads\"");
        return false;
    }
    return true;
}

/* Its turn has come. */
static void upload_begin(struct upload *upload)
{
    struct uploads *uploads = upload->uploads;
    int errnum;

    upload->awaits_turn = false;
    uploads->nwaiting--;
    uploads->n++;

    /* there may be another one since it came */
    config_unref(upload->config);
    upload->config =
        config_ref((struct config *)scheduler_config(uploads->scheduler));
    upload->shares = tier_copy_is_wanted(upload->config);
    upload->unpacking.left = upload->config->uploads.max_size;
    if (!has_root(upload)) {
        return;
    }
    errnum = upload_take_place(upload);
    if (errnum != 0) {
        upload_refuse_errno(upload, errnum,
                            "\"uploads.root\" cannot be used");
        return;
    }
    if (upload->request.nchunks > 0) {
        chunk_join_start(upload);
    } else if (!upload->request.is_symbfile || part_join_check(upload)) {
        unpacking_start(upload);
    }
}

/* Begins the one that waits for the longest time, if there is a place. */
static void begin_next(struct uploads *uploads)
{
    struct upload *upload, *oldest = NULL;

    if (!uploads_are_taken(uploads)) {
        return;
    }
    LIST_FOREACH(upload, &uploads->running,
                 entry) /* the latest is the first */
    {
        oldest = upload->awaits_turn ? upload : oldest;
    }
    if (oldest != NULL) {
        upload_begin(oldest);
    }
}

void uploads_take(struct uploads *uploads,
                  const struct upload_request *request, upload_done_fn done,
                  void *arg)
{
    struct upload_result busy = {.status = 503,
                                 .text = "too many uploads at a time"};
    struct upload *upload = NULL;
    char path[PATH_MAX];
    int status;

    if ((!uploads_are_taken(uploads) &&
         (uploads->stopping || uploads->nwaiting >= WAITING_MAX)) ||
        (upload = upload_new(uploads, request)) == NULL) {
        refusal_count(busy.status);
        done(arg, &busy);
        return;
    }
    upload->done = done;
    upload->arg = arg;
    if (!has_root(upload)) {
        return;
    }
    if (request->nchunks == 0 && request->body == NULL) {
        status = 503;
        snprintf(upload->text, sizeof(upload->text),
                 "no descriptor for the body");
        upload->in = fcntl(request->body_fd, F_DUPFD_CLOEXEC, 0);
    } else if (request->nchunks == 0) {
        upload->in =
            nginx_body_file_open(upload->config->uploads.spool, request->body,
                                 &status, upload->text, sizeof(upload->text));
    }
    if (upload->in < 0 && request->nchunks == 0) {
        upload_path_print(path, sizeof(path), upload);
        log_error(0, "upload%s: %s", path, upload->text);
        upload_finish(upload, status);
        return;
    }
    if (uploads_are_taken(uploads)) {
        upload_begin(upload);
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
static struct upload_file *upload_find_file(const struct upload *upload,
                                            const char *path, bool is_try)
{
    size_t i;

    for (i = 0;
         upload->publication != NULL && upload->result.is_try == is_try &&
         i < upload->publication->nfiles;
         i++) {
        if (is_at(&upload->publication->files[i].place, path)) {
            return &upload->publication->files[i];
        }
    }
    return NULL;
}

bool uploads_store(const struct uploads *uploads, const char *path,
                   bool is_try)
{
    const struct upload *upload;

    LIST_FOREACH(upload, &uploads->running, entry)
    {
        if (upload_find_file(upload, path, is_try) != NULL) {
            return true;
        }
    }
    return false;
}

void uploads_overtake(struct uploads *uploads, const char *path, bool is_try)
{
    struct upload_file *file;
    struct upload *upload;

    LIST_FOREACH(upload, &uploads->running, entry)
    {
        file = changes_files(upload) ? upload_find_file(upload, path, is_try)
                                     : NULL;
        if (file != NULL) {
            file->is_overtaken = true;
        }
    }
}

struct removals *uploads_removals(const struct uploads *uploads)
{
    return uploads->removals;
}

/* Are its files stored, do clients see them, and have other machines been
 * told? */
static bool upload_is_known(const struct upload *upload)
{
    return upload->part[0] == '\0' && upload->completion != NULL;
}

void uploads_stop(struct uploads *uploads)
{
    struct upload *upload;

    uploads->stopping = true;
    assemblies_stop(uploads->assemblies);
    while ((upload = LIST_FIRST(&uploads->running)) != NULL) {
        if (upload_is_known(upload)) {
            upload_end(upload);
        } else {
            upload_refuse(upload, 503, "the helper stops");
        }
    }
    bundle_listing_stop(uploads);
}

bool uploads_are_stopped(const struct uploads *uploads)
{
    return uploads->stopping;
}

const char *uploads_are_unknown(const struct uploads *uploads,
                                const struct config *config)
{
    int errnum = uploads->stopping ? 0 : uploads_disk_check(config);

    return uploads->stopping ? "the helper stops"
           : errnum != 0     ? strerror(errnum)
                             : NULL;
}

size_t uploads_builds(const struct uploads *uploads)
{
    return cleaner_builds(uploads->cleaner);
}

static void run_close_workdir(void *data)
{
    workdir_close(*(struct workdir **)data);
}

void uploads_free(struct uploads *uploads)
{
    struct workdir *workdir;

    if (uploads == NULL) {
        return;
    }
    uploads_stop(uploads);
    assemblies_free(uploads->assemblies);
    cleaner_free(uploads->cleaner);
    removals_free(uploads->removals);
    recoveries_free(uploads->recoveries);
    peers_free(uploads->peers);
    workdir = take_workdir(uploads);
    if (workdir != NULL) {
        (void)uploads_disk_call(uploads->root, run_close_workdir, NULL,
                                &workdir, sizeof(workdir));
    }
    free(uploads->root);
    free(uploads);
}
