/*
 * Copyright (C) the ngx_symcache authors
 *
 * The configuration of a tenant, which is made of what its client asked for.
 */
#ifndef SYMCACHED_TENANT_SETTINGS_H
#define SYMCACHED_TENANT_SETTINGS_H

#include <cjson/cJSON.h>
#include "config/config.h"

/*
 * Returns the configuration of the tenant in a folder, to be deleted; NULL if
 * asked is not what it should be, or without memory.  It has the secrets of
 * the client's sources.
 */
cJSON *tenant_settings(const struct tenants_config *config,
                       const struct limits_config *limits, const char *folder,
                       const cJSON *asked);

#endif
