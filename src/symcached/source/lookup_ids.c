/*
 * Copyright (C) the ngx_symcache authors
 */
#include "lookup_ids.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/portablepdb/portablepdb.h"
#include "lookup_steps.h"

/* Has the original several ids, as one to be converted has? */
static bool lookup_ids_has_several(const struct lookup *lookup)
{
    return original_id_has_several((symcache_kind_e)lookup->key.kind) &&
           !config_source_is_ready_made(lookup->source, &lookup->key);
}

/* Does the id at a position lead to a program? */
static bool id_is_program(const symcache_key_t *key, unsigned position)
{
    return position < ORIGINAL_IDS &&
           original_id_at((symcache_kind_e)key->kind, position) >=
               ORIGINAL_ID_PROGRAM;
}

/* Or to a source bundle? */
static bool id_is_bundle(const symcache_key_t *key, unsigned position)
{
    enum original_id which =
        position < ORIGINAL_IDS
            ? original_id_at((symcache_kind_e)key->kind, position)
            : ORIGINAL_IDS;

    return which == ORIGINAL_ID_BUNDLE || which == ORIGINAL_ID_BUNDLE_KEY;
}

symcache_kind_e lookup_id_slot(const symcache_key_t *key, unsigned id_at,
                               enum original_format format)
{
    if (symcache_kind_is_original((symcache_kind_e)key->kind)) {
        return (symcache_kind_e)key->kind;
    }
    if (key->kind == SYMCACHE_KIND_SOURCECACHE) {
        return id_is_bundle(key, id_at) ? SYMCACHE_KIND_SOURCEBUNDLE
                                        : SYMCACHE_KIND_DEBUGINFO;
    }
    if (key->id_type == SYMCACHE_ID_HASH && format == FORMAT_SYMBFILE) {
        return SYMCACHE_KIND_SYMBFILE;
    }
    if (!original_id_has_several((symcache_kind_e)key->kind)) {
        return (symcache_kind_e)symcache_kind((symcache_kind_e)key->kind)
            ->slots[0];
    }
    if (key->id_type == SYMCACHE_ID_PE ||
        (original_id_has_several((symcache_kind_e)key->kind) &&
         id_is_program(key, id_at))) {
        return SYMCACHE_KIND_EXECUTABLE;
    }
    return format == FORMAT_BREAKPAD ? SYMCACHE_KIND_SYM
                                     : SYMCACHE_KIND_DEBUGINFO;
}

symcache_extent_e lookup_extent(const struct lookup *lookup)
{
    if (!lookup->publics_only) {
        return SYMCACHE_EXTENT_FULL;
    }
    return lookup_ids_has_several(lookup) &&
                   id_is_program(&lookup->key, lookup->id_at)
               ? SYMCACHE_EXTENT_PROGRAM
               : SYMCACHE_EXTENT_PUBLICS;
}

/*
 * A portable PDB can lie in the image of its module.  In a flat layout the
 * image would be in the same folder: gives the lookup the name of an image
 * that was not looked for yet.
 */
static bool lookup_ids_take_image(struct lookup *lookup)
{
    symcache_key_t *key = &lookup->key;
    char *end = key->name + key->name_len - 4;
    bool second = key->name_len > 4 && strcmp(end, ".dll") == 0;

    if (lookup->second || lookup->source->layout != LAYOUT_FLAT ||
        lookup->source->url == NULL ||
        key->kind != SYMCACHE_KIND_PPDBCACHE || key->name_len <= 4 ||
        (!second && strcmp(end, ".pdb") != 0)) {
        return false;
    }
    lookup->second = second;
    memcpy(end, second ? ".exe" : ".dll", 4);
    memcpy(lookup->name + key->name_len - 4, end, 4);
    return true;
}

/* Sets lookup->at to the key of this id or of the next one that the source
 * has places for.  Returns false if there is none. */
static bool lookup_ids_find(struct lookup *lookup)
{
    return original_id_find(&lookup->id_at, lookup->source, &lookup->key,
                            lookup->has_code_id ? &lookup->code_id : NULL,
                            lookup->formats, lookup->ids, &lookup->at);
}

/*
 * The key of a portable PDB has the age FFFFFFFF, but some tools and clients
 * store it and ask for it with the age 1.  Gives the lookup the age that was
 * not looked for yet, at which a Windows PDB is another file.  Returns false
 * if there is none.
 */
static bool lookup_ids_take_age(struct lookup *lookup)
{
    symcache_key_t *key = &lookup->key;

    if (lookup->second || key->id_type != SYMCACHE_ID_DEBUG ||
        config_source_is_ready_made(lookup->source, key) ||
        lookup->source->layout == LAYOUT_FLAT ||
        (key->kind == SYMCACHE_KIND_SOURCECACHE
             ? key->age != PORTABLEPDB_AGE
             : key->kind != SYMCACHE_KIND_PPDBCACHE &&
                   (key->kind != SYMCACHE_KIND_DEBUGINFO ||
                    (key->age != PORTABLEPDB_AGE && key->age != 1)))) {
        return false;
    }
    lookup->second = true;
    lookup->formats &=
        1u << FORMAT_PORTABLEPDB | 1u << FORMAT_SOURCEBUNDLE;
    key->age = key->age == PORTABLEPDB_AGE ? 1 : PORTABLEPDB_AGE;
    lookup->id_at = 0;
    return !lookup_ids_has_several(lookup) || lookup_ids_find(lookup);
}

/* The layout unified and Sentry have the stamp of a portable PDB where its key
 * has FFFFFFFF, which is the other age then. */
static void lookup_ids_take_stamp(struct lookup *lookup, const char *hints)
{
    char stamp[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_STAMP, stamp);
    if (stamp[0] != '\0' &&
        (lookup->key.kind == SYMCACHE_KIND_PPDBCACHE ||
         lookup->key.kind == SYMCACHE_KIND_SOURCECACHE) &&
        (lookup->source->layout == LAYOUT_UNIFIED ||
         lookup->source->type->has_list)) {
        lookup->key.age = (uint32_t)strtoul(stamp, NULL, 16);
    }
}

/* The layout slashsymbols has the name of the program, which can differ from
 * that of its debug file. */
static void lookup_ids_take_code_file(struct lookup *lookup, const char *hints)
{
    char name[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_CODE_FILE, name);
    if (name[0] != '\0' && lookup->source->layout == LAYOUT_SLASHSYMBOLS) {
        snprintf(lookup->name, sizeof(lookup->name), "%.*s", SYMCACHE_NAME_MAX,
                 name);
    }
}

static bool lookup_ids_next(struct lookup *lookup)
{
    if (!lookup_ids_has_several(lookup) || lookup->id_at == ORIGINAL_IDS) {
        return false;
    }
    lookup->id_at++;
    return lookup_ids_find(lookup);
}

bool lookup_has_place(struct lookup *lookup)
{
    if (lookup_ids_has_several(lookup)) {
        return lookup_ids_find(lookup);
    }
    symcache_key_copy(&lookup->at, &lookup->key);
    return config_source_is_ready_made(lookup->source, &lookup->key)
               ? config_source_ready_made(lookup->source, &lookup->key) != NULL
               : config_source_has_key(lookup->source, &lookup->key);
}

/* Looks at the other places, as if the lookup had just begun. */
static void lookup_ids_begin_again(struct lookup *lookup)
{
    struct timeval now = {0, 0};

    free(lookup->state);
    lookup->state = NULL;
    free(lookup->pointed_packed);
    lookup->pointed_packed = NULL;
    lookup->resume = NULL;
    lookup->found = NULL;
    lookup->pointers = 0;
    lookup->pointed = lookup->pointed_below = false;
    lookup->by_index = lookup->has_index_id;
    memset(&lookup->received, 0, sizeof(lookup->received));
    lookup_set_step(lookup, LOOKUP_BEGINS, NULL);
    evtimer_add(lookup->begin, &now);
}

bool lookup_try_next_id(struct lookup *lookup)
{
    if (!lookup_ids_next(lookup) && !lookup_ids_take_age(lookup) &&
        !lookup_ids_take_image(lookup)) {
        return false;
    }
    lookup_ids_begin_again(lookup);
    return true;
}

bool lookup_take_build_id(struct lookup *lookup,
                          const symcache_key_t *build_id)
{
    const unsigned ids =
        1u << ORIGINAL_ID_DEBUG_FILE | 1u << ORIGINAL_ID_PROGRAM;

    if (lookup->has_code_id || !lookup_ids_has_several(lookup) ||
        lookup->key.id_type != SYMCACHE_ID_DEBUG ||
        !original_id_is_made_of(&lookup->key, build_id)) {
        return false;
    }
    symcache_key_copy(&lookup->code_id, build_id);
    lookup->has_code_id = lookup->has_index_id = true;
    lookup->ids &= ids;
    lookup->id_at = lookup->first_id;
    if (!lookup_ids_find(lookup)) {
        return false;
    }
    lookup_ids_begin_again(lookup);
    return true;
}

bool lookup_take_ids(struct lookup *lookup, const symcache_key_t *debug_id,
                     const symcache_key_t *code_id)
{
    unsigned formats = code_id == NULL ? 1u << FORMAT_ELF
                                       : 1u << FORMAT_PDB | 1u << FORMAT_PE;

    if ((debug_id == NULL && code_id == NULL) ||
        lookup->key.kind != SYMCACHE_KIND_SYMCACHE ||
        lookup->key.id_type != SYMCACHE_ID_HASH ||
        !(lookup->formats & formats)) {
        return false;
    }
    if (debug_id != NULL) {
        lookup->key.id_type = SYMCACHE_ID_DEBUG;
        lookup->key.age = debug_id->age;
        memcpy(lookup->key.guid, debug_id->guid, sizeof(lookup->key.guid));
    } else {
        lookup->key.id_type = SYMCACHE_ID_PE;
        lookup->key.timestamp = code_id->timestamp;
        lookup->key.image_size = code_id->image_size;
    }
    if (code_id != NULL) {
        symcache_key_copy(&lookup->code_id, code_id);
        lookup->has_code_id = true;
    }
    lookup->formats &= formats;
    lookup->ids = ORIGINAL_IDS_ALL;
    lookup->id_at = lookup->first_id = 0;
    if (!lookup_ids_find(lookup)) {
        return false;
    }
    lookup_ids_begin_again(lookup);
    return true;
}

/* The ids by which a lookup asks the source. */
static unsigned lookup_ids_wanted(const struct source_config *source,
                                  const char *hints, struct lookup_ids ids)
{
    return original_id_wanted(source, hints) &
           (ids.programs ? ORIGINAL_IDS_ALL : ORIGINAL_IDS_NO_PROGRAMS) &
           ids.among;
}

void lookup_set_ids(struct lookup *lookup, const char *hints,
                    struct lookup_ids ids)
{
    lookup->id_at = lookup->first_id = ids.first;
    lookup->ids = lookup_ids_wanted(lookup->source, hints, ids);
    lookup->is_named = original_id_wanted(lookup->source, hints) != 0;
    lookup->has_code_id =
        original_id_read_code_id(&lookup->code_id, &lookup->key, hints);
    lookup_ids_take_stamp(lookup, hints);
    lookup_ids_take_code_file(lookup, hints);
}

unsigned lookup_first_ids(const symcache_key_t *key)
{
    if (!original_id_has_several((symcache_kind_e)key->kind)) {
        return 0;
    }
    if (id_is_bundle(key, 0)) {
        return 1u << ORIGINAL_ID_BUNDLE | 1u << ORIGINAL_ID_BUNDLE_KEY;
    }
    return id_is_program(key, 0) ? ORIGINAL_IDS_ALL & ~ORIGINAL_IDS_NO_PROGRAMS
                                 : ORIGINAL_IDS_NO_PROGRAMS;
}

bool lookup_id_is_among(const symcache_key_t *key, unsigned id_at,
                        unsigned ids)
{
    return !original_id_has_several((symcache_kind_e)key->kind) ||
           id_at >= ORIGINAL_IDS ||
           (ids & 1u << original_id_at((symcache_kind_e)key->kind, id_at)) != 0;
}

bool lookup_asks_among(const struct lookup *lookup, unsigned ids)
{
    return lookup_id_is_among(&lookup->key, lookup->id_at, ids);
}

void lookup_narrow(struct lookup *lookup, unsigned ids)
{
    lookup->ids &= ids;
}

bool lookup_has_id(const struct source_config *source,
                   const symcache_key_t *key, const char *hints,
                   unsigned formats, struct lookup_ids ids)
{
    unsigned id_at = ids.first;
    symcache_key_t code_id, at;

    return original_id_has_several((symcache_kind_e)key->kind) &&
           !config_source_is_ready_made(source, key) &&
           original_id_find(
               &id_at, source, key,
               original_id_read_code_id(&code_id, key, hints) ? &code_id
                                                              : NULL,
               formats, lookup_ids_wanted(source, hints, ids), &at);
}
