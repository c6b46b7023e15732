/*
 * Copyright (C) the ngx_symcache authors
 *
 * The service manager that a daemon was started by, if it speaks the protocols
 * of systemd: sd_notify(3), by which it hears of the daemon's state, and
 * sd_listen_fds(3), by which it hands over sockets that it listens on itself.
 * Both are a few environment variables, and the first a datagram; libsystemd
 * would bring the compressors and ciphers of the journal into both daemons.
 *
 * Without such a manager all of this does nothing.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

struct event_base;

/*
 * Reads what the manager left in the environment, and removes it from there.
 * To be called once, before listening and before the first thread or child.
 */
void service_start(void);

/*
 * Takes the socket that the manager listens on at this address; it does not
 * block, and children do not inherit it.  Its file belongs to the manager.
 * Returns -1 if there is none.
 */
int service_take_socket(const struct sockaddr *address);

/* Closes the sockets that were not taken, and logs a warning for each. */
void service_close_rest(void);

/* Tells the manager of a state: it serves, reads its configuration again
 * (which service_ready() ends), or stops. */
void service_ready(void);
void service_reloading(void);
void service_stopping(void);

/* What "systemctl status" shows: why the configuration in use is not the
 * file's, or nothing, if why is "". */
void service_config_stale(const char *why);

/*
 * From now on the loop tells the manager that it still turns, twice as often as
 * the manager wants to hear it.  alive, which may be NULL, is asked each time
 * with the milliseconds within which something must have happened; false keeps
 * the loop silent, and after a while the manager restarts the daemon.  Returns
 * 0, or -1 without memory.
 */
int service_watch(struct event_base *base,
                  bool (*alive)(void *arg, unsigned ms), void *arg);

/* Ends service_watch(), before the base is freed. */
void service_end(void);
