/*
 * Copyright (C) the ngx_symcache authors
 *
 * The other machines of a fleet ("uploads.peers") are told which files were
 * uploaded or removed here, so that they drop what they know of them.
 *
 * Uploads do not wait for a machine that cannot be reached.  Its messages are
 * kept in the folder of uploads, also over a restart, and are sent when it
 * answers again.
 */
#pragma once

#include "publication.h"

struct event_base;
struct peers;
struct scheduler;

#define PEERS_UNTOLD 512

/* untold: addresses of the machines that do not know yet, with commas. */
typedef void (*peers_done_fn)(void *arg, const char *untold);

/* Returns NULL when out of memory. */
struct peers *peers_new(struct event_base *base, struct scheduler *scheduler);

/* The configuration may have another root: undelivered messages move there,
 * and messages found there are also sent.  So is one whose disk was lost. */
void peers_look(struct peers *peers);

/* NULL is allowed. */
void peers_free(struct peers *peers);

/*
 * Tells all of them of those of n files that were stored, or have come here
 * from another machine.  The files may go at once.  done is called once, never
 * from inside, unless peer_notification_cancel() is.  Returns NULL when out of
 * memory.
 */
struct peer_notification *peers_tell(struct peers *peers,
                                     const struct upload_file *files, size_t n,
                                     bool is_try, peers_done_fn done,
                                     void *arg);

/* The messages that machines have not had yet. */
size_t peers_count_untold(const struct peers *peers);

/* Is this the id that a message of this machine has? */
bool peers_is_self(const char *from);
