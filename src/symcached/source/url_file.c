/*
 * Copyright (C) the ngx_symcache authors
 */
#include "url_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/origin.h"
#include "lookup_steps.h"
#include "proto/properties.h"

/* The largest file in bytes: its readers map it as a whole. */
#define URL_FILE_MAX ((uint64_t)256 << 20)

/* the lookup's state */
struct url_file {
    struct transport_config transport; /* the source's, for this URL */
    char source_map[FETCH_RESPONSE_SOURCE_MAP];
};

/* The bytes of a slash or backslash at the front of a path, escaped or not; 0:
 * there is none. */
static size_t slash_size(const char *p)
{
    return *p == '/'                                              ? 1
           : strncmp(p, "%2F", 3) == 0 || strncmp(p, "%5C", 3) == 0 ? 3
                                                                  : 0;
}

/* Has a path a segment ".." for a server that takes escapes for slashes?  The
 * plain ones are resolved in a URL that is normalised. */
static bool url_file_has_dots(const char *path)
{
    const char *p;
    bool begins = true; /* a segment */

    for (p = path; *p != '\0' && *p != '?'; p++) {
        if (begins && p[0] == '.' && p[1] == '.' &&
            (p[2] == '\0' || p[2] == '?' || slash_size(p + 2) > 0)) {
            return true;
        }
        begins = slash_size(p) > 0;
        p += begins ? slash_size(p) - 1 : 0;
    }
    return false;
}

/* Is a URL the base or something below it?  "https://a/b" has "https://a/b/c"
 * and "https://a/b?c", and not "https://a/bc"; "https://a/b?c" has
 * "https://a/b?c&d". */
static bool url_file_is_below(const char *url, const char *base)
{
    size_t len = strlen(base);

    return strncmp(url, base, len) == 0 &&
           (url[len] == '\0' || strchr("/?#", url[len]) != NULL ||
            (url[len] == '&' && strchr(base, '?') != NULL) ||
            (len > 0 && base[len - 1] == '/')) &&
           !url_file_has_dots(url + len);
}

/* The file has its place: its properties from the answer are stored there as
 * well. */
static void note_properties(struct lookup *lookup)
{
    const struct url_file *state = lookup->state;
    char text[SYMCACHE_PROPERTIES_MAX];
    int n;

    if (state->source_map[0] != '\0') {
        n = snprintf(text, sizeof(text), SYMCACHE_PROPERTY_SOURCEMAP ": %s\n",
                     state->source_map);
        (void)lsetxattr(lookup->file, SYMCACHE_PROPERTIES_ATTRIBUTE, text,
                        (size_t)n, 0);
    }
}

static void url_received(struct lookup *lookup,
                         const struct fetch_response *response)
{
    struct url_file *state = lookup->state;

    snprintf(state->source_map, sizeof(state->source_map), "%s",
             response->source_map);
    if (!response->framed || response->range[0] != '\0') {
        lookup_attempt_here(lookup, SOURCE_UNUSABLE,
                            "200 without a length, or with a part: the file "
                            "may be cut");
        lookup_end(lookup);
    } else if (fetch_response_coded(response) ||
               !symcache_key_is_url(&lookup->key)) {
        lookup->coded = fetch_response_coded(response);
        lookup_check_part(lookup);
    } else if (rename(lookup->part, lookup->file) != 0) {
        lookup_fail(lookup, "rename");
    } else {
        lookup_attempt_here(lookup, SOURCE_FOUND, "200");
        lookup_end(lookup);
    }
}

static void url_on_fetched(void *arg, const struct fetch_result *result)
{
    struct lookup *lookup = arg;

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.response = NULL;
    if (result->outcome == SOURCE_FOUND) {
        url_received(lookup, result->response);
    } else {
        lookup_attempt_here(lookup, result->outcome, result->detail);
        lookup_end(lookup);
    }
}

/* The source's transport, or one that reaches an internal host besides, which
 * has connections of its own. */
static void set_transport(const struct lookup *lookup,
                          struct transport_config *transport)
{
    const struct tenants_config *tenants =
        &lookup->config->symbolication.symbolicator.tenants;

    *transport = lookup->source->transport;
    if (lookup->source->is_scraper && !lookup->is_scraped) {
        transport->nheaders = 0;
    }
    if (transport->internal == TRANSPORT_OUTSIDE &&
        tenants_may_reach(tenants, lookup->url)) {
        transport->internal = TRANSPORT_INTERNAL_ORIGIN;
        transport->id++;
    }
}

static void fetch_file(struct lookup *lookup)
{
    const struct config *config = lookup->config;
    struct url_file *state = lookup_type_state(lookup, sizeof(*state));
    struct fetch_request request = {.url = lookup->url};
    struct fetch *fetch;

    if (state == NULL) {
        return;
    }
    origin_place(lookup->place, sizeof(lookup->place), lookup->url);
    if (lookup_open_part(lookup) != 0 || lookup_make_folder(lookup) != 0) {
        lookup_fail(lookup, "open");
        return;
    }
    set_transport(lookup, &state->transport);
    if (symcache_key_is_url(&lookup->key)) {
        lookup->symcache->version = (symcache_version_t){1, 0, 0};
        lookup->found = note_properties;
    }
    lookup->resume = lookup_end;
    request.transport = &state->transport;
    request.credentials = true; /* what an internal address needs, too */
    request.limits = &config->limits;
    request.cache = &config->cache;
    request.fd = lookup->part_fd;
    request.may_be_empty = true;
    request.max = symcache_key_is_url(&lookup->key) &&
                          config->limits.download_size > URL_FILE_MAX
                      ? URL_FILE_MAX
                      : config->limits.download_size;
    request.seconds = config->limits.download_time;
    fetch = fetch_start(lookup->sources->fetcher, &request, url_on_fetched,
                        lookup);
    if (fetch == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED, "out of memory or bad URL");
        lookup_end(lookup);
        return;
    }
    lookup_set_step(lookup, LOOKUP_FETCHES, fetch);
}

void source_url_begin(struct lookup *lookup)
{
    const char *base = lookup->source->url, *why = NULL;

    if (lookup->url[0] == '\0') {
        why = "the client does not say the URL";
    } else if (base != NULL && lookup->is_scraped) {
        why = "the URL is a client's";
    } else if (base != NULL && !url_file_is_below(lookup->url, base)) {
        why = "the URL is not below that of the source";
    }
    if (why == NULL) {
        fetch_file(lookup);
        return;
    }
    origin_place(lookup->place, sizeof(lookup->place),
                 source_place(lookup->source));
    lookup_attempt_here(lookup, SOURCE_NOT_FOUND, why);
    lookup_end(lookup);
}
