/*
 * Copyright (C) the ngx_symcache authors
 *
 * HTTP on the helper's socket: listens, reads requests, asks the scheduler of
 * jobs, and answers at once or when a job has ended.  Knows nothing of sources
 * and transcoders.
 */
#pragma once

#include <stddef.h>

struct event_base;
struct evict;
struct scheduler;
struct server;
struct guests;
struct guest_process;

/*
 * A loop in which reading requests comes after all else, so that thousands of
 * them do not keep new connections waiting.  NULL when out of memory.
 */
struct event_base *server_event_base(void);

/*
 * Listens on "listen" and "admin_listen" of the scheduler's configuration;
 * rights.h has the permissions of clients there.  A socket file without a
 * listening process is replaced.  The file of the first is open to every user
 * of the machine (mode 0666), that of the second to symcached's user and group
 * (0660).  The base must come from server_event_base().
 *
 * guests: of the guest helper, whose lookups are in these stores, or NULL;
 * helper: of who has started that one, or NULL.  They and evict must outlive
 * the server.  Returns NULL with a sentence in error.
 */
struct server *server_new(struct event_base *base, struct scheduler *scheduler,
                          struct guests *guests,
                          struct guest_process *guest_process,
                          const struct evict *evict, char *error, size_t size);

/* The scheduler has another configuration. */
void server_configure(struct server *server);

/* What the status says: why the configuration in use is not the file's, or "".
 * The text must stay valid until the next call. */
void server_config_stale(struct server *server, const char *why);

/*
 * Accepts nothing more and removes the socket file.  Call scheduler_stop()
 * before, which answers all waiters.  done is called once, perhaps from inside
 * this function: when all answers are sent and all waiting files are stored in
 * their tiers, or after a few seconds.
 */
void server_stop(struct server *server, void (*done)(void *arg), void *arg);

void server_free(struct server *server);
