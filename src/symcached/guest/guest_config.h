/*
 * Copyright (C) the ngx_symcache authors
 *
 * The configuration of a guest store, which is made of what clients say of its
 * sources, and that of the helper that has these stores.
 */
#pragma once

#include <cjson/cJSON.h>
#include "config/config.h"

/* Below the root of tenants: the helper's socket, and its own folder. */
#define GUEST_SOCKET "sock"
#define GUEST_FOLDER ".helper"

struct guest_settings {
    const struct tenants_config *tenants; /* its hosts are used */
    const struct limits_config *limits;   /* the operator's */
    uint64_t size;                        /* bytes of all its files */
    bool is_public;                       /* it is for all scopes */
};

/*
 * Returns the configuration of a store of that name in a folder, to be
 * deleted; NULL if the list of sources is not what it should be
 * (guests_ask()), or without memory.  It has the secrets of the client's
 * sources.
 */
cJSON *guest_settings(const struct guest_settings *with, const char *folder,
                      const char *name, const cJSON *list);

/* Returns that of the helper, to be deleted: it has nothing of the operator's
 * but limits and "tenants.hosts". */
cJSON *guest_process_settings(const struct config *config);

/*
 * Reads settings, which have secrets, from memory and never from a disk.  *fd
 * has their text and is the caller's, or it is -1.  Returns NULL with a
 * sentence in error.
 */
struct config *guest_read_settings(const cJSON *settings, int *fd, char *error,
                                   size_t size);
