/*
 * Copyright (C) the ngx_symcache authors
 */
#include "guests.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/async_unlink.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "cleaning.h"
#include "guest_store.h"
#include "metrics/metrics.h"
#include "guest_slots.h"
#include "guests_report.h"
#include "symcached/tier/tier.h"

#define SOURCES_MAX 64      /* a client's 32, each in up to two parts */
#define LOOK_SECONDS 10     /* between looks for idle and for dirty ones */
#define SCOPE_SHOWN 64      /* bytes */
#define SHOWN_MAX 40        /* stores */
#define WANT_PAUSE_MS 1000  /* between two times that stores make room */
#define CLOSED_PART 8       /* of those that are closed, which go for that */

/* A store without requests for so long is closed; the next request opens it
 * again.  No call lasts longer.  If the stores take more than a part of the
 * descriptors of the process, they are closed sooner, and if they take twice as
 * many at once; a call with a longer pause between two of its rounds then
 * misses its files. */
#define OPEN_MS (20 * 60 * 1000)
#define OPEN_SHORT_MS (60 * 1000)
#define OPEN_DESCRIPTORS 6 /* of one, with a connection */
#define OPEN_PART 2

/* Conversions at a time, as a multiple of "limits.transcodes", of which those
 * for one scope are as many as that. */
#define TURNS 4

/* A store that is opened is cleaned, as its process may have been killed. */
#define NEVER ULONG_MAX

struct guest {
    struct guest_slot slot;
    struct guest_store *store;   /* NULL: it has not been asked for since the
                                    start, or not for long */
    char scope[SCOPE_SHOWN + 1]; /* to be shown, of who asked first */
    unsigned nsources;
    uint64_t started;      /* clock_ms() when that was */
    unsigned long cleaned; /* the jobs that had begun when it was cleaned */
};

struct guests {
    struct guest_context context;
    struct tenants_config tenants; /* its texts live longer */
    struct config *config;         /* reference, of the helper */
    struct store_name_key key;
    struct event *timer;
    struct cleaning *cleaning;
    struct guests_report *report; /* or NULL */
    struct guests_counts counts;
    struct guest_slots slots;
    unsigned open;   /* stores that are not closed */
    unsigned most_open; /* of them, until they are closed sooner */
    uint64_t wanted; /* clock_ms() when last all were to make room; or 0 */
};

/* A part of a list that has one store. */
struct guest_group {
    const char *base; /* of the names of a public source; NULL: private */
    size_t base_len;
    cJSON *sources; /* references */
};

static void guests_print_folder(const struct guests *guests, const char *name,
                                char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", guests->tenants.root, name);
}

/* a store's life ---------------------------------------------------------- */

static void guests_changed(struct guests *guests)
{
    if (guests->report != NULL) {
        guests_report_changed(guests->report);
    }
}

static void close_store(struct guests *guests, struct guest *guest)
{
    if (guest->store != NULL) {
        cleaning_drop(guests->cleaning, guest->store->config);
        guest_store_close(guest->store);
        guest->store = NULL;
        guests->open--;
    }
}

/* The files go as well: first out of the way, as the store may be asked for
 * again at once. */
static void remove_guest(struct guests *guests, struct guest *guest,
                         const char *why)
{
    static unsigned removed;
    char path[PATH_MAX], aside[PATH_MAX];

    log_info(0, "tenant %s removed: %s", guest->slot.name, why);
    metrics_add(METRIC_TENANTS_REMOVED, 1);
    guests->counts.removed++;
    close_store(guests, guest);
    guests_print_folder(guests, guest->slot.name, path);
    snprintf(aside, sizeof(aside), "%.200s-%u", path, removed++);
    if (rename(path, aside) == 0) {
        async_unlink_add(aside);
    }
    guest_slots_remove(&guests->slots, &guest->slot);
    free(guest);
    guests_changed(guests);
}

static struct guest *add_guest(struct guests *guests, const char *name)
{
    struct guest *guest = calloc(1, sizeof(*guest));

    if (guest != NULL &&
        guest_slots_add(&guests->slots, &guest->slot, name) != 0) {
        free(guest);
        return NULL;
    }
    return guest;
}

static bool is_at_rest(const struct guest *guest)
{
    struct scheduler_gauges g;

    scheduler_gauges(guest->store->scheduler, &g);
    return g.queued + g.downloading + g.transcoding + g.waiters == 0;
}

/* So many stores were asked for of late that the process has no descriptors
 * for more: closes those that nobody has asked for the longest, of which as
 * many stay open as usual.  What is shared is none of them. */
static void close_excess(struct guests *guests)
{
    struct guest_slot *slot;
    struct guest *guest;
    unsigned n = 0;

    TAILQ_FOREACH(slot, &guests->slots.own, by_use)
    {
        guest = (struct guest *)slot;
        if (guest->store != NULL && ++n > guests->most_open &&
            is_at_rest(guest)) {
            close_store(guests, guest);
        }
    }
}

static bool open_guest(struct guests *guests, struct guest *guest,
                       const struct guest_group *group, const char **detail,
                       bool *is_wrong)
{
    static char error[512];
    const struct guest_settings with = {
        .tenants = &guests->tenants,
        .limits = &guests->config->limits,
        .size = group->base != NULL ? guests->tenants.public_size
                                    : guests->tenants.size,
        .is_public = group->base != NULL,
    };
    char folder[PATH_MAX];

    if (guests->open / 2 >= guests->most_open) {
        close_excess(guests);
    }
    guests_print_folder(guests, guest->slot.name, folder);
    guest->store =
        guest_store_open(&guests->context, &with, folder, guest->slot.name,
                         group->sources, NULL, error, sizeof(error), is_wrong);
    *detail = *is_wrong ? "the sources cannot be used" : error;
    if (guest->store == NULL) {
        log_warn(0, "tenant %s cannot be started: %s", guest->slot.name,
                 error);
        return false;
    }
    guests->open++;
    guest->started = clock_ms();
    guest->nsources = (unsigned)cJSON_GetArraySize(group->sources);
    guest->cleaned = NEVER;
    metrics_add(METRIC_TENANTS_STARTED, 1);
    guests->counts.started++;
    return true;
}

/* asking ------------------------------------------------------------------ */

static const char *guest_text(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));

    return text != NULL ? text : "";
}

/* Keeps the part of a scope that may be shown. */
static void note_scope(struct guest *guest, const char *scope)
{
    char *p;

    snprintf(guest->scope, sizeof(guest->scope), "%s", scope);
    for (p = guest->scope; *p != '\0'; p++) {
        if (*p < ' ' || *p == 0x7F) { /* or not ASCII: it may be cut */
            *p = '?';
        }
    }
}

/* The name without "-sym". */
static size_t guest_base_length(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && strcmp(name + len - 4, "-sym") == 0 ? len - 4 : len;
}

/* Puts each source into its group, in the order of the list.  Returns the
 * number of groups, or 0: the list is wrong. */
static size_t guest_split_sources(const cJSON *list,
                                  struct guest_group groups[SOURCES_MAX])
{
    const cJSON *source;
    const char *name;
    size_t i, n = 0, len;
    bool is_public;

    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > SOURCES_MAX) {
        return 0;
    }
    cJSON_ArrayForEach(source, list)
    {
        is_public = cJSON_IsTrue(cJSON_GetObjectItem(source, "public"));
        name = guest_text(source, "name");
        len = guest_base_length(name);
        for (i = 0; i < n; i++) {
            if (is_public
                    ? groups[i].base != NULL && groups[i].base_len == len &&
                          memcmp(groups[i].base, name, len) == 0
                    : groups[i].base == NULL) {
                break;
            }
        }
        if (i == n) {
            groups[n++] = (struct guest_group){is_public ? name : NULL, len,
                                               cJSON_CreateArray()};
        }
        cJSON_AddItemReferenceToArray(groups[i].sources, (cJSON *)source);
    }
    return n;
}

/* The input for the name of a store: all keys of its sources, and the scope if
 * one of them is not public. */
static int guests_print_name(const struct guests *guests,
                             const struct guest_group *group,
                             const char *scope, char name[STORE_NAME + 1])
{
    cJSON *object = cJSON_CreateObject();
    char *text;
    int rc = -1;

    if (group->base == NULL) {
        cJSON_AddStringToObject(object, "scope", scope);
    }
    cJSON_AddItemReferenceToObject(object, "sources", group->sources);
    text = cJSON_PrintUnformatted(object);
    if (text != NULL) {
        rc = store_name_print(name, &guests->key, text, strlen(text));
        explicit_bzero(text, strlen(text));
    }
    free(text);
    cJSON_Delete(object);
    return rc;
}

static bool use_guest(struct guests *guests, struct guest *guest,
                      const char *scope_name)
{
    struct conversion_slot *turn =
        guest->store != NULL ? &guest->store->turn : NULL;
    int rc;

    if (turn != NULL) {
        conversion_slot_move(turn, NULL); /* its scope may go */
    }
    rc = guest_slots_use(&guests->slots, &guest->slot, scope_name);
    if (turn != NULL && guest->slot.scope != NULL) {
        conversion_slot_move(turn, &guest->slot.scope->party);
    }
    return rc == 0;
}

/* Closes a store whose folder somebody has removed, as an operator may who
 * needs room: it is made when a store is opened, and calls fail without it. */
static void guests_close_if_gone(struct guests *guests, struct guest *guest)
{
    char folder[PATH_MAX], path[PATH_MAX];

    guests_print_folder(guests, guest->slot.name, folder);
    snprintf(path, sizeof(path), "%.4000s/store", folder);
    if (guest->store != NULL && access(path, F_OK) != 0 && errno == ENOENT) {
        log_warn(errno, "tenant %s: somebody has removed %s",
                 guest->slot.name, path);
        close_store(guests, guest);
    }
}

/* Finds or makes the store of a group.  NULL with the reason. */
static struct guest *find_or_add(struct guests *guests,
                                 const struct guest_group *group,
                                 const char *scope, const char **detail,
                                 bool *is_wrong)
{
    char name[STORE_NAME + 1], scope_name[STORE_NAME + 1];
    struct guest *guest;
    struct guest_slot *excess;
    bool is_new, is_added = false;

    *detail = "out of memory";
    if (guests_print_name(guests, group, scope, name) != 0 ||
        store_name_print(scope_name, &guests->key, scope, strlen(scope)) !=
            0) {
        return NULL;
    }
    guest = (struct guest *)guest_slots_find(&guests->slots, name);
    if (guest != NULL) {
        guests_close_if_gone(guests, guest);
    }
    is_new = guest == NULL || guest->store == NULL;
    if (guest == NULL) {
        guest = add_guest(guests, name);
        is_added = guest != NULL;
    }
    if (guest == NULL) {
        return NULL;
    }
    if (is_new) {
        note_scope(guest, group->base == NULL ? scope : "");
        if (!open_guest(guests, guest, group, detail, is_wrong)) {
            if (is_added) { /* else its files wait for the next time */
                remove_guest(guests, guest, "it cannot be started");
            }
            return NULL;
        }
    }
    if (!use_guest(guests, guest, scope_name)) {
        return NULL;
    }
    while ((excess = guest_slots_excess(&guests->slots, &guest->slot)) !=
           NULL) {
        remove_guest(guests, (struct guest *)excess,
                     excess->scope != NULL &&
                             excess->scope == guest->slot.scope
                         ? "the scope has more than a quarter of "
                           "\"tenants.count\""
                         : "there are more than \"tenants.count\"");
    }
    if (is_new) {
        log_info(0, "tenant %s started, %u of %u", name, guests->slots.count,
                 guests->tenants.count);
    }
    return guest;
}

static void add_answer(cJSON *array, const struct guest *guest,
                       const struct guest_group *group)
{
    cJSON *item = cJSON_CreateObject(), *names;
    const cJSON *source;

    cJSON_AddItemToArray(array, item);
    cJSON_AddStringToObject(item, "name", guest->slot.name);
    names = cJSON_AddArrayToObject(item, "sources");
    cJSON_ArrayForEach(source, group->sources)
    {
        cJSON_AddItemToArray(names,
                             cJSON_CreateString(guest_text(source, "name")));
    }
}

static bool ask_all(struct guests *guests, const struct guest_group *groups,
                    size_t n, const char *scope, cJSON *array, int *status,
                    const char **detail)
{
    const struct guest *guest;
    bool is_wrong = false;
    size_t i;

    guest_slots_begin(&guests->slots);
    for (i = 0; i < n; i++) {
        guest = find_or_add(guests, &groups[i], scope, detail, &is_wrong);
        if (guest == NULL) {
            *status = is_wrong ? 400 : 503;
            return false;
        }
        add_answer(array, guest, &groups[i]);
    }
    guests_changed(guests);
    return true;
}

cJSON *guests_ask(struct guests *guests, const char *text, size_t size,
                  int *status, const char **detail)
{
    cJSON *asked = cJSON_ParseWithLength(text, size);
    cJSON *object = cJSON_CreateObject();
    cJSON *array = cJSON_AddArrayToObject(object, "tenants");
    struct guest_group groups[SOURCES_MAX];
    size_t i,
        n = guest_split_sources(cJSON_GetObjectItem(asked, "sources"), groups);

    *status = 400;
    *detail = "the sources cannot be used";
    if (n == 0 || !ask_all(guests, groups, n, guest_text(asked, "scope"),
                           array, status, detail)) {
        metrics_add(METRIC_TENANTS_REFUSED, 1);
        guests->counts.refused++;
        guests_changed(guests);
        cJSON_Delete(object);
        object = NULL;
    }
    for (i = 0; i < n; i++) {
        cJSON_Delete(groups[i].sources);
    }
    cJSON_Delete(asked);
    return object;
}

struct scheduler *guests_find(struct guests *guests, const char *name)
{
    struct guest *guest =
        (struct guest *)guest_slots_find(&guests->slots, name);

    if (guest == NULL || guest->store == NULL) {
        return NULL;
    }
    guest_slots_touch(&guests->slots, &guest->slot);
    return guest->store->scheduler;
}

/* reports ----------------------------------------------------------------- */

/* Unix time of a time of clock_ms(). */
static double unix_time(uint64_t ms)
{
    return (double)time(NULL) - (double)(clock_ms() - ms) / 1000;
}

/* The one behind another one, or the first: those that are open, from what was
 * asked for last on, first of those of one scope. */
static const struct guest *next_open(const struct guests *guests,
                                     const struct guest *guest)
{
    const struct guest_slot *slot = guest != NULL
                                        ? TAILQ_NEXT(&guest->slot, by_use)
                                        : TAILQ_FIRST(&guests->slots.own);
    bool is_shared = guest != NULL && guest->slot.is_shared;

    for (;;) {
        if (slot == NULL && is_shared) {
            return NULL;
        }
        if (slot == NULL) {
            slot = TAILQ_FIRST(&guests->slots.shared);
            is_shared = true;
            continue;
        }
        if (((const struct guest *)slot)->store != NULL) {
            return (const struct guest *)slot;
        }
        slot = TAILQ_NEXT(slot, by_use);
    }
}

cJSON *guests_json(const struct guests *guests)
{
    cJSON *array = cJSON_CreateArray(), *item;
    const struct guest *guest = NULL;
    char address[PATH_MAX];
    unsigned n = 0;

    snprintf(address, sizeof(address), "unix:%s/" GUEST_SOCKET,
             guests->tenants.root);
    while (n++ < SHOWN_MAX && (guest = next_open(guests, guest)) != NULL) {
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", guest->slot.name);
        cJSON_AddStringToObject(item, "scope", guest->scope);
        cJSON_AddStringToObject(item, "listen", address);
        cJSON_AddNumberToObject(item, "sources", guest->nsources);
        cJSON_AddNumberToObject(item, "started", unix_time(guest->started));
        cJSON_AddNumberToObject(item, "asked", unix_time(guest->slot.asked));
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

cJSON *guests_jobs(const struct guests *guests)
{
    cJSON *array = cJSON_CreateArray(), *item, *jobs;
    const struct guest *guest = NULL;
    unsigned n = 0;

    while (n < SHOWN_MAX && (guest = next_open(guests, guest)) != NULL) {
        jobs = scheduler_json(guest->store->scheduler);
        if (cJSON_GetArraySize(cJSON_GetObjectItem(jobs, "jobs")) == 0) {
            cJSON_Delete(jobs);
            continue;
        }
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", guest->slot.name);
        cJSON_AddStringToObject(item, "scope", guest->scope);
        cJSON_AddItemToObject(item, "jobs", jobs);
        cJSON_AddItemToArray(array, item);
        n++;
    }
    return array;
}

void guests_add(const struct guests *guests, cJSON *array,
                cJSON *(*get)(const struct scheduler *scheduler))
{
    const struct guest *guest = NULL;
    unsigned n = 0;
    cJSON *more, *item;

    while (n++ < SHOWN_MAX && (guest = next_open(guests, guest)) != NULL) {
        more = get(guest->store->scheduler);
        while ((item = cJSON_DetachItemFromArray(more, 0)) != NULL) {
            if (!cJSON_HasObjectItem(item, "store")) {
                cJSON_AddStringToObject(item, "store", guest->slot.name);
            }
            cJSON_AddItemToArray(array, item);
        }
        cJSON_Delete(more);
    }
}

static cJSON *report_json(void *arg)
{
    const struct guests *guests = arg;
    const struct guests_counts *counts = &guests->counts;
    cJSON *object = cJSON_CreateObject();

    cJSON_AddItemToObject(object, "tenants", guests_json(guests));
    cJSON_AddNumberToObject(object, "started", (double)counts->started);
    cJSON_AddNumberToObject(object, "refused", (double)counts->refused);
    cJSON_AddNumberToObject(object, "removed", (double)counts->removed);
    return object;
}

int guests_report(struct guests *guests, int fd)
{
    guests->report =
        guests_report_new(guests->context.base, fd, report_json, guests);
    return guests->report != NULL ? 0 : -1;
}

/* all of them ------------------------------------------------------------- */

static bool guests_is_idle(const struct guests *guests,
                           const struct guest_slot *slot)
{
    return slot != NULL &&
           clock_ms() - slot->asked > (uint64_t)guests->tenants.idle * 1000;
}

/* Cleans stores that have had jobs, and closes unused ones. */
static void look_at(struct guests *guests, struct guest *guest)
{
    struct scheduler_gauges g;

    scheduler_gauges(guest->store->scheduler, &g);
    if (g.begun != guest->cleaned) {
        guest->cleaned = g.begun;
        cleaning_add(guests->cleaning, guest->store->config);
    } else if (is_at_rest(guest) &&
               clock_ms() - guest->slot.asked >
                   (guests->open > guests->most_open ? OPEN_SHORT_MS
                                                     : OPEN_MS)) {
        close_store(guests, guest);
    }
}

static void guests_on_timer(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval every = {.tv_sec = LOOK_SECONDS};
    struct guests *guests = arg;
    struct guest_slot *slot;
    const struct guest *guest, *next;

    while ((slot = guest_slots_oldest(&guests->slots)) != NULL &&
           guests_is_idle(guests, slot)) {
        remove_guest(guests, (struct guest *)slot, "unused");
    }
    for (guest = next_open(guests, NULL); guest != NULL; guest = next) {
        next = next_open(guests, guest);
        look_at(guests, (struct guest *)guest);
    }
    event_add(guests->timer, &every);
}

/* Removes a part of the stores that are closed, those first that nobody has
 * asked for the longest.  Returns false if there is none. */
static bool remove_closed(struct guests *guests)
{
    unsigned n = (guests->slots.count - guests->open) / CLOSED_PART + 1;
    struct guest_slot *slot, *before;
    bool is_some = false;

    for (slot = TAILQ_LAST(&guests->slots.own, slot_list);
         slot != NULL && n > 0; slot = before) {
        before = TAILQ_PREV(slot, slot_list, by_use);
        if (((struct guest *)slot)->store == NULL) {
            remove_guest(guests, (struct guest *)slot,
                         "the disk has no room for others");
            is_some = true;
            n--;
        }
    }
    return is_some;
}

/* Has the stores of a list make room, those first that nobody has asked for
 * the longest. */
static void make_space(struct guests *guests, struct slot_list *list,
                      const struct space_request *request)
{
    struct guest_slot *slot;
    struct guest *guest;

    TAILQ_FOREACH_REVERSE(slot, list, slot_list, by_use)
    {
        guest = (struct guest *)slot;
        if (guest->store != NULL) {
            cleaning_make_space(guests->cleaning, guest->store->config,
                               request);
        }
    }
}

/* A file had no room.  Who asks again has it then. */
static void on_space_wanted(void *arg, const struct space_request *request)
{
    struct guests *guests = arg;

    if (guests->wanted != 0 && clock_since(guests->wanted) < WANT_PAUSE_MS) {
        return;
    }
    guests->wanted = clock_ms();
    if (!remove_closed(guests)) {
        make_space(guests, &guests->slots.own, request);
        make_space(guests, &guests->slots.shared, request);
    }
}

/* Finds the stores of a former process.  Without the key of their names, no
 * list of sources leads to them. */
static int guests_read_root(struct guests *guests, bool is_new)
{
    DIR *dir = opendir(guests->tenants.root);
    struct dirent *entry;
    char path[PATH_MAX];
    bool is_one;
    int rc = 0;

    while (dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL) {
        is_one = store_name_is_one(entry->d_name);
        if (is_one && !is_new) {
            rc = add_guest(guests, entry->d_name) != NULL ? 0 : -1;
        } else if (is_one || store_name_is_aside(entry->d_name)) {
            guests_print_folder(guests, entry->d_name, path);
            async_unlink_add(path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

/* The store of a file that waits for the tier. */
static const struct store_config *find_store(void *arg, const char *name)
{
    const struct guests *guests = arg;
    const struct guest *guest =
        (const struct guest *)guest_slots_find(&guests->slots, name);

    return guest != NULL && guest->store != NULL
               ? &guest->store->config->stores[0]
               : NULL;
}

static int start_guests(struct guests *guests)
{
    unsigned transcodes = guests->config->limits.transcodes;
    const struct tier_config *tier = guests->tenants.tier;
    struct rlimit limit;
    bool is_new = false;

    guests->most_open = UINT_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur / (OPEN_PART * OPEN_DESCRIPTORS) < UINT_MAX) {
        guests->most_open =
            (unsigned)(limit.rlim_cur / (OPEN_PART * OPEN_DESCRIPTORS));
    }
    guests->context.turns =
        conversion_slots_new(TURNS * transcodes, transcodes);
    guests->cleaning = cleaning_new(guests->context.base);
    guests->timer = evtimer_new(guests->context.base, guests_on_timer, guests);
    errno = ENOMEM;
    if (guests->context.turns == NULL || guests->cleaning == NULL ||
        guests->timer == NULL ||
        store_name_key(&guests->key, guests->tenants.root,
                       tier != NULL ? tier->mac_key : NULL, &is_new) != 0 ||
        guests_read_root(guests, is_new) != 0) {
        return -1;
    }
    disk_space_watch(on_space_wanted, guests);
    tiers_find_stores(guests->context.tiers, find_store, guests);
    guests_on_timer(-1, 0, guests);
    return 0;
}

struct guests *guests_new(struct event_base *base, struct tiers *tiers,
                          struct config *config,
                          const struct tenants_config *tenants)
{
    struct guests *guests = calloc(1, sizeof(*guests));
    int errnum;

    if (guests == NULL) {
        return NULL;
    }
    guests->context.base = base;
    guests->context.tiers = tiers;
    guests->config = config_ref(config);
    guests->tenants = *tenants;
    guests->context.tier = tenants->tier;
    guest_slots_init(&guests->slots, tenants->count);
    if (start_guests(guests) != 0) {
        errnum = errno;
        guests_free(guests);
        errno = errnum;
        return NULL;
    }
    return guests;
}

void guests_stop(struct guests *guests)
{
    const struct guest *guest, *next;

    for (guest = next_open(guests, NULL); guest != NULL; guest = next) {
        next = next_open(guests, guest);
        close_store(guests, (struct guest *)guest);
    }
}

void guests_free(struct guests *guests)
{
    struct guest_slot *slot;

    if (guests == NULL) {
        return;
    }
    disk_space_watch(NULL, NULL);
    guests_stop(guests);
    tiers_find_stores(guests->context.tiers, NULL, NULL);
    while ((slot = guest_slots_oldest(&guests->slots)) != NULL) {
        guest_slots_remove(&guests->slots, slot);
        free(slot);
    }
    guest_slots_clear(&guests->slots);
    guests_report_free(guests->report);
    cleaning_free(guests->cleaning);
    conversion_slots_free(guests->context.turns);
    event_drop(guests->timer);
    config_unref(guests->config);
    free(guests);
}
