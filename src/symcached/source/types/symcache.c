/*
 * Copyright (C) the ngx_symcache authors
 *
 * Another SymCache server, which is asked once.  Its "ask again" is an outcome
 * of its own, so that the job that wants the file waits without a slot.
 *
 * A final 404 is believed only if it has no body: a SymCache server sends
 * none, while other servers send a page.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hex.h"
#include "symcached/transcode/transcode.h"
#include "symcached/source/lookup_steps.h"
#include "metrics/metrics.h"
#include "base/origin.h"
#include "base/percent.h"
#include "symcached/source/via_header.h"
#include "proto/header.h"

/* nginx refuses what is older by default */
static const symcache_version_t symcache_oldest = {3, 0, 1};

/* the lookup's state: what the headers of its request say */
struct symcache_question {
    struct header_config headers[7];
    size_t nheaders;
    char via[VIA_MAX];
    char code_id[SYMCACHE_ID_TEXT_MAX + 1];
    char exceeds[SYMCACHE_VERSION_TEXT_MAX + 1];
};

static void symcache_end(struct lookup *lookup, enum source_outcome outcome,
                         const char *detail)
{
    lookup_attempt_here(lookup, outcome, detail);
    lookup_end(lookup);
}

/* the body ---------------------------------------------------------------- */

static void symcache_on_validated(void *arg, struct child_result *child)
{
    struct lookup *lookup = arg;
    char detail[256];

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->received.ms += child->ms;
    child->tail[strcspn(child->tail, "\n")] = '\0';

    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) > 1) {
        snprintf(detail, sizeof(detail), "could not be checked: %.180s",
                 child->tail);
        symcache_end(lookup, SOURCE_FAILED_HERE, detail);
    } else if (WEXITSTATUS(child->status) == 1) {
        snprintf(detail, sizeof(detail), "no sound SymCache: %.180s",
                 child->tail);
        symcache_end(lookup, SOURCE_UNUSABLE, detail);
    } else if (rename(lookup->part, lookup->file) != 0) {
        lookup_fail(lookup, "rename");
    } else {
        metrics_add(METRIC_SYMCACHE_FETCHED, 1);
        symcache_version_print(detail, &lookup->symcache->version);
        symcache_end(lookup, SOURCE_FOUND, detail);
    }
}

static const symcache_version_t *asked_version(const struct lookup *lookup)
{
    return config_source_version(lookup->source,
                                 (symcache_kind_e)lookup->key.kind);
}

/* Returns false, with the reason in detail, if the version is not for us. */
static bool symcache_read_version(struct lookup *lookup,
                                  const struct fetch_response *response,
                                  char *detail, size_t size)
{
    symcache_version_t *version = &lookup->symcache->version;
    int found = fetch_response_version(response->type, version);

    if (found == 0) {
        /* a redirect names it, too, as it may lead to a plain file server */
        found = fetch_response_version(response->moved_type, version);
    }

    if (found <= 0) {
        snprintf(detail, size, "200 with %s version: \"%.100s\"",
                 found == 0 ? "no" : "a bad", response->type);
        return false;
    }
    if (version->major > asked_version(lookup)->major ||
        (lookup->key.kind == SYMCACHE_KIND_SYMCACHE &&
         symcache_version_cmp(version, &symcache_oldest) < 0)) {
        snprintf(detail, size,
                 "200 with a version that was not asked for: \"%.100s\"",
                 response->type);
        return false;
    }
    return true;
}

/* Is this newer than what we have?  A server that does not know
 * If-Version-Exceeds may answer with what we have already. */
static bool is_newer(const struct lookup_symcache *ask)
{
    return !ask->has_exceeds ||
           symcache_version_cmp(&ask->version, &ask->exceeds) > 0;
}

static void keep_symcache(struct lookup *lookup, const char *detail)
{
    metrics_add(METRIC_SYMCACHE_NOT_MODIFIED, 1);
    lookup->symcache->not_newer = true;
    symcache_end(lookup, SOURCE_NOT_FOUND, detail);
}

static void symcache_received(struct lookup *lookup,
                              const struct fetch_response *response)
{
    struct child *child;
    char detail[192];

    if (!fetch_response_is_whole(response, detail, sizeof(detail)) ||
        !symcache_read_version(lookup, response, detail, sizeof(detail))) {
        symcache_end(lookup, SOURCE_UNUSABLE, detail);
        return;
    }
    if (!is_newer(lookup->symcache)) {
        keep_symcache(lookup, "200 with nothing newer");
        return;
    }

    child = validate_start(lookup->sources->base, lookup->part, &lookup->key,
                           VALIDATE_RECEIVED, symcache_on_validated, lookup);
    if (child == NULL) {
        lookup_fail(lookup, "the check");
        return;
    }
    lookup_set_step(lookup, LOOKUP_VALIDATES, child);
}

/* the answer -------------------------------------------------------------- */

/*
 * The server has left out those on the way of the question, of which we are
 * one: if there is no other, it has none, since what we have is not its matter.
 */
static void symcache_loop(struct lookup *lookup,
                          const struct fetch_response *response)
{
    const struct symcache_question *question = lookup->state;
    char detail[96];

    lookup->symcache->is_loop = strlen(question->via) > VIA_ID;
    snprintf(detail, sizeof(detail), "%ld, %s", response->status,
             response->reason);
    symcache_end(lookup, SOURCE_NOT_FOUND, detail);
}

/* 404 or 503 with Retry-After: the server works on it, or could not tell. */
static void symcache_later(struct lookup *lookup,
                           const struct fetch_response *response)
{
    char detail[128];

    if (strcmp(response->reason, SYMCACHE_REASON_LOOP) == 0) {
        symcache_loop(lookup, response);
        return;
    }
    if (lookup->received.retry_after == 0) {
        lookup->received.retry_after = response->retry_after;
    }
    if (response->reason[0] != '\0') {
        snprintf(detail, sizeof(detail), "%ld, %s", response->status,
                 response->reason);
        symcache_end(lookup, SOURCE_FAILED, detail);
        return;
    }

    metrics_add(METRIC_SYMCACHE_PENDING, 1);
    snprintf(detail, sizeof(detail), "%ld, ask again in %u s",
             response->status, response->retry_after);
    symcache_end(lookup, SOURCE_PENDING, detail);
}

static void symcache_not_modified(struct lookup *lookup)
{
    if (!lookup->symcache->has_exceeds) {
        symcache_end(lookup, SOURCE_FAILED, "304, which was not asked for");
        return;
    }

    keep_symcache(lookup, "304, nothing newer");
}

static void symcache_on_fetched(void *arg, const struct fetch_result *result)
{
    const struct fetch_response *response = result->response;
    struct lookup *lookup = arg;
    char detail[160];

    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.response = NULL;

    if (result->outcome == SOURCE_FOUND) {
        symcache_received(lookup, response);
    } else if (response->again &&
               (response->status == 404 || response->status == 503)) {
        symcache_later(lookup, response);
    } else if (response->status == 304) {
        symcache_not_modified(lookup);
    } else if (result->outcome != SOURCE_NOT_FOUND) {
        symcache_end(lookup, result->outcome, result->detail);
    } else if (response->status != 404 || response->moved) {
        snprintf(detail, sizeof(detail), "%ld%s", response->status,
                 response->moved ? " after a redirect" : "");
        symcache_end(lookup, SOURCE_FAILED, detail);
    } else if (response->bytes > 0) {
        snprintf(detail, sizeof(detail),
                 "404 with a page (%.60s): no SymCache server?",
                 response->type);
        symcache_end(lookup, SOURCE_FAILED, detail);
    } else {
        symcache_end(lookup, SOURCE_NOT_FOUND, result->detail);
    }
}

/* the question ------------------------------------------------------------ */

static char *symcache_url(const struct lookup *lookup)
{
    const symcache_key_t *key = &lookup->key;
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    char name[3 * SYMCACHE_NAME_MAX + 1], guid[2 * sizeof(key->guid) + 1];
    char *url;

    symcache_version_print(version, asked_version(lookup));
    percent_encode_path(name, lookup->name);
    hex_print(guid, key->guid, sizeof(key->guid), HEX_UPPER);
    return asprintf(&url, "%s/%sv%s/%s/%s/%" PRIu32, lookup->source->url,
                    key->kind == SYMCACHE_KIND_PPDBCACHE ? "ppdb/" : "",
                    version, name, guid, key->age) < 0
               ? NULL
               : url;
}

static void write_headers(struct symcache_question *question,
                          struct lookup *lookup)
{
    const struct lookup_symcache *ask = lookup->symcache;
    struct header_config *header = question->headers;
    char self[VIA_ID + 1];

    /* the published text has the first name, the published sample the other */
    *header++ = (struct header_config){SYMCACHE_HEADER_ALLOW_RETRY, "true"};
    *header++ = (struct header_config){SYMCACHE_HEADER_ACCEPT_RETRY, "true"};

    via_join(question->via, ask->via);
    via_join(question->via, via_self(self, ask->store));
    *header++ = (struct header_config){SYMCACHE_HEADER_VIA, question->via};

    *header++ = (struct header_config){SYMCACHE_HEADER_WANT_DIGEST,
                                       SYMCACHE_DIGEST_WANT};

    if (lookup->checksum[0] != '\0') {
        *header++ =
            (struct header_config){SYMCACHE_HEADER_CHECKSUM, lookup->checksum};
    }
    if (lookup->has_code_id) {
        symcache_id_print(question->code_id, &lookup->code_id);
        *header++ =
            (struct header_config){SYMCACHE_HEADER_CODE_ID, question->code_id};
    }
    /* servers refuse a major version 0, and whatever they have exceeds it */
    if (ask->has_exceeds && ask->exceeds.major > 0) {
        symcache_version_print(question->exceeds, &ask->exceeds);
        *header++ =
            (struct header_config){SYMCACHE_HEADER_EXCEEDS, question->exceeds};
    }
    question->nheaders = (size_t)(header - question->headers);
}

static void begin_symcache(struct lookup *lookup)
{
    const struct source_config *source = lookup->source;
    struct symcache_question *question =
        lookup_type_state(lookup, sizeof(*question));
    struct fetch_request request = {0};
    struct fetch *fetch;
    char *url;

    if (question == NULL) {
        return;
    }
    url = symcache_url(lookup);
    origin_place(lookup->place, sizeof(lookup->place),
                 url != NULL ? url : source->url);
    if (url == NULL || lookup_open_part(lookup) != 0) {
        lookup_fail(lookup, "open");
        free(url);
        return;
    }

    write_headers(question, lookup);
    request.url = url;
    request.transport = &source->transport;
    request.credentials = true;
    request.extra = question->headers;
    request.nextra = question->nheaders;
    request.busy_file = true;
    request.limits = &lookup->config->limits;
    request.cache = &lookup->config->cache;
    request.fd = lookup->part_fd;
    request.max = lookup->config->limits.download_size;
    request.seconds = lookup->config->limits.download_time;

    fetch = fetch_start(lookup->sources->fetcher, &request,
                        symcache_on_fetched, lookup);
    free(url);
    if (fetch == NULL) {
        symcache_end(lookup, SOURCE_FAILED, "out of memory or bad URL");
        return;
    }
    lookup_set_step(lookup, LOOKUP_FETCHES, fetch);
}

static int check_symcache(struct config_reader *reader, const cJSON *item,
                          struct source_config *source)
{
    static const symcache_version_t current = {3, 1, 0};
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(item, "version");

    if (version == NULL) {
        source->version = current;
    } else if (symcache_version_cmp(&source->version, &symcache_oldest) < 0) {
        return field_error(reader, version, "is below 3.0.1");
    }
    return 0;
}

const struct source_type source_symcache = {
    .name = "symcache",
    .shared = SOURCE_KEYS_URL | SOURCE_KEYS_VERSION | SOURCE_KEYS_HTTP |
              SOURCE_KEYS_HEADERS,
    .place = "url",
    .has_symcaches = true,
    .check = check_symcache,
    .begin = begin_symcache,
};
