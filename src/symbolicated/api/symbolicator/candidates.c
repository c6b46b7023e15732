/*
 * Copyright (C) the ngx_symcache authors
 */
#include "candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/http_status.h"
#include "module_answer.h"
#include "client_sources.h"
#include "source_links.h"
#include "request_sources.h"

/* In the order in which the same place of several stores is told of. */
enum outcome { OUTCOME_OK, OUTCOME_UNSUPPORTED, OUTCOME_MALFORMED,
               OUTCOME_NOPERM, OUTCOME_ERROR, OUTCOME_NOTFOUND };

/* Of a Windows PDB, in place of the portable one of a module of .NET. */
#define CANDIDATE_UNSUPPORTED                                                 \
    "unsupported: Only portable PDB files can be used for .NET symbolication"

struct listed_candidate {
    char *source;
    char *location;
    enum outcome outcome;
    char *details;  /* or NULL */
    bool is_chosen; /* the answer is from what was there */
    bool is_unwind; /* stacks were walked with what was there */
    bool is_source_code; /* source code was looked for there, and nothing else
                          */
};

struct candidates {
    const struct symbolicator_result *result;
    const struct symbolication_config *config;
    const struct symbolicator_request *request;
    struct listed_candidate *list;
    size_t count;
    size_t room;
    bool is_walked; /* its CFI was needed */
    bool may_have_sources; /* its debug file is of a type that may have source
                              code */
    size_t good; /* the last one where there was a file, from 1; 0: none */
    bool has_failed; /* no memory */
};

/* outcomes ---------------------------------------------------------------- */

/* A member that is a number; 0: there is none. */
static uint64_t candidate_number(const struct json *json, uint32_t attempt,
                                 const char *name)
{
    uint32_t value;
    uint64_t number;

    value = json_member(json, attempt, name);
    return value != 0 && json_integer(json, value, &number) ==
                             JSON_INTEGER_POSITIVE
               ? number
               : 0;
}

static bool candidate_member_is(const struct json *json, uint32_t attempt,
                                const char *name, const char *text)
{
    uint32_t value;

    value = json_member(json, attempt, name);
    return value != 0 && json_is(json, value, text);
}

/* A member that is text, to be freed; NULL: there is none, or no memory. */
static char *candidate_text(const struct json *json, uint32_t attempt,
                            const char *name)
{
    uint32_t value;

    value = json_member(json, attempt, name);
    return value != 0 && json->values[value].type == JSON_STRING
               ? strndup(json_text(json, value), json->values[value].size)
               : NULL;
}

static enum outcome candidate_outcome_of(const struct json *json,
                                         uint32_t attempt)
{
    uint32_t outcome = json_member(json, attempt, "outcome");
    uint64_t status;

    if (outcome != 0 && json_is(json, outcome, "found")) {
        return OUTCOME_OK;
    }
    if (outcome != 0 && json_is(json, outcome, "not found")) {
        return OUTCOME_NOTFOUND;
    }
    if (outcome != 0 && json_is(json, outcome, "unusable")) {
        return OUTCOME_MALFORMED;
    }
    status = candidate_number(json, attempt, "status");
    return status == 401 || status == 403 ? OUTCOME_NOPERM : OUTCOME_ERROR;
}

/* Returns false without memory. */
static bool print_candidate_details(struct listed_candidate *candidate,
                                    const struct json *json, uint32_t attempt)
{
    char *detail, text[512];
    uint64_t status, errnum;

    if (candidate->outcome != OUTCOME_NOPERM &&
        candidate->outcome != OUTCOME_ERROR) {
        return true;
    }
    status = candidate_number(json, attempt, "status");
    errnum = candidate_number(json, attempt, "errno");
    if (candidate->outcome == OUTCOME_NOPERM) {
        snprintf(text, sizeof(text), "%u %s", (unsigned)status,
                 http_status_text((int)status));
    } else if (status >= 300) {
        snprintf(text, sizeof(text), "download failed: %u %s",
                 (unsigned)status, http_status_text((int)status));
    } else if (errnum != 0) {
        snprintf(text, sizeof(text), "download failed: %s (os error %d)",
                 strerror((int)errnum), (int)errnum);
    } else {
        detail = candidate_text(json, attempt, "detail");
        snprintf(text, sizeof(text), "download failed: %s",
                 detail != NULL ? detail : "");
        free(detail);
    }
    candidate->details = strdup(text);
    return candidate->details != NULL;
}

enum symbolicator_status
symbolicator_failure(const struct symbolicator_result *result)
{
    const struct api_attempts *attempts =
        result->attempts[0] != NULL ? result->attempts[0]
                                    : result->attempts[1];
    enum outcome outcome, first = OUTCOME_OK;
    const struct json *json;
    uint32_t i;
    bool has_failed = false;

    if (attempts == NULL) {
        return SYMBOLICATOR_FETCHING_FAILED;
    }
    json = attempts->json;
    for (i = attempts->list + 1; i < json->values[attempts->list].end;
         i = json->values[i].end) {
        outcome = candidate_outcome_of(json, i);
        first = i == attempts->list + 1 ? outcome : first;
        has_failed |= outcome != OUTCOME_OK && outcome != OUTCOME_NOTFOUND &&
                      !candidate_member_is(json, i, "outcome", "failed here");
    }
    return has_failed && first == OUTCOME_NOTFOUND    ? SYMBOLICATOR_MISSING
           : has_failed && first == OUTCOME_MALFORMED ? SYMBOLICATOR_MALFORMED
                                        : SYMBOLICATOR_FETCHING_FAILED;
}

/* the list ---------------------------------------------------------------- */

/* Adds one, whose texts it takes over; NULL counts as no memory. */
static struct listed_candidate *add_candidate(struct candidates *candidates,
                                              char *source, char *location)
{
    struct listed_candidate *candidate;

    if (source == NULL || location == NULL ||
        array_need(&candidates->list, &candidates->room, candidates->count + 1,
                   sizeof(candidates->list[0])) != 0) {
        candidates->has_failed = true;
        free(source);
        free(location);
        return NULL;
    }
    candidate = &candidates->list[candidates->count++];
    memset(candidate, 0, sizeof(*candidate));
    candidate->source = source;
    candidate->location = location;
    candidate->outcome = OUTCOME_NOTFOUND;
    return candidate;
}

static void clear_candidate(struct listed_candidate *candidate)
{
    free(candidate->source);
    free(candidate->location);
    free(candidate->details);
}

/* Whether a source is one of the store's, and one that the client wants. */
static bool is_told(const struct candidates *candidates,
                    const struct store_config *store, const char *source)
{
    size_t i, n;

    for (i = 0; i < store->nsource_names; i++) {
        n = strlen(store->source_names[i]);
        if (strncmp(source, store->source_names[i], n) == 0 &&
            (source[n] == '\0' || source[n] == '.')) {
            return symbolicator_request_sources_has(
                candidates->config, candidates->request, source);
        }
    }
    return false;
}

/* "file://" and a path, or a URL, to be freed; NULL without memory. */
static char *print_candidate_location(const char *place)
{
    static const char scheme[] = "file://";
    size_t n = sizeof(scheme) - 1, size = strlen(place) + 1;
    char *location;

    if ((place[0] != '/' && strstr(place, "://") != NULL) ||
        strcmp(place, CLIENT_NO_PLACE) == 0) {
        return strdup(place);
    }
    location = malloc(n + size);
    if (location != NULL) {
        memcpy(location, scheme, n);
        memcpy(location + n, place, size);
    }
    return location;
}

/*
 * Changes a location into that of the other form, ".pdb" or ".pd_".  The last
 * letter that a packed name lacks is the one of the folder.
 */
static bool swap_candidate_form(char *location)
{
    char *name, *p;
    size_t n;

    name = strrchr(location, '/');
    if (name == NULL || strlen(name) < 3) {
        return false;
    }
    n = strlen(name) - 1;
    if (name[n] != '_') {
        name[n] = '_';
        return true;
    }
    for (p = strchr(location, '/'); p != NULL && p < name;
         p = strchr(p + 1, '/')) {
        if (strncmp(p, name, n) == 0 && p[n] != '\0' && p[n + 1] == '/') {
            name[n] = p[n];
            return true;
        }
    }
    return false;
}

/* Was something told of a place of the source of c? */
static bool is_told_of(const struct candidates *candidates,
                       const struct listed_candidate *candidate,
                       const char *location)
{
    size_t i;

    for (i = 0; i < candidates->count; i++) {
        if (strcmp(candidates->list[i].source, candidate->source) == 0 &&
            strcasecmp(candidates->list[i].location, location) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * A host that could not tell is not asked for the other form of the file.
 * Symbolicator asks, and so tells of both.  An answer to the other form before
 * that stays as it was.
 */
static void add_other_candidate_form(struct candidates *candidates,
                                     const struct json *json, uint32_t attempt)
{
    struct listed_candidate *candidate, *other;
    char *location;

    candidate = &candidates->list[candidates->count - 1];
    if ((candidate->outcome != OUTCOME_ERROR &&
         candidate->outcome != OUTCOME_NOPERM) ||
        candidate_member_is(json, attempt, "form", "pointer")) {
        return;
    }
    location = strdup(candidate->location);
    if (location != NULL && (!swap_candidate_form(location) ||
                             is_told_of(candidates, candidate, location))) {
        free(location);
        return;
    }
    other = add_candidate(candidates, strdup(candidate->source), location);
    if (other != NULL) {
        candidate = other - 1; /* the list may have moved */
        other->outcome = candidate->outcome;
        other->details =
            candidate->details != NULL ? strdup(candidate->details) : NULL;
    }
}

/* The same that was told of the same place before, perhaps in another spelling;
 * c itself if nothing was. */
static struct listed_candidate *
known_candidate(struct candidates *candidates,
                struct listed_candidate *candidate)
{
    struct listed_candidate *other;

    for (other = candidates->list; other != candidate; other++) {
        if (other->outcome == candidate->outcome &&
            strcmp(other->source, candidate->source) == 0 &&
            strcasecmp(other->location, candidate->location) == 0) {
            break;
        }
    }
    return other;
}

/* A source of a tenant and a place there, as the client knows them. */
static void
translate_candidate_location(const struct symbolicator_request *request,
                             bool is_absent, char **source, char **place)
{
    uint32_t own = client_source_find(request, *source);
    char *location;

    free(*source);
    *source = own != 0 ? candidate_text(&request->json, own, "id") : NULL;
    if (own != 0) {
        location = client_source_location(request, own, *place, is_absent);
        free(*place);
        *place = location;
    }
}

static void add_attempt_candidate(struct candidates *candidates,
                                  const struct json *json, uint32_t attempt,
                                  const struct store_config *store)
{
    struct listed_candidate *candidate, *other;
    char *source, *place;

    source = candidate_text(json, attempt, "source");
    place = candidate_text(json, attempt, "place");
    if (store == NULL && source != NULL && place != NULL) {
        translate_candidate_location(candidates->request,
                                     candidate_outcome_of(json, attempt) ==
                                         OUTCOME_NOTFOUND,
                                     &source, &place);
    }
    if (source == NULL || place == NULL ||
        candidate_member_is(json, attempt, "form", "index2") ||
        (store != NULL && !is_told(candidates, store, source))) {
        free(source);
        free(place);
        return;
    }
    candidate =
        add_candidate(candidates, source, print_candidate_location(place));
    free(place);
    if (candidate == NULL) {
        return;
    }
    candidate->outcome = candidate_outcome_of(json, attempt);
    if (candidates->result->status == SYMBOLICATOR_UNSUPPORTED &&
        candidate_member_is(json, attempt, "outcome", "wrong format")) {
        candidate->outcome = OUTCOME_UNSUPPORTED;
    }
    other = known_candidate(candidates, candidate);
    if (candidate->outcome == OUTCOME_OK) {
        candidates->good = (size_t)(other - candidates->list) + 1;
    }
    if (other != candidate) {
        clear_candidate(candidate);
        candidates->count--;
        return;
    }
    if (!print_candidate_details(candidate, json, attempt)) {
        candidates->has_failed = true;
    }
    add_other_candidate_form(candidates, json, attempt);
}

/* May there be source code in a file at this place?  There is none in PDBs and
 * Breakpad's text. */
static bool candidate_may_have_source(const char *place)
{
    static const char *const ends[] = {".sym", ".sym.gz", ".pdb", ".pd_"};
    size_t i, n, size = strlen(place);

    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        n = strlen(ends[i]);
        if (size >= n && strcasecmp(place + size - n, ends[i]) == 0) {
            return false;
        }
    }
    return strcmp(place, CLIENT_NO_PLACE) != 0;
}

/* Has a source a place for source code, which debug files may have in them? */
static bool candidate_has_source(const struct candidates *candidates,
                                 const char *source)
{
    size_t i;

    for (i = 0; i < candidates->count; i++) {
        if ((candidates->list[i].is_source_code ||
             candidates->may_have_sources) &&
            candidate_may_have_source(candidates->list[i].location) &&
            strcmp(candidates->list[i].source, source) == 0) {
            return true;
        }
    }
    return false;
}

/* Sources of the request without a place for source code, or those that were
 * not asked for the module. */
static void add_listed_candidate(struct candidates *candidates, uint32_t list,
                                 bool for_code)
{
    const struct json *json = &candidates->request->json;
    uint32_t i, n = 0;
    char *id;

    for (i = list + 1; i < json->values[list].end;
         i = json->values[i].end, n++) {
        id = candidate_text(json, i, "id");
        if (id == NULL ||
            (for_code ? candidate_has_source(candidates, id)
                      : (candidates->result->client_asked >> n & 1) != 0)) {
            free(id);
        } else {
            add_candidate(candidates, id, strdup(CLIENT_NO_PLACE));
        }
    }
}

/* Sources without a place: those that have none for source code, when this was
 * looked for as well. */
static void add_empty_candidate(struct candidates *candidates)
{
    size_t i, k;
    uint32_t list;
    const char *name;
    const struct store_config *store;

    list =
        symbolicator_request_sources(candidates->config, candidates->request);
    if (list != 0) {
        add_listed_candidate(candidates, list, true);
        return;
    }
    for (i = 0; i < candidates->config->nstores; i++) {
        store = candidates->config->stores[i];
        for (k = 0; k < store->nsource_names; k++) {
            name = store->source_names[k];
            if (is_told(candidates, store, name) &&
                !candidate_has_source(candidates, name)) {
                add_candidate(candidates, strdup(name),
                              strdup(CLIENT_NO_PLACE));
            }
        }
    }
}

/* The last one of those with the best outcome is the one that was read.
 * Returns false if there is none. */
static bool choose_candidate_outcome(struct candidates *candidates,
                                     enum outcome outcome)
{
    size_t i;

    for (i = candidates->count; i > 0; i--) {
        if (candidates->list[i - 1].outcome == outcome) {
            candidates->list[i - 1].is_chosen = true;
            return true;
        }
    }
    return false;
}

static void add_attempt_candidates(struct candidates *candidates,
                                   const struct api_attempts *attempts)
{
    uint32_t i;
    const struct json *json;

    for (; attempts != NULL; attempts = attempts->next) {
        json = attempts->json;
        for (i = attempts->list + 1; i < json->values[attempts->list].end;
             i = json->values[i].end) {
            add_attempt_candidate(candidates, json, i, attempts->store);
        }
    }
}

/* Lists a place only once: a portable PDB can be both debug file and
 * source. */
static void collect_source_candidates(struct candidates *candidates,
                                      const struct symbolicator_result *result)
{
    size_t i = candidates->count, k;

    add_attempt_candidates(candidates, result->source_attempts);
    for (k = i; i < candidates->count; i++) {
        if (candidates->list[i].outcome == OUTCOME_NOTFOUND &&
            strcmp(candidates->list[i].location, CLIENT_NO_PLACE) == 0) {
            clear_candidate(
                &candidates->list[i]); /* see add_empty_candidate() */
        } else {
            candidates->list[k] = candidates->list[i];
            candidates->list[k++].is_source_code = true;
        }
    }
    candidates->count = k;
}

static void collect_cfi_candidates(struct candidates *candidates,
                                   const struct symbolicator_result *result)
{
    bool is_found = false;
    unsigned i;

    candidates->good = 0;
    for (i = 0; i < 2; i++) {
        if (result->cfi[i] != NULL) {
            add_attempt_candidates(candidates, result->cfi[i]->attempts);
            is_found = is_found || result->cfi[i]->state == API_MODULE_FOUND;
        }
    }
    if (is_found && candidates->good > 0) {
        candidates->list[candidates->good - 1].is_unwind = true;
    }
}

static void collect_candidates(struct candidates *candidates,
                               const struct symbolicator_result *result)
{
    bool is_origin_known = true; /* not of a file that a tier has given */

    add_attempt_candidates(candidates, result->attempts[0]);
    add_attempt_candidates(candidates, result->attempts[1]);
    if (result->status == SYMBOLICATOR_FOUND) {
        is_origin_known = choose_candidate_outcome(candidates, OUTCOME_OK);
    } else if (result->status == SYMBOLICATOR_MALFORMED) {
        (void)choose_candidate_outcome(candidates, OUTCOME_MALFORMED);
    } else if (result->status == SYMBOLICATOR_UNSUPPORTED) {
        (void)choose_candidate_outcome(candidates, OUTCOME_UNSUPPORTED);
    }
    if (candidates->is_walked) {
        collect_cfi_candidates(candidates, result);
    }
    if (candidates->request->wants_context) {
        collect_source_candidates(candidates, result);
    }
    if (candidates->request->wants_context && is_origin_known) {
        add_empty_candidate(candidates);
    } else if (candidates->config->symbolicator.sources ==
                   SYMBOLICATOR_SOURCES_ALLOW &&
               candidates->request->sources != 0) {
        add_listed_candidate(candidates, candidates->request->sources, false);
    }
}

static void collect_link_candidates(struct candidates *candidates,
                                    const struct source_links *links,
                                    size_t index)
{
    static const enum outcome outcomes[API_MODULE_LATE + 1] = {
        [API_MODULE_FOUND] = OUTCOME_OK,
        [API_MODULE_MISSING] = OUTCOME_NOTFOUND,
        [API_MODULE_MALFORMED] = OUTCOME_MALFORMED,
        [API_MODULE_FAILED] = OUTCOME_ERROR,
        [API_MODULE_LATE] = OUTCOME_ERROR,
    };
    struct listed_candidate *candidate;
    size_t i;

    for (i = 0; i < links->round.nmodules; i++) {
        if (links->files[i].module != index) {
            continue;
        }
        candidate = add_candidate(
            candidates,
            strdup(links->files[i].is_of_server ? "debuginfod" : "sourcelink"),
            strdup(links->files[i].url));
        if (candidate != NULL) {
            candidate->outcome = outcomes[links->round.modules[i].state];
            candidate->is_source_code = true;
        }
    }
}

/* the answer -------------------------------------------------------------- */

static int candidates_by_location(const void *a, const void *b)
{
    int n;
    const struct listed_candidate *x, *y;

    x = a;
    y = b;
    n = strcmp(x->source, y->source);
    if (n == 0) {
        n = strcmp(x->location, y->location);
    }
    return n != 0 ? n : (int)x->outcome - (int)y->outcome;
}

static void write_candidate_status(struct json_writer *w,
                                   const struct listed_candidate *candidate)
{
    static const char *const statuses[] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_UNSUPPORTED] = "ok",
        [OUTCOME_MALFORMED] = "malformed",
        [OUTCOME_NOPERM] = "noperm",
        [OUTCOME_ERROR] = "error",
        [OUTCOME_NOTFOUND] = "notfound",
    };

    json_write_open(w, '{');
    json_put_text(w, "status", statuses[candidate->outcome]);
    json_put_known(w, "details", candidate->details);
}

static void write_candidate_features(struct json_writer *w, bool debug,
                                     bool symbols, bool sources)
{
    size_t i;
    const struct {
        const char *name;
        bool has;
    } features[] = {{"has_debug_info", debug},
                    {"has_unwind_info", false},
                    {"has_symbols", symbols},
                    {"has_sources", sources}};

    json_put_open(w, "features", '{');
    for (i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        json_put_bool(w, features[i].name, features[i].has);
    }
    json_write_close(w, '}');
}

static void write_candidate_debug(struct json_writer *w,
                                  const struct listed_candidate *candidate)
{
    json_write_key(w, "debug");
    if (candidate->outcome == OUTCOME_UNSUPPORTED) {
        json_write_open(w, '{');
        json_put_text(w, "status", "error");
        json_put_text(w, "details", CANDIDATE_UNSUPPORTED);
    } else {
        write_candidate_status(w, candidate);
    }
    json_write_close(w, '}');
}

static void write_candidate(struct json_writer *w,
                            const struct listed_candidate *candidate,
                            const struct symbolicator_result *result)
{
    json_write_open(w, '{');
    json_put_text(w, "source", candidate->source);
    json_put_text(w, "location", candidate->location);
    json_write_key(w, "download");
    write_candidate_status(w, candidate);
    if (candidate->outcome == OUTCOME_OK && candidate->is_source_code) {
        write_candidate_features(w, false, false, true);
    } else if (candidate->outcome == OUTCOME_OK) {
        symbolicator_module_features_write(w, result, candidate->is_unwind,
                                           false);
    } else if (candidate->outcome == OUTCOME_UNSUPPORTED) {
        /* as for every Windows PDB; its processor was not checked */
        write_candidate_features(w, true, true, false);
    }
    json_write_close(w, '}');
    if (candidate->is_unwind) {
        json_write_key(w, "unwind");
        write_candidate_status(w, candidate);
        json_write_close(w, '}');
    }
    if (candidate->is_chosen) {
        write_candidate_debug(w, candidate);
    }
    json_write_close(w, '}');
}

static void write_all_candidates(struct json_writer *w,
                                 const struct candidates *candidates,
                                 const struct symbolicator_result *result)
{
    size_t i;

    if (candidates->count == 0) {
        return;
    }
    json_put_open(w, "candidates", '[');
    for (i = 0; i < candidates->count; i++) {
        if (i == 0 ||
            strcmp(candidates->list[i].source,
                   candidates->list[i - 1].source) != 0 ||
            strcmp(candidates->list[i].location,
                   candidates->list[i - 1].location) != 0) {
            write_candidate(w, &candidates->list[i], result);
        }
    }
    json_write_close(w, ']');
}

void symbolicator_candidates_write(
    struct json_writer *w, const struct symbolication_config *config,
    const struct symbolicator_request *request, size_t index,
    const struct symbolicator_result *result, bool is_walked,
    const struct source_links *links)
{
    size_t i;
    uint32_t type = request->modules[index].type;
    struct candidates candidates = {.is_walked = is_walked};

    candidates.result = result;
    candidates.config = config;
    candidates.request = request;
    candidates.may_have_sources =
        type != 0 && (json_is(&request->json, type, "elf") ||
                      json_is(&request->json, type, "wasm") ||
                      json_is(&request->json, type, "pe_dotnet"));
    collect_candidates(&candidates, result);
    collect_link_candidates(&candidates, links, index);
    if (candidates.has_failed) {
        w->has_failed = true;
    } else if (candidates.count > 0) {
        qsort(candidates.list, candidates.count, sizeof(candidates.list[0]),
              candidates_by_location);
    }
    write_all_candidates(w, &candidates, result);
    for (i = 0; i < candidates.count; i++) {
        clear_candidate(&candidates.list[i]);
    }
    free(candidates.list);
}
