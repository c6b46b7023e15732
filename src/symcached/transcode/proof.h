/*
 * Copyright (C) the ngx_symcache authors
 *
 * What our converter says that it has checked: see converter/check.h.
 *
 * What it made is read by the process that started the one which parsed, and
 * has not seen the original.  That takes less than to start another process.
 * What it took was told by the one which parsed, which is a process without
 * rights, as that of unpack.h is.
 */
#ifndef SYMCACHED_TRANSCODE_PROOF_H
#define SYMCACHED_TRANSCODE_PROOF_H

#include "proto/key.h"

/* "<descriptor>:<id>" and a NUL */
#define PROOF_TEXT (sizeof("10:") + SYMCACHE_ID_TEXT_MAX)

enum proof {
    PROOF_NONE,   /* nothing was said, as by an older converter */
    PROOF_SOUND,  /* what it made is sound */
    PROOF_FULL,   /* and made of a PDB with the id of the key */
    PROOF_PUBLICS /* the same, with public symbols only */
};

/* Returns a file for the converter's CHILD_FD, or -1, and writes to text what
 * it is told in its environment. */
int proof_ask(const symcache_key_t *key, char text[PROOF_TEXT]);

/* What the converter has written there. */
enum proof proof_read(int fd);

#endif
