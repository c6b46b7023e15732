/*
 * Copyright (C) the ngx_symcache authors
 */

#include "layout.h"
#include "config.h"

#include <stdio.h>
#include <string.h>
#include "name_pattern.h"
#include "base/array.h"
#include "proto/profiler_id.h"
#include "proto/symbol_path.h"
#include "uploads.h"

/* Formats that only uploads have, where they are a symbol store. */
#define FORMATS_UPLOADED                                                      \
    (1u << FORMAT_SYMBFILE | 1u << FORMAT_PROGUARD | FORMATS_AUXILIARY)

/* Formats of symbol servers: neither text, nor those above. */
#define FORMATS_SERVED                                                        \
    (FORMATS_ALL & ~(1u << FORMAT_BREAKPAD | FORMATS_UPLOADED))

/* Formats with a code id: all but PDBs, portable PDBs and text. */
#define FORMATS_WITH_CODE                                                     \
    (1u << FORMAT_ELF | 1u << FORMAT_MACHO | 1u << FORMAT_PE |                \
     1u << FORMAT_WASM | 1u << FORMAT_ANY)

int config_layout(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    static const char *const words[] = {
        [LAYOUT_SYMSTORE] = "symstore",
        [LAYOUT_TWO_TIER] = "two_tier",
        [LAYOUT_SSQP] = "ssqp",
        [LAYOUT_UNIFIED] = "unified",
        [LAYOUT_FLAT] = "flat",
        [LAYOUT_BREAKPAD] = "breakpad",
        [LAYOUT_DEBUGINFOD] = "debuginfod",
        [LAYOUT_BUILD_ID] = "build_id",
        [LAYOUT_NATIVE] = "native",
        [LAYOUT_SYMBFILE] = "symbfile",
        [LAYOUT_SLASHSYMBOLS] = "slashsymbols",
    };
    struct source_config *source = at;
    int value = field_word(r, item, words, COUNT(words));

    if (value < 0) {
        return -1;
    }
    source->layout = (enum source_layout)value;
    return 0;
}

int config_casing(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    /* the longer names are those that Symbolicator uses */
    static const char *const words[] = {"default", "lower", "upper",
                                        "lowercase", "uppercase"};
    static const enum source_casing casings[] = {
        CASING_DEFAULT, CASING_LOWER, CASING_UPPER, CASING_LOWER, CASING_UPPER};
    struct source_config *source = at;
    int value = field_word(r, item, words, COUNT(words));

    if (value < 0) {
        return -1;
    }
    source->casing = casings[value];
    return 0;
}

static const char *const layout_form_names[] = {"plain", "packed", "pointer",
                                                "index2"};

static int read_layout_form(struct config_reader *r, const cJSON *item,
                            struct source_config *source)
{
    int value = field_word(r, item, layout_form_names, LAYOUT_FORMS);
    size_t i;

    if (value < 0) {
        return -1;
    }
    for (i = 0; i < source->nforms; i++) {
        if ((int)source->forms[i] == value) {
            return field_error(r, item, "named twice");
        }
    }
    source->forms[source->nforms++] = (enum layout_form)value;
    return 0;
}

int config_forms(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    const cJSON *child;

    if (!cJSON_IsArray(item) || item->child == NULL) {
        return field_error(r, item, "must be a list of forms");
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (read_layout_form(r, child, at) != 0) {
            return -1;
        }
    }
    return 0;
}

const char *config_form_name(enum layout_form form)
{
    return layout_form_names[form];
}

/* Returns the set of formats that the originals at the places of a layout may
 * have. */
static unsigned layout_formats(enum source_layout layout)
{
    switch (layout) {
    case LAYOUT_BREAKPAD:
        return 1u << FORMAT_BREAKPAD | 1u << FORMAT_ELF;
    case LAYOUT_FLAT:
        return FORMATS_SERVED;
    case LAYOUT_DEBUGINFOD:
        return 1u << FORMAT_ELF | 1u << FORMAT_MACHO | 1u << FORMAT_ANY;
    case LAYOUT_BUILD_ID:
        return 1u << FORMAT_ELF | 1u << FORMAT_DWP;
    case LAYOUT_UNIFIED:
        return FORMATS_SERVED | 1u << FORMAT_PROGUARD | FORMATS_AUXILIARY;
    case LAYOUT_SYMBFILE:
        return 1u << FORMAT_SYMBFILE;
    case LAYOUT_SLASHSYMBOLS:
        return FORMATS_WITH_CODE;
    case LAYOUT_SYMSTORE:
    case LAYOUT_TWO_TIER:
    case LAYOUT_SSQP:
    case LAYOUT_NATIVE:
        break;
    }
    return FORMATS_SERVED;
}

/* Has a layout the paths of three parts that symbol servers have? */
static bool layout_has_paths(enum source_layout layout)
{
    return layout == LAYOUT_SYMSTORE || layout == LAYOUT_TWO_TIER ||
           layout == LAYOUT_SSQP;
}

static bool layout_is_upload_store(const struct source_config *source)
{
    return source->layout == LAYOUT_SYMSTORE &&
           config_source_is_uploads(source);
}

unsigned config_source_formats(const struct source_config *source)
{
    if (source->type != NULL && source->type->has_list) {
        return (FORMATS_ALL & ~(1u << FORMAT_SYMBFILE)) |
               (FORMATS_AUXILIARY & ~(1u << FORMAT_DWP));
    }
    if (source->type != NULL && source->type->has_urls) {
        return 1u << FORMAT_SOURCEBUNDLE;
    }
    return layout_formats(source->layout) |
           (layout_is_upload_store(source) ? FORMATS_UPLOADED : 0);
}

/* As Symbolicator names them; symbol servers have those of PDBs only. */
static bool layout_has_bundle(const struct source_config *source,
                              const symcache_key_t *key)
{
    static const char end[] = ".pdb";
    size_t n = sizeof(end) - 1;

    if (key->id_type == SYMCACHE_ID_HASH) {
        return layout_is_upload_store(source) &&
               key->build_len == UPLOADS_BUNDLE_SUM;
    }
    switch (source->layout) {
    case LAYOUT_UNIFIED:
    case LAYOUT_NATIVE:
        return key->id_type == SYMCACHE_ID_DEBUG ||
               key->id_type == SYMCACHE_ID_BUILD;
    case LAYOUT_SYMSTORE:
    case LAYOUT_TWO_TIER:
    case LAYOUT_SSQP:
        return key->id_type == SYMCACHE_ID_DEBUG &&
               (config_source_is_uploads(source) ||
                (key->name_len > n &&
                 memcmp(key->name + key->name_len - n, end, n) == 0));
    default:
        return false;
    }
}

/* Is it the id of a program, or of the debug file that belongs to one? */
static bool layout_has_code_id(const symcache_key_t *key)
{
    return (key->id_type == SYMCACHE_ID_PE ||
            key->id_type == SYMCACHE_ID_BUILD) &&
           key->kind != SYMCACHE_KIND_SOURCE &&
           key->kind != SYMCACHE_KIND_SECTION &&
           key->kind != SYMCACHE_KIND_SOURCEBUNDLE;
}

/* Files that clients are known to ask symbol servers for: PerfView for maps of
 * ReadyToRun images, SSQP for source files by their SHA-1. */
static bool layout_is_usual_path(const char *name, const char *id)
{
    size_t n = strlen(name);

    return (strncmp(id, "sha1-", 5) == 0 && strlen(id) == 5 + 40) ||
           (strncmp(id, "r2rmap-v1-", 10) == 0 && strlen(id) == 10 + 32 &&
            n > 7 && strcmp(name + n - 7, ".r2rmap") == 0);
}

static bool layout_has_path(const struct source_config *source,
                            const symcache_key_t *key)
{
    char id[SYMCACHE_FILE_WORD_MAX + 2 * SYMCACHE_HASH_MAX + 1];
    char path[SYMCACHE_NAME_MAX + sizeof(id) + 1];
    char name[SYMCACHE_NAME_MAX + 1];

    if (!layout_has_paths(source->layout) ||
        config_source_is_uploads(source) ||
        !symcache_symbol_file(name, id, key)) {
        return false;
    }
    snprintf(path, sizeof(path), "%s/%s", name, id);
    return source->paths.n == 0
               ? layout_is_usual_path(name, id)
               : config_patterns_match(&source->paths, path, true);
}

/* Has it files that are packed and named so?  Uploads are kept unpacked. */
static bool layout_has_packed(const struct source_config *source,
                              const symcache_key_t *key)
{
    bool packed = source->nforms == 0;
    size_t i;

    for (i = 0; i < source->nforms; i++) {
        packed |= source->forms[i] == FORM_PACKED;
    }
    return packed && !config_source_is_uploads(source) &&
           (key->kind == SYMCACHE_KIND_SYMGZIP
                ? source->layout == LAYOUT_BREAKPAD
                : layout_has_paths(source->layout));
}

static bool layout_has_mapping(const struct source_config *source,
                               const symcache_key_t *key)
{
    return key->id_type == SYMCACHE_ID_DEBUG &&
           (config_source_formats(source) & 1u << FORMAT_PROGUARD) != 0;
}

/* May a source that lists its files have one of the kind? */
static bool layout_has_listed(const symcache_key_t *key)
{
    return key->id_type != SYMCACHE_ID_HASH &&
           key->kind != SYMCACHE_KIND_SOURCE &&
           key->kind != SYMCACHE_KIND_SECTION &&
           !symcache_kind_is_packed((symcache_kind_e)key->kind);
}

static bool layout_has_auxiliary(const struct source_config *source,
                                 const symcache_key_t *key)
{
    return source->layout == LAYOUT_UNIFIED ||
           (key->id_type == SYMCACHE_ID_DEBUG &&
            layout_is_upload_store(source)) ||
           (source->layout == LAYOUT_BUILD_ID &&
            key->kind == SYMCACHE_KIND_DWP &&
            key->id_type == SYMCACHE_ID_BUILD);
}

bool config_source_has_key(const struct source_config *source,
                           const symcache_key_t *key)
{
    bool named = strcmp(key->name, SYMCACHE_NAME_NONE) != 0;
    enum source_layout layout = source->layout;
    char path[SYMCACHE_NAME_MAX + 1];
    bool is_listed = source->type != NULL && source->type->any_case &&
                     layout != LAYOUT_TWO_TIER;

    if (source->type != NULL && source->type->has_urls &&
        (!source->type->has_list || key->id_type == SYMCACHE_ID_HASH)) {
        return symcache_key_is_bundle(key);
    }
    if (source->type != NULL && source->type->has_list) {
        return layout_has_listed(key);
    }
    if (key->kind == SYMCACHE_KIND_FILE) {
        return layout_has_path(source, key);
    }
    if (symcache_kind_is_packed((symcache_kind_e)key->kind)) {
        return layout_has_packed(source, key);
    }
    if (layout == LAYOUT_SYMBFILE) {
        return key->id_type == SYMCACHE_ID_HASH &&
               key->kind == SYMCACHE_KIND_SYMBFILE &&
               key->build_len == SYMCACHE_PROFILER_ID_SIZE;
    }
    if (layout == LAYOUT_SLASHSYMBOLS) {
        return (named || is_listed) && layout_has_code_id(key);
    }
    if (key->kind == SYMCACHE_KIND_SOURCEBUNDLE) {
        return layout_has_bundle(source, key);
    }
    if (key->kind == SYMCACHE_KIND_MAPPING ||
        key->kind == SYMCACHE_KIND_PROGUARDCACHE) {
        return layout_has_mapping(source, key);
    }
    if (symcache_kind_is_auxiliary((symcache_kind_e)key->kind)) {
        return layout_has_auxiliary(source, key);
    }
    switch (key->id_type) {
    case SYMCACHE_ID_PE:
        return layout_has_paths(layout) || layout == LAYOUT_NATIVE;
    case SYMCACHE_ID_BUILD:
        if (key->kind == SYMCACHE_KIND_SOURCE ||
            key->kind == SYMCACHE_KIND_SECTION) {
            return layout == LAYOUT_DEBUGINFOD &&
                   symcache_symbol_unescape(path, key);
        }
        if (layout == LAYOUT_UNIFIED || layout == LAYOUT_DEBUGINFOD ||
            layout == LAYOUT_BUILD_ID || layout == LAYOUT_NATIVE) {
            return true;
        }
        return layout != LAYOUT_FLAT && layout != LAYOUT_BREAKPAD &&
               (named || is_listed || key->kind != SYMCACHE_KIND_EXECUTABLE);
    case SYMCACHE_ID_HASH:
        return key->kind != SYMCACHE_KIND_SOURCE &&
               layout_is_upload_store(source);
    default: /* SYMCACHE_ID_DEBUG */
        return layout != LAYOUT_DEBUGINFOD && layout != LAYOUT_BUILD_ID;
    }
}

bool config_layout_has_form(enum source_layout layout, enum layout_form form)
{
    switch (layout) {
    case LAYOUT_UNIFIED:
    case LAYOUT_DEBUGINFOD:
    case LAYOUT_BUILD_ID:
    case LAYOUT_SYMBFILE:
    case LAYOUT_SLASHSYMBOLS:
        return form == FORM_PLAIN;
    case LAYOUT_FLAT:
    case LAYOUT_BREAKPAD:
    case LAYOUT_NATIVE:
        return form != FORM_POINTER;
    default:
        return true;
    }
}

int config_layout_check(struct config_reader *r, const cJSON *item,
                        const struct source_config *source)
{
    size_t i;

    for (i = 0; i < source->nforms; i++) {
        if (!config_layout_has_form(source->layout, source->forms[i])) {
            return field_error(r,
                               cJSON_GetObjectItemCaseSensitive(item, "forms"),
                               "the layout has no form \"%s\"",
                               config_form_name(source->forms[i]));
        }
    }
    return 0;
}

unsigned config_source_key_formats(const struct source_config *source,
                                   const symcache_key_t *key)
{
    unsigned formats = config_source_formats(source);

    if (key->kind == SYMCACHE_KIND_FILE) {
        return config_source_has_key(source, key) ? 1u << FORMAT_ANY : 0;
    }
    if (symcache_kind_is_packed((symcache_kind_e)key->kind) &&
        !config_source_has_key(source, key)) {
        return 0;
    }
    if (key->kind == SYMCACHE_KIND_SYMCACHE &&
        key->id_type == SYMCACHE_ID_HASH &&
        !(formats & 1u << FORMAT_SYMBFILE)) {
        return 0;
    }
    return source->layout == LAYOUT_BREAKPAD &&
                   symcache_kind_is_original((symcache_kind_e)key->kind)
               ? formats & 1u << FORMAT_BREAKPAD
               : formats;
}
