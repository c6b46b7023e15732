/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files at URLs that debug information, source maps and reports name.  With a
 * "url" only those below it are fetched, and credentials are for these.
 */
#include <stddef.h>
#include <string.h>

#include "proto/url.h"
#include "symcached/source/lookup_steps.h"
#include "symcached/source/url_file.h"

/* the settings */
struct web {
    char *url; /* or NULL: any */
};

static const struct config_field keys[] = {
    {"url", field_string, offsetof(struct web, url), 0, 0, 0},
};

static int check_web(struct config_reader *reader, const cJSON *item,
                     struct source_config *source)
{
    const struct web *web = source->settings;
    char url[SYMCACHE_URL_MAX + 1];

    if (web->url == NULL) {
        return source->transport.nheaders == 0
                   ? 0
                   : field_error(reader, item,
                                 "\"headers\" need \"url\": they would be "
                                 "sent to everybody");
    }
    if (symcache_url_normalise(url, web->url, strlen(web->url)) == 0) {
        return field_error(reader, item,
                           "\"url\" is not a URL of http or https");
    }
    source->url = strdup(url);
    return source->url != NULL ? 0
                               : field_error(reader, item, "out of memory");
}

const struct source_type source_web = {
    .name = "web",
    .shared = SOURCE_KEYS_HTTP | SOURCE_KEYS_HEADERS,
    .keys = keys,
    .nkeys = 1,
    .settings_size = sizeof(struct web),
    .place = "url",
    .has_urls = true,
    .check = check_web,
    .begin = source_url_begin,
};
