/*
 * Copyright (C) the ngx_symcache authors
 *
 * A symbol server over HTTP, asked for one place of its layout after another.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "lookup.h"
#include "origin.h"

static bool http_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

void source_http_escape(char *p, const char *path)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *path != '\0'; path++) {
        if (*path == '/' || http_unreserved((unsigned char)*path)) {
            *p++ = *path;
        } else {
            *p++ = '%';
            *p++ = hex[(unsigned char)*path >> 4];
            *p++ = hex[(unsigned char)*path & 15];
        }
    }

    *p = '\0';
}

/* <url>/<path>, or NULL; a source's url has no query */
static char *http_url(const struct source_config *source, const char *path)
{
    size_t len = strlen(source->url);
    char *url = malloc(len + 3 * strlen(path) + 2), *p;

    if (url == NULL) {
        return NULL;
    }

    memcpy(url, source->url, len);
    p = url + len;
    *p++ = '/';
    source_http_escape(p, path);
    return url;
}

static void http_next(struct lookup *lookup);

static void http_received_pointer(struct lookup *lookup)
{
    uint8_t text[SYMPTR_MAX];
    ssize_t n = pread(lookup->part_fd, text, sizeof(text), 0);

    if (n < 0) {
        lookup_attempt_here(lookup, SOURCE_FAILED, strerror(errno));
        lookup_end(lookup);
        return;
    }

    lookup_pointer(lookup, text, (size_t)n);
}

/* Says what index2.txt came to; present unless that is no answer to it. */
static bool http_read_index(struct lookup *lookup,
                            const struct fetch_result *result)
{
    char head[1];

    /* its content means nothing, and it is mostly empty */
    if (result->outcome == SOURCE_UNUSABLE) {
        return result->bytes == 0;
    }

    /* the page of a server that has no 404 */
    return result->outcome == SOURCE_FOUND &&
           (pread(lookup->part_fd, head, 1, 0) != 1 || head[0] != '<');
}

/* Did the server say something about index2.txt?  Where it does not let us
 * see it, or sends us elsewhere, there is none for us. */
static bool http_index_answered(const struct fetch_result *result)
{
    long status = result->answer->status;

    if (result->outcome != SOURCE_FAILED) {
        return true;
    }
    return status / 100 == 3 ||
           (status / 100 == 4 && status != 408 && status != 429);
}

static void http_on_index(struct lookup *lookup,
                          const struct fetch_result *result)
{
    bool answered = http_index_answered(result);
    bool present = http_read_index(lookup, result);

    if (!answered) {
        /* a store with a hit is what it was then, as far as can be known */
        if (!lookup->memory->layout.had_any) {
            lookup_attempt_here(lookup, SOURCE_FAILED, result->detail);
            lookup_end(lookup);
            return;
        }
        present = lookup->walk.two_tier;
    }

    lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                        answered && present
                            ? "it is there: a store of two tiers"
                            : result->detail);
    layout_index(&lookup->walk, present);
    http_next(lookup);
}

static void http_fetch_packed(struct lookup *lookup);

static bool http_is_bucket(const struct lookup *lookup)
{
    return !lookup->pointed && (lookup->source->type == SOURCE_S3 ||
                                lookup->source->type == SOURCE_GCS);
}

/* Is a byte escaped in <name>/<GUIDAGE>/<form>, the last three parts? */
static bool http_odd_name(const char *url)
{
    const char *p = url + strlen(url);
    int slashes = 0;

    while (p > url && slashes < 3) {
        p--;
        if (*p == '%') {
            return true;
        }
        slashes += *p == '/';
    }
    return false;
}

/*
 * Some servers answer 400 for names that they find odd.  Where nothing else
 * ever came, it is more likely about us: a client certificate that is missed.
 * One that we have may have expired since.
 */
static enum source_outcome http_judge(struct lookup *lookup,
                                      const struct fetch_result *result)
{
    struct source_memory *memory = lookup->memory;
    const struct fetch_answer *answer = result->answer;

    if (memory == NULL || lookup->pointed || answer->moved) {
        return result->outcome;
    }

    memory->told |=
        result->outcome == SOURCE_FOUND || result->outcome == SOURCE_NOT_FOUND;
    return answer->status == 400 && memory->told &&
                   lookup->source->transport.certificate == NULL &&
                   http_odd_name(lookup->place)
               ? SOURCE_NOT_FOUND
               : result->outcome;
}

static void http_on_fetched(void *arg, const struct fetch_result *result)
{
    struct lookup *lookup = arg;
    enum source_outcome outcome;
    char detail[512];

    lookup->fetch = NULL;
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.answer = NULL;

    if (lookup->form == FORM_INDEX && !lookup->pointed) {
        http_on_index(lookup, result);
        return;
    }

    if (http_is_bucket(lookup)) {
        outcome = source_bucket_judge(lookup->source, result, detail,
                                      sizeof(detail));
    } else {
        outcome = http_judge(lookup, result);
        snprintf(detail, sizeof(detail), "%s", result->detail);
    }

    if (outcome != SOURCE_FOUND) {
        lookup_attempt_here(lookup, outcome, detail);
        /* a host that could not tell is not asked for more */
        if (outcome == SOURCE_FAILED) {
            lookup_end(lookup);
        } else if (lookup->pointed && lookup->pointed_packed != NULL) {
            http_fetch_packed(lookup);
        } else {
            lookup->resume(lookup);
        }
        return;
    }

    if (lookup->form == FORM_POINTER && !lookup->pointed) {
        http_received_pointer(lookup);
    } else {
        lookup_check_part(lookup);
    }
}

/* Takes url over.  Also for a file.ptr of a source of another type. */
static void http_fetch(struct lookup *lookup, char *url, uint64_t max,
                       bool credentials)
{
    const struct source_config *source = lookup->source;
    struct fetch_request request = {0};
    bool inside = source->transport.internal;

    if (url != NULL) {
        origin_place(lookup->place, sizeof(lookup->place), url);
    }
    memset(&lookup->received, 0, sizeof(lookup->received));

    if (url != NULL && lookup_open_part(lookup) != 0) {
        lookup_attempt_here(lookup, SOURCE_FAILED, strerror(errno));
        lookup_end(lookup);
        free(url);
        return;
    }

    request.url = url;
    request.transport = &source->transport;
    request.credentials = credentials;
    request.config = lookup->config;
    request.fd = lookup->part_fd;
    request.max = max;
    request.seconds = lookup->config->limits.download_time;

    if (url != NULL) {
        lookup->fetch = fetch_start(inside ? lookup->sources->inside
                                           : lookup->sources->outside,
                                    &request, http_on_fetched, lookup);
        free(url);
    }
    if (lookup->fetch == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED, "out of memory or bad URL");
        lookup_end(lookup);
    }
}

static void http_next(struct lookup *lookup)
{
    struct layout_place place;

    lookup->pointed = false;
    /* a server of garbage has no index2.txt to be believed */
    if (!layout_next(&lookup->walk, &place) ||
        (place.form == FORM_INDEX && lookup->outcome != SOURCE_NOT_FOUND)) {
        lookup_end(lookup);
        return;
    }

    lookup->form = place.form;
    http_fetch(lookup, http_url(lookup->source, place.path),
               place.form == FORM_POINTER || place.form == FORM_INDEX
                   ? SYMPTR_MAX
                   : lookup->config->limits.download_size,
               true);
}

void source_http_begin(struct lookup *lookup)
{
    lookup->memory = lookup_memory(lookup);
    lookup->resume = http_next;

    if (lookup->memory == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED, "out of memory");
        lookup_end(lookup);
        return;
    }

    layout_begin(&lookup->walk, lookup->source, &lookup->key, lookup->name,
                 &lookup->memory->layout, clock_ms());
    http_next(lookup);
}

static void http_fetch_packed(struct lookup *lookup)
{
    char *url = lookup->pointed_packed;

    lookup->pointed_packed = NULL;
    http_fetch(lookup, url, lookup->config->limits.download_size,
               lookup->pointed_below);
}

/* Where the packed form of a file would be; NULL if that cannot be said. */
static char *http_packed(const char *url)
{
    size_t len = url != NULL ? strlen(url) : 0;
    char *packed;

    if (len < 3 || url[len - 1] == '_' || strpbrk(url, "?#") != NULL ||
        strpbrk(url + len - 3, "%/") != NULL) {
        return NULL;
    }

    packed = strdup(url);
    if (packed != NULL) {
        layout_pack(packed);
    }
    return packed;
}

/* Takes url over. */
static void http_pointed(struct lookup *lookup, char *url, bool below)
{
    lookup->pointed = true;
    lookup->pointed_below = below;
    free(lookup->pointed_packed);
    lookup->pointed_packed = http_packed(url);
    http_fetch(lookup, url, lookup->config->limits.download_size, below);
}

void source_http_pointed(struct lookup *lookup, const char *url)
{
    http_pointed(lookup, strdup(url), false);
}

void source_http_pointed_below(struct lookup *lookup, const char *path)
{
    http_pointed(lookup, http_url(lookup->source, path), true);
}
