/*
 * Copyright (C) the ngx_symcache authors
 */
#include "spelling.h"

#include <stdio.h>
#include <string.h>

/* Is the case of names a matter of the other side? */
static bool spelling_matters(const struct source_config *source)
{
    return source->type != SOURCE_FILESYSTEM &&
           source->casing == CASING_DEFAULT && source->layout != LAYOUT_SSQP &&
           source->layout != LAYOUT_UNIFIED;
}

bool spelling_counts(const struct store_config *store, const char *name)
{
    size_t i;

    if (strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL) {
        return false;
    }
    for (i = 0; i < store->nsources; i++) {
        if (spelling_matters(store->sources[i])) {
            return true;
        }
    }
    return false;
}

static size_t spelling_count(const struct spellings *list)
{
    size_t n = list->text[0] != '\0';
    const char *p = list->text;

    while ((p = strchr(p, '/')) != NULL) {
        p++;
        n++;
    }
    return n;
}

bool spelling_listed(const struct spellings *list, const char *name)
{
    const char *p = list->text;
    size_t len = strlen(name), n;

    while (*p != '\0') {
        n = strcspn(p, "/");
        if (n == len && memcmp(p, name, len) == 0) {
            return true;
        }
        p += n + (p[n] == '/');
    }
    return false;
}

bool spelling_full(const struct spellings *list)
{
    return spelling_count(list) >= SPELLING_MAX;
}

void spelling_add(struct spellings *list, const char *name)
{
    size_t len = strlen(list->text);

    if (!spelling_listed(list, name) && !spelling_full(list)) {
        snprintf(list->text + len, sizeof(list->text) - len, "%s%.*s",
                 len > 0 ? "/" : "", SYMCACHE_NAME_MAX, name);
    }
}
