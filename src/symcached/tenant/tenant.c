/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tenant.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/async_unlink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/workdir.h"
#include "child/child.h"
#include "metrics/metrics.h"
#include "settings.h"

#define LOOK_MS 20        /* between looks whether a new one accepts */
#define START_MS 10000    /* that it may take until then */
#define CLEAN_SECONDS 10  /* between looks for idle ones */
#define SCOPE_SHARE 4     /* one scope has at most this part of all places */
#define WAITING_MAX 1000  /* for one to start */
#define SCOPE_SHOWN 64    /* bytes */

struct waiting {
    SLIST_ENTRY(waiting) next;
    tenant_fn fn;
    void *arg;
};

struct tenant {
    LIST_ENTRY(tenant) entry;
    struct tenants *tenants;
    struct child *child;
    struct event *look; /* whether it accepts; NULL: it does */
    uint64_t started;   /* clock_ms() */
    uint64_t asked;     /* when last */
    unsigned nwaiting;
    SLIST_HEAD(, waiting) waiting;
    char name[TENANT_NAME + 1];
    char scope[SCOPE_SHOWN + 1]; /* to be shown */
    char scope_name[TENANT_NAME + 1]; /* to be compared */
    unsigned nsources;
};

struct tenants {
    struct event_base *base;
    struct tenants_config config; /* a copy; its texts are ours */
    struct limits_config limits;
    unsigned char key[32]; /* of this process, of which names are made */
    struct event *timer;
    unsigned count;
    LIST_HEAD(, tenant) list;
};

static int put_path(const struct tenant *tenant, const char *file,
                    char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s/%s", tenant->tenants->config.root,
                    tenant->name, file);
}

static void answer_error(tenant_fn fn, void *arg, int status,
                         const char *detail)
{
    struct tenant_answer answer = {.status = status, .detail = detail};

    fn(arg, &answer);
}

/* Answers all who wait; status 200 if it takes questions. */
static void answer_all(struct tenant *tenant, int status, const char *detail)
{
    struct tenant_answer answer = {status, tenant->name, detail};
    struct waiting *w;

    while ((w = SLIST_FIRST(&tenant->waiting)) != NULL) {
        SLIST_REMOVE_HEAD(&tenant->waiting, next);
        tenant->nwaiting--;
        w->fn(w->arg, &answer);
        free(w);
    }
}

/* Its process has ended, or is ended now. */
static void drop(struct tenant *tenant, int status, const char *detail)
{
    static unsigned removed;
    char path[PATH_MAX], aside[PATH_MAX];

    if (tenant->child != NULL) {
        child_cancel(tenant->child);
    }
    if (tenant->look != NULL) {
        event_free(tenant->look);
    }
    LIST_REMOVE(tenant, entry);
    tenant->tenants->count--;
    answer_all(tenant, status, detail);
    snprintf(path, sizeof(path), "%s/%s", tenant->tenants->config.root,
             tenant->name);
    snprintf(aside, sizeof(aside), "%.200s-%u", path, removed++);
    if (rename(path, aside) == 0) { /* it may be asked for again at once */
        async_unlink_add(aside);
    }
    free(tenant);
}

static void log_ended(const struct tenant *tenant, const char *reason)
{
    log_warn(0, "tenant %s ended: %.200s", tenant->name, reason);
}

static void on_ended(void *arg, struct child_result *result)
{
    struct tenant *tenant = arg;
    size_t n = result->tail_len;
    char *line;

    tenant->child = NULL;
    while (n > 0 && result->tail[n - 1] == '\n') {
        result->tail[--n] = '\0';
    }
    line = strrchr(result->tail, '\n');
    log_ended(tenant, line != NULL ? line + 1 : result->tail);
    drop(tenant, 502, "the sources cannot be used");
}

/* Whether somebody accepts on the socket. */
static bool accepts(const struct tenant *tenant)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[PATH_MAX];
    int fd, rc = -1;

    put_path(tenant, "sock", path);
    if (strlen(path) >= sizeof(address.sun_path)) {
        return false;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd != -1) {
        rc = connect(fd, (struct sockaddr *)&address, sizeof(address));
        close(fd);
    }
    return rc == 0;
}

static void look_later(struct tenant *tenant)
{
    static const struct timeval soon = {.tv_usec = LOOK_MS * 1000};

    event_add(tenant->look, &soon);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct tenant *tenant = arg;

    if (accepts(tenant)) {
        event_free(tenant->look);
        tenant->look = NULL;
        log_info(0, "tenant %s started, %u of %u", tenant->name,
                 tenant->tenants->count, tenant->tenants->config.count);
        metrics_add(METRIC_TENANTS_STARTED, 1);
        answer_all(tenant, 200, NULL);
    } else if (clock_ms() - tenant->started > START_MS) {
        log_ended(tenant, "it does not start");
        drop(tenant, 503, "it does not start");
    } else {
        look_later(tenant);
    }
}

/* its life ----------------------------------------------------------------- */

/*
 * Returns a descriptor of its configuration, or -1 with errno.  That has the
 * secrets of a client, so it is in memory and never on a disk.
 */
static int make_config(const struct tenant *tenant, const cJSON *asked)
{
    const struct tenants *tenants = tenant->tenants;
    char folder[PATH_MAX], *text;
    cJSON *config;
    size_t size;
    int fd;

    snprintf(folder, sizeof(folder), "%s/%s", tenants->config.root,
             tenant->name);
    config = tenant_settings(&tenants->config, &tenants->limits, folder,
                             asked);
    text = config != NULL ? cJSON_PrintUnformatted(config) : NULL;
    cJSON_Delete(config);
    if (text == NULL) {
        errno = EINVAL;
        return -1;
    }
    size = strlen(text);
    fd = memfd_create("symcached.json", MFD_CLOEXEC);
    if (fd != -1 && write(fd, text, size) != (ssize_t)size) {
        close(fd);
        fd = -1;
    }
    explicit_bzero(text, size);
    free(text);
    return fd;
}

/* Returns 0, or -1 with errno. */
static int start(struct tenant *tenant, const cJSON *asked)
{
    char store[PATH_MAX], path[PATH_MAX];
    const char *search = getenv("PATH");
    char *argv[] = {"symcached", "-c", "/proc/self/fd/3", NULL};
    char *env[] = {path, NULL};
    int fd = -1;
    struct child_options options = {.program = "/proc/self/exe",
                                    .argv = argv,
                                    .env = env,
                                    .fds = &fd, /* becomes CHILD_FD */
                                    .nfds = 1};

    /* for the transcoder; nothing else of ours is a tenant's business */
    snprintf(path, sizeof(path), "PATH=%s", search != NULL ? search : "");
    put_path(tenant, "store", store);
    tenant->look =
        evtimer_new(tenant->tenants->base, on_look, tenant);
    if (tenant->look == NULL || workdir_make_path(store) != 0 ||
        (fd = make_config(tenant, asked)) == -1) {
        return -1;
    }
    tenant->child =
        child_start(tenant->tenants->base, &options, on_ended, tenant);
    close(fd);
    if (tenant->child == NULL) {
        return -1;
    }
    look_later(tenant);
    return 0;
}

/*
 * Returns NULL, or why there is no place for one more.  Places become free when
 * nobody has asked for "idle", and not because another is asked for: who makes
 * up new ones would drive out those that are used.
 */
static const char *refusal(const struct tenants *tenants,
                           const char *scope_name)
{
    const struct tenant *tenant;
    unsigned n = 0;

    if (tenants->count >= tenants->config.count) {
        return "there are as many tenants as \"tenants.count\" allows";
    }
    LIST_FOREACH(tenant, &tenants->list, entry)
    {
        n += strcmp(tenant->scope_name, scope_name) == 0;
    }
    return n > 0 && n >= tenants->config.count / SCOPE_SHARE
               ? "the scope has a quarter of \"tenants.count\" already"
               : NULL;
}

static struct tenant *find(const struct tenants *tenants, const char *name)
{
    struct tenant *tenant;

    LIST_FOREACH(tenant, &tenants->list, entry)
    {
        if (strcmp(tenant->name, name) == 0) {
            break;
        }
    }
    return tenant;
}

static void wait_for(struct tenant *tenant, tenant_fn fn, void *arg)
{
    struct waiting *w = tenant->nwaiting < WAITING_MAX ? malloc(sizeof(*w))
                                                       : NULL;

    if (w == NULL) {
        answer_error(fn, arg, 503, "too many wait for it");
        return;
    }
    w->fn = fn;
    w->arg = arg;
    SLIST_INSERT_HEAD(&tenant->waiting, w, next);
    tenant->nwaiting++;
}

static const char *scope_of(const cJSON *asked)
{
    const char *scope =
        cJSON_GetStringValue(cJSON_GetObjectItem(asked, "scope"));

    return scope != NULL ? scope : "";
}

/* Keeps what may be shown of it. */
static void note(struct tenant *tenant, const cJSON *asked)
{
    char *p;

    snprintf(tenant->scope, sizeof(tenant->scope), "%s", scope_of(asked));
    for (p = tenant->scope; *p != '\0'; p++) {
        if (*p < ' ' || *p == 0x7F) { /* or not ASCII: it may be cut */
            *p = '?';
        }
    }
    tenant->nsources = (unsigned)cJSON_GetArraySize(
        cJSON_GetObjectItem(asked, "sources"));
}

/*
 * The text has secrets, and its name is shown: without the key, which nobody
 * knows, nobody can find out by trying whether it was made of a certain one.
 * Returns 0, or -1 without memory.
 */
static int print_name(const struct tenants *tenants,
                      char name[TENANT_NAME + 1], const char *text,
                      size_t size)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    size_t i;

    if (HMAC(EVP_sha256(), tenants->key, sizeof(tenants->key),
             (const unsigned char *)text, size, sum, NULL) == NULL) {
        return -1;
    }
    for (i = 0; i < TENANT_NAME / 2; i++) {
        snprintf(name + 2 * i, 3, "%02x", sum[i]);
    }
    return 0;
}

static void add(struct tenants *tenants, const char *name, const cJSON *asked,
                tenant_fn fn, void *arg)
{
    const char *scope = scope_of(asked), *refused;
    char scope_name[TENANT_NAME + 1];
    struct tenant *tenant;
    int status;

    if (print_name(tenants, scope_name, scope, strlen(scope)) != 0) {
        answer_error(fn, arg, 503, "out of memory");
        return;
    }
    refused = refusal(tenants, scope_name);
    if (refused != NULL) {
        log_warn(0, "tenant %s refused: %u run, %s", name, tenants->count,
                 refused);
        metrics_add(METRIC_TENANTS_REFUSED, 1);
        answer_error(fn, arg, 503, refused);
        return;
    }
    tenant = calloc(1, sizeof(*tenant));
    if (tenant == NULL) {
        answer_error(fn, arg, 503, "out of memory");
        return;
    }
    tenant->tenants = tenants;
    snprintf(tenant->name, sizeof(tenant->name), "%s", name);
    memcpy(tenant->scope_name, scope_name, sizeof(scope_name));
    note(tenant, asked);
    tenant->started = tenant->asked = clock_ms();
    LIST_INSERT_HEAD(&tenants->list, tenant, entry);
    tenants->count++;
    wait_for(tenant, fn, arg);
    if (start(tenant, asked) != 0) {
        status = errno == EINVAL ? 400 : 503;
        log_error(errno, "tenant %s cannot be started", name);
        drop(tenant, status, "it cannot be started");
    }
}

void tenants_ask(struct tenants *tenants, const char *text, size_t size,
                 tenant_fn fn, void *arg)
{
    char name[TENANT_NAME + 1];
    struct tenant_answer answer = {.status = 200, .name = name};
    struct tenant *tenant;
    cJSON *asked;

    if (print_name(tenants, name, text, size) != 0) {
        answer_error(fn, arg, 503, "out of memory");
        return;
    }
    tenant = find(tenants, name);
    if (tenant == NULL) {
        asked = cJSON_ParseWithLength(text, size);
        add(tenants, name, asked, fn, arg);
        cJSON_Delete(asked);
        return;
    }
    tenant->asked = clock_ms();
    if (tenant->look == NULL) {
        fn(arg, &answer);
    } else {
        wait_for(tenant, fn, arg);
    }
}

/* Unix time of a time of clock_ms(). */
static double unix_time(uint64_t ms)
{
    return (double)time(NULL) - (double)(clock_ms() - ms) / 1000;
}

cJSON *tenants_json(const struct tenants *tenants)
{
    cJSON *array = cJSON_CreateArray(), *item;
    const struct tenant *tenant;
    char path[PATH_MAX], address[PATH_MAX + 8];

    if (tenants == NULL) {
        return array;
    }
    LIST_FOREACH(tenant, &tenants->list, entry)
    {
        put_path(tenant, "sock", path);
        snprintf(address, sizeof(address), "unix:%s", path);
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", tenant->name);
        cJSON_AddStringToObject(item, "scope", tenant->scope);
        cJSON_AddStringToObject(item, "listen", address);
        cJSON_AddNumberToObject(item, "sources", tenant->nsources);
        cJSON_AddNumberToObject(item, "started", unix_time(tenant->started));
        cJSON_AddNumberToObject(item, "asked", unix_time(tenant->asked));
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval every = {.tv_sec = CLEAN_SECONDS};
    struct tenants *tenants = arg;
    struct tenant *tenant, *next;

    for (tenant = LIST_FIRST(&tenants->list); tenant != NULL; tenant = next) {
        next = LIST_NEXT(tenant, entry);
        if (clock_ms() - tenant->asked >
            (uint64_t)tenants->config.idle * 1000) {
            log_info(0, "tenant %s removed: unused", tenant->name);
            drop(tenant, 503, "nobody asked");
        }
    }
    event_add(tenants->timer, &every);
}

/* Removes folders that are named as tenants are, and nothing else. */
static void clear_root(const char *root)
{
    DIR *dir = opendir(root);
    struct dirent *entry;
    char path[PATH_MAX];

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strspn(entry->d_name, "0123456789abcdef") == TENANT_NAME &&
            (entry->d_name[TENANT_NAME] == '\0' ||
             entry->d_name[TENANT_NAME] == '-') &&
            snprintf(path, sizeof(path), "%s/%s", root, entry->d_name) <
                (int)sizeof(path)) {
            workdir_remove(path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* Returns 0, or -1 without memory. */
static int copy_config(struct tenants *tenants,
                       const struct tenants_config *config)
{
    struct tenants_config *to = &tenants->config;
    size_t i;

    *to = *config;
    to->nhosts = 0;
    to->root = strdup(config->root);
    to->hosts = calloc(config->nhosts + 1, sizeof(to->hosts[0]));
    for (i = 0; to->hosts != NULL && i < config->nhosts; i++) {
        to->hosts[i] = strdup(config->hosts[i]);
        if (to->hosts[i] == NULL) {
            return -1;
        }
        to->nhosts++;
    }
    return to->root == NULL || to->hosts == NULL ? -1 : 0;
}

struct tenants *tenants_new(struct event_base *base,
                            const struct tenants_config *config,
                            const struct limits_config *limits)
{
    struct tenants *tenants = calloc(1, sizeof(*tenants));
    int errnum;

    if (tenants == NULL) {
        return NULL;
    }
    LIST_INIT(&tenants->list);
    tenants->base = base;
    tenants->limits = *limits;
    tenants->timer = evtimer_new(base, on_timer, tenants);
    errno = ENOMEM;
    if (copy_config(tenants, config) != 0 || tenants->timer == NULL ||
        RAND_bytes(tenants->key, sizeof(tenants->key)) != 1 ||
        workdir_make_path(config->root) != 0) {
        errnum = errno;
        tenants_free(tenants);
        errno = errnum;
        return NULL;
    }
    clear_root(config->root);
    on_timer(-1, 0, tenants);
    return tenants;
}

void tenants_free(struct tenants *tenants)
{
    struct tenant *tenant;

    if (tenants == NULL) {
        return;
    }
    while ((tenant = LIST_FIRST(&tenants->list)) != NULL) {
        drop(tenant, 503, "the helper stops");
    }
    if (tenants->timer != NULL) {
        event_free(tenants->timer);
    }
    while (tenants->config.nhosts > 0) {
        free(tenants->config.hosts[--tenants->config.nhosts]);
    }
    free(tenants->config.hosts);
    free(tenants->config.root);
    free(tenants);
}
