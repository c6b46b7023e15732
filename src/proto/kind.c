
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "kind.h"

#include <string.h>
#include "key.h"

/* In the order of symcache_kind_e. */

static const char  *symcache_kinds[SYMCACHE_KINDS] = {
    "symcache",
    "ppdbcache",
    "cficache",
    "sym",
    "debuginfo",
    "executable",
    "sourcebundle",
    "source",
    "section"
};

int
symcache_kind_parse(const char *p, size_t len, symcache_kind_e *kind)
{
    int  i;

    for (i = 0; i < SYMCACHE_KINDS; i++) {

        if (strlen(symcache_kinds[i]) == len
            && memcmp(symcache_kinds[i], p, len) == 0)
        {
            *kind = (symcache_kind_e) i;
            return 1;
        }
    }

    return 0;
}

const char *
symcache_kind_text(symcache_kind_e kind)
{
    return symcache_kinds[kind];
}

/*
 * A bit 1 << symcache_id_e for each type of id by which files of a kind are
 * made or kept.
 */

static const unsigned  symcache_key_ids[SYMCACHE_KINDS] = {
    [SYMCACHE_KIND_SYMCACHE] = 1u << SYMCACHE_ID_DEBUG
                               | 1u << SYMCACHE_ID_PE,
    [SYMCACHE_KIND_PPDBCACHE] = 1u << SYMCACHE_ID_DEBUG,
    [SYMCACHE_KIND_SYM] = 1u << SYMCACHE_ID_DEBUG,
    [SYMCACHE_KIND_DEBUGINFO] = 1u << SYMCACHE_ID_DEBUG
                                | 1u << SYMCACHE_ID_BUILD,
    [SYMCACHE_KIND_EXECUTABLE] = 1u << SYMCACHE_ID_PE
                                 | 1u << SYMCACHE_ID_BUILD,
    [SYMCACHE_KIND_SOURCE] = 1u << SYMCACHE_ID_BUILD,
    [SYMCACHE_KIND_SECTION] = 1u << SYMCACHE_ID_BUILD
};

int
symcache_kind_supported(symcache_kind_e kind)
{
    return symcache_key_ids[kind] != 0;
}

int
symcache_id_supported(symcache_id_e type)
{
    int  kind;

    for (kind = 0; kind < SYMCACHE_KINDS; kind++) {
        if (symcache_key_ids[kind] & 1u << type) {
            return 1;
        }
    }

    return 0;
}

int
symcache_key_supported(const symcache_key_t *key)
{
    return (symcache_key_ids[key->kind] & 1u << key->id_type) != 0;
}

int
symcache_kind_is_original(symcache_kind_e kind)
{
    return kind == SYMCACHE_KIND_SYM || kind == SYMCACHE_KIND_DEBUGINFO
           || !symcache_kind_is_debuginfo(kind);
}

int
symcache_kind_is_debuginfo(symcache_kind_e kind)
{
    return kind != SYMCACHE_KIND_EXECUTABLE && kind != SYMCACHE_KIND_SOURCE
           && kind != SYMCACHE_KIND_SECTION;
}
