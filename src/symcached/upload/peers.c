/*
 * Copyright (C) the ngx_symcache authors
 *
 * A message is the target of a request, POST /v1/changed/<name>/<id>/<file>,
 * see server/upload_page.h, with its query but for "from", which is another one
 * in the next process.  A machine gets one after the other.  One that it
 * refuses is put aside: the others need not wait for it.
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
#include "base/log.h"
#include "base/percent.h"
#include "config/config.h"
#include "symcached/fetch/fetch.h"
#include "symcached/job/job.h"
#include "symcached/intake/report.h"

#define CONNECT_SECONDS 1
#define SECONDS 3 /* and then it is not waited for any more */
#define MS_PER_FILE 10 /* the same of one that answers, but slowly */
#define RETRY_SECONDS 5
#define REFUSED_SECONDS 3600 /* then a message that is refused is dropped */
#define MESSAGES_MAX 10000 /* for one machine; more are dropped */

#define UNTOLD_FILE ".untold" /* "<address> <message>[ <refused since>]" */
#define MESSAGE_MAX                                                            \
    (3 * (2 * SYMCACHE_NAME_MAX + SYMSTORE_ID_SIZE) + REPORT_IDS_SIZE + 100)

struct telling {
    LIST_ENTRY(telling) entry;
    struct peers *peers;
    struct event *ended; /* or it has lasted too long */
    size_t left; /* messages that are waited for */
    char untold[PEERS_UNTOLD];
    peers_done_fn done; /* NULL: nobody waits */
    void *arg;
};

struct message {
    TAILQ_ENTRY(message) entry;
    struct telling *telling; /* NULL: nobody waits, and a restart must know */
    time_t refused; /* since when it is, or 0 */
    char text[];
};

TAILQ_HEAD(messages, message);

struct peer {
    LIST_ENTRY(peer) entry;
    struct peers *peers;
    char *address;
    struct messages messages; /* the first one is being sent */
    struct messages aside;
    size_t n; /* in both */
    struct send *send;
    struct event *retry;
    struct event *retry_aside;
    bool fails; /* nobody waits for it */
};

struct peers {
    struct event_base *base;
    struct scheduler *scheduler;
    struct hosts *hosts;
    struct fetcher *fetcher;
    struct event *save;
    char *root; /* what is kept lies there */
    LIST_HEAD(, peer) all;
    LIST_HEAD(, telling) tellings;
};

static const char *self(void)
{
    static char id[VIA_ID + 1];

    return via_self(id, UPLOADS_SOURCE);
}

bool peers_is_self(const char *from)
{
    return strcmp(from, self()) == 0;
}

/* who waits --------------------------------------------------------------- */

static void telling_free(struct telling *telling)
{
    LIST_REMOVE(telling, entry);
    event_free(telling->ended);
    free(telling);
}

/* An address may be the beginning of another one. */
static bool has_address(const char *list, const char *address)
{
    size_t n = strlen(address);

    while (strncmp(list, address, n) != 0 ||
           (list[n] != ',' && list[n] != '\0')) {
        list = strchr(list, ',');
        if (list == NULL) {
            return false;
        }
        list++;
    }
    return true;
}

static void save_later(struct peers *peers)
{
    event_active(peers->save, 0, 0);
}

/* After answers, of which thousands may come in a second, each with all that
 * is kept to be written.  What a kill loses of it is told again. */
static void save_after_answers(struct peers *peers)
{
    static const struct timeval pause = {.tv_sec = 1};

    if (!event_pending(peers->save, EV_TIMEOUT, NULL)) {
        event_add(peers->save, &pause);
    }
}

static void note_untold(struct telling *telling, const char *address)
{
    size_t len = strlen(telling->untold);

    if (!has_address(telling->untold, address)) {
        snprintf(telling->untold + len, sizeof(telling->untold) - len,
                 "%s%s", len > 0 ? "," : "", address);
    }
}

static void keep_untold(struct peers *peers);

static void on_told(evutil_socket_t fd, short events, void *arg)
{
    struct telling *telling = arg;
    struct message *message;
    struct peer *peer;

    LIST_FOREACH(peer, &telling->peers->all, entry)
    {
        TAILQ_FOREACH(message, &peer->messages, entry)
        {
            if (message->telling == telling) {
                note_untold(telling, peer->address);
                message->telling = NULL;
            }
        }
    }
    if (telling->untold[0] != '\0') {
        keep_untold(telling->peers); /* before anybody relies on it */
    }
    if (telling->done != NULL) {
        telling->done(telling->arg, telling->untold);
    }
    telling_free(telling);
}

/* A message has been heard, or is not waited for. */
static void leave(struct telling *telling)
{
    if (--telling->left == 0) {
        event_active(telling->ended, 0, 0);
    }
}

void telling_cancel(struct telling *telling)
{
    telling->done = NULL;
}

/* messages ---------------------------------------------------------------- */

static void drop_first(struct peer *peer, struct messages *list)
{
    struct message *message = TAILQ_FIRST(list);

    if (message->telling != NULL) {
        leave(message->telling);
    }
    TAILQ_REMOVE(list, message, entry);
    peer->n--;
    free(message);
}

/* Nobody waits for it any more. */
static void give_up(const struct peer *peer, struct message *message)
{
    if (message->telling != NULL) {
        note_untold(message->telling, peer->address);
        leave(message->telling);
        message->telling = NULL;
    }
}

/* Returns false when out of memory, or if there are too many. */
static bool add(struct peer *peer, const char *text, struct telling *telling)
{
    size_t size = strlen(text) + 1;
    struct message *message;

    /* an archive has more files, but of a machine that hears them there are
     * never so many at a time */
    if (peer->n >= MESSAGES_MAX &&
        (peer->fails || !TAILQ_EMPTY(&peer->aside))) {
        log_error(0, "uploads: %s is never told of %s", peer->address, text);
        return false;
    }
    message = malloc(sizeof(*message) + size);
    if (message == NULL) {
        return false;
    }
    memcpy(message->text, text, size);
    message->telling = NULL;
    message->refused = 0;
    if (telling != NULL && peer->fails) {
        note_untold(telling, peer->address);
    } else if (telling != NULL) {
        message->telling = telling;
        telling->left++;
    }
    TAILQ_INSERT_TAIL(&peer->messages, message, entry);
    peer->n++;
    if (message->telling == NULL) {
        save_later(peer->peers);
    }
    return true;
}

static void send_next(struct peer *peer);

static void fail(struct peer *peer, const char *why)
{
    static const struct timeval pause = {.tv_sec = RETRY_SECONDS};
    struct message *message;

    if (!peer->fails) {
        log_warn(0, "uploads: %s is not told of %zu files: %s; it is tried "
                 "again", peer->address, peer->n, why);
    }
    peer->fails = true;
    TAILQ_FOREACH(message, &peer->messages, entry)
    {
        give_up(peer, message);
    }
    event_add(peer->retry, &pause);
    save_later(peer->peers);
}

/* Does the answer say that this message is at fault, and not the machine? */
static bool is_refusal(long status)
{
    return status >= 400 && status < 500 && status != 408 && status != 429;
}

static void put_aside(struct peer *peer, const char *why)
{
    static const struct timeval pause = {.tv_sec = RETRY_SECONDS};
    struct message *message = TAILQ_FIRST(&peer->messages);
    time_t now = time(NULL);

    give_up(peer, message);
    if (message->refused == 0 || message->refused > now) {
        message->refused = now;
        if (TAILQ_EMPTY(&peer->aside)) {
            log_warn(0, "uploads: %s refuses to be told of %s: %s; it is "
                     "tried again", peer->address, message->text, why);
        }
    }
    TAILQ_REMOVE(&peer->messages, message, entry);
    TAILQ_INSERT_TAIL(&peer->aside, message, entry);
    if (now - message->refused >= REFUSED_SECONDS) {
        log_error(0, "uploads: %s is never told of %s: %s", peer->address,
                  message->text, why);
        TAILQ_REMOVE(&peer->aside, message, entry);
        peer->n--;
        free(message);
    }
    if (!TAILQ_EMPTY(&peer->aside)) {
        event_add(peer->retry_aside, &pause);
    }
    save_after_answers(peer->peers);
}

/* One of them shows whether the others may be taken now. */
static void take_back(struct peer *peer)
{
    struct message *message = TAILQ_FIRST(&peer->aside);

    if (message != NULL) {
        TAILQ_REMOVE(&peer->aside, message, entry);
        TAILQ_INSERT_TAIL(&peer->messages, message, entry);
    }
}

static void on_sent(void *arg, const struct send_result *result)
{
    struct peer *peer = arg;
    struct message *message = TAILQ_FIRST(&peer->messages);
    long status = result->answer->status;

    peer->send = NULL;
    if (is_refusal(status)) {
        put_aside(peer, result->detail);
    } else if (status != 200) {
        fail(peer, result->detail);
        return;
    } else {
        if (message->telling == NULL) {
            save_after_answers(peer->peers);
        }
        if (message->refused != 0) {
            take_back(peer);
        }
        drop_first(peer, &peer->messages);
    }
    if (peer->fails && TAILQ_EMPTY(&peer->messages)) {
        log_info(0, "uploads: %s has been told", peer->address);
        peer->fails = false;
    }
    send_next(peer);
}

static void send_next(struct peer *peer)
{
    static const struct transport_config transport = {
        .internal = TRANSPORT_INTERNAL_ORIGIN};
    static char name[] = "Content-Length", value[] = "0";
    const struct header_config length = {name, value};
    bool is_unix = strncmp(peer->address, "unix:", 5) == 0;
    struct send_request request = {.method = "POST",
                                   .transport = &transport,
                                   .extra = &length,
                                   .nextra = 1,
                                   .fd = -1,
                                   .connect = CONNECT_SECONDS,
                                   .seconds = SECONDS};
    char url[MESSAGE_MAX + 200];
    const char *text;

    if (peer->send != NULL || TAILQ_EMPTY(&peer->messages)) {
        return;
    }
    text = TAILQ_FIRST(&peer->messages)->text;
    snprintf(url, sizeof(url), "http://%.150s%s%cfrom=%s",
             is_unix ? "localhost" : peer->address, text,
             strchr(text, '?') != NULL ? '&' : '?', self());
    request.url = url;
    request.socket = is_unix ? peer->address + 5 : NULL;
    peer->send = send_start(peer->peers->fetcher, &request, on_sent, peer);
    if (peer->send == NULL) {
        fail(peer, strerror(ENOMEM));
    }
}

/* machines ---------------------------------------------------------------- */

static bool is_wanted(const struct peer *peer)
{
    const struct uploads_config *uploads =
        &scheduler_config(peer->peers->scheduler)->uploads;
    size_t i;

    for (i = 0; i < uploads->npeers; i++) {
        if (strcmp(uploads->peers[i], peer->address) == 0) {
            return true;
        }
    }
    return false;
}

static void peer_free(struct peer *peer)
{
    if (peer->send != NULL) {
        send_cancel(peer->send);
    }
    while (!TAILQ_EMPTY(&peer->messages)) {
        drop_first(peer, &peer->messages);
    }
    while (!TAILQ_EMPTY(&peer->aside)) {
        drop_first(peer, &peer->aside);
    }
    if (peer->retry != NULL) {
        event_free(peer->retry);
    }
    if (peer->retry_aside != NULL) {
        event_free(peer->retry_aside);
    }
    LIST_REMOVE(peer, entry);
    free(peer->address);
    free(peer);
}

static void on_retry(evutil_socket_t fd, short events, void *arg)
{
    struct peer *peer = arg;

    if (is_wanted(peer)) {
        send_next(peer);
        return;
    }
    save_later(peer->peers);
    peer_free(peer);
}

static void on_retry_aside(evutil_socket_t fd, short events, void *arg)
{
    struct peer *peer = arg;

    take_back(peer);
    if (!peer->fails) {
        on_retry(fd, events, peer);
    }
}

/* Returns NULL when out of memory. */
static struct peer *find(struct peers *peers, const char *address)
{
    struct peer *peer;

    LIST_FOREACH(peer, &peers->all, entry)
    {
        if (strcmp(peer->address, address) == 0) {
            return peer;
        }
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL) {
        return NULL;
    }
    peer->peers = peers;
    TAILQ_INIT(&peer->messages);
    TAILQ_INIT(&peer->aside);
    LIST_INSERT_HEAD(&peers->all, peer, entry);
    peer->address = strdup(address);
    peer->retry = evtimer_new(peers->base, on_retry, peer);
    peer->retry_aside = evtimer_new(peers->base, on_retry_aside, peer);
    if (peer->address == NULL || peer->retry == NULL ||
        peer->retry_aside == NULL) {
        peer_free(peer);
        return NULL;
    }
    return peer;
}

/* what is kept ------------------------------------------------------------ */

static void print_path(char path[PATH_MAX], const char *root, const char *end)
{
    snprintf(path, PATH_MAX, "%.1024s/" UNTOLD_FILE "%s", root, end);
}

static void print_messages(FILE *f, const struct peer *peer,
                           const struct messages *messages)
{
    const struct message *message;

    TAILQ_FOREACH(message, messages, entry)
    {
        if (message->telling == NULL) {
            fprintf(f, message->refused != 0 ? "%s %s %lld\n" : "%s %s\n",
                    peer->address, message->text,
                    (long long)message->refused);
        }
    }
}

/* It is not synced: after a power failure the machines are told of the last
 * seconds again, or not. */
static void keep_untold(struct peers *peers)
{
    char path[PATH_MAX], tmp[PATH_MAX];
    const struct peer *peer;
    FILE *f;

    if (peers->root == NULL) {
        return;
    }
    print_path(path, peers->root, "");
    print_path(tmp, peers->root, ".tmp");
    f = fopen(tmp, "we");
    LIST_FOREACH(peer, &peers->all, entry)
    {
        if (f != NULL) {
            print_messages(f, peer, &peer->messages);
            print_messages(f, peer, &peer->aside);
        }
    }
    if (f != NULL && ftell(f) == 0) {
        fclose(f);
        (void)unlink(tmp);
        (void)unlink(path);
    } else if (f == NULL || fclose(f) != 0 || rename(tmp, path) != 0) {
        log_error(errno, "uploads: what other machines are not told of cannot "
                         "be kept");
    }
}

static void on_save(evutil_socket_t fd, short events, void *arg)
{
    keep_untold(arg);
}

/* What an earlier process could not tell. */
static void load(struct peers *peers)
{
    char path[PATH_MAX], line[MESSAGE_MAX + 200], *text, *refused;
    struct peer *peer;
    FILE *f;

    print_path(path, peers->root, "");
    f = fopen(path, "re");
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
        peer = find(peers, line);
        if (peer != NULL && add(peer, text, NULL)) {
            TAILQ_LAST(&peer->messages, messages)->refused =
                refused != NULL ? strtoll(refused, NULL, 10) : 0;
            peer->fails = true;
            event_active(peer->retry, 0, 0);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

void peers_look(struct peers *peers)
{
    const char *root = scheduler_config(peers->scheduler)->uploads.root;
    char *former = peers->root, path[PATH_MAX];

    if (root == NULL || (former != NULL && strcmp(root, former) == 0)) {
        return;
    }
    peers->root = strdup(root);
    if (peers->root == NULL) {
        peers->root = former;
        return;
    }
    load(peers);
    if (former != NULL) {
        keep_untold(peers);
        print_path(path, former, "");
        (void)unlink(path);
        free(former);
    }
}

/* life -------------------------------------------------------------------- */

static void host_freed(void *arg)
{
    /* nothing here waits for hosts */
}

struct peers *peers_new(struct event_base *base, struct scheduler *scheduler)
{
    struct peers *peers = calloc(1, sizeof(*peers));

    if (peers == NULL) {
        return NULL;
    }
    LIST_INIT(&peers->all);
    LIST_INIT(&peers->tellings);
    peers->base = base;
    peers->scheduler = scheduler;
    peers->hosts = hosts_new(base, host_freed, NULL);
    peers->fetcher =
        peers->hosts != NULL ? fetcher_new(base, peers->hosts) : NULL;
    peers->save = event_new(base, -1, 0, on_save, peers);
    if (peers->fetcher == NULL || peers->save == NULL) {
        peers_free(peers);
        return NULL;
    }
    peers_look(peers);
    return peers;
}

void peers_free(struct peers *peers)
{
    struct message *message;
    struct peer *peer;

    if (peers == NULL) {
        return;
    }
    LIST_FOREACH(peer, &peers->all, entry)
    {
        TAILQ_FOREACH(message, &peer->messages, entry)
        {
            message->telling = NULL;
        }
    }
    if (!LIST_EMPTY(&peers->all)) {
        keep_untold(peers);
    }
    while (!LIST_EMPTY(&peers->all)) {
        peer_free(LIST_FIRST(&peers->all));
    }
    while (!LIST_EMPTY(&peers->tellings)) {
        telling_free(LIST_FIRST(&peers->tellings));
    }
    if (peers->fetcher != NULL) {
        fetcher_free(peers->fetcher);
    }
    hosts_free(peers->hosts);
    if (peers->save != NULL) {
        event_free(peers->save);
    }
    free(peers->root);
    free(peers);
}

static void print_message(char text[MESSAGE_MAX],
                          const struct upload_file *file, bool is_try)
{
    bool is_same = file->fate == UPLOAD_SAME && !file->is_recent;
    char ids[REPORT_IDS_SIZE], *end = stpcpy(text, "/v1/changed/");

    end = percent_encode(end, file->place.name);
    *end++ = '/';
    end = percent_encode(end, file->place.id);
    *end++ = '/';
    end = percent_encode(end, file->place.file);
    report_print_ids(ids, &file->place, "&id=");
    if (ids[0] != '\0') {
        ids[0] = '?';
    }
    snprintf(end, (size_t)(text + MESSAGE_MAX - end), "%s%s%s%s", ids,
             is_try ? "&try=1" : "", is_same ? "&same=1" : "",
             file->is_unsure ? "&keep=1" : "");
}

struct telling *peers_tell(struct peers *peers,
                           const struct upload_file *files, size_t n,
                           bool is_try, peers_done_fn done, void *arg)
{
    const struct config *config = scheduler_config(peers->scheduler);
    struct telling *telling = calloc(1, sizeof(*telling));
    const struct timeval limit = {
        .tv_sec = SECONDS + (time_t)(n * MS_PER_FILE / 1000)};
    char text[MESSAGE_MAX];
    struct peer *peer;
    size_t i, j;

    if (telling == NULL) {
        return NULL;
    }
    *telling = (struct telling){.peers = peers, .done = done, .arg = arg};
    telling->left = 1; /* until all have been added */
    telling->ended = event_new(peers->base, -1, 0, on_told, telling);
    if (telling->ended == NULL) {
        free(telling);
        return NULL;
    }
    for (i = 0; i < config->uploads.npeers; i++) {
        peer = find(peers, config->uploads.peers[i]);
        for (j = 0; j < n; j++) {
            if (files[j].fate == UPLOAD_SAME && !files[j].has_come &&
                !files[j].is_recent) {
                if (peer == NULL || peer->fails) { /* it may wait for this */
                    note_untold(telling, config->uploads.peers[i]);
                }
                continue;
            }
            print_message(text, &files[j], is_try);
            if (peer == NULL || !add(peer, text, telling)) {
                note_untold(telling, config->uploads.peers[i]);
            }
        }
        if (peer != NULL && !peer->fails) {
            send_next(peer);
        }
    }
    LIST_INSERT_HEAD(&peers->tellings, telling, entry);
    event_add(telling->ended, &limit);
    leave(telling);
    return telling;
}
