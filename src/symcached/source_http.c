/*
 * Copyright (C) the ngx_symcache authors
 *
 * A symbol server in the layout of symstore: two spellings of the key times
 * three forms of the file, the ones that worked last at this source first.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "lookup.h"

static bool http_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

/* Percent-encodes every byte outside the unreserved set. */
static char *http_escape(char *p, const char *name)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *name != '\0'; name++) {
        if (http_unreserved((unsigned char)*name)) {
            *p++ = *name;
        } else {
            *p++ = '%';
            *p++ = hex[(unsigned char)*name >> 4];
            *p++ = hex[(unsigned char)*name & 15];
        }
    }

    *p = '\0';
    return p;
}

static void http_form_name(char *buf, const char *name, unsigned form)
{
    size_t len = strlen(name);

    if (form == FORM_POINTER) {
        memcpy(buf, "file.ptr", sizeof("file.ptr"));
        return;
    }

    memcpy(buf, name, len + 1);
    if (form == 1) {
        /* the last character, which may have several bytes */
        while (len > 1 && ((unsigned char)buf[len - 1] & 0xc0) == 0x80) {
            len--;
        }
        buf[len - 1] = '_';
        buf[len] = '\0';
    }
}

/* <url>/<name>/<GUIDAGE>/<form>, or NULL; a source's url has no query */
static char *http_url(const struct source_config *source,
                      const symcache_key_t *key, unsigned spelling,
                      unsigned form)
{
    size_t len = strlen(source->url);
    char name[SYMCACHE_NAME_MAX + sizeof("file.ptr")];
    char id[SYMCACHE_ID_TEXT_MAX + 1], *url, *p;

    symcache_id_print(id, key);
    for (p = id; spelling == 1 && *p != '\0'; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    http_form_name(name, key->name, form);

    url =
        malloc(len + 3 * (strlen(key->name) + strlen(name)) + strlen(id) + 4);
    if (url == NULL) {
        return NULL;
    }

    memcpy(url, source->url, len);
    p = url + len;
    *p++ = '/';
    p = http_escape(p, key->name);
    *p++ = '/';
    p = http_escape(p, id);
    *p++ = '/';
    http_escape(p, name);
    return url;
}

static struct source_memory *http_memory(struct sources *sources,
                                         const char *name)
{
    struct source_memory *memory;

    for (memory = sources->memories; memory != NULL; memory = memory->next) {
        if (strcmp(memory->name, name) == 0) {
            return memory;
        }
    }

    memory = calloc(1, sizeof(*memory) + strlen(name) + 1);
    if (memory != NULL) {
        memcpy(memory->name, name, strlen(name) + 1);
        memory->next = sources->memories;
        sources->memories = memory;
    }
    return memory;
}

/* Turns the number of the step into a spelling and a form. */
static void http_step(struct lookup *lookup)
{
    unsigned step = lookup->step++;

    lookup->spelling = lookup->first_spelling ^ step / FORMS;
    lookup->form = step % FORMS;

    /* the form that worked last, then the others in their order */
    if (lookup->form == 0) {
        lookup->form = lookup->first_form;
    } else if (lookup->form <= lookup->first_form) {
        lookup->form -= 1;
    }
}

static bool http_one_spelling(const symcache_key_t *key)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    symcache_id_print(id, key);
    return strpbrk(id, "ABCDEF") == NULL;
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

static void http_on_fetched(void *arg, const struct fetch_result *result)
{
    struct lookup *lookup = arg;

    lookup->fetch = NULL;
    lookup->received = *result;
    lookup->received.detail = NULL;
    lookup->received.answer = NULL;

    if (result->retry_after != 0 && lookup->memory != NULL) {
        lookup->memory->quiet_until =
            clock_ms() + (uint64_t)result->retry_after * 1000;
    }

    if (result->outcome != SOURCE_FOUND) {
        lookup_attempt_here(lookup, result->outcome, result->detail);
        /* a host that could not tell is not asked for more */
        if (result->outcome == SOURCE_FAILED) {
            lookup_end(lookup);
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
        fetch_place(lookup->place, sizeof(lookup->place), url);
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
    unsigned steps = SPELLINGS * FORMS;

    if (http_one_spelling(&lookup->key)) {
        steps = FORMS;
    }

    lookup->pointed = false;
    if (lookup->step == steps) {
        lookup_end(lookup);
        return;
    }

    http_step(lookup);
    http_fetch(
        lookup,
        http_url(lookup->source, &lookup->key, lookup->spelling, lookup->form),
        lookup->form == FORM_POINTER ? SYMPTR_MAX
                                     : lookup->config->limits.download_size,
        true);
}

/* Seconds for which the server has asked to be left alone, or 0. */
static unsigned http_quiet(const struct source_memory *memory)
{
    uint64_t now = clock_ms();

    return memory == NULL || memory->quiet_until <= now
               ? 0
               : (unsigned)((memory->quiet_until - now + 999) / 1000);
}

void source_http_begin(struct lookup *lookup)
{
    unsigned quiet;

    lookup->memory = http_memory(lookup->sources, lookup->source->name);
    lookup->resume = http_next;

    quiet = http_quiet(lookup->memory);
    if (quiet != 0) {
        fetch_place(lookup->place, sizeof(lookup->place), lookup->source->url);
        lookup->received.retry_after = quiet;
        lookup_attempt_here(lookup, SOURCE_FAILED,
                            "not asked: the server wants a pause");
        lookup_end(lookup);
        return;
    }

    if (lookup->memory != NULL) {
        lookup->first_spelling = lookup->memory->spelling;
        lookup->first_form = lookup->memory->form;
    }
    http_next(lookup);
}

void source_http_pointed(struct lookup *lookup, const char *url)
{
    lookup->pointed = true;
    http_fetch(lookup, strdup(url), lookup->config->limits.download_size,
               false);
}
