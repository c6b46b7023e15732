/*
 * Copyright (C) the ngx_symcache authors
 *
 * A file of the store, mapped and verified, for all threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "derived/derived.h"
#include "json/json.h"
#include "proto/key.h"
#include "proto/provenance.h"

struct module {
    atomic_uint refs;
    size_t at; /* mapped_modules.c: its place in the list, if it is in there */
    atomic_uint_least64_t used; /* when last, in milliseconds */
    atomic_uint_least64_t told; /* when symcached heard of a use, or 0 */
    atomic_bool broken;         /* the file was cut short */
    atomic_bool evicted;        /* no reference is to be kept */
    bool sound;                 /* its reader may be used */
    symcache_kind_e kind;       /* which reader */
    int sigbus; /* its number there, or -1 */
    dev_t device;
    ino_t inode;
    size_t size;
    void *data;
    char source[SYMCACHE_PROVENANCE_TEXT + 1]; /* of its original; "": not
                                                * known */
    unsigned features; /* of that, a set of SYMCACHE_HAS_...; 0: not known */
    union derived_reader reader;
    char *places_text; /* of places */
    struct json places; /* where its original was looked for; see list */
    uint32_t places_list; /* "attempts" of it; 0: not known */
    char *properties; /* of a file at a URL (proto/properties.h), or NULL */
    bool has_digest;
    uint8_t digest[32]; /* of it, SHA-256 */
    int root;    /* a folder that stays open, or -1 */
    char path[]; /* of the file, from there */
};

/*
 * Maps and verifies an open file of a kind, which takes its time; closes fd.
 * root is the folder that path begins at, or -1 if it is closed before the
 * module goes.  A file in which nothing can be read also becomes a module,
 * which is not sound.  NULL with errno.
 */
struct module *module_open(int fd, const struct stat *st, int root,
                           const char *path, symcache_kind_e kind);

struct module *module_ref(struct module *module);
void module_unref(struct module *module); /* NULL is allowed */

/* Is the file still where it was opened, with the same size?  One without a
 * root is, for as long as it is used at least once a minute. */
bool module_is_current(const struct module *module);
