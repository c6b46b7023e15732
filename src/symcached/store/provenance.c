/*
 * Copyright (C) the ngx_symcache authors
 */

#include "provenance.h"

#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include "base/digest_attribute.h"

static const char *const words[] = {"full", "publics", "program"};
static const char incomplete[] = " incomplete";

bool provenance_read(const char *file, struct provenance *provenance)
{
    char text[SYMCACHE_PROVENANCE_TEXT + 1], word[16];
    ssize_t n = lgetxattr(file, SYMCACHE_PROVENANCE_ATTRIBUTE, text,
                          sizeof(text) - 1);
    long long checked;

    memset(provenance, 0, sizeof(*provenance));
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    if (sscanf(text, "%96s %15s %lld %x %u", provenance->source, word,
               &checked, &provenance->features, &provenance->builder) < 3) {
        return false;
    }
    provenance->extent = SYMCACHE_EXTENT_PROGRAM;
    while (provenance->extent > SYMCACHE_EXTENT_FULL &&
           strcmp(word, words[provenance->extent]) != 0) {
        provenance->extent--;
    }
    provenance->checked = (time_t)checked;
    provenance->is_incomplete = strstr(text, incomplete) != NULL;
    return true;
}

bool provenance_is_incomplete(const char *file)
{
    struct provenance provenance;

    return provenance_read(file, &provenance) && provenance.is_incomplete;
}

static void set_attribute(const char *file, const char *attribute,
                          const char *text, size_t size)
{
    bool sealed = digest_unseal_path(file);

    (void)lsetxattr(file, attribute, text, size, 0);
    if (sealed) {
        digest_seal_path(file);
    }
}

void provenance_write(const char *file, const struct provenance *provenance)
{
    char text[SYMCACHE_PROVENANCE_TEXT + 1];
    int n = snprintf(text, sizeof(text), "%.96s %s %lld %x %u%s",
                     provenance->source, words[provenance->extent],
                     (long long)provenance->checked, provenance->features,
                     provenance->builder,
                     provenance->is_incomplete ? incomplete : "");

    set_attribute(file, SYMCACHE_PROVENANCE_ATTRIBUTE, text, (size_t)n);
}

void provenance_note_builder(const char *file, bool is_to_be_made_anew,
                             bool is_incomplete)
{
    struct provenance provenance;

    if (provenance_read(file, &provenance)) {
        provenance.builder =
            is_to_be_made_anew ? SYMCACHE_BUILDER - 1 : SYMCACHE_BUILDER;
        provenance.is_incomplete = is_incomplete;
        provenance_write(file, &provenance);
    }
}

void provenance_note_places(const char *file, const char *places)
{
    set_attribute(file, SYMCACHE_PLACES_ATTRIBUTE, places, strlen(places));
}

void provenance_note(const char *file, const char *source,
                     symcache_extent_e extent, unsigned features)
{
    struct provenance provenance = {.extent = extent,
                                    .checked = time(NULL),
                                    .features = features};

    snprintf(provenance.source, sizeof(provenance.source), "%s", source);
    provenance_write(file, &provenance);
}

void provenance_copy(const char *from, const char *to)
{
    char places[SYMCACHE_PLACES_MAX];
    struct provenance provenance;
    ssize_t n;

    if (provenance_read(from, &provenance)) {
        provenance_note(to, provenance.source, provenance.extent,
                        provenance.features);
    }
    n = lgetxattr(from, SYMCACHE_PLACES_ATTRIBUTE, places, sizeof(places));
    if (n > 0) {
        set_attribute(to, SYMCACHE_PLACES_ATTRIBUTE, places, (size_t)n);
    }
}

bool provenance_is_fuller(const char *file, symcache_extent_e extent)
{
    struct provenance provenance;

    return extent != SYMCACHE_EXTENT_FULL &&
           provenance_read(file, &provenance) &&
           provenance.extent == SYMCACHE_EXTENT_FULL;
}

bool provenance_keeps(const char *file, const char *source,
                      symcache_extent_e extent)
{
    struct provenance provenance;

    if (!provenance_is_fuller(file, extent) ||
        !provenance_read(file, &provenance)) {
        return false;
    }
    snprintf(provenance.source, sizeof(provenance.source), "%s", source);
    provenance.checked = time(NULL);
    provenance_write(file, &provenance);
    return true;
}

size_t provenance_better(const struct provenance *provenance,
                         const struct store_config *store)
{
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        if (strcmp(store->sources[i]->name, provenance->source) == 0) {
            break;
        }
    }
    return i;
}
