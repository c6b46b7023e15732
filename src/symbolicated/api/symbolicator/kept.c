/*
 * Copyright (C) the ngx_symcache authors
 */
#include "kept.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

/* The list is short: few requests wait at a time, and each costs kilobytes of
 * what all may take. */
static struct {
    pthread_mutex_t lock;
    struct kept *first;
    size_t size;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void drop(struct kept *kept)
{
    if (--kept->refs == 0) {
        symbolicator_free(&kept->request);
        spool_unref(kept->spool);
        free(kept->boundary);
    free(kept->coding);
        free(kept->body);
        free(kept);
    }
}

/* Removes what has been there long enough. */
static void evict(void)
{
    uint64_t now;
    struct kept *kept, **at;

    now = clock_ms();
    for (at = &all.first; (kept = *at) != NULL;) {
        if (kept->answered != 0
                ? now - kept->answered > KEPT_ANSWERED_MS
                : now - kept->started > KEPT_LIMIT_MS + KEPT_ANSWERED_MS) {
            *at = kept->next;
            all.size -= kept->size;
            drop(kept);
        } else {
            at = &kept->next;
        }
    }
}

/* A random UUID (RFC 9562, version 4) but for the digits of the node. */
static int make_id(char id[KEPT_ID_SIZE], unsigned node)
{
    uint8_t b[16];

    if (getrandom(b, sizeof(b), GRND_NONBLOCK) != sizeof(b)) {
        return -1;
    }
    b[0] = (uint8_t)(node >> 8);
    b[1] = (uint8_t)node;
    b[6] = (uint8_t)(0x40 | (b[6] & 0x0F));
    b[8] = (uint8_t)(0x80 | (b[8] & 0x3F));
    snprintf(
        id, KEPT_ID_SIZE,
        "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
        b[11], b[12], b[13], b[14], b[15]);
    return 0;
}

static size_t size_of(const struct symbolicator_request *request,
                      size_t body_size)
{
    return sizeof(struct kept) + body_size +
           request->json.room * sizeof(request->json.values[0]) +
           request->room * sizeof(request->frames[0]) +
           request->nstacks * sizeof(request->stacks[0]) +
           request->nmodules * sizeof(request->modules[0]);
}

static struct kept *new_kept(unsigned node)
{
    struct kept *kept;

    kept = calloc(1, sizeof(*kept));
    if (kept == NULL || make_id(kept->id, node) != 0) {
        free(kept);
        return NULL;
    }
    kept->started = clock_ms();
    kept->refs = 2; /* the list's, and the caller's */
    return kept;
}

/* Returns whether there is room for it. */
static bool insert(struct kept *kept, size_t most)
{
    bool has_room;

    pthread_mutex_lock(&all.lock);
    evict();
    has_room = kept->size <= most && all.size <= most - kept->size;
    if (has_room) {
        kept->next = all.first;
        all.first = kept;
        all.size += kept->size;
    }
    pthread_mutex_unlock(&all.lock);
    return has_room;
}

struct kept *kept_add(struct symbolicator_request *request, size_t body_size,
                      unsigned node, size_t most)
{
    struct kept *kept = new_kept(node);

    if (kept == NULL) {
        return NULL;
    }
    kept->body = malloc(body_size);
    kept->size = size_of(request, body_size);
    if (kept->body == NULL) {
        free(kept);
        return NULL;
    }
    memcpy(kept->body, request->json.text, body_size);
    kept->request = *request;
    kept->request.json.text = kept->body;
    if (!insert(kept, most)) {
        free(kept->body);
        free(kept);
        return NULL;
    }
    memset(request, 0, sizeof(*request));
    return kept;
}

struct kept *kept_add_form(struct spool *spool, const char *boundary,
                           const char *coding, const char *scope,
                           unsigned node, size_t most)
{
    struct kept *kept = new_kept(node);

    if (kept == NULL) {
        return NULL;
    }
    snprintf(kept->request.scope, sizeof(kept->request.scope), "%s", scope);
    kept->boundary = strdup(boundary);
    kept->coding = strdup(coding);
    kept->size = sizeof(*kept) + spool->size;
    kept->spool = spool_ref(spool);
    if (kept->boundary == NULL || kept->coding == NULL ||
        !insert(kept, most)) {
        kept->refs = 1;
        drop(kept);
        return NULL;
    }
    return kept;
}

struct kept *kept_find(const char *id)
{
    struct kept *kept;

    pthread_mutex_lock(&all.lock);
    evict();
    for (kept = all.first; kept != NULL; kept = kept->next) {
        if (strcmp(kept->id, id) == 0) {
            kept->refs++;
            break;
        }
    }
    pthread_mutex_unlock(&all.lock);
    return kept;
}

void kept_answered(struct kept *kept)
{
    pthread_mutex_lock(&all.lock);
    if (kept->answered == 0) {
        kept->answered = clock_ms();
    }
    pthread_mutex_unlock(&all.lock);
}

bool kept_is_late(const struct kept *kept)
{
    return clock_ms() - kept->started > KEPT_LIMIT_MS;
}

void kept_unref(struct kept *kept)
{
    if (kept == NULL) {
        return;
    }
    pthread_mutex_lock(&all.lock);
    drop(kept);
    pthread_mutex_unlock(&all.lock);
}
