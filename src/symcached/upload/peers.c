/*
 * Copyright (C) the ngx_symcache authors
 */
#include "peers.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>
#include "base/event.h"
#include "base/log.h"
#include "base/percent.h"
#include "base/plain_file.h"
#include "config/config.h"
#include "symcached/fetch/fetch.h"
#include "symcached/job/job.h"
#include "symcached/intake/upload_report.h"
#include "symcached/upload_index/upload_index.h"
#include "peer.h"
#include "peer_notification.h"

#define MS_PER_FILE 10 /* beside PEER_SECONDS, of one that answers slowly */

#define UNTOLD_FILE ".untold" /* lines of peer_print() */

struct peers {
    struct scheduler *scheduler;
    struct fetcher *fetcher;
    struct peer_owner owner;
    struct event *save;
    char *root; /* what is kept lies there */
    struct peer_list all;
    LIST_HEAD(, peer_notification) notifications;
};

static const char *peers_self_address(void)
{
    static char id[VIA_ID + 1];

    return via_self(id, UPLOADS_SOURCE);
}

bool peers_is_self(const char *from)
{
    return strcmp(from, peers_self_address()) == 0;
}

/* waits ------------------------------------------------------------------- */

static void peers_keep_untold(struct peers *peers);
static void peers_save_later(void *arg);

static void peers_on_told(evutil_socket_t fd, short events, void *arg)
{
    struct peer_notification *notification = arg;
    struct peer *peer;

    LIST_FOREACH(peer, &notification->peers->all, entry)
    {
        peer_detach(peer, notification);
    }
    if (notification->untold[0] != '\0') {
        peers_keep_untold(
            notification->peers); /* before anybody relies on it */
    }
    if (notification->done != NULL) {
        notification->done(notification->arg, notification->untold);
    }
    peer_notification_free(notification);
}

/* kept messages
 * ------------------------------------------------------------ */

static void peers_print_path(char path[PATH_MAX], const char *root,
                             const char *end)
{
    snprintf(path, PATH_MAX, "%.1024s/" UNTOLD_FILE "%s", root, end);
}

/* What is kept, see uploads_disk_call(). */
struct peers_kept {
    char root[PATH_MAX];
    char *text;
    size_t size;
};

static void run_keep(void *data)
{
    const struct peers_kept *kept = data;
    char path[PATH_MAX], tmp[PATH_MAX];
    FILE *f;

    peers_print_path(path, kept->root, "");
    peers_print_path(tmp, kept->root, ".tmp");
    if (kept->size == 0) {
        (void)unlink(tmp);
        (void)unlink(path);
        return;
    }
    f = plain_file_write(tmp);
    if (f != NULL) {
        (void)fwrite(kept->text, 1, kept->size, f);
    }
    if (f == NULL || fclose(f) != 0 || rename(tmp, path) != 0) {
        log_error(errno, "uploads: what other machines are not told of cannot "
                         "be kept");
    }
}

static void drop_kept(void *data)
{
    free(((struct peers_kept *)data)->text);
}

/* It is not synced: after a power failure the machines are told of the last
 * seconds again, or not. */
static void peers_keep_untold(struct peers *peers)
{
    struct peers_kept kept = {.text = NULL};
    const struct peer *peer;
    FILE *f;

    if (peers->root == NULL) {
        return;
    }
    snprintf(kept.root, sizeof(kept.root), "%s", peers->root);
    f = open_memstream(&kept.text, &kept.size);
    if (f == NULL) {
        log_error(errno, "uploads: what other machines are not told of cannot "
                         "be kept");
        return;
    }
    LIST_FOREACH(peer, &peers->all, entry)
    {
        peer_print(f, peer);
    }
    if (fclose(f) == 0 &&
        uploads_disk_call(kept.root, run_keep, drop_kept, &kept,
                          sizeof(kept)) != 0) {
        peers_save_later(peers);
        return;
    }
    free(kept.text);
}

static void peers_on_save(evutil_socket_t fd, short events, void *arg)
{
    peers_keep_untold(arg);
}

static void peers_save(void *arg)
{
    const struct peers *peers = arg;

    event_active(peers->save, 0, 0);
}

/* Saves a while after answers: thousands can arrive per second, and each save
 * writes the whole list.  Messages lost in a crash are sent again. */
static void peers_save_later(void *arg)
{
    static const struct timeval pause = {.tv_sec = 1};
    const struct peers *peers = arg;

    if (!event_pending(peers->save, EV_TIMEOUT, NULL)) {
        event_add(peers->save, &pause);
    }
}

/* machines ---------------------------------------------------------------- */

static bool peers_is_wanted(void *arg, const char *address)
{
    const struct peers *peers = arg;
    const struct uploads_config *uploads =
        &scheduler_config(peers->scheduler)->uploads;
    size_t i;

    for (i = 0; i < uploads->npeers; i++) {
        if (strcmp(uploads->peers[i], address) == 0) {
            return true;
        }
    }
    return false;
}

size_t peers_count_untold(const struct peers *peers)
{
    const struct peer *peer;
    size_t n = 0;

    LIST_FOREACH(peer, &peers->all, entry)
    {
        n += peer->n;
    }
    return n;
}

/* Returns NULL when out of memory. */
static struct peer *peers_find(struct peers *peers, const char *address)
{
    struct peer *peer;

    LIST_FOREACH(peer, &peers->all, entry)
    {
        if (strcmp(peer->address, address) == 0) {
            return peer;
        }
    }
    return peer_new(&peers->owner, &peers->all, address);
}

/* Keeps a list that cannot be read from being replaced by the next one. */
static void peers_set_aside(const char *path)
{
    char unread[PATH_MAX];

    log_error(errno, "uploads: what other machines are not told of cannot be "
              "read: it is kept in \"%s.unread\", and they are not told",
              path);
    snprintf(unread, sizeof(unread), "%.4000s.unread", path);
    (void)rename(path, unread);
}

/* Reads the messages that an earlier process could not deliver. */
static void peers_load(struct peers *peers)
{
    char path[PATH_MAX], line[PEER_MESSAGE_MAX + 200], *text, *refused;
    struct peer *peer;
    FILE *f;

    peers_print_path(path, peers->root, "");
    f = plain_file_read(path);
    if (f == NULL && errno != ENOENT) {
        peers_set_aside(path);
    }
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        text = strchr(line, ' ');
        if (text == NULL || text[1] != '/') {
            continue;
        }
        *text++ = '\0';
        refused = strchr(text, ' ');
        if (refused != NULL) {
            *refused++ = '\0';
        }
        peer = peers_find(peers, line);
        if (peer != NULL) {
            peer_add_former(peer, text,
                            refused != NULL ? strtoll(refused, NULL, 10) : 0);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

void peers_look(struct peers *peers)
{
    const struct config *config = scheduler_config(peers->scheduler);
    const char *root = config->uploads.root;
    char *former = peers->root, path[PATH_MAX];

    if (root == NULL || (former != NULL && strcmp(root, former) == 0) ||
        uploads_disk_check(config) != 0) {
        return;
    }
    peers->root = strdup(root);
    if (peers->root == NULL) {
        peers->root = former;
        return;
    }
    peers_load(peers);
    if (former != NULL) {
        peers_keep_untold(peers);
        peers_print_path(path, former, "");
        (void)unlink(path);
        free(former);
    }
}

/* life -------------------------------------------------------------------- */

struct peers *peers_new(struct event_base *base, struct scheduler *scheduler)
{
    struct peers *peers = calloc(1, sizeof(*peers));

    if (peers == NULL) {
        return NULL;
    }
    LIST_INIT(&peers->all);
    LIST_INIT(&peers->notifications);
    peers->scheduler = scheduler;
    peers->fetcher = fetcher_new(base, NULL, NULL);
    peers->save = event_new(base, -1, 0, peers_on_save, peers);
    if (peers->fetcher == NULL || peers->save == NULL) {
        peers_free(peers);
        return NULL;
    }
    peers->owner = (struct peer_owner){.base = base,
                                       .fetcher = peers->fetcher,
                                       .self = peers_self_address(),
                                       .is_wanted = peers_is_wanted,
                                       .save = peers_save,
                                       .save_later = peers_save_later,
                                       .arg = peers};
    peers_look(peers);
    return peers;
}

void peers_free(struct peers *peers)
{
    struct peer *peer;

    if (peers == NULL) {
        return;
    }
    LIST_FOREACH(peer, &peers->all, entry)
    {
        peer_detach(peer, NULL);
    }
    if (!LIST_EMPTY(&peers->all)) {
        peers_keep_untold(peers);
    }
    while (!LIST_EMPTY(&peers->all)) {
        peer_free(LIST_FIRST(&peers->all));
    }
    while (!LIST_EMPTY(&peers->notifications)) {
        peer_notification_free(LIST_FIRST(&peers->notifications));
    }
    fetcher_free(peers->fetcher);
    event_drop(peers->save);
    free(peers->root);
    free(peers);
}

static void peers_print_message(char text[PEER_MESSAGE_MAX],
                                const struct upload_file *file, bool is_try)
{
    bool is_same = file->fate == UPLOAD_SAME && !file->is_recent;
    char ids[UPLOAD_REPORT_IDS_SIZE], *end = stpcpy(text, "/v1/changed/");

    end = percent_encode(end, file->place.name);
    *end++ = '/';
    end = percent_encode(end, file->place.id);
    *end++ = '/';
    end = percent_encode(end, file->place.file);
    upload_report_print_ids(ids, &file->place, "&id=");
    if (ids[0] != '\0') {
        ids[0] = '?';
    }
    snprintf(end, (size_t)(text + PEER_MESSAGE_MAX - end), "%s%s%s%s%s", ids,
             is_try ? "&try=1" : "", is_same ? "&same=1" : "",
             file->is_unsure ? "&keep=1" : "",
             file->is_made_of ? "&made=1" : "");
}

struct peer_notification *peers_tell(struct peers *peers,
                                     const struct upload_file *files, size_t n,
                                     bool is_try, peers_done_fn done,
                                     void *arg)
{
    const struct config *config = scheduler_config(peers->scheduler);
    struct peer_notification *notification = calloc(1, sizeof(*notification));
    const struct timeval limit = {
        .tv_sec = PEER_SECONDS + (time_t)(n * MS_PER_FILE / 1000)};
    char text[PEER_MESSAGE_MAX];
    struct peer *peer;
    size_t i, j;

    if (notification == NULL) {
        return NULL;
    }
    peers_look(peers); /* or what is kept there would be replaced */
    *notification =
        (struct peer_notification){.peers = peers, .done = done, .arg = arg};
    notification->left = 1; /* until all have been added */
    notification->ended =
        event_new(peers->owner.base, -1, 0, peers_on_told, notification);
    if (notification->ended == NULL) {
        free(notification);
        return NULL;
    }
    for (i = 0; i < config->uploads.npeers; i++) {
        peer = peers_find(peers, config->uploads.peers[i]);
        for (j = 0; j < n; j++) {
            if (files[j].fate == UPLOAD_SAME && !files[j].has_come &&
                !files[j].is_recent) {
                if (peer == NULL || peer->fails) { /* it may wait for this */
                    peer_notification_note_untold(notification,
                                                  config->uploads.peers[i]);
                }
                continue;
            }
            peers_print_message(text, &files[j], is_try);
            if (peer == NULL || !peer_add(peer, text, notification)) {
                peer_notification_note_untold(notification,
                                              config->uploads.peers[i]);
            }
        }
        if (peer != NULL && !peer->fails) {
            peer_send(peer);
        }
    }
    LIST_INSERT_HEAD(&peers->notifications, notification, entry);
    event_add(notification->ended, &limit);
    peer_notification_leave(notification);
    return notification;
}
