/*
 * Copyright (C) the ngx_symcache authors
 *
 * The process that has the guest stores, as symcached sees it: it is started
 * with the first one, and again when it has ended.  symcached owns its socket,
 * so that requests wait meanwhile.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"

struct event_base;
struct guest_process;

/*
 * Listens on "sock" in the folder of tenants, and starts the process, which
 * logs to a file or, with NULL, where this one does.  Like "listen", the
 * settings of tenants take effect at the start only.  NULL with a sentence in
 * error.
 */
struct guest_process *guest_process_new(struct event_base *base,
                                        const struct config *config,
                                        const char *log, bool is_verbose,
                                        char *error, size_t size);

/* Its last report about its stores, as guests_json(), to be deleted; it may be
 * NULL. */
cJSON *guest_process_json(const struct guest_process *process);

/* It opens its log again. */
void guest_process_reopen_log(const struct guest_process *process);

/* Has the process stop; done is called once, when it has or is too slow,
 * perhaps from inside this function.  NULL is allowed. */
void guest_process_stop(struct guest_process *process, void (*done)(void *arg),
                        void *arg);

/* Ends the process. */
void guest_process_free(struct guest_process *process); /* NULL is allowed */

/* The other side: what main() of "symcached --guests" is given. */
struct guest_options {
    struct tenants_config tenants; /* hosts are the configuration's */
    int report;                    /* a socket, for guests_report() */
};

/*
 * Reads the arguments up to those that any symcached has, which are the last
 * *argc of argv then, and takes the descriptors over.  Returns false if they
 * are not what guest_process_new() gives.
 */
bool guest_options_read(struct guest_options *options, int *argc,
                        char ***argv);
