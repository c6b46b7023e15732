/*
 * Copyright (C) the ngx_symcache authors
 */
#include "removal.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/disk_full.h"
#include "base/event.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/scarce.h"
#include "config/config.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/job/job.h"
#include "symcached/tier/tier.h"
#include "write_ahead_log.h"
#include "invalidation.h"
#include "machine_id.h"
#include "peer.h"
#include "peers.h"
#include "symcached/intake/upload_report.h"
#include "retention.h"
#include "tier_copy.h"
#include "peer_notification.h"

#define RETRY_SECONDS 5

static const char no_uploads[] = "the configuration has no \"uploads\"";

struct upload_removal {
    LIST_ENTRY(upload_removal) entry;
    struct removals *removals;
    struct config *config; /* reference */
    struct upload_file file;
    char path[PATH_MAX]; /* below the root */
    bool is_try;
    bool is_old;
    bool is_own; /* of this machine alone, as all that is old */
    bool is_told;
    bool is_same; /* its bytes have not changed */
    bool is_late; /* what was told may be long ago, */
    char from[REMOVAL_FROM_SIZE]; /* and who is telling */
    bool is_repeated;     /* it was told once more meanwhile */
    struct event *retry; /* while the tier cannot be asked, or NULL, */
    char why[256];       /* and the reason that was logged, or "" */
    bool gives_way;
    bool keeps;   /* the file stays here */
    ino_t inode;  /* of what is compared with the tier's */
    bool was_shared; /* the tier had it */
    bool is_indexed; /* its entry in the tier's index goes now */
    bool was_absent;
    unsigned unused_for;
    struct intent *intent; /* while others may not know, or NULL */
    struct tier_original *original;
    struct invalidation *invalidation;
    struct peer_notification *notification;
    removal_done_fn done;
    void *arg;
};

struct removals {
    struct event_base *base;
    struct scheduler *scheduler;
    struct peers *peers;
    LIST_HEAD(, upload_removal) running;
};

static void work_on_told(struct upload_removal *removal);

static void end_removal(struct upload_removal *removal, int status,
                        const char *text)
{
    removal_done_fn done = removal->done;
    void *arg = removal->arg;
    char failure[PATH_MAX + 256];

    if (removal->is_repeated && status == 200) {
        /* the file can have changed again before that */
        removal->is_repeated = false;
        work_on_told(removal);
        return;
    }
    if (status == 200 && removal->why[0] != '\0') {
        log_info(0, "upload file=%s: the tier is not asked any more whose it "
                    "is", removal->path);
    }
    if (status != 200) {
        snprintf(failure, sizeof(failure), "%s: %s", removal->path, text);
        text = failure;
    }

    if (removal->original != NULL) {
        tiers_original_cancel(removal->original);
    }
    event_drop(removal->retry);
    invalidation_cancel(removal->invalidation);
    peer_notification_cancel(removal->notification);
    write_ahead_log_leave(removal->intent);
    LIST_REMOVE(removal, entry);
    config_unref(removal->config);
    free(removal);
    done(arg, status, text);
}

/* All know, or nothing has changed. */
static void settle_removal(struct upload_removal *removal)
{
    write_ahead_log_settle(removal->intent);
    removal->intent = NULL;
}

static void end_well(struct upload_removal *removal, const char *untold)
{
    settle_removal(removal);
    if (removal->was_absent) {
        end_removal(removal, 404, strerror(ENOENT));
    } else {
        end_removal(removal, 200, untold);
    }
}

static void removal_on_told(void *arg, const char *untold)
{
    struct upload_removal *removal = arg;

    removal->notification = NULL;
    end_well(removal, untold);
}

/* Is this the first message for a while that could not be told at once?  Then
 * the one who sent it may have sent it before, without an answer. */
static bool is_first_late(void)
{
    static uint64_t last; /* clock_ms() */
    bool is_first = last == 0 || clock_since(last) > PEER_SECONDS * 1000;

    last = clock_ms();
    return is_first;
}

/*
 * While this machine did not know of the change, it can have stored in the tier
 * what it had made of the former file, and the others, which had forgotten
 * theirs, can have taken that.
 */
static void tell_again(const struct upload_removal *removal)
{
    struct upload_file file = removal->file;

    file.is_made_of = true;
    log_info(0, "upload file=%s changed before this machine was told, so the "
                "others are told again: the tier may have had what was made "
                "of the former one", removal->path);
    (void)peers_tell(removal->removals->peers, &file, 1, removal->is_try, NULL,
                     NULL);
}

static void removal_on_dropped(void *arg, bool is_made)
{
    struct upload_removal *removal = arg;

    removal->invalidation = NULL;
    if (removal->is_late && !removal->file.is_made_of &&
        tier_copy_is_wanted(removal->config) && (is_first_late() || is_made)) {
        tell_again(removal);
    }
    if (!removal->is_told) {
        removal->notification =
            peers_tell(removal->removals->peers, &removal->file, 1,
                       removal->is_try, removal_on_told, removal);
    }
    if (removal->notification == NULL) {
        end_well(removal, "");
    }
}

static void removal_print_path(char path[PATH_MAX],
                               const struct upload_removal *removal)
{
    snprintf(path, PATH_MAX, "%.1024s/%.3000s", removal->config->uploads.root,
             removal->path);
}

/* Finds the ids by which clients can ask for the file, unless the message has
 * them.  Returns false if there are none. */
static bool find_ids(struct upload_removal *removal)
{
    struct symstore_path known, *place = &removal->file.place;

    if (place->nids == 0 &&
        upload_report_place(&known, place->name, place->id)) {
        memcpy(place->ids, known.ids, sizeof(place->ids));
        place->nids = known.nids;
    }
    return place->nids > 0;
}

/* Invalidates its keys here, and then on the other machines. */
static void drop_removal(struct upload_removal *removal)
{
    if (!find_ids(removal)) {
        end_well(removal, "");
        return;
    }
    removal->invalidation = invalidation_start(
        removal->removals->base, removal->removals->scheduler, &removal->file,
        1, removal->is_try, removal_on_dropped, removal);
    if (removal->invalidation == NULL) {
        end_removal(removal, 500, strerror(ENOMEM));
    }
}

/* Where uploads lie of which this is one. */
static void print_root(char root[PATH_MAX],
                       const struct upload_removal *removal)
{
    snprintf(root, PATH_MAX, "%.1024s%s", removal->config->uploads.root,
             removal->is_try ? "/" UPLOADS_TRY : "");
}

/* The index has the file no more; or, with a tier, what another machine has
 * told of. */
static void change_index(struct upload_removal *removal)
{
    const struct symstore_path *place = &removal->file.place;
    char root[PATH_MAX];
    int errnum;

    print_root(root, removal);
    errnum = removal->is_told && !tier_copy_is_wanted(removal->config)
                 ? uploads_disk_touch(root, place)
                 : uploads_disk_change(root, place, removal->is_told);
    if (errnum != 0) {
        log_error(errnum, "uploads: the index of \"%s\" is not written",
                  removal->path);
    }
}

/* The tier does not have it any more, or there is none. */
static void remove_here(struct upload_removal *removal)
{
    char path[PATH_MAX];

    removal_print_path(path, removal);
    if (uploads_disk_unlink(removal->config->uploads.root, path) != 0 &&
        !(removal->was_shared && (errno == ENOENT || errno == ENOTDIR))) {
        if (errno != ENOENT && errno != ENOTDIR) {
            int errnum = errno;

            settle_removal(removal);
            end_removal(removal, errnum == ETIMEDOUT ? 503 : 500,
                        strerror(errnum));
            return;
        }
        /* who removed it may have been killed before anybody knew */
        removal->was_absent = true;
    } else {
        log_info(0, "upload file=%s removed", removal->path);
    }
    change_index(removal);
    if (removal->is_old) {
        end_well(removal, "");
        return;
    }
    drop_removal(removal);
}

/*
 * Another machine keeps the file now, so that only one decides how long it is
 * kept; or it has removed it.  Without a tier each machine has files of its
 * own, or all have one folder.
 */
static void take_note(struct upload_removal *removal, bool keeps)
{
    char path[PATH_MAX];

    removal_print_path(path, removal);
    if (tier_copy_is_wanted(removal->config) && !keeps &&
        uploads_disk_unlink(removal->config->uploads.root, path) == 0) {
        log_info(0, "upload file=%s removed, as another machine has told",
                 removal->path);
    }
    if (removal->is_same) {
        end_removal(removal, 200, "");
    } else {
        (void)find_ids(removal);
        change_index(removal);
        drop_removal(removal);
    }
}

/* Other machines need not know about the removal of an old file.  A full disk
 * does not fail the removal, because that may be meant to free space.  Returns
 * 0, or an errno. */
static int note_intent(struct upload_removal *removal)
{
    char below[PATH_MAX];
    int errnum;

    if (!find_ids(removal) || removal->is_old) {
        return 0;
    }
    print_root(below, removal);
    errnum = write_ahead_log_note(&removal->intent, below, !removal->is_told,
                                  &removal->file);
    return disk_is_full(errnum) ? 0 : errnum;
}

static bool compare_with_tier(struct upload_removal *removal);

static void removal_on_retry(evutil_socket_t fd, short events, void *arg)
{
    struct upload_removal *removal = arg;

    config_unref(removal->config); /* there may be another one */
    removal->config = config_ref(
        (struct config *)scheduler_config(removal->removals->scheduler));
    if (removal->config->uploads.root == NULL) {
        end_removal(removal, 404, no_uploads);
    } else if (!compare_with_tier(removal)) {
        take_note(removal, removal->keeps);
    }
}

/* The next process does it, if this one ends before the tier answers.  While
 * the tier is left alone, the reason has that before it. */
static void compare_later(struct upload_removal *removal, const char *why)
{
    static const struct timeval pause = {.tv_sec = RETRY_SECONDS};

    if (removal->why[0] == '\0' || (strstr(why, removal->why) == NULL &&
                                    strstr(removal->why, why) == NULL)) {
        log_warn(0, "upload file=%s: the tier is asked whose it is until it "
                    "answers: %s", removal->path, why);
        snprintf(removal->why, sizeof(removal->why), "%s", why);
    }
    if (removal->retry == NULL) {
        (void)note_intent(removal);
        removal->retry =
            evtimer_new(removal->removals->base, removal_on_retry, removal);
    }
    if (removal->retry == NULL) {
        end_removal(removal, 503, strerror(ENOMEM));
        return;
    }
    evtimer_add(removal->retry, &pause);
}

static void compare_failed(struct upload_removal *removal, const char *why)
{
    if (removal->gives_way) {
        compare_later(removal, why);
    } else {
        end_removal(removal, 503, why); /* it is told again */
    }
}

/* Of two machines that have stored a file at a time, and tell each other, the
 * tier has that of one, which keeps its copy; the other one may have been
 * killed.  What is stored here meanwhile is not what was compared.  If both
 * went because the tier cannot be asked, nobody would keep it. */
static void removal_on_compared(void *arg, enum tier_original_outcome outcome,
                                const char *detail)
{
    struct upload_removal *removal = arg;
    char path[PATH_MAX];
    struct stat st;
    bool is_there;

    removal->original = NULL;
    removal_print_path(path, removal);
    is_there =
        uploads_disk_lstat(removal->config->uploads.root, path, &st) == 0;
    if (!is_there && errno == ETIMEDOUT) {
        compare_failed(removal, strerror(errno));
        return;
    }
    if (outcome == TIER_ORIGINAL_SAME || outcome == TIER_ORIGINAL_RECENT ||
        outcome == TIER_ORIGINAL_OWN ||
        (is_there && st.st_ino != removal->inode)) {
        end_well(removal, "");
        return;
    }
    if (outcome >= TIER_ORIGINAL_FAILED && is_there) {
        compare_failed(removal, detail);
        return;
    }
    take_note(removal, removal->keeps && outcome != TIER_ORIGINAL_OTHER);
}

/* Returns false if there is nothing to compare, or if that is so old that the
 * tier cannot have got it after what was told of.  Otherwise the removal goes
 * on, or has ended.  The same bytes may have been sent here since, so then the
 * tier says whose they are. */
static bool compare_with_tier(struct upload_removal *removal)
{
    char machine[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1] = "";
    char path[PATH_MAX];
    struct stat st;
    bool fails;
    int fd, errnum;

    if (!tier_copy_is_wanted(removal->config)) {
        return false;
    }
    removal_print_path(path, removal);
    fd = uploads_disk_open(removal->config->uploads.root, path, &st);
    fails = fd < 0 && (is_scarce(errno) || errno == ETIMEDOUT);
    if (fd >= 0 &&
        (removal->keeps || removal->is_late || removal->gives_way ||
         time(NULL) - st.st_ctime < TIER_RECENT_SECONDS)) {
        removal->inode = st.st_ino;
        if (removal->is_same) {
            machine_id(machine, removal->config->uploads.root);
        }
        removal->original = tiers_store_original(
            scheduler_get_tiers(removal->removals->scheduler), removal->config,
            removal->path, fd, TIER_ORIGINAL_COMPARE, machine,
            removal_on_compared, removal);
        fails = removal->original == NULL;
    }
    errnum = errno;
    fd_close(fd);
    if (fails) {
        compare_failed(removal, strerror(errnum));
        return true;
    }
    return removal->original != NULL;
}

static void work_on_told(struct upload_removal *removal)
{
    if (removal->file.is_made_of) {
        drop_removal(removal);
    } else if (!compare_with_tier(removal)) {
        take_note(removal, removal->keeps);
    }
}

static void begin_told(struct upload_removal *removal,
                       const struct removal_request *request)
{
    const char *ids[SYMSTORE_PATH_IDS];
    size_t i;

    for (i = 0; i < request->nids; i++) {
        ids[i] = request->ids[i];
    }
    (void)upload_report_ids(&removal->file.place, ids, request->nids);
    removal->is_same = request->is_same;
    removal->is_late = request->is_late;
    memcpy(removal->from, request->from, sizeof(removal->from));
    removal->gives_way = request->gives_way;
    removal->keeps = request->keeps;
    removal->file.is_made_of = request->is_made_of;
    work_on_told(removal);
}

/* The tier's object belongs to another machine, which may not have told yet. */
static void leave_to_other(struct upload_removal *removal)
{
    char path[PATH_MAX];

    removal_print_path(path, removal);
    if (uploads_disk_unlink(removal->config->uploads.root, path) == 0) {
        log_info(0, "upload file=%s removed, as another machine keeps it",
                 removal->path);
    }
    settle_removal(removal);
    end_removal(removal, 200, "");
}

static void remove_there(struct upload_removal *removal, const char *path,
                         unsigned unused_for);

static void on_original(void *arg, enum tier_original_outcome outcome,
                        const char *detail)
{
    struct upload_removal *removal = arg;
    char path[PATH_MAX], root[PATH_MAX], text[1400];

    removal->original = NULL;
    print_root(root, removal);
    if (!removal->is_indexed) {
        removal->was_shared = outcome == TIER_ORIGINAL_DONE;
    }
    if (outcome == TIER_ORIGINAL_FAILED) {
        settle_removal(removal); /* whoever asked has to ask again */
        snprintf(text, sizeof(text),
                 "the tier \"%s\" does not remove it: %s",
                 removal->config->uploads.tier->name, detail);
        end_removal(removal, 503, text);
    } else if (outcome == TIER_ORIGINAL_OTHER) {
        leave_to_other(removal);
    } else if (outcome == TIER_ORIGINAL_USED) {
        removal_print_path(path, removal);
        retention_touch(path);
        settle_removal(removal);
        end_removal(removal, 409, detail);
    } else if (!removal->is_indexed &&
               upload_index_has_name(&removal->file.place) &&
               !upload_index_is_shared(root, &removal->file.place) &&
               upload_index_path(path, &removal->file.place, removal->is_try,
                                 0)) {
        removal->is_indexed = true;
        remove_there(removal, path, 0);
    } else {
        remove_here(removal);
    }
}

static void remove_there(struct upload_removal *removal, const char *path,
                         unsigned unused_for)
{
    char machine[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1] = "";

    if (removal->is_own && !removal->is_indexed) {
        machine_id(machine, removal->config->uploads.root);
    }
    removal->original = tiers_remove_original(
        scheduler_get_tiers(removal->removals->scheduler), removal->config,
        path, unused_for, machine, on_original, removal);
    if (removal->original == NULL) {
        end_removal(removal, 503, strerror(errno));
    }
}

static bool removal_is_repeated(const struct upload_removal *removal,
                                const struct removal_request *request)
{
    const struct symstore_path *place = &removal->file.place;

    return removal->is_told && removal->is_late && request->is_late &&
           request->from[0] != '\0' &&
           strcmp(removal->from, request->from) == 0 &&
           removal->is_try == request->is_try &&
           removal->is_same == request->is_same &&
           removal->keeps == request->keeps &&
           removal->file.is_made_of == request->is_made_of &&
           strcmp(place->name, request->name) == 0 &&
           strcmp(place->id, request->id) == 0 &&
           strcmp(place->file, request->file) == 0;
}

/* A machine repeats what was not answered in time, and tells nothing else
 * before: what runs for it goes on, and answers the latest when it has been
 * worked on once more.  Returns false if nothing runs. */
static bool answer_latest(struct removals *removals,
                          const struct removal_request *request,
                          removal_done_fn done, void *arg)
{
    struct upload_removal *removal;
    removal_done_fn former;
    void *former_arg;

    LIST_FOREACH(removal, &removals->running, entry)
    {
        if (removal_is_repeated(removal, request)) {
            former = removal->done;
            former_arg = removal->arg;
            removal->done = done;
            removal->arg = arg;
            removal->is_repeated = true;
            former(former_arg, 503, "it was told again");
            return true;
        }
    }
    return false;
}

void removals_start(struct removals *removals,
                    const struct removal_request *request,
                    removal_done_fn done, void *arg)
{
    struct upload_removal *removal;
    struct symstore_path *place;
    int errnum;

    if (answer_latest(removals, request, done, arg)) {
        return;
    }
    removal = calloc(1, sizeof(*removal));
    if (removal == NULL) {
        done(arg, 503, "out of memory");
        return;
    }
    place = &removal->file.place;
    snprintf(place->name, sizeof(place->name), "%s", request->name);
    snprintf(place->id, sizeof(place->id), "%s", request->id);
    snprintf(place->file, sizeof(place->file), "%s", request->file);
    upload_file_path(removal->path, place, request->is_try);
    removal->is_try = request->is_try;
    removal->is_old = request->is_old;
    removal->is_own = request->is_own || request->is_old;
    removal->is_told = request->is_told;
    removal->unused_for = request->unused_for;
    removal->removals = removals;
    removal->done = done;
    removal->arg = arg;
    removal->config =
        config_ref((struct config *)scheduler_config(removals->scheduler));
    LIST_INSERT_HEAD(&removals->running, removal, entry);
    if (removal->config->uploads.root == NULL) {
        end_removal(removal, 404, no_uploads);
        return;
    }
    errnum = uploads_disk_check(removal->config);
    if (errnum == 0 && request->is_told) {
        begin_told(removal, request);
        return;
    }
    errnum = errnum != 0 ? errnum : note_intent(removal);
    if (errnum != 0) {
        end_removal(removal, 503, strerror(errnum));
        return;
    }
    if (!tier_copy_is_wanted(removal->config)) {
        remove_here(removal);
        return;
    }
    remove_there(removal, removal->path, removal->unused_for);
}

static bool is_same_place(const struct symstore_path *a,
                          const struct symstore_path *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->file, b->file) == 0;
}

bool removals_have(const struct removals *removals,
                   const struct upload_file *files, size_t n, bool is_try)
{
    const struct upload_removal *removal;
    size_t i;

    LIST_FOREACH(removal, &removals->running, entry)
    {
        for (i = 0; i < n; i++) {
            if (removal->is_try == is_try && !removal->is_told &&
                is_same_place(&removal->file.place, &files[i].place)) {
                return true;
            }
        }
    }
    return false;
}

struct removals *removals_new(struct event_base *base,
                              struct scheduler *scheduler,
                              struct peers *peers)
{
    struct removals *removals = calloc(1, sizeof(*removals));

    if (removals != NULL) {
        removals->base = base;
        removals->scheduler = scheduler;
        removals->peers = peers;
        LIST_INIT(&removals->running);
    }
    return removals;
}

void removals_free(struct removals *removals)
{
    struct upload_removal *removal;

    if (removals == NULL) {
        return;
    }
    while ((removal = LIST_FIRST(&removals->running)) != NULL) {
        end_removal(removal, 503, "the helper stops");
    }
    free(removals);
}
