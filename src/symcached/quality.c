/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include "quality.h"

/* "<source> full|publics <seconds>" */
#define ATTRIBUTE "user.symcached.source"
#define TEXT_MAX (QUALITY_SOURCE_MAX + 64)

bool quality_read(const char *file, struct quality *quality)
{
    char text[TEXT_MAX + 1], kind[16];
    ssize_t n = lgetxattr(file, ATTRIBUTE, text, TEXT_MAX);
    long long checked;

    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    if (sscanf(text, "%96s %15s %lld", quality->source, kind, &checked) != 3) {
        return false;
    }
    quality->publics_only = strcmp(kind, "publics") == 0;
    quality->checked = (time_t)checked;
    return true;
}

void quality_write(const char *file, const struct quality *quality)
{
    char text[TEXT_MAX + 1];
    int n = snprintf(text, sizeof(text), "%.96s %s %lld", quality->source,
                     quality->publics_only ? "publics" : "full",
                     (long long)quality->checked);

    (void)lsetxattr(file, ATTRIBUTE, text, (size_t)n, 0);
}

void quality_note(const char *file, const char *source, bool publics_only)
{
    struct quality quality = {.publics_only = publics_only,
                              .checked = time(NULL)};

    snprintf(quality.source, sizeof(quality.source), "%s", source);
    quality_write(file, &quality);
}

void quality_copy(const char *from, const char *to)
{
    struct quality quality;

    if (quality_read(from, &quality)) {
        quality_note(to, quality.source, quality.publics_only);
    }
}

bool quality_keeps(const char *file, const char *source, bool publics_only)
{
    struct quality quality;

    if (!publics_only || !quality_read(file, &quality) ||
        quality.publics_only) {
        return false;
    }
    quality_note(file, source, false);
    return true;
}

size_t quality_better(const struct quality *quality,
                      const struct store_config *store)
{
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        if (strcmp(store->sources[i]->name, quality->source) == 0) {
            break;
        }
    }
    return i;
}
