/*
 * Copyright (C) the ngx_symcache authors
 *
 * A project of Sentry, or of a server with the same API: it is asked which
 * files it has by debug id and code id, and for these by their ids there.
 * Files at URLs below its own are its as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/origin.h"
#include "base/percent.h"
#include "proto/url.h"
#include "symcached/source/lookup_steps.h"
#include "symcached/source/sentry_list.h"
#include "symcached/source/url_file.h"

#define LIST_SIZE (4 << 20) /* bytes of an answer */
#define LIST_URL 512        /* of the ids in a query */
#define LIST_PAGES 16       /* that are read of a list */

/* A list without a file that is looked for is asked for again when it is so
 * old: the file may have been uploaded since. */
#define OLD_MS (60 * 1000)

/* the settings; all texts may be NULL but for the first */
struct sentry {
    char *url; /* as it is: a slash at its end counts */
    char *token;
    char *cookies;
};

#define KEY(key, read, member, flags)                                         \
    {                                                                         \
        key, read, offsetof(struct sentry, member), 0, 0, flags               \
    }

static const struct config_field keys[] = {
    KEY("url", field_string, url, CONFIG_REQUIRED),
    KEY("token", field_secret, token, CONFIG_SECRET),
    KEY("cookies", field_secret, cookies, CONFIG_SECRET),
};

/* the lookup's state */
struct sentry_project {
    struct sentry_lists *lists;
    char url[SYMCACHE_URL_MAX + LIST_URL]; /* of the list */
    char ids[SENTRY_FILES_MAX][SENTRY_ID_MAX + 1]; /* the best first */
    size_t n, next;
    char asked[SENTRY_FILES_MAX][SENTRY_ID_MAX + 1]; /* of an older list */
    size_t nasked;
    uint64_t fetched; /* when the list was, as of clock_ms() */
    bool is_empty;    /* the list is */
    bool is_cut;      /* it is not all of the server's */

    /* while it is asked for, its pages until now */
    struct sentry_file files[SENTRY_FILES_MAX];
    struct sentry_list list;
    unsigned pages;
    bool has_next; /* a page follows the one that has come */
    char cursor[SENTRY_CURSOR_MAX + 1]; /* of the page, "" = the first */
};

static void sentry_ask_list(struct lookup *lookup);
static void sentry_ask_page(struct lookup *lookup);

/* candidates --------------------------------------------------------------- */

/* How well a file suits, by the server's description: if a module is split
 * into two files, the contents for which programs are used are in the other
 * half. */
static int sentry_file_rank(const struct lookup *lookup,
                            const struct sentry_file *file)
{
    symcache_kind_e kind = (symcache_kind_e)lookup->at.kind;
    unsigned needs = symcache_kind(kind)->needs;

    if (kind == SYMCACHE_KIND_EXECUTABLE &&
        !(needs & SYMCACHE_HAS_UNWIND)) {
        return (file->features & SYMCACHE_HAS_DEBUG) == 0;
    }
    if (needs & SYMCACHE_HAS_UNWIND) {
        return (file->features & SYMCACHE_HAS_UNWIND) != 0;
    }
    return file->features & SYMCACHE_HAS_DEBUG     ? 2
           : file->features & SYMCACHE_HAS_SYMBOLS ? 1
                                                   : 0;
}

/* Bundles of sources have a turn of their own. */
static bool sentry_is_for_bundles(const struct lookup *lookup)
{
    return lookup->at.kind == SYMCACHE_KIND_SOURCEBUNDLE;
}

static bool sentry_was_asked(const struct sentry_project *project,
                             const char *id)
{
    size_t i;

    for (i = 0; i < project->nasked; i++) {
        if (strcmp(project->asked[i], id) == 0) {
            return true;
        }
    }
    return false;
}

static void choose_sentry_file(struct lookup *lookup,
                               const struct sentry_list *list)
{
    struct sentry_project *project = lookup->state;
    unsigned bundle = 1u << FORMAT_SOURCEBUNDLE;
    unsigned formats =
        lookup->formats & (sentry_is_for_bundles(lookup) ? bundle : ~bundle);
    size_t i;
    int rank;

    project->n = project->next = 0;
    project->is_empty = list->n == 0;
    project->is_cut = list->is_cut;
    project->fetched = list->fetched;
    for (rank = 2; rank >= 0; rank--) {
        for (i = 0; i < list->n; i++) {
            if ((list->files[i].formats & formats) &&
                sentry_file_rank(lookup, &list->files[i]) == rank &&
                !sentry_was_asked(project, list->files[i].id)) {
                memcpy(project->ids[project->n++], list->files[i].id,
                       SENTRY_ID_MAX + 1);
            }
        }
    }
}

/* All ids of a file are asked for at once. */
static void end_sentry(struct lookup *lookup)
{
    const struct sentry_project *project = lookup->state;

    if (!sentry_is_for_bundles(lookup) || project->is_empty) {
        lookup->id_at = ORIGINAL_IDS;
    }
    lookup_end(lookup);
}

static void say_sentry(struct lookup *lookup, enum source_outcome outcome,
                       const char *detail)
{
    origin_place(lookup->place, sizeof(lookup->place), lookup->source->url);
    lookup_attempt_here(lookup, outcome, detail);
}

/* A list that is remembered may be older than the file that is looked for, and
 * name one that was replaced since. */
static void sentry_exhausted(struct lookup *lookup)
{
    struct sentry_project *project = lookup->state;

    if (clock_since(project->fetched) >= OLD_MS) {
        memcpy(project->asked, project->ids, sizeof(project->asked));
        project->nasked = project->n;
        sentry_ask_list(lookup);
        return;
    }
    if (project->is_cut) {
        say_sentry(lookup, SOURCE_FAILED, "the list is too long to be read");
    } else if (project->n == 0 && project->nasked == 0) {
        say_sentry(lookup, SOURCE_NOT_FOUND, "the list has no such file");
    }
    end_sentry(lookup);
}

static void next_sentry_page(struct lookup *lookup)
{
    struct sentry_project *project = lookup->state;
    const char *id, *base = lookup->source->url;
    char query[3 * SENTRY_ID_MAX + 1], *url;

    if (project->next == project->n) {
        sentry_exhausted(lookup);
        return;
    }
    id = project->ids[project->next++];
    percent_encode(query, id);
    if (asprintf(&url, "%s%cid=%s", base, strchr(base, '?') ? '&' : '?',
                 query) < 0) {
        url = NULL;
    }
    source_http_own(lookup, url);
    if (lookup->step == LOOKUP_FETCHES) {
        snprintf(lookup->place, sizeof(lookup->place),
                 "sentry://project_debug_file/%s", id);
    }
}

/* the list ----------------------------------------------------------------- */

static void sentry_read_page(struct lookup *lookup)
{
    struct sentry_project *project = lookup->state;
    struct sentry_list *list = &project->list;
    char error[160] = "out of memory", *text = malloc(LIST_SIZE);
    ssize_t n;
    bool good;

    n = text != NULL ? pread(lookup->part_fd, text, LIST_SIZE, 0) : -1;
    good = n >= 0 &&
           sentry_list_read(list, text, (size_t)n, error, sizeof(error));
    free(text);
    if (!good) {
        say_sentry(lookup, SOURCE_FAILED, error);
        end_sentry(lookup);
        return;
    }
    if (project->has_next && !list->is_cut) {
        list->is_cut = project->cursor[0] == '\0' ||
                       list->n == SENTRY_FILES_MAX ||
                       ++project->pages == LIST_PAGES;
        if (!list->is_cut) {
            sentry_ask_page(lookup);
            return;
        }
    }
    list->fetched = clock_ms();
    sentry_lists_add(project->lists, project->url, list);
    choose_sentry_file(lookup, list);
    next_sentry_page(lookup);
}

static void sentry_on_list(void *arg, const struct fetch_result *result)
{
    struct lookup *lookup = arg;
    struct sentry_project *project = lookup->state;
    char detail[512];

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    project->has_next =
        sentry_list_next(result->response->next, project->cursor);
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.response = NULL;
    if (result->outcome != SOURCE_FOUND || !result->response->framed) {
        /* that there is no list says nothing of the file */
        snprintf(detail, sizeof(detail), "the list: %s",
                 result->outcome != SOURCE_FOUND
                     ? result->detail
                     : "200 without a length, so it may be cut");
        say_sentry(lookup,
                   result->outcome == SOURCE_NOT_FOUND ||
                           result->outcome == SOURCE_FOUND
                       ? SOURCE_FAILED
                       : result->outcome,
                   detail);
        end_sentry(lookup);
        return;
    }
    sentry_read_page(lookup);
}

static void sentry_ask_page(struct lookup *lookup)
{
    const struct config *config = lookup->config;
    struct sentry_project *project = lookup->state;
    struct fetch_request request = {.url = project->url};
    char cursor[3 * SENTRY_CURSOR_MAX + 1];
    char url[sizeof(project->url) + sizeof(cursor) + 8];
    struct fetch *fetch;

    if (project->cursor[0] != '\0') {
        /* not the URL of the link, which may be that of an inner host */
        percent_encode(cursor, project->cursor);
        snprintf(url, sizeof(url), "%s&cursor=%s", project->url, cursor);
        request.url = url;
    }
    if (lookup_open_part(lookup) != 0) {
        lookup_fail(lookup, "open");
        return;
    }
    request.transport = &lookup->source->transport;
    request.credentials = true;
    request.limits = &config->limits;
    request.cache = &config->cache;
    request.fd = lookup->part_fd;
    request.max = LIST_SIZE;
    request.seconds = config->limits.download_time;
    fetch = fetch_start(lookup->sources->fetcher, &request, sentry_on_list,
                        lookup);
    if (fetch == NULL) {
        say_sentry(lookup, SOURCE_FAILED, "out of memory or bad URL");
        end_sentry(lookup);
        return;
    }
    lookup_set_step(lookup, LOOKUP_FETCHES, fetch);
}

static void sentry_ask_list(struct lookup *lookup)
{
    struct sentry_project *project = lookup->state;

    project->is_empty = true; /* until it is read */
    project->list = (struct sentry_list){.files = project->files};
    project->pages = 0;
    project->cursor[0] = '\0';
    sentry_ask_page(lookup);
}

/* the question ------------------------------------------------------------- */

/* As Sentry writes it. */
static void sentry_code_id(char *buf, size_t size, const symcache_key_t *key)
{
    if (key->id_type == SYMCACHE_ID_PE) {
        snprintf(buf, size, "%08x%x", key->timestamp, key->image_size);
    } else if (2 * (size_t)key->build_len < size) {
        hex_print(buf, key->build, key->build_len, HEX_LOWER);
    }
}

static void sentry_list_url(const struct lookup *lookup, char *url,
                            size_t size)
{
    const char *base = lookup->source->url;
    const symcache_key_t *key = &lookup->key;
    const symcache_key_t *code_id = key->id_type != SYMCACHE_ID_DEBUG ? key
                                    : lookup->has_code_id ? &lookup->code_id
                                                          : NULL;
    size_t n = (size_t)snprintf(url, size, "%s%c", base,
                                strchr(base, '?') ? '&' : '?');

    if (key->id_type == SYMCACHE_ID_DEBUG) {
        n += (size_t)snprintf(url + n, size - n, "debug_id=");
        n += symcache_debug_id_write(url + n, key->guid, key->age);
    }
    if (code_id != NULL) {
        n += (size_t)snprintf(url + n, size - n, "%scode_id=",
                              key == code_id ? "" : "&");
        sentry_code_id(url + n, size - n, code_id);
    }
}

static void begin_sentry(struct lookup *lookup)
{
    struct source_memory *memory =
        sources_memory(lookup->sources, lookup->source);
    const struct sentry_list *list;
    struct sentry_project *project;

    if (symcache_key_is_url(&lookup->key) ||
        symcache_key_is_bundle(&lookup->key)) {
        source_url_begin(lookup);
        return;
    }
    project = lookup_type_state(lookup, sizeof(*project));
    if (project == NULL) {
        return;
    }
    if (memory != NULL && memory->lists == NULL) {
        memory->lists = sentry_lists_new();
    }
    lookup->second = true;   /* the list is by the one age, */
    lookup->any_name = true; /* and by no name */
    project->lists = memory != NULL ? memory->lists : NULL;
    if (project->lists == NULL) {
        say_sentry(lookup, SOURCE_FAILED_HERE, "out of memory");
        end_sentry(lookup);
        return;
    }
    sentry_list_url(lookup, project->url, sizeof(project->url));
    lookup->resume = next_sentry_page;
    list = sentry_lists_find(project->lists, project->url);
    if (list == NULL) {
        sentry_ask_list(lookup);
    } else {
        choose_sentry_file(lookup, list);
        next_sentry_page(lookup);
    }
}

/* the configuration -------------------------------------------------------- */

static int sentry_set_cookies(struct config_reader *reader, const cJSON *item,
                              struct transport_config *transport,
                              const char *cookies)
{
    transport->headers = calloc(1, sizeof(transport->headers[0]));
    if (transport->headers == NULL) {
        return field_error(reader, item, "out of memory");
    }
    transport->nheaders = 1;
    transport->headers[0].name = strdup("Cookie");
    transport->headers[0].value = strdup(cookies);
    return transport->headers[0].name != NULL &&
                   transport->headers[0].value != NULL
               ? 0
               : field_error(reader, item, "out of memory");
}

static int check_sentry(struct config_reader *reader, const cJSON *item,
                        struct source_config *source)
{
    const struct sentry *sentry = source->settings;
    char url[SYMCACHE_URL_MAX + 1];

    if (sentry->token != NULL && sentry->cookies != NULL) {
        return field_error(reader, item,
                           "\"token\" and \"cookies\" exclude each other");
    }
    if (symcache_url_normalise(url, sentry->url, strlen(sentry->url)) == 0) {
        return field_error(reader, item,
                           "\"url\" is not a URL of http or https");
    }
    source->url = strdup(url);
    if (source->url == NULL) {
        return field_error(reader, item, "out of memory");
    }
    if (sentry->token != NULL) {
        source->transport.auth = TRANSPORT_BEARER;
        source->transport.token = strdup(sentry->token);
        return source->transport.token != NULL
                   ? 0
                   : field_error(reader, item, "out of memory");
    }
    return sentry->cookies != NULL
               ? sentry_set_cookies(reader, item, &source->transport,
                                    sentry->cookies)
               : 0;
}

const struct source_type source_sentry = {
    .name = "sentry",
    .shared = SOURCE_KEYS_HTTP,
    .keys = keys,
    .nkeys = sizeof(keys) / sizeof(keys[0]),
    .settings_size = sizeof(struct sentry),
    .place = "url",
    .has_urls = true,
    .has_list = true,
    .check = check_sentry,
    .begin = begin_sentry,
};
