/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys of a source that say how it is talked to.  All are config_read_fn
 * for a struct transport_config.
 */
#ifndef SYMCACHED_CONFIG_TRANSPORT_H
#define SYMCACHED_CONFIG_TRANSPORT_H

#include "config_field.h"
#include "transport.h"

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

/* What no key alone can tell; item is the source. */
int config_transport_check(struct config_reader *r, const cJSON *item,
                           const struct transport_config *transport);

#endif
