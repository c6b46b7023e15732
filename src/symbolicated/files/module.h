/*
 * Copyright (C) the ngx_symcache authors
 *
 * A file of the store, mapped and verified, for all threads.
 */
#ifndef SYMBOLICATED_FILES_MODULE_H
#define SYMBOLICATED_FILES_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "derived/derived.h"
#include "proto/key.h"
#include "proto/provenance.h"

struct module {
    atomic_uint refs;
    atomic_uint_least64_t used; /* when last, in milliseconds */
    atomic_uint_least64_t told; /* when symcached heard of a use, or 0 */
    atomic_bool broken;         /* the file was cut short */
    atomic_bool evicted;        /* no reference is to be kept */
    bool sound;                 /* its reader may be used */
    symcache_kind_e kind;       /* which reader */
    int fd;
    int sigbus; /* its number there, or -1 */
    dev_t device;
    ino_t inode;
    size_t size;
    void *data;
    char source[SYMCACHE_PROVENANCE_TEXT + 1]; /* of its original; "": not
                                                * known */
    union derived_reader reader;
};

/*
 * Maps and verifies an open file of a kind, which takes its time; takes fd
 * over.  name is for the log.  A file in which nothing can be read is a module,
 * too, which is not sound.  NULL with errno.
 */
struct module *module_open(int fd, const struct stat *st, const char *name,
                           symcache_kind_e kind);

struct module *module_ref(struct module *module);
void module_unref(struct module *module); /* NULL is allowed */

/* Is the file still there as it was opened? */
bool module_is_current(const struct module *module);

#endif
