/*
 * Copyright (C) the ngx_symcache authors
 */
#include "attempts.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/percent.h"

#define VALUES_MAX 16384 /* 64 attempts have about 1,300 */

/* symcached answers at once, or else it hangs. */
#define PATIENCE_SECONDS 10

static void free_one(struct api_attempts *attempts)
{
    json_free(&attempts->json);
    free(attempts->text);
    free(attempts);
}

struct exchange *attempts_ask(struct event_base *base,
                              const struct exchange_address *address,
                              const char *store, const symcache_key_t *key,
                              exchange_fn fn, void *arg)
{
    char name[3 * SYMCACHE_NAME_MAX + 1], id[SYMCACHE_ID_TEXT_MAX + 1];
    char line[sizeof(name) + sizeof(id) + 128];

    percent_encode(name, key->name);
    symcache_id_print(id, key);
    snprintf(line, sizeof(line), "GET /v1/why/%s/%s/%s", store, name, id);
    return exchange_start(base, address, line, NULL, PATIENCE_SECONDS, fn,
                          arg);
}

/* Returns whether it is such a page. */
static bool read_page(struct api_attempts *attempts, struct evbuffer *page)
{
    size_t size = evbuffer_get_length(page);
    struct json *json = &attempts->json;
    struct json_error error;

    attempts->text = malloc(size + 1);
    if (attempts->text == NULL ||
        evbuffer_remove(page, attempts->text, size) != (int)size ||
        json_read(json, attempts->text, size, VALUES_MAX, &error) == 0) {
        return false;
    }
    attempts->list = json_member(json, 0, "attempts");
    return attempts->list != 0 &&
           json->values[attempts->list].type == JSON_ARRAY;
}

void attempts_add(struct api_attempts **list, const struct store_config *store,
                  struct evbuffer *page)
{
    struct api_attempts *attempts =
        page != NULL ? calloc(1, sizeof(*attempts)) : NULL;

    if (attempts == NULL) {
        return;
    }
    attempts->store = store;
    if (!read_page(attempts, page)) {
        free_one(attempts);
        return;
    }
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = attempts;
}

void attempts_free(struct api_attempts **list)
{
    struct api_attempts *attempts;

    while ((attempts = *list) != NULL) {
        *list = attempts->next;
        free_one(attempts);
    }
}
