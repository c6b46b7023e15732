/*
 * Copyright (C) the ngx_symcache authors
 *
 * The first step of an upload: child processes unpack its body, one after the
 * other.  Each has descriptors for so many files, writes a report of them, and
 * says where the next one begins.
 */
#pragma once

#include <stdint.h>
#include "symcached/intake/upload_report.h"

struct upload;

struct unpacking {
    struct child *child;
    char next[48]; /* where the next process begins */
    uint64_t left; /* bytes that may still come out */
    unsigned batch;
    /* descriptors of a process, -1 between two */
    int report;
    int scratch;
    int outs[UPLOAD_OUTS];
};

void unpacking_init(struct unpacking *unpacking, uint64_t max);

/* Unpacks what upload->in is open for, then calls upload_publish(); or refuses
 * the upload. */
void unpacking_start(struct upload *upload);

void unpacking_cancel(struct unpacking *unpacking);
