/*
 * Copyright (C) the ngx_symcache authors
 *
 * The last check of a file from a transcoder or another server, in a sandboxed
 * child process, before it is published.  Only the open SymCache format is
 * public; a file in another one is not judged, unless it was received and is
 * plainly something else: a page, a text, a PDB.  Our own converter makes
 * none: one that a PDB has taken over might.
 */
#pragma once

#include "child/child.h"
#include "proto/key.h"

struct event_base;

#define VALIDATE_RECEIVED "received" /* another server sent the file */
#define VALIDATE_OURS "ours"         /* our converter made it */

/*
 * Starts "symcached-sandboxed --validate" on a file that nobody changes any
 * more.  It exits with 0 when the file may be published, with 1 and a sentence
 * on stderr when it is no sound SymCache or another PDB's, and with 2 when it
 * could not be looked at.  origin is one of the above, or NULL: another
 * transcoder made the file.  Returns NULL with errno.
 */
struct child *validate_start(struct event_base *base, const char *file,
                             const symcache_key_t *key, const char *origin,
                             child_done_fn done, void *arg);

/* The child: main() of "symcached-sandboxed --validate GUIDAGE [ORIGIN]". */
int validate_main(int argc, char **argv);
