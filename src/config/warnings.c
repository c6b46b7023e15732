/*
 * Copyright (C) the ngx_symcache authors
 */
#include "warnings.h"
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/origin.h"
#include "base/stat_timeout.h"
#include "base/program_path.h"
#include "base/task.h"
#include "systemd_unit.h"
#include "uploads.h"

#define WINE_MEMORY (2ull << 30)

struct warnings_teller {
    warnings_fn tell;
    unsigned n;
};

static void warn_of(struct warnings_teller *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void warn_of(struct warnings_teller *warnings, const char *format, ...)
{
    char text[PATH_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    warnings->tell(text);
    warnings->n++;
}

/* Looks for the program of a transcoder.  Returns 0, or -1 with one line in
 * error. */
static int warn_of_program(const char *name, char *error, size_t size)
{
    char path[PATH_MAX];
    mode_t mode;
    int rc;

    if (strchr(name, '/') == NULL) {
        return program_path_find(name, path, error, size);
    }

    rc = stat_with_timeout(name, X_OK, &mode);
    if (mode != 0 && !S_ISREG(mode)) {
        rc = -1;
        errno = EACCES; /* as execve() would set it */
    }
    if (rc != 0) {
        snprintf(error, size, "no transcoder: \"%.150s\": %s", name,
                 strerror(errno));
    }
    return rc;
}

/* For any thread.  A user that cannot be looked up counts as there. */
static bool warn_is_user(const char *name)
{
    struct passwd user, *found;
    char texts[PATH_MAX];

    return getpwnam_r(name, &user, texts, sizeof(texts), &found) != 0 ||
           found != NULL;
}

/* Warns of what keeps a transcoder of a profile from being run. */
static void warn_of_profile(struct warnings_teller *warnings,
                            const struct store_config *store, size_t i)
{
    const struct transcoder_config *transcoder = &store->transcoders[i];
    const char *profile = config_profile_name(transcoder->profile);
    char error[256], path[PATH_MAX];

    if (transcoder->profile != PROFILE_NONE &&
        program_path_find("bwrap", path, error, sizeof(error)) != 0) {
        warn_of(warnings,
                "stores.%s.transcoders[%zu].profile: \"%s\" needs bubblewrap; "
                "%s; it is not run",
                store->name, i, profile, error);
    }
    if (transcoder->profile != PROFILE_NONE && transcoder->user != NULL &&
        !warn_is_user(transcoder->user)) {
        warn_of(warnings,
                "stores.%s.transcoders[%zu].user: there is no user \"%s\"; "
                "symcached as root does not run it",
                store->name, i, transcoder->user);
    }
    if (transcoder->profile == PROFILE_WINE &&
        transcoder->memory < WINE_MEMORY) {
        warn_of(
            warnings,
            "stores.%s.transcoders[%zu].memory: Wine takes 1.7 GiB of address "
            "space before the program has any: at least \"2g\"",
            store->name, i);
    }
}

/* Has the source files at URLs that the store uses?  Scripts and source files
 * are among them, which the transcoders take that come with pdb2symcache. */
static bool warn_takes_urls(const struct store_config *store,
                            const struct source_config *source)
{
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        if (store->transcoders[i].is_implied) {
            return source->type != NULL && source->type->has_urls;
        }
    }
    return false;
}

static bool warn_takes_any_urls(const struct store_config *store)
{
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        if (warn_takes_urls(store, store->sources[i])) {
            return true;
        }
    }
    return false;
}

static void warn_of_store(struct warnings_teller *warnings,
                          const struct store_config *store)
{
    const char *reason = config_store_idle(store), *name;
    const struct source_config *source;
    char error[256], version[SYMCACHE_VERSION_TEXT_MAX + 1];
    unsigned inputs;
    char formats[CONFIG_FORMATS_TEXT];
    size_t i;

    /* without any transcoder the store is there to serve originals */
    if (reason != NULL && !warn_takes_any_urls(store) &&
        (store->nsources == 0 || store->ntranscoders > 0)) {
        warn_of(warnings, "store \"%s\" can make nothing: it has %s",
                store->name, reason);
    }
    for (i = 0; i < store->nsources && reason == NULL; i++) {
        source = store->sources[i];
        inputs = config_source_formats(source);
        if ((inputs & FORMATS_ALL) != 0 && !config_store_asks(store, source) &&
            !warn_takes_urls(store, source) &&
            !config_source_is_uploads(source)) {
            config_formats_print(formats, inputs & FORMATS_ALL, "\" or \"");
            warn_of(warnings,
                    "store \"%s\" makes nothing of what source \"%s\" has: no "
                    "transcoder of it has \"%s\" in its \"inputs\"",
                    store->name, source->name, formats);
        }
    }
    for (i = 0; i < store->ntranscoders; i++) {
        if (store->transcoders[i].command == NULL ||
            store->transcoders[i].is_implied) {
            continue;
        }
        warn_of_profile(warnings, store, i);
        name = store->transcoders[i].command[0];
        if (strchr(name, '{') == NULL &&
            warn_of_program(name, error, sizeof(error)) != 0) {
            symcache_version_print(version, &store->transcoders[i].version);
            warn_of(warnings,
                    "stores.%s.transcoders[%zu].command[0]: %s; version %s is "
                    "not made",
                    store->name, i, error, version);
        }
    }
}

static int warn_look_at_folder(const char *path)
{
    mode_t mode;
    int rc = stat_with_timeout(path, X_OK, &mode);

    if (mode != 0 && !S_ISDIR(mode)) {
        rc = -1;
        errno = ENOTDIR;
    }
    return rc;
}

static void warn_of_folder(struct warnings_teller *warnings,
                           const struct systemd_unit *unit, const char *key,
                           const char *listen)
{
    char folder[PATH_MAX];

    if (listen == NULL || strncmp(listen, "unix:", 5) != 0) {
        return;
    }
    snprintf(folder, sizeof(folder), "%s", listen + 5);
    *(strrchr(folder, '/') + 1) = '\0';
    if (warn_look_at_folder(folder) != 0 &&
        !systemd_unit_makes(unit, folder)) {
        warn_of(warnings,
                "%s: \"%s\": %s; symcached does not make the folder of its "
                "socket, and does not start without it%s",
                key, folder, strerror(errno),
                unit == NULL ? ""
                             : "; RuntimeDirectory= of a drop-in makes one "
                               "below /run");
    }
}

/* Can this user write to a folder, or make it?  Returns false with why. */
static bool warn_can_write(const char *path, char *why, size_t size)
{
    char place[PATH_MAX], *end;
    mode_t mode;
    int rc;

    snprintf(place, sizeof(place), "%s", path);
    while ((rc = stat_with_timeout(place, W_OK | X_OK, &mode)) != 0 &&
           mode == 0 && errno == ENOENT && place[1] != '\0' &&
           (end = strrchr(place, '/')) != NULL) {
        end[end == place] = '\0';
    }
    if (rc == 0 && !S_ISDIR(mode)) {
        rc = -1;
        errno = ENOTDIR;
    }
    if (rc != 0) {
        snprintf(why, size, "%.1024s: %s", place, strerror(errno));
    }
    return rc == 0;
}

/* Warns of a folder that symcached writes to and cannot: by its unit, or where
 * it is not a service by who checks, who is the user that it runs as. */
static void warn_of_root(struct warnings_teller *warnings,
                         const struct systemd_unit *unit, const char *key,
                         const char *path, const struct cache_config *cache)
{
    char why[PATH_MAX];
    struct statvfs fs;
    mode_t mode;

    /* before anything in this process waits for the disk */
    if (path == NULL ||
        (stat_with_timeout(path, F_OK, &mode) != 0 && errno == ETIMEDOUT)) {
        return;
    }
    if (unit != NULL ? !systemd_unit_can_write(unit, path, why, sizeof(why))
                     : !warn_can_write(path, why, sizeof(why))) {
        warn_of(warnings, "%s: \"%s\" cannot be written to: %s", key, path,
                why);
    }
    if (statvfs(path, &fs) == 0 &&
        cache->min_free > (uint64_t)fs.f_blocks * fs.f_frsize) {
        warn_of(warnings,
                "cache.min_free is more than the file system of %s has, "
                "\"%s\": all new files are refused there",
                key, path);
    }
}

static void warn_of_roots(struct warnings_teller *warnings,
                          const struct systemd_unit *unit,
                          const struct config *config)
{
    char key[128];
    size_t i;

    warn_of_root(warnings, unit, "downloads", config->downloads,
                 &config->cache);
    warn_of_root(warnings, unit, "uploads.root", config->uploads.root,
                 &config->cache);
    warn_of_root(warnings, unit, "symbolication.symbolicator.tenants.root",
                 config->symbolication.symbolicator.tenants.root,
                 &config->cache);
    for (i = 0; i < config->nstores; i++) {
        snprintf(key, sizeof(key), "stores.%s.root", config->stores[i].name);
        warn_of_root(warnings, unit, key, config->stores[i].root,
                     &config->cache);
    }
}

static void warn_of_listen(struct warnings_teller *warnings,
                           const struct config *config)
{
    if (strncmp(config->listen, "unix:", 5) != 0 &&
        config->listen_token == NULL) {
        warn_of(warnings,
                "listen: over TCP and without \"listen_token\" everybody who "
                "can connect may ask; only lookups are answered there");
    }
}

/* Cleaning goes by max_size, and total_size only refuses. */
static void warn_of_total_size(struct warnings_teller *warnings,
                               const struct cache_config *cache)
{
    if (cache->total_size > 0 &&
        (cache->max_size == 0 || cache->max_size >= cache->total_size)) {
        warn_of(warnings,
                "cache.max_size is not below cache.total_size: cleaning "
                "removes too little, and new files are refused");
    }
}

/* Files that nobody can send, or that no store has. */
static void warn_of_uploads(struct warnings_teller *warnings,
                            const struct config *config)
{
    size_t i = 0;

    if (config->uploads.root == NULL) {
        return;
    }
    if (config->uploads.needs_token && config->uploads.ntokens == 0) {
        warn_of(warnings,
                "uploads.tokens: the file has no token: every upload is "
                "refused");
    }
    if (config->uploads.listen == NULL) {
        warn_of(warnings,
                "uploads: without \"listen\" nginx has no socket to send "
                "them to");
    }
    while (i < config->nstores &&
           !config_store_has_uploads(&config->stores[i], false) &&
           !config_store_has_uploads(&config->stores[i], true)) {
        i++;
    }
    if (i == config->nstores) {
        warn_of(warnings,
                "uploads: no store has \"" UPLOADS_SOURCE "\" in its "
                "\"sources\", so nothing is made of them");
    }
}

static void warn_of_source(struct warnings_teller *warnings,
                           const struct source_config *source, bool thorough)
{
    bool part = source->group != NULL;
    const char *name = part ? source->group : source->name;
    const char *key = part ? source_sympath.place : source->type->place;

    /* the folders of uploads are made */
    if (thorough && source->path != NULL &&
        !config_source_is_uploads(source) &&
        warn_look_at_folder(source->path) != 0) {
        warn_of(warnings, "sources.%s.%s: \"%s\": %s; lookups there fail",
                name, key, source->path, strerror(errno));
    }
    if (source->url != NULL && !source->transport.internal &&
        origin_reserved(source->url)) {
        warn_of(warnings,
                "sources.%s.%s: a private or loopback address is not asked "
                "without \"internal\": true; lookups there fail",
                name, key);
    }
}

static void warn_of_tiers(struct warnings_teller *warnings,
                          const struct config *config)
{
    const struct tier_config *tier;
    size_t i;

    for (i = 0; i < config->ntiers; i++) {
        tier = &config->tiers[i];
        if (tier->path != NULL && warn_look_at_folder(tier->path) != 0) {
            warn_of(warnings,
                    "tiers.%s.path: \"%s\": %s; symcached does not make it, "
                    "and goes on without the tier",
                    tier->name, tier->path, strerror(errno));
        }
    }
}

unsigned warnings_tell(const struct config *config, bool thorough,
                       warnings_fn tell)
{
    struct warnings_teller warnings = {.tell = tell};
    struct systemd_unit *unit = NULL;
    size_t i;

    if (thorough) {
        unit = systemd_unit_read();
        warn_of_folder(&warnings, unit, "listen", config->listen);
        warn_of_folder(&warnings, unit, "admin_listen", config->admin_listen);
        warn_of_folder(&warnings, unit, "uploads.listen",
                       config->uploads.listen);
        warn_of_roots(&warnings, unit, config);
        systemd_unit_free(unit);
        warn_of_tiers(&warnings, config);
    }
    warn_of_listen(&warnings, config);
    warn_of_uploads(&warnings, config);
    warn_of_total_size(&warnings, &config->cache);
    for (i = 0; i < config->nstores; i++) {
        warn_of_store(&warnings, &config->stores[i]);
    }
    for (i = 0; i < config->nsources; i++) {
        warn_of_source(&warnings, &config->sources[i], thorough);
    }
    return warnings.n;
}

struct looking {
    struct config *config; /* holds a reference */
    warnings_fn tell;
};

static void warnings_run(void *arg)
{
    struct looking *looking = arg;

    (void)warnings_tell(looking->config, false, looking->tell);
}

static void warnings_done(void *arg, bool late)
{
}

static void warnings_drop(void *arg)
{
    struct looking *looking = arg;

    config_unref(looking->config);
    free(looking);
}

static const struct task_calls looking_calls = {warnings_run, warnings_done,
                                                warnings_drop};

void warnings_look(struct event_base *base, struct config *config,
                   warnings_fn tell)
{
    struct looking *looking = malloc(sizeof(*looking));

    if (looking != NULL) {
        looking->config = config_ref(config);
        looking->tell = tell;
        (void)task_start(base, 0, &looking_calls, looking);
    }
}
