/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys of a source that say how it is asked.  Their readers are
 * config_read_fn for a struct transport_config.
 */
#ifndef CONFIG_TRANSPORT_H
#define CONFIG_TRANSPORT_H

#include "config.h"
#include "field.h"

int config_headers(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at);
int config_auth(struct config_reader *r, const cJSON *item,
                const struct config_field *field, void *at);
int config_tls(struct config_reader *r, const cJSON *item,
               const struct config_field *field, void *at);
int config_proxy(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at);
int config_http_version(struct config_reader *r, const cJSON *item,
                        const struct config_field *field, void *at);

/* Gives a transport that was read its id, and refuses keys that contradict each
 * other; item is the source.  Returns 0, or -1 with error set. */
int config_transport_check(struct config_reader *r, const cJSON *item,
                           struct transport_config *transport);

/* Frees the members of the struct, and wipes secrets. */
void config_transport_clear(struct transport_config *transport);

#endif
