/*
 * Copyright (C) the ngx_symcache authors
 *
 * A symbol server over HTTP, asked for one place of its layout after another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symcached/source/lookup_steps.h"
#include "base/origin.h"
#include "base/percent.h"
#include "proto/header.h"

extern const struct source_type source_http;

/* the lookup's state */
struct http {
    source_judge_fn judge;
    struct source_memory *memory;
    struct layout_walk walk;
    enum layout_form form; /* of the place that is being asked for */
    bool doubted;          /* 400 was taken for an absence; see judge_http() */
    bool plain;            /* the answer about index2.txt was plain */
};

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

static void http_received_pointer(struct lookup *lookup,
                                  const struct fetch_response *response)
{
    if (!response->framed) {
        /* a location that was cut may name another file */
        lookup_attempt_here(lookup, SOURCE_UNUSABLE,
                            "file.ptr without a length, and may be cut");
        http_next(lookup);
        return;
    }
    lookup_file_ptr(lookup, lookup->part_fd);
}

/* Is the index2.txt that was received, if any, text and not a page? */
static bool http_index_is_text(const struct lookup *lookup, const char *type)
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
 * Did the server say plainly whether it has index2.txt?  The content does not
 * matter, and is mostly empty.  But a page, an answer from elsewhere, or one
 * that may have been cut says nothing about the file.
 */
static bool http_index_is_plain(const struct lookup *lookup,
                                const struct fetch_response *response,
                                enum source_outcome outcome)
{
    if (response->moved || source_outcome_is_failure(outcome)) {
        return false;
    }
    return response->status == 404 || response->status == 410 ||
           (response->status == 200 && response->framed &&
            response->length <= FILE_PTR_MAX &&
            response->bytes <= FILE_PTR_MAX &&
            http_index_is_text(lookup, response->type));
}

/*
 * An unclear answer is not a failure by itself: the places for one tier and
 * for two tiers are then both tried.
 */
static void http_index_unsure(struct lookup *lookup, const char *detail)
{
    enum source_outcome before = lookup->outcome;
    const struct http *http = lookup->state;
    char text[512];

    snprintf(text, sizeof(text), "%.400s, no plain answer", detail);
    lookup_attempt_here(lookup, SOURCE_FAILED, text);
    if (before != SOURCE_NOT_FOUND || http->doubted) {
        /* if other answers were bad, too, the server is asked no further */
        lookup_end(lookup);
        return;
    }
    lookup->outcome = before;
    http_next(lookup);
}

static void http_on_index(struct lookup *lookup,
                          const struct fetch_response *response,
                          enum source_outcome outcome, const char *detail)
{
    bool present = response->status == 200;
    struct http *http = lookup->state;

    http->plain = http_index_is_plain(lookup, response, outcome);
    if (!http->plain) {
        http_index_unsure(lookup, detail);
        return;
    }

    lookup_attempt_here(lookup, SOURCE_NOT_FOUND,
                        present ? "it is there: a store of two tiers"
                                : detail);
    layout_index(&http->walk, present);
    http_next(lookup);
}

static void http_fetch_packed(struct lookup *lookup);

void source_http_code(char code[HTTP_CODE],
                      const struct fetch_response *response)
{
    const char *p = strstr(response->body, "<Code>");
    size_t len;

    code[0] = '\0';
    if (p == NULL) {
        return;
    }
    p += strlen("<Code>");
    len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    if (len > 0 && len < HTTP_CODE && p[len] == '<') {
        snprintf(code, HTTP_CODE, "%.*s", (int)len, p);
    }
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
 * Some servers answer 400 for names that they find odd, which means that the
 * file is absent.  But 400 may also mean that they reject our requests.  Then
 * the same server has no plain answer about index2.txt either, so that is asked
 * for.  With a client certificate this proves nothing, as only some of our
 * connections may have shown it while it was valid.
 */
static enum source_outcome judge_http(struct lookup *lookup,
                                      const struct fetch_result *result,
                                      char *detail, size_t size)
{
    const struct fetch_response *response = result->response;
    struct http *http = lookup->state;

    if (response->status != 400 || response->moved ||
        http->form == FORM_INDEX || !http_odd_name(lookup->place) ||
        lookup->source->transport.certificate != NULL ||
        (http->walk.probed && !http->plain)) {
        return result->outcome;
    }

    http->doubted = true;
    layout_want_index(&http->walk);
    return SOURCE_NOT_FOUND;
}

/* Does a file of that kind say by itself where it ends? */
static bool http_says_its_end(enum body_kind kind)
{
    switch ((int)kind) {
    case BODY_ORIGINAL + FORMAT_PDB:
    case BODY_ORIGINAL + FORMAT_PORTABLEPDB:
    case BODY_ORIGINAL + FORMAT_ELF:
    case BODY_ORIGINAL + FORMAT_MACHO:
    case BODY_ORIGINAL + FORMAT_SOURCEBUNDLE:
    case BODY_MSFZ:
    case BODY_CABINET:
    case BODY_GZIP:
    case BODY_ZLIB:
    case BODY_ZSTD:
        return true;
    default:
        return false;
    }
}

/*
 * Is the body all of the original?  For what does not say by itself where it
 * ends, such as text, the headers of the answer have to.
 */
static bool http_body_is_complete(const struct lookup *lookup,
                                  const struct fetch_response *response)
{
    symcache_kind_e kind = (symcache_kind_e)lookup->key.kind;
    uint8_t head[BODY_HEAD];
    const char *what;
    ssize_t n;

    if (response->framed && response->range[0] == '\0') {
        return true;
    }
    n = pread(lookup->part_fd, head, sizeof(head), 0);
    return lookup->source->layout != LAYOUT_BREAKPAD &&
           kind != SYMCACHE_KIND_SOURCE && kind != SYMCACHE_KIND_SECTION &&
           kind != SYMCACHE_KIND_FILE && n >= 0 &&
           http_says_its_end(body_sniff(head, (size_t)n, &what));
}

static void http_on_fetched(void *arg, const struct fetch_result *result)
{
    struct lookup *lookup = arg;
    struct http *http = lookup->pointed ? NULL : lookup->state;
    enum source_outcome outcome = result->outcome;
    char detail[512];

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.response = NULL;

    snprintf(detail, sizeof(detail), "%s", result->detail);
    if (http != NULL) {
        outcome = http->judge(lookup, result, detail, sizeof(detail));
    }

    if (http != NULL && http->form == FORM_INDEX) {
        http_on_index(lookup, result->response, outcome, detail);
        return;
    }
    if (outcome != SOURCE_FOUND) {
        lookup_attempt_here(lookup, outcome, detail);
        /* a host that could not tell is not asked for other places */
        if (source_outcome_is_failure(outcome)) {
            lookup_end(lookup);
        } else if (lookup->pointed && lookup->pointed_packed != NULL) {
            http_fetch_packed(lookup);
        } else {
            lookup->resume(lookup);
        }
        return;
    }

    if (http != NULL && http->form == FORM_POINTER) {
        http_received_pointer(lookup, result->response);
    } else if (!http_body_is_complete(lookup, result->response)) {
        lookup_attempt_here(lookup, SOURCE_UNUSABLE,
                            "200 without a length, or with a part: the file "
                            "may be cut");
        lookup->resume(lookup);
    } else {
        if (lookup->key.id_type == SYMCACHE_ID_BUILD &&
            result->response->debuginfod[0] != '\0') {
            lookup->properties = strdup(result->response->debuginfod);
        }
        lookup_check_part(lookup);
    }
}

static int http_open_part(void *arg)
{
    struct lookup *lookup = arg;

    return lookup_open_part(lookup) == 0 ? lookup->part_fd : -1;
}

/*
 * Fetches url, which it takes over; NULL counts as out of memory.  Sources of
 * other types use this, too, to follow a file.ptr.
 */
static void http_fetch(struct lookup *lookup, char *url, uint64_t max,
                       bool credentials)
{
    const struct source_config *source = lookup->source;
    struct fetch_request request = {0};
    struct fetch *fetch = NULL;

    if (url != NULL) {
        origin_place(lookup->place, sizeof(lookup->place), url);
    }
    memset(&lookup->received, 0, sizeof(lookup->received));
    free(lookup->properties);
    lookup->properties = NULL;

    lookup_drop_part(lookup);

    request.url = url;
    request.transport = &source->transport;
    request.credentials = credentials;
    if (credentials && lookup->checksum[0] != '\0' &&
        source->type == &source_http) {
        lookup->checksum_header = (struct header_config){
            SYMCACHE_HEADER_CHECKSUM, lookup->checksum};
        request.extra = &lookup->checksum_header;
        request.nextra = 1;
    }
    request.takes_msfz =
        (lookup->formats & config_source_formats(source) & 1u << FORMAT_PDB) !=
            0 &&
        lookup->key.id_type == SYMCACHE_ID_DEBUG &&
        !symcache_kind_is_packed((symcache_kind_e)lookup->key.kind);
    request.limits = &lookup->config->limits;
    request.cache = &lookup->config->cache;
    request.fd = -1; /* most places have no file */
    request.open = http_open_part;
    request.max = max;
    request.seconds = lookup->config->limits.download_time;

    if (url != NULL) {
        fetch = fetch_start(lookup->sources->fetcher, &request,
                            http_on_fetched, lookup);
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
    struct http *http = lookup->state;
    struct layout_place place;

    lookup->pointed = false;
    if (!layout_next(&http->walk, &place)) {
        lookup_end(lookup);
        return;
    }

    http->form = place.form;
    http_fetch(lookup, http_url(lookup->source, place.path),
               place.form == FORM_POINTER || place.form == FORM_INDEX
                   ? FILE_PTR_MAX
                   : lookup->config->limits.download_size,
               true);
}

static void http_found(struct lookup *lookup)
{
    struct http *http = lookup->state;

    layout_hit(&http->walk, &http->memory->layout);
}

void source_http_walk(struct lookup *lookup, source_judge_fn judge_answer)
{
    struct http *http = lookup_type_state(lookup, sizeof(*http));

    if (http == NULL) {
        return;
    }
    http->judge = judge_answer;
    http->memory = sources_memory(lookup->sources, lookup->source);
    if (http->memory == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED_HERE, "out of memory");
        lookup_end(lookup);
        return;
    }

    lookup->resume = http_next;
    lookup->found = http_found;
    layout_begin(&http->walk, lookup->source, &lookup->at, lookup->name,
                 &http->memory->layout);
    lookup->leaves_out |= layout_limit(&http->walk, lookup->variants);
    http_next(lookup);
}

static void http_fetch_packed(struct lookup *lookup)
{
    char *url = lookup->pointed_packed;

    lookup->pointed_packed = NULL;
    http_fetch(lookup, url, lookup->config->limits.download_size,
               lookup->pointed_below);
}

/* The URL of a file's packed form, or NULL if there can be none. */
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

void source_http_own(struct lookup *lookup, char *url)
{
    http_pointed(lookup, url, true);
}

static void begin_http(struct lookup *lookup)
{
    source_http_walk(lookup, judge_http);
}

const struct source_type source_http = {
    .name = "http",
    .shared = SOURCE_KEYS_URL | SOURCE_KEYS_LAYOUT | SOURCE_KEYS_MAP |
              SOURCE_KEYS_HTTP | SOURCE_KEYS_HEADERS,
    .place = "url",
    .cuts_sections = true,
    .begin = begin_http,
};
