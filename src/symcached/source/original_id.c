/*
 * Copyright (C) the ngx_symcache authors
 */
#include "original_id.h"

#include <string.h>

#include "base/le.h"

#define FORMATS_UUID (1u << FORMAT_MACHO | 1u << FORMAT_WASM)
#define FORMATS_BUILD_ID (1u << FORMAT_ELF | FORMATS_UUID)

/* The debug id is made of the first bytes of a build id: of ELF as a GUID is
 * written, of Mach-O and WebAssembly as they are. */
bool original_id_is_made_of(const symcache_key_t *key,
                            const symcache_key_t *build_id)
{
    uint8_t bytes[sizeof(key->guid)] = {0}, guid[sizeof(key->guid)];
    size_t size = build_id->build_len;

    memcpy(bytes, build_id->build, size < sizeof(bytes) ? size : sizeof(bytes));
    le_guid(guid, bytes);
    return memcmp(bytes, key->guid, sizeof(bytes)) == 0 ||
           memcmp(guid, key->guid, sizeof(guid)) == 0;
}

bool original_id_read_code_id(symcache_key_t *code_id,
                              const symcache_key_t *key, const char *hints)
{
    char value[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_CODE_ID, value);
    return value[0] != '\0' &&
           symcache_id_parse(value, strlen(value), code_id) == SYMCACHE_OK &&
           (code_id->id_type != SYMCACHE_ID_BUILD ||
            original_id_is_made_of(key, code_id));
}

static void copy_id(symcache_key_t *at, const symcache_key_t *id)
{
    at->id_type = id->id_type;
    at->build_len = id->build_len;
    memcpy(at->build, id->build, sizeof(at->build));
}

/* Sets the build id that is known of the module, if there is one. */
static bool set_build_id(symcache_key_t *at, const symcache_key_t *key,
                         const symcache_key_t *code_id, unsigned formats)
{
    if (code_id != NULL && code_id->id_type == SYMCACHE_ID_BUILD) {
        copy_id(at, code_id);
        return (formats & FORMATS_BUILD_ID) != 0;
    }
    at->id_type = SYMCACHE_ID_BUILD;
    at->build_len = sizeof(key->guid);
    memcpy(at->build, key->guid, sizeof(key->guid));
    return code_id == NULL && key->age == 0 && (formats & FORMATS_UUID) != 0;
}

/* The layout unified has images by the id of their debug information. */
static bool set_image_id(symcache_key_t *at, const symcache_key_t *code_id,
                         enum source_layout layout, unsigned formats)
{
    if (!(formats & 1u << FORMAT_PE)) {
        return false;
    }
    if (layout == LAYOUT_UNIFIED) {
        return true;
    }
    if (code_id == NULL || code_id->id_type != SYMCACHE_ID_PE) {
        return false;
    }
    copy_id(at, code_id);
    return true;
}

/* Bundles have the id that the layout has for the module: unified the build id
 * of those that have one, native both. */
static bool set_bundle(enum original_id which, enum source_layout layout,
                       const symcache_key_t *key,
                       const symcache_key_t *code_id, unsigned formats,
                       symcache_key_t *at)
{
    symcache_key_t build_id;
    bool has_build_id;

    symcache_key_copy(&build_id, key);
    has_build_id = (layout == LAYOUT_UNIFIED || layout == LAYOUT_NATIVE) &&
                   set_build_id(&build_id, key, code_id, ~0u);
    at->kind = SYMCACHE_KIND_SOURCEBUNDLE;
    if (!(formats & 1u << FORMAT_SOURCEBUNDLE)) {
        return false;
    }
    if (which == ORIGINAL_ID_BUNDLE_KEY) {
        return !has_build_id || layout != LAYOUT_UNIFIED;
    }
    if (has_build_id) {
        copy_id(at, &build_id);
    }
    return has_build_id;
}

/* Source files are in a bundle, or in a portable PDB. */
static bool set_source(enum original_id which,
                       const struct source_config *source,
                       const symcache_key_t *key,
                       const symcache_key_t *code_id, unsigned formats,
                       symcache_key_t *at)
{
    if (which == ORIGINAL_ID_BUNDLE || which == ORIGINAL_ID_BUNDLE_KEY) {
        return set_bundle(which, source->layout, key, code_id, formats, at);
    }
    at->kind = SYMCACHE_KIND_DEBUGINFO;
    return which == ORIGINAL_ID_KEY && key->id_type == SYMCACHE_ID_DEBUG &&
           (formats & 1u << FORMAT_PORTABLEPDB);
}

/* Sets the key that asks by an id.  Returns false if there is none. */
static bool set_original_key(enum original_id which,
                             const struct source_config *source,
                             const symcache_key_t *key,
                             const symcache_key_t *code_id, unsigned formats,
                             symcache_key_t *at)
{
    symcache_key_copy(at, key);
    if (key->kind == SYMCACHE_KIND_SOURCECACHE) {
        return set_source(which, source, key, code_id, formats, at);
    }
    if (key->id_type == SYMCACHE_ID_PE) {
        at->kind = SYMCACHE_KIND_EXECUTABLE;
        return which == ORIGINAL_ID_IMAGE && (formats & 1u << FORMAT_PE);
    }
    if (key->id_type == SYMCACHE_ID_HASH) {
        at->kind = SYMCACHE_KIND_SYMBFILE;
        return which == ORIGINAL_ID_KEY && (formats & 1u << FORMAT_SYMBFILE);
    }
    switch (which) {
    case ORIGINAL_ID_DEBUG_FILE:
        at->kind = SYMCACHE_KIND_DEBUGINFO;
        return set_build_id(at, key, code_id, formats);
    case ORIGINAL_ID_KEY:
        return source->layout != LAYOUT_BREAKPAD ||
               (formats & 1u << FORMAT_BREAKPAD);
    case ORIGINAL_ID_COMPANION:
        at->kind = SYMCACHE_KIND_DEBUGINFO;
        return source->layout == LAYOUT_BREAKPAD &&
               (formats & 1u << FORMAT_ELF);
    case ORIGINAL_ID_PROGRAM:
        at->kind = SYMCACHE_KIND_EXECUTABLE;
        return set_build_id(at, key, code_id, formats);
    case ORIGINAL_ID_IMAGE:
        at->kind = SYMCACHE_KIND_EXECUTABLE;
        return set_image_id(at, code_id, source->layout, formats);
    case ORIGINAL_ID_BUNDLE:
    case ORIGINAL_ID_BUNDLE_KEY:
    case ORIGINAL_IDS:
        break;
    }
    return false;
}

bool original_id_has_several(symcache_kind_e kind)
{
    const uint8_t *slots = symcache_kind(kind)->slots;

    return slots[0] != SYMCACHE_KINDS && slots[1] != SYMCACHE_KINDS;
}

enum original_id original_id_at(symcache_kind_e kind, unsigned position)
{
    static const enum original_id programs_first[ORIGINAL_IDS] = {
        ORIGINAL_ID_PROGRAM,    ORIGINAL_ID_IMAGE,     ORIGINAL_ID_KEY,
        ORIGINAL_ID_DEBUG_FILE, ORIGINAL_ID_COMPANION, ORIGINAL_ID_BUNDLE,
        ORIGINAL_ID_BUNDLE_KEY};
    static const enum original_id bundles_first[ORIGINAL_IDS] = {
        ORIGINAL_ID_BUNDLE,     ORIGINAL_ID_BUNDLE_KEY, ORIGINAL_ID_KEY,
        ORIGINAL_ID_DEBUG_FILE, ORIGINAL_ID_COMPANION,  ORIGINAL_ID_PROGRAM,
        ORIGINAL_ID_IMAGE};

    switch (symcache_kind(kind)->slots[0]) {
    case SYMCACHE_KIND_EXECUTABLE:
        return programs_first[position];
    case SYMCACHE_KIND_SOURCEBUNDLE:
        return bundles_first[position];
    default:
        return (enum original_id)position;
    }
}

bool original_id_find(unsigned *position, const struct source_config *source,
                      const symcache_key_t *key, const symcache_key_t *code_id,
                      unsigned formats, unsigned wanted, symcache_key_t *at)
{
    enum original_id which;

    for (; *position < ORIGINAL_IDS; ++*position) {
        which = original_id_at((symcache_kind_e)key->kind, *position);
        if ((wanted & 1u << which) != 0 &&
            set_original_key(which, source, key, code_id, formats, at) &&
            config_source_has_key(source, at)) {
            return true;
        }
    }
    return false;
}

/* The part after the name in a text such as "s0:d"; NULL: it names another
 * source. */
static const char *after_name(const char *text, const char *name)
{
    size_t size = strlen(name);

    return strncmp(text, name, size) == 0 &&
                   (text[size] == '\0' || text[size] == ':')
               ? text + size
               : NULL;
}

unsigned original_id_wanted(const struct source_config *source,
                            const char *hints)
{
    char names[SYMCACHE_HINT_MAX + 1], *name, *rest = names;
    const char *after = NULL;
    unsigned wanted = 0;

    symcache_hint_get(hints, SYMCACHE_HINT_SOURCES, names);
    if (names[0] == '\0') {
        return ORIGINAL_IDS_ALL;
    }
    while (after == NULL && (name = strsep(&rest, ",")) != NULL) {
        after = after_name(name, source->name);
    }
    if (after == NULL || *after == '\0') {
        return after == NULL ? 0 : ORIGINAL_IDS_ALL;
    }
    if (strchr(after, 'd') != NULL) {
        wanted |= 1u << ORIGINAL_ID_DEBUG_FILE;
    }
    if (strchr(after, 'k') != NULL) {
        wanted |= 1u << ORIGINAL_ID_KEY | 1u << ORIGINAL_ID_COMPANION;
    }
    if (strchr(after, 's') != NULL) {
        wanted |= 1u << ORIGINAL_ID_BUNDLE | 1u << ORIGINAL_ID_BUNDLE_KEY;
    }
    if (strchr(after, 'p') != NULL) {
        wanted |= 1u << ORIGINAL_ID_PROGRAM | 1u << ORIGINAL_ID_IMAGE;
    }
    return wanted;
}
