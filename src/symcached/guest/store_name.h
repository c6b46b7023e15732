/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of guest stores, which are those of their folders, and in a tier.
 * Their input has secrets, and the names are shown: so they are an HMAC with a
 * key that only this machine has, or its fleet, and a client cannot test by
 * trying whether a name was made from a certain secret.  The key is in a file,
 * so that stores are found again after a restart.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The beginning of an HMAC-SHA-256 in hex. */
#define STORE_NAME 32

struct store_name_key {
    unsigned char bytes[32];
};

/*
 * Reads the key from a folder, or makes one: by chance, or of a secret of the
 * fleet, so that all of its machines have the same names.  *is_new: the stores
 * in the folder have others.  Returns 0, or -1 with errno.
 */
int store_name_key(struct store_name_key *key, const char *root,
                   const char *secret, bool *is_new);

/* Returns 0, or -1 without memory. */
int store_name_print(char name[STORE_NAME + 1],
                     const struct store_name_key *key, const char *text,
                     size_t size);

/* Could it be the name of such a folder, or of one that is to be removed: a
 * name, "-" and a number? */
bool store_name_is_one(const char *name);
bool store_name_is_aside(const char *name);
