/*
 * Copyright (C) the ngx_symcache authors
 */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROOTS_MAX 1024

/* Written by the main thread, before there are others. */
static struct {
    char *paths[ROOTS_MAX];
    int fds[ROOTS_MAX];
    size_t n;
} open_roots;

static atomic_bool root_is_lost;

/* whose: "store NAME", for the error */
static int root_of(const char *path, const char *whose, bool locked,
                   char *error, size_t size)
{
    size_t i, n = open_roots.n;

    for (i = 0; i < n; i++) {
        if (strcmp(open_roots.paths[i], path) == 0) {
            return open_roots.fds[i];
        }
    }
    if (locked) {
        snprintf(error, size,
                 "the folder of %s was not open at the start: this needs a "
                 "restart",
                 whose);
        return -1;
    }
    errno = EMFILE;
    if (n < ROOTS_MAX) {
        open_roots.paths[n] = strdup(path);
        open_roots.fds[n] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (open_roots.paths[n] != NULL && open_roots.fds[n] != -1) {
            return open_roots.fds[open_roots.n++];
        }
    }
    snprintf(error, size, "cannot open \"%s\" of %s: %s%s", path, whose,
             strerror(errno),
             errno == ENOENT ? "; symcached makes this folder when it starts: "
                               "start symcached first, or make the folder"
                             : "");
    return -1;
}

/* Returns false with a sentence in error. */
static bool open_all(struct settings *settings, bool locked, char *error,
                     size_t size)
{
    const struct symbolication_config *s = settings->symbolication;
    const struct symbolicator_config *symbolicator = &s->symbolicator;
    char whose[128], address[128];
    size_t i;

    for (i = 0; i < s->nstores; i++) {
        snprintf(whose, sizeof(whose), "store \"%s\"", s->stores[i]->name);
        settings->roots[i] =
            root_of(s->stores[i]->root, whose, locked, error, size);
        if (settings->roots[i] == -1) {
            return false;
        }
    }
    settings->tenants = -1;
    if (symbolicator->enabled &&
        symbolicator->sources == SYMBOLICATOR_SOURCES_ALLOW) {
        settings->tenants = root_of(symbolicator->tenants.root, "tenants",
                                    locked, error, size);
        snprintf(address, sizeof(address), "unix:%s/sock",
                 symbolicator->tenants.root);
        symcached_client_address(&settings->guests, address, NULL);
        settings->guests.is_tenant = true;
        return settings->tenants != -1;
    }
    return true;
}

struct settings *settings_new(struct config *config, bool locked, char *error,
                              size_t size)
{
    const struct symbolication_config *s = &config->symbolication;
    struct settings *settings;

    settings =
        calloc(1, sizeof(*settings) + s->nstores * sizeof(settings->roots[0]));
    if (settings == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    atomic_init(&settings->refs, 1);
    settings->config = config_ref(config);
    settings->symbolication = s;
    symcached_client_address(&settings->helper, config->listen,
                             config->listen_token);
    if (!open_all(settings, locked, error, size)) {
        settings_unref(settings);
        return NULL;
    }
    return settings;
}

struct settings *settings_ref(struct settings *settings)
{
    atomic_fetch_add(&settings->refs, 1);
    return settings;
}

void settings_unref(struct settings *settings)
{
    if (settings != NULL && atomic_fetch_sub(&settings->refs, 1) == 1) {
        config_unref(settings->config);
        explicit_bzero(&settings->helper, sizeof(settings->helper));
        free(settings);
    }
}

size_t settings_roots(const int **roots)
{
    *roots = open_roots.fds;
    return open_roots.n;
}

bool settings_folder_is_replaced(int fd, const char *path)
{
    struct stat opened, now;

    return fstat(fd, &opened) == 0 && stat(path, &now) == 0 &&
           S_ISDIR(now.st_mode) &&
           (now.st_dev != opened.st_dev || now.st_ino != opened.st_ino);
}

void settings_check_root(int root)
{
    size_t i;

    for (i = 0; i < open_roots.n; i++) {
        if (open_roots.fds[i] == root &&
            settings_folder_is_replaced(root, open_roots.paths[i])) {
            atomic_store(&root_is_lost, true);
        }
    }
}

bool settings_root_is_lost(void)
{
    return atomic_load(&root_is_lost);
}
