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

#include "steps.h"
#include "base/origin.h"
#include "base/percent.h"

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
    percent_encode_path(p, path);
    return url;
}

static void http_next(struct lookup *lookup);

static void received_pointer(struct lookup *lookup,
                             const struct fetch_answer *answer)
{
    uint8_t text[FILE_PTR_MAX];
    ssize_t n = pread(lookup->part_fd, text, sizeof(text), 0);

    if (!answer->framed) {
        /* the start of a location leads elsewhere */
        lookup_attempt_here(lookup, SOURCE_UNUSABLE,
                            "file.ptr without a length, and may be cut");
        http_next(lookup);
        return;
    }
    if (n < 0) {
        lookup_attempt_here(lookup, SOURCE_FAILED, strerror(errno));
        lookup_end(lookup);
        return;
    }

    lookup_pointer(lookup, text, (size_t)n);
}

/* Is what lies in part, if anything, text and no page? */
static bool is_text(const struct lookup *lookup, const char *type)
{
    char text[FILE_PTR_MAX];
    ssize_t n = pread(lookup->part_fd, text, sizeof(text), 0), i;

    for (i = 0; i < n; i++) {
        if (memchr("\t\r\n", text[i], 3) == NULL &&
            ((unsigned char)text[i] < ' ' || memchr("<{[", text[i], 3))) {
            return false;
        }
    }
    return n >= 0 && strcasestr(type, "html") == NULL &&
           strcasestr(type, "xml") == NULL && strcasestr(type, "json") == NULL;
}

/*
 * Did the server say plainly whether it has index2.txt?  Its content means
 * nothing, and it is mostly empty; a page, an answer from elsewhere, or one
 * that may have been cut is not about the file.
 */
static bool index_is_plain(const struct lookup *lookup,
                           const struct fetch_answer *answer,
                           enum source_outcome outcome)
{
    if (answer->moved || outcome == SOURCE_FAILED) {
        return false;
    }
    return answer->status == 404 || answer->status == 410 ||
           (answer->status == 200 && answer->framed &&
            answer->length <= FILE_PTR_MAX && answer->bytes <= FILE_PTR_MAX &&
            is_text(lookup, answer->type));
}

/*
 * What leaves it open is no failure by itself: both numbers of tiers are asked
 * then.
 */
static void index_unsure(struct lookup *lookup, const char *detail)
{
    enum source_outcome before = lookup->outcome;
    char text[512];

    snprintf(text, sizeof(text), "%.400s, no plain answer", detail);
    lookup_attempt_here(lookup, SOURCE_FAILED, text);
    if (before != SOURCE_NOT_FOUND || lookup->doubted) {
        /* nor is a server of garbage asked for twice as much of it */
        lookup_end(lookup);
        return;
    }
    lookup->outcome = before;
    http_next(lookup);
}

static void on_index(struct lookup *lookup, const struct fetch_answer *answer,
                     enum source_outcome outcome, const char *detail)
{
    bool present = answer->status == 200;

    lookup->plain = index_is_plain(lookup, answer, outcome);
    if (!lookup->plain) {
        index_unsure(lookup, detail);
        return;
    }

    lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                        present ? "it is there: a store of two tiers"
                                : detail);
    layout_index(&lookup->walk, present);
    http_next(lookup);
}

static void fetch_packed(struct lookup *lookup);

static bool is_bucket(const struct lookup *lookup)
{
    return !lookup->pointed && (lookup->source->type == SOURCE_S3 ||
                                lookup->source->type == SOURCE_GCS);
}

/* Is a byte escaped in <name>/<GUIDAGE>/<form>, the last three parts? */
static bool odd_name(const char *url)
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
 * Some servers answer 400 for names that they find odd.  As often it is about
 * us: then the same server, asked at the same time, has no plain answer about
 * index2.txt either.  A client certificate may be one that only some of our
 * connections have shown while it was valid.
 */
static enum source_outcome judge(struct lookup *lookup,
                                 const struct fetch_result *result)
{
    const struct fetch_answer *answer = result->answer;

    if (answer->status != 400 || answer->moved || lookup->pointed ||
        lookup->form == FORM_INDEX || !odd_name(lookup->place) ||
        lookup->source->transport.certificate != NULL ||
        (lookup->walk.probed && !lookup->plain)) {
        return result->outcome;
    }

    lookup->doubted = true;
    layout_want_index(&lookup->walk);
    return SOURCE_NOT_FOUND;
}

static void on_fetched(void *arg, const struct fetch_result *result)
{
    struct lookup *lookup = arg;
    enum source_outcome outcome;
    char detail[512];

    lookup_set_step(lookup, LOOKUP_DECIDES, NULL);
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.answer = NULL;

    if (is_bucket(lookup)) {
        outcome = source_bucket_judge(lookup->source, result, detail,
                                      sizeof(detail));
    } else {
        outcome = judge(lookup, result);
        snprintf(detail, sizeof(detail), "%s", result->detail);
    }

    if (lookup->form == FORM_INDEX && !lookup->pointed) {
        on_index(lookup, result->answer, outcome, detail);
        return;
    }
    if (outcome != SOURCE_FOUND) {
        lookup_attempt_here(lookup, outcome, detail);
        /* a host that could not tell is not asked for more */
        if (outcome == SOURCE_FAILED) {
            lookup_end(lookup);
        } else if (lookup->pointed && lookup->pointed_packed != NULL) {
            fetch_packed(lookup);
        } else {
            lookup->resume(lookup);
        }
        return;
    }

    if (lookup->form == FORM_POINTER && !lookup->pointed) {
        received_pointer(lookup, result->answer);
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
    struct fetch *fetch = NULL;

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
        fetch = fetch_start(inside ? lookup->sources->inside
                                   : lookup->sources->outside,
                            &request, on_fetched, lookup);
        free(url);
    }
    if (fetch == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED, "out of memory or bad URL");
        lookup_end(lookup);
        return;
    }
    lookup_set_step(lookup, LOOKUP_FETCHES, fetch);
}

static void http_next(struct lookup *lookup)
{
    struct layout_place place;

    lookup->pointed = false;
    if (!layout_next(&lookup->walk, &place)) {
        lookup_end(lookup);
        return;
    }

    lookup->form = place.form;
    http_fetch(lookup, http_url(lookup->source, place.path),
               place.form == FORM_POINTER || place.form == FORM_INDEX
                   ? FILE_PTR_MAX
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
                 &lookup->memory->layout);
    http_next(lookup);
}

static void fetch_packed(struct lookup *lookup)
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
