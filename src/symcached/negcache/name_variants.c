/*
 * Copyright (C) the ngx_symcache authors
 */
#include "name_variants.h"

#include <stdio.h>
#include <string.h>

/* Does the source decide whether it tells upper and lower case apart? */
static bool name_variants_matters(const struct source_config *source)
{
    return !source->type->any_case && source->casing == CASING_DEFAULT &&
           source->layout != LAYOUT_SSQP && source->layout != LAYOUT_UNIFIED;
}

bool name_variants_counts(const struct store_config *store, const char *name)
{
    size_t i;

    if (strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL) {
        return false;
    }
    for (i = 0; i < store->nsources; i++) {
        if (name_variants_matters(store->sources[i])) {
            return true;
        }
    }
    return false;
}

static size_t name_variants_count(const struct name_variants *list)
{
    size_t n = list->text[0] != '\0';
    const char *p = list->text;

    while ((p = strchr(p, '/')) != NULL) {
        p++;
        n++;
    }
    return n;
}

bool name_variants_listed(const struct name_variants *list, const char *name)
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

bool name_variants_full(const struct name_variants *list)
{
    return name_variants_count(list) >= NAME_VARIANTS_MAX;
}

void name_variants_add(struct name_variants *list, const char *name)
{
    size_t len = strlen(list->text);

    if (!name_variants_listed(list, name) && !name_variants_full(list)) {
        snprintf(list->text + len, sizeof(list->text) - len, "%s%.*s",
                 len > 0 ? "/" : "", SYMCACHE_NAME_MAX, name);
    }
}
