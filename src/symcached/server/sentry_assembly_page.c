/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sentry_assembly_page.h"

#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/control.h"
#include "base/event.h"
#include "base/hex.h"
#include "config/config.h"
#include "http/http.h"
#include "symcached/upload/upload.h"
#include "pages.h"
#include "sentry_releases.h"
#include "upload_labels.h"
#include "upload_page.h"

#define CHUNKS_MAX 20000 /* of all files, each of which is looked for */

/* How long an answer waits for files to be assembled.  Unless told to wait,
 * sentry-cli asks once after it has sent all chunks, and takes what is not
 * refused then for accepted. */
#define WAIT_MS 2000
#define WAIT_BODY_MAX (64u << 10) /* it is kept meanwhile, read as JSON */

#define DEBUG_ID_SIZE (SYMCACHE_DEBUG_TEXT_MAX + 1)

/* SHA-1 of an empty file */
static const uint8_t assembly_of_nothing[] = {
    0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55,
    0xbf, 0xef, 0x95, 0x60, 0x18, 0x90, 0xaf, 0xd8, 0x07, 0x09};

static const char state_assembling[] = "assembling", state_stored[] = "ok";

/* A request: files, or with is_bundle one bundle of scripts. */
struct assembly_page {
    struct assembly_watch watch;
    struct uploads *uploads;
    struct evhttp_request *req;
    struct event *timer; /* of an answer that waits */
    uint64_t began;      /* clock_ms() */
    char user[UPLOAD_USER_SIZE];
    bool only_try;
    bool is_bundle;
    struct build_labels labels;
    cJSON *asked, *answer;
    const cJSON *next; /* of what is asked; those before it have ended */
    cJSON *next_answer;
    size_t left; /* of CHUNKS_MAX */
    struct upload_sum sums[CHUNKS_MAX];
};

/* files ------------------------------------------------------------------ */

/* Reads 40 hex digits. */
static bool assembly_read_sum(const char *text, struct upload_sum *sum)
{
    return text != NULL && hex_bytes(text, sum->bytes, sizeof(sum->bytes));
}

static const char *assembly_text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(object, name));
}

/* The last part of a path of either kind, if a file can be called so. */
static const char *assembly_base_name(const char *path)
{
    const char *p, *name = path;

    for (p = path; path != NULL && *p != '\0'; p++) {
        if (*p == '/' || *p == '\\') {
            name = p + 1;
        }
    }
    return name != NULL && name[0] != '\0' && name[0] != '.' &&
                   !control_in(name) && strlen(name) <= SYMCACHE_NAME_MAX
               ? name
               : NULL;
}

/* As clients print a debug id: a UUID, and an age that is not 0. */
static void assembly_print_debug_id(char text[DEBUG_ID_SIZE],
                                    const struct symstore_path *place)
{
    const symcache_key_t *key = place->ids;
    static const uint8_t none[16];

    while (key < place->ids + place->nids &&
           key->id_type != SYMCACHE_ID_DEBUG) {
        key++;
    }
    if (key == place->ids + place->nids) {
        symcache_debug_id_write(text, none, 0);
    } else {
        symcache_debug_id_write(text, key->guid, key->age);
    }
}

static void assembly_add_features(cJSON *object, unsigned features)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{SYMCACHE_HAS_DEBUG, "debug"},
                 {SYMCACHE_HAS_SYMBOLS, "symtab"},
                 {SYMCACHE_HAS_UNWIND, "unwind"},
                 {SYMCACHE_HAS_SOURCES, "sources"}};
    cJSON *list = cJSON_AddArrayToObject(object, "features");
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((features & names[i].bit) != 0) {
            cJSON_AddItemToArray(list, cJSON_CreateString(names[i].name));
        }
    }
}

cJSON *sentry_file(const char *name, const char *asked,
                   const struct symstore_path *place)
{
    cJSON *file = cJSON_CreateObject(), *data;
    char id[3 * SYMCACHE_NAME_MAX], debug_id[DEBUG_ID_SIZE], uuid[37];

    assembly_print_debug_id(debug_id, place);
    if (asked != NULL && strlen(asked) >= 36 &&
        strlen(asked) < sizeof(debug_id)) {
        snprintf(debug_id, sizeof(debug_id), "%s", asked);
    }
    snprintf(id, sizeof(id), "%s/%s/%s", place->name, place->id, place->file);
    snprintf(uuid, sizeof(uuid), "%.36s", debug_id);
    cJSON_AddStringToObject(file, "id", id);
    cJSON_AddStringToObject(file, "uuid", uuid);
    cJSON_AddStringToObject(file, "debugId", debug_id);
    cJSON_AddStringToObject(file, "objectName", name);
    cJSON_AddStringToObject(file, "symbolType",
                            config_format_name(place->format));
    cJSON_AddStringToObject(file, "cpuName", "any");
    data = cJSON_AddObjectToObject(file, "data");
    cJSON_AddStringToObject(data, "type", "dbg");
    assembly_add_features(data, place->features);
    return file;
}

static void assembly_add_state(cJSON *answer, const char *state,
                               const char *detail)
{
    cJSON_AddStringToObject(answer, "state", state);
    if (detail != NULL) {
        cJSON_AddStringToObject(answer, "detail", detail);
    }
}

static void assembly_refuse(cJSON *answer, const char *detail)
{
    cJSON_AddArrayToObject(answer, "missingChunks");
    assembly_add_state(answer, "error", detail);
}

/* Reads the sums of a list, at most left.  Returns false if one is none. */
static bool assembly_read_chunks(const cJSON *list, struct upload_sum *sums,
                                 size_t left, size_t *n)
{
    const cJSON *item;

    *n = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (*n == left ||
            !assembly_read_sum(cJSON_GetStringValue(item), &sums[*n])) {
            return false;
        }
        ++*n;
    }
    return true;
}

static void assembly_add_missing(cJSON *list, const cJSON *chunks,
                                 const bool *missing)
{
    const cJSON *chunk;
    size_t i = 0;

    cJSON_ArrayForEach(chunk, chunks)
    {
        if (missing[i++]) {
            cJSON_AddItemToArray(
                list, cJSON_CreateString(cJSON_GetStringValue(chunk)));
        }
    }
}

/* Tells the state of a file, and which of the chunks that were asked are
 * missing.  Returns where it is stored, or NULL. */
static const struct symstore_path *
answer_state(struct assemblies *assemblies, cJSON *answer, const cJSON *asked,
             const struct assembly_request *request)
{
    /* not "created": clients take that for sent, and wait for no refusal */
    static const char *const states[] = {[ASSEMBLY_MISSING] = "not_found",
                                         [ASSEMBLY_WAITS] = state_assembling,
                                         [ASSEMBLY_RUNS] = state_assembling,
                                         [ASSEMBLY_DONE] = state_stored,
                                         [ASSEMBLY_FAILED] = "error"};
    cJSON *missing = cJSON_AddArrayToObject(answer, "missingChunks");
    struct assembly_answer state;

    if (assemblies_ask(assemblies, request, &state) != 0) {
        assembly_add_state(answer, "error",
                           "too many files at a time: try again");
        return NULL;
    }
    assembly_add_state(answer, states[state.state], state.text);
    if (state.missing != NULL) {
        assembly_add_missing(missing, cJSON_GetObjectItem(asked, "chunks"),
                             state.missing);
        free(state.missing);
    }
    return state.place;
}

/* Answers for one file of a request. */
static void assembly_ask_file(struct assembly_page *page, const cJSON *asked,
                              cJSON *answer)
{
    struct assembly_request request = {
        .user = page->user,
        .only_try = page->only_try,
        .labels = page->labels,
        .files = page->asked,
        .chunks = page->sums,
        .name = assembly_base_name(assembly_text_of(asked, "name"))};
    const struct symstore_path *place;
    cJSON *file;

    if (!assembly_read_chunks(cJSON_GetObjectItem(asked, "chunks"), page->sums,
                              page->left, &request.nchunks)) {
        assembly_refuse(answer,
                        "the chunks are not a list of SHA-1, or too many");
        return;
    }
    page->left -= request.nchunks;
    if (!assembly_read_sum(asked->string, &request.sum) ||
        request.name == NULL) {
        assembly_refuse(answer, "the file has no SHA-1, or no name that a "
                                "file can have");
        return;
    }
    if (memcmp(request.sum.bytes, assembly_of_nothing,
               sizeof(assembly_of_nothing)) == 0) {
        /* without chunks clients would take "not_found" for sent */
        assembly_refuse(answer, "the file is empty");
        return;
    }
    if (request.nchunks == 0) {
        cJSON_AddArrayToObject(answer, "missingChunks");
        assembly_add_state(answer, "not_found", NULL);
        return;
    }
    place = answer_state(uploads_assemblies(page->uploads), answer, asked,
                         &request);
    if (place != NULL) {
        file = sentry_file(request.name, assembly_text_of(asked, "debug_id"),
                           place);
        cJSON_AddStringToObject(file, "sha1", asked->string);
        cJSON_AddItemToObject(answer, "dif", file);
    }
}

/* A bundle of scripts: {"checksum", "chunks", "version", "dist"}. */
static void assembly_ask_bundle(struct assembly_page *page, const cJSON *asked,
                                cJSON *answer)
{
    char name[2 * SENTRY_RELEASE_MAX + 2];
    struct assembly_request request = {.user = page->user,
                                       .only_try = page->only_try,
                                       .labels = page->labels,
                                       .is_artifacts = true,
                                       .release =
                                           assembly_text_of(asked, "version"),
                                       .dist = assembly_text_of(asked, "dist"),
                                       .name = name,
                                       .chunks = page->sums};

    if (!sentry_is_release(request.release) ||
        !sentry_is_release(request.dist)) {
        assembly_refuse(answer,
                        "the release or its dist is too long, or has a "
                        "control character");
    } else if (!assembly_read_sum(assembly_text_of(asked, "checksum"),
                                  &request.sum) ||
               !assembly_read_chunks(cJSON_GetObjectItem(asked, "chunks"),
                                     page->sums, page->left,
                                     &request.nchunks) ||
               request.nchunks == 0) {
        assembly_refuse(answer, "no SHA-1, or no list of chunks");
    } else {
        /* the same bundle of another release is one more */
        snprintf(name, sizeof(name), "%s\n%s",
                 request.release != NULL ? request.release : "",
                 request.dist != NULL ? request.dist : "");
        (void)answer_state(uploads_assemblies(page->uploads), answer, asked,
                           &request);
    }
}

static void go_to_first(struct assembly_page *page)
{
    page->next = page->is_bundle ? page->asked : page->asked->child;
    page->next_answer = page->is_bundle        ? page->answer
                        : page->answer != NULL ? page->answer->child
                                               : NULL;
}

/* Asks for everything once. */
static void assembly_ask_all(struct assembly_page *page)
{
    const cJSON *file;

    page->answer = cJSON_CreateObject();
    page->left = CHUNKS_MAX;
    if (page->is_bundle) {
        assembly_ask_bundle(page, page->asked, page->answer);
    } else {
        cJSON_ArrayForEach(file, page->asked)
        {
            assembly_ask_file(
                page, file,
                cJSON_AddObjectToObject(page->answer, file->string));
        }
    }
    go_to_first(page);
}

static bool is_in_state(const cJSON *answer, const char *name)
{
    const char *state = assembly_text_of(answer, "state");

    return state != NULL && strcmp(state, name) == 0;
}

/* Asks for what comes next once more if it is in this state.  Returns whether
 * it is in it then. */
static bool assembly_ask_next(struct assembly_page *page, const char *state)
{
    if (!is_in_state(page->next_answer, state)) {
        return false;
    }
    cJSON_Delete(page->next_answer->child);
    page->next_answer->child = NULL;
    page->left = CHUNKS_MAX;
    if (page->is_bundle) {
        assembly_ask_bundle(page, page->next, page->next_answer);
    } else {
        assembly_ask_file(page, page->next, page->next_answer);
    }
    return is_in_state(page->next_answer, state);
}

/* Goes on to the first file that is being assembled; is_last: passes these as
 * well.  Returns whether there is none. */
static bool assembly_pass_ended(struct assembly_page *page, bool is_last)
{
    while (page->next != NULL && page->next_answer != NULL) {
        if (assembly_ask_next(page, state_assembling) && !is_last) {
            return false;
        }
        page->next = page->next->next;
        page->next_answer = page->next_answer->next;
    }
    return true;
}

/* A worse file for its place can have come after one that was there; then that
 * is assembled once more. */
static void assembly_ask_stored(struct assembly_page *page)
{
    for (go_to_first(page); page->next != NULL && page->next_answer != NULL;
         page->next = page->next->next,
         page->next_answer = page->next_answer->next) {
        (void)assembly_ask_next(page, state_stored);
    }
    go_to_first(page);
}

/* answers ---------------------------------------------------------------- */

static void assembly_free_page(struct assembly_page *page)
{
    event_drop(page->timer);
    cJSON_Delete(page->asked);
    cJSON_Delete(page->answer);
    free(page);
}

static void assembly_send_answer(struct assembly_page *page)
{
    reply_object(page->req, 200, page->answer);
    page->answer = NULL;
    assembly_free_page(page);
}

static void assembly_wait_for_end(const struct assembly_page *page,
                                  unsigned ms)
{
    const struct timeval left = {.tv_sec = ms / 1000,
                                 .tv_usec = ms % 1000 * 1000};

    event_add(page->timer, &left);
}

/* Have all files ended? */
static bool assembly_look_again(struct assembly_page *page)
{
    if (!assembly_pass_ended(page, false)) {
        return false;
    }
    assembly_ask_stored(page);
    return assembly_pass_ended(page, false);
}

/* A file has ended, or the time is over. */
static void assembly_on_timer(evutil_socket_t fd, short events, void *arg)
{
    struct assembly_page *page = arg;
    unsigned since = clock_since(page->began);

    if (!assembly_look_again(page) && since < WAIT_MS) {
        assembly_wait_for_end(page, WAIT_MS - since);
        return;
    }
    (void)assembly_pass_ended(page, true);
    assembly_unwatch(&page->watch);
    assembly_send_answer(page);
}

static void assembly_on_ended(void *arg)
{
    const struct assembly_page *page = arg;

    event_active(page->timer, EV_TIMEOUT, 0);
}

/* Files that were not begun are forgotten. */
static void assembly_on_stop(void *arg)
{
    struct assembly_page *page = arg;

    assembly_unwatch(&page->watch);
    sentry_reply_error(page->req, 503, "the helper stops");
    assembly_free_page(page);
}

/* Returns false if the answer cannot wait. */
static bool assembly_delay_answer(struct assembly_page *page)
{
    page->timer = evtimer_new(
        evhttp_connection_get_base(evhttp_request_get_connection(page->req)),
        assembly_on_timer, page);
    page->watch.ended = assembly_on_ended;
    page->watch.stop = assembly_on_stop;
    page->watch.arg = page;
    if (page->timer == NULL ||
        !assemblies_watch(uploads_assemblies(page->uploads), &page->watch)) {
        return false;
    }
    page->began = clock_ms();
    assembly_wait_for_end(page, WAIT_MS);
    return true;
}

void sentry_assembly(struct uploads *uploads, const struct config *config,
                     const char *user, bool only_try, bool is_bundle,
                     struct evhttp_request *req)
{
    struct assembly_page *page = calloc(1, sizeof(*page));
    const char *wrong;
    size_t size;

    if (page == NULL || uploads_are_stopped(uploads)) {
        free(page);
        sentry_reply_error(req, 503, "the helper stops, or is out of memory");
        return;
    }
    page->uploads = uploads;
    page->req = req;
    page->only_try = only_try;
    page->is_bundle = is_bundle;
    snprintf(page->user, sizeof(page->user), "%s", user);
    page->asked = sentry_read_body(config, req, &size);
    if (page->asked == NULL) {
        assembly_free_page(page);
        return;
    }
    wrong = upload_labels_read(req, &page->labels);
    if (wrong != NULL) {
        sentry_reply_error(req, 400, wrong);
        assembly_free_page(page);
        return;
    }
    assembly_ask_all(page);
    if (size > WAIT_BODY_MAX || assembly_pass_ended(page, false) ||
        !assembly_delay_answer(page)) {
        assembly_send_answer(page);
    }
}
