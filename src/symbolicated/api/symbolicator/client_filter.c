/*
 * Copyright (C) the ngx_symcache authors
 */
#include "client_filter.h"

#include <string.h>
#include <strings.h>

#include "base/glob.h"

#define PATTERN_SIZE 128
#define NAME_SIZE 512 /* of a module: longer ones match nothing */

#define BIT(file) (1u << (file))
#define DEBUG_FILES                                                           \
    (BIT(CLIENT_BREAKPAD) | BIT(CLIENT_MACH_DEBUG) | BIT(CLIENT_PDB) |        \
     BIT(CLIENT_ELF_DEBUG))
#define ALL (BIT(CLIENT_FILES) - 1)
#define KEYED                                                                 \
    (BIT(CLIENT_PDB) | BIT(CLIENT_PORTABLEPDB) | BIT(CLIENT_BREAKPAD))
#define PROGRAMS                                                              \
    (BIT(CLIENT_PE) | BIT(CLIENT_MACH_CODE) | BIT(CLIENT_ELF_CODE) |          \
     BIT(CLIENT_WASM_CODE))

static const char *const filter_file_types[] = {
    [CLIENT_PE] = "pe",
    [CLIENT_PDB] = "pdb",
    [CLIENT_PORTABLEPDB] = "portablepdb",
    [CLIENT_MACH_DEBUG] = "mach_debug",
    [CLIENT_MACH_CODE] = "mach_code",
    [CLIENT_ELF_DEBUG] = "elf_debug",
    [CLIENT_ELF_CODE] = "elf_code",
    [CLIENT_WASM_DEBUG] = "wasm_debug",
    [CLIENT_WASM_CODE] = "wasm_code",
    [CLIENT_BREAKPAD] = "breakpad",
    [CLIENT_SOURCEBUNDLE] = "sourcebundle",
    "uuidmap",
    "bcsymbolmap",
    "il2cpp",
    "proguard",
    NULL};

enum filter_member {
    FILTER_TYPES,
    FILTER_PATTERNS,
    FILTER_CHECKSUM,
    FILTER_MEMBERS
};

static const struct schema_member filter_members[FILTER_MEMBERS] = {
    [FILTER_TYPES] = {"filetypes", SCHEMA_STRINGS, SCHEMA_OPTIONAL, NULL},
    [FILTER_PATTERNS] = {"path_patterns", SCHEMA_STRINGS, SCHEMA_OPTIONAL,
                         NULL},
    [FILTER_CHECKSUM] = {"requires_checksum", SCHEMA_BOOL, SCHEMA_OPTIONAL,
                         NULL},
};

static bool read_filter_types(struct schema_walk *walk, uint32_t list,
                              struct client_filter *filter)
{
    const struct json *json = walk->json;
    uint32_t i;
    size_t type;

    filter->types = ALL;
    if (list == 0 || json->values[list].size == 0) {
        return true;
    }
    filter->types = 0;
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        for (type = 0; filter_file_types[type] != NULL &&
                       !json_is(json, i, filter_file_types[type]);
             type++) {
        }
        if (filter_file_types[type] == NULL) {
            return schema_fail_member(walk, filter_members[FILTER_TYPES].name,
                                      "unknown variant");
        }
        filter->types |= type < CLIENT_FILES ? BIT(type) : 0;
    }
    return true;
}

static bool read_filter_patterns(struct schema_walk *walk, uint32_t list,
                                 struct client_filter *filter)
{
    const struct json *json = walk->json;
    const char *name = filter_members[FILTER_PATTERNS].name;
    uint32_t i;

    if (list == 0) {
        return true;
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        if (json->values[i].size > PATTERN_SIZE ||
            !glob_is_valid(json_text(json, i), json->values[i].size)) {
            return schema_fail_member(walk, name,
                                      "is too long, or has an open [");
        }
    }
    filter->patterns = json->values[list].size > 0 ? list : 0;
    return true;
}

bool client_filter_read(struct schema_walk *walk, uint32_t filters,
                        struct client_filter *filter)
{
    uint32_t found[FILTER_MEMBERS] = {0};

    schema_enter(walk, "filters", 0);
    if ((filters != 0 && !schema_object(walk, filters, filter_members,
                                        FILTER_MEMBERS, found)) ||
        !read_filter_types(walk, found[FILTER_TYPES], filter) ||
        !read_filter_patterns(walk, found[FILTER_PATTERNS], filter)) {
        return false;
    }
    filter->wants_checksum =
        found[FILTER_CHECKSUM] != 0 &&
        walk->json->values[found[FILTER_CHECKSUM]].type == JSON_TRUE;
    schema_leave(walk);
    return true;
}

/* Whether a pattern matches the path of a module's file, in which a backslash
 * is a slash. */
static bool filter_matches(const struct json *json, uint32_t patterns,
                           uint32_t file, size_t *steps)
{
    char path[NAME_SIZE];
    uint32_t i;
    size_t k, size = json->values[file].size;

    if (file == 0 || size > sizeof(path)) {
        return false;
    }
    for (k = 0; k < size; k++) {
        path[k] = json_text(json, file)[k];
        path[k] = path[k] == '\\' ? '/' : path[k];
    }
    for (i = patterns + 1; i < json->values[patterns].end;
         i = json->values[i].end) {
        if (glob_matches(json_text(json, i), json->values[i].size, path, size,
                         steps)) {
            return true;
        }
    }
    return false;
}

/* The types that are looked for of a module; see "2.2 File types" of
 * Symbolicator's sources. */
static unsigned filter_types_of(const struct json *json,
                                const struct symbolicator_module *module,
                                const symcache_key_t *key)
{
    if (key->kind == SYMCACHE_KIND_SOURCECACHE) {
        return BIT(CLIENT_SOURCEBUNDLE) | BIT(CLIENT_PORTABLEPDB);
    }
    if (module->is_dotnet) {
        return BIT(CLIENT_PORTABLEPDB);
    }
    if (json_is(json, module->type, "pe")) {
        return DEBUG_FILES | BIT(CLIENT_PE);
    }
    if (json_is(json, module->type, "elf")) {
        return DEBUG_FILES | BIT(CLIENT_ELF_CODE);
    }
    if (json_is(json, module->type, "macho")) {
        return DEBUG_FILES | BIT(CLIENT_MACH_CODE);
    }
    return json_is(json, module->type, "wasm")
               ? BIT(CLIENT_WASM_CODE) | BIT(CLIENT_WASM_DEBUG)
               : ALL & ~BIT(CLIENT_SOURCEBUNDLE);
}

/* The types of files that may be found under a key. */
static unsigned filter_types_at(const symcache_key_t *key,
                                const struct client_source *own,
                                enum client_part part)
{
    bool is_pdb = key->name_len > 4 &&
                  strcasecmp(key->name + key->name_len - 4, ".pdb") == 0;

    if (part == CLIENT_PART_TEXT) {
        return key->id_type == SYMCACHE_ID_DEBUG ? BIT(CLIENT_BREAKPAD) : 0;
    }
    if (key->id_type == SYMCACHE_ID_PE) {
        return BIT(CLIENT_PE);
    }
    /* only unified has images by the id of their PDB */
    return ALL & ~BIT(CLIENT_BREAKPAD) &
           ~(is_pdb && strcmp(own->layout, "unified") != 0 ? BIT(CLIENT_PE)
                                                           : 0);
}

/* Under which ids files of these types are, of a module. */
static unsigned filter_wish_of(unsigned types, const struct json *json,
                               const struct symbolicator_module *module)
{
    unsigned debug = BIT(CLIENT_ELF_DEBUG) | BIT(CLIENT_MACH_DEBUG) |
                     BIT(CLIENT_WASM_DEBUG);

    if (json_is(json, module->type, "pe")) {
        debug = 0; /* it has no build id */
    } else if (json_is(json, module->type, "elf")) {
        debug = BIT(CLIENT_ELF_DEBUG);
    } else if (json_is(json, module->type, "macho")) {
        debug = BIT(CLIENT_MACH_DEBUG);
    }
    return (types & debug ? CLIENT_DEBUG_FILES : 0) |
           (types & KEYED ? CLIENT_KEY : 0) |
           (types & PROGRAMS ? CLIENT_PROGRAMS : 0) |
           (types & BIT(CLIENT_SOURCEBUNDLE) ? CLIENT_BUNDLES : 0);
}

unsigned client_filter_asks(const struct symbolicator_request *request,
                            const struct symbolicator_module *module,
                            const symcache_key_t *key,
                            const struct client_source *own,
                            enum client_part part, size_t *steps)
{
    const struct json *json = &request->json;
    const struct client_filter *filter = &own->filter;
    unsigned types =
        filter_types_of(json, module, key) & filter_types_at(key, own, part);
    unsigned wish = filter_wish_of(types & filter->types, json, module);
    uint32_t sum = module->debug_checksum;

    if (own->is_sentry) {
        return CLIENT_ALL;
    }
    if ((filter->wants_checksum &&
         (sum == 0 || json->values[sum].size == 0)) ||
        (filter->patterns != 0 &&
         !filter_matches(json, filter->patterns, module->code_file, steps) &&
         !filter_matches(json, filter->patterns, module->debug_file, steps))) {
        return 0;
    }
    return wish == filter_wish_of(types, json, module) && wish != 0
               ? wish | CLIENT_ALL
               : wish;
}
