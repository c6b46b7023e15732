/*
 * Copyright (C) the ngx_symcache authors
 *
 * The key "tenants" of the section "symbolication".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field.h"

/*
 * Stores of sources that clients bring: for each scope and the private sources
 * of a list, and for each public source.
 */
struct tenants_config {
    char *root;           /* their folders are in it; NULL: there are none */
    unsigned count;       /* at a time */
    uint64_t size;        /* bytes of one, of a scope */
    uint64_t public_size; /* of one that is for all scopes */
    unsigned idle;        /* seconds until one that is not asked is removed */
    char **hosts;         /* "name:port" that may be at an internal address */
    size_t nhosts;
    struct tier_config *tier; /* of their files, or NULL */
};

/* For a struct tenants_config; the stores, uploads and downloads must be
 * known. */
config_read_fn config_tenants;

/* Frees the members of the struct. */
void tenants_clear(struct tenants_config *tenants);

bool tenants_are_same(const struct tenants_config *x,
                      const struct tenants_config *y);

/* Returns whether the host of a URL that a client names may be at a private,
 * loopback or link-local address. */
bool tenants_may_reach(const struct tenants_config *config, const char *url);
