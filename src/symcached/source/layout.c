/*
 * Copyright (C) the ngx_symcache authors
 */
#include "layout.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/utf8.h"
#include "proto/profiler_id.h"
#include "proto/symbol_path.h"

#define LAYOUT_GUID 32 /* digits, before those of the age */

#define SSQP_DIGITS 40 /* digits: SSQP fills shorter ones with zeros */

/*
 * Spellings of name and key; each is tried where it differs from the others.
 * The first is that of symstore.exe, the second that of .NET and SSQP.  The
 * name in lower case is always tried in all its spellings, because a miss is
 * remembered for that name as well.
 */
enum {
    LAYOUT_VARIANT_GIVEN, /* name as asked for, key as it is usual in the
                             layout */
    LAYOUT_VARIANT_LOWER, /* name and key in lower case */
    LAYOUT_VARIANT_MIXED, /* name in lower case, key in upper case */
    LAYOUT_VARIANT_UPPER  /* name as asked for, key in upper case; of
                             slashsymbols, whose keys are in upper case first,
                             in lower case */
};

/* Changes ASCII letters only, as everywhere in keys. */
static void layout_lower_text(char *p, size_t len)
{
    for (; len > 0; p++, len--) {
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
    }
}

static void upper_text(char *p, size_t len)
{
    for (; len > 0; p++, len--) {
        *p = *p >= 'a' && *p <= 'z' ? (char)(*p & ~0x20) : *p;
    }
}

void layout_pack(char *path)
{
    utf8_replace_last(path, '_');
}

enum layout_form layout_form(const char *place)
{
    const char *name = basename(place);
    size_t len = strlen(name);

    if (strcasecmp(name, "file.ptr") == 0) {
        return FORM_POINTER;
    }
    if (strcasecmp(name, "index2.txt") == 0) {
        return FORM_INDEX;
    }
    return (len > 0 && name[len - 1] == '_') ||
                   (len > 3 && strcasecmp(name + len - 3, ".gz") == 0)
               ? FORM_PACKED
               : FORM_PLAIN;
}

/* Bytes of the first two characters, or of one if a dot is next. */
static size_t layout_tier(const char *name)
{
    size_t len = 0, n;

    for (n = 0; n < 2 && name[len] != '\0' && (n == 0 || name[len] != '.');
         n++) {
        do {
            len++;
        } while (((unsigned char)name[len] & 0xc0) == 0x80);
    }
    return len;
}

/* All in lower case but the age of portable PDBs; LAYOUT_VARIANT_MIXED is for
 * servers that write every age in upper case.  Images have the key of
 * symstore. */
static void spell_ssqp(unsigned variant, const symcache_key_t *key, char *name,
                       char *id)
{
    bool upper;

    layout_lower_text(name, strlen(name));
    if (key->id_type == SYMCACHE_ID_DEBUG) {
        upper = variant == LAYOUT_VARIANT_MIXED ||
                (variant == LAYOUT_VARIANT_GIVEN && key->age == UINT32_MAX);
        layout_lower_text(id, upper ? LAYOUT_GUID : strlen(id));
    } else if (variant == LAYOUT_VARIANT_LOWER) {
        layout_lower_text(id, strlen(id));
    }
}

static bool layout_is_mapping(const symcache_key_t *key)
{
    return key->kind == SYMCACHE_KIND_MAPPING ||
           key->kind == SYMCACHE_KIND_PROGUARDCACHE;
}

/* A mapping has a UUID, and so has a Mach-O file; neither has an age. */
static bool is_uuid(const symcache_key_t *key)
{
    return layout_is_mapping(key) ||
           (symcache_kind_is_auxiliary((symcache_kind_e)key->kind) &&
            key->age == 0);
}

bool layout_is_unnamed(const symcache_key_t *key)
{
    return key->kind == SYMCACHE_KIND_EXECUTABLE &&
           key->id_type == SYMCACHE_ID_BUILD &&
           strcmp(key->name, SYMCACHE_NAME_NONE) == 0;
}

/* "ab/cdef.debug" for gdb, "67E9/247C/814E/392B/A027/DBDE6748FCBF" for LLDB. */
static void spell_native(const char *hex, bool debug, bool macho, char *id)
{
    int n;

    if (macho) {
        n = snprintf(id, LAYOUT_ID_MAX + 1,
                     "%.4s/%.4s/%.4s/%.4s/%.4s/%.12s%s", hex, hex + 4,
                     hex + 8, hex + 12, hex + 16, hex + 20,
                     debug ? "" : ".app");
        upper_text(id, (size_t)n - (debug ? 0 : strlen(".app")));
    } else {
        snprintf(id, LAYOUT_ID_MAX + 1, "%.2s/%s%s", hex, hex + 2,
                 debug ? ".debug" : "");
    }
}

/*
 * A build id is hex digits, but in symbol stores it has a prefix, and debug
 * files have one name for all, as SSQP wants it.  There ELF files and Mach-O
 * files differ; of 16 bytes are a UUID, and ids of ELF that are none.
 */
static void spell_build_id(const struct layout_walk *walk, unsigned variant,
                           char *name, char *id)
{
    bool debug = symcache_kind_is_debuginfo((symcache_kind_e)walk->key->kind);
    bool macho = walk->key->build_len == 16 && variant != LAYOUT_VARIANT_GIVEN;
    char hex[SYMCACHE_ID_TEXT_MAX + 1];

    snprintf(hex, sizeof(hex), "%.*s", 2 * SYMCACHE_BUILD_ID_MAX,
             id + strlen("buildid-"));
    if (walk->source->layout == LAYOUT_UNIFIED ||
        walk->source->layout == LAYOUT_DEBUGINFOD ||
        walk->source->layout == LAYOUT_BUILD_ID) {
        snprintf(id, LAYOUT_ID_MAX + 1, "%s", hex);
        return;
    }
    if (walk->source->layout == LAYOUT_NATIVE) {
        spell_native(hex,
                     walk->key->kind == SYMCACHE_KIND_SOURCEBUNDLE ? macho
                                                                   : debug,
                     macho, id);
        return;
    }
    if (debug) {
        snprintf(name, SYMCACHE_NAME_MAX + 1, macho ? "_.dwarf" : "_.debug");
    } else if (layout_is_unnamed(walk->key)) {
        snprintf(name, SYMCACHE_NAME_MAX + 1, LAYOUT_ANY);
    } else if (variant != LAYOUT_VARIANT_GIVEN ||
               walk->source->layout == LAYOUT_SSQP) {
        layout_lower_text(name, strlen(name));
    }
    snprintf(id, LAYOUT_ID_MAX + 1, "%s%s%s%.*s",
             macho ? "mach-uuid-" : "elf-buildid-", debug ? "sym-" : "", hex,
             macho || strlen(hex) >= SSQP_DIGITS
                 ? 0
                 : (int)(SSQP_DIGITS - strlen(hex)),
             "0000000000000000000000000000000000000000");
}

/* Breakpad and its successors write a GUID in upper case and an age in lower
 * case, older versions both in upper case.  They take the name from the module
 * as it is. */
static void spell_breakpad(unsigned variant, char *name, char *id)
{
    if (variant == LAYOUT_VARIANT_LOWER || variant == LAYOUT_VARIANT_MIXED) {
        layout_lower_text(name, strlen(name));
    }
    if ((variant == LAYOUT_VARIANT_GIVEN || variant == LAYOUT_VARIANT_LOWER) &&
        strlen(id) > LAYOUT_GUID) {
        layout_lower_text(id + LAYOUT_GUID, strlen(id + LAYOUT_GUID));
    }
}

/* A name as the module has it, and an id in either case. */
static void spell_slashsymbols(const struct layout_walk *walk,
                               unsigned variant, char *name, char *id)
{
    if (walk->key->id_type == SYMCACHE_ID_BUILD) {
        memmove(id, id + strlen("buildid-"),
                strlen(id + strlen("buildid-")) + 1);
    }
    if (variant == LAYOUT_VARIANT_LOWER || variant == LAYOUT_VARIANT_MIXED) {
        layout_lower_text(name, strlen(name));
    }
    if (variant == LAYOUT_VARIANT_GIVEN || variant == LAYOUT_VARIANT_MIXED) {
        upper_text(id, strlen(id));
    } else {
        layout_lower_text(id, strlen(id));
    }
    if (strcmp(walk->key->name, SYMCACHE_NAME_NONE) == 0) {
        snprintf(name, SYMCACHE_NAME_MAX + 1, LAYOUT_ANY);
    }
}

static void spell_variant(const struct layout_walk *walk, unsigned variant,
                          char *name, char *id)
{
    enum source_layout layout = walk->source->layout;

    if (walk->key->kind == SYMCACHE_KIND_FILE) {
        (void)symcache_symbol_file(name, id, walk->key);
        return;
    }
    if (layout == LAYOUT_SLASHSYMBOLS) {
        spell_slashsymbols(walk, variant, name, id);
        return;
    }
    if (walk->key->id_type == SYMCACHE_ID_BUILD) {
        spell_build_id(walk, variant, name, id);
        return;
    }
    if (layout == LAYOUT_BREAKPAD) {
        spell_breakpad(variant, name, id);
        return;
    }
    if (layout == LAYOUT_SSQP) {
        spell_ssqp(variant, walk->key, name, id);
        return;
    }

    if (variant == LAYOUT_VARIANT_LOWER || variant == LAYOUT_VARIANT_MIXED) {
        layout_lower_text(name, strlen(name));
    }
    if (variant == LAYOUT_VARIANT_LOWER || layout == LAYOUT_UNIFIED) {
        layout_lower_text(id, strlen(id));
    }
    if (layout == LAYOUT_UNIFIED && is_uuid(walk->key)) {
        id[LAYOUT_GUID] = '\0';
    }
}

/* Of crash.pdb, crash. */
static int stem_size(const char *name)
{
    int size = (int)strlen(name);

    return size > 4 && strcasecmp(name + size - 4, ".pdb") == 0 ? size - 4
                                                                : size;
}

/* crash.sym for crash.pdb, libc.so.6.sym for libc.so.6; next to these
 * Mozilla's tools put the debug files of stripped ELF files, libc.so.6.dbg. */
static void breakpad_path(char *path, const char *name, const char *id,
                          const char *extension, unsigned form)
{
    snprintf(path, LAYOUT_PATH_MAX + 1, "%s/%s/%.*s%s%s", name, id,
             stem_size(name), name, extension,
             form == FORM_PACKED ? ".gz" : "");
}

/* As Elastic's symbol store has it. */
static void symbfile_path(char *path, const symcache_key_t *key)
{
    char id[SYMCACHE_PROFILER_ID_TEXT + 1];

    symcache_profiler_id_print(id, key);
    snprintf(path, LAYOUT_PATH_MAX + 1, "%.2s/%.2s/%s/ranges", id, id + 2, id);
}

/* The last part of a path of the layout unified. */
static const char *unified_word(const symcache_key_t *key)
{
    symcache_kind_e kind = (symcache_kind_e)key->kind;

    if (layout_is_mapping(key)) {
        return "proguard";
    }
    return symcache_kind_text(symcache_kind_is_debuginfo(kind)
                                  ? SYMCACHE_KIND_DEBUGINFO
                                  : kind);
}

/* Of a source file or a section, with its name. */
static void debuginfod_path(char *path, const symcache_key_t *key,
                            const char *id, const char *word)
{
    char file[SYMCACHE_NAME_MAX + 1];
    int n = snprintf(path, LAYOUT_PATH_MAX + 1, "buildid/%s/%s", id, word);

    if (key->kind == SYMCACHE_KIND_SOURCE ||
        key->kind == SYMCACHE_KIND_SECTION) {
        (void)symcache_symbol_unescape(file, key);
        snprintf(path + n, LAYOUT_PATH_MAX + 1 - (size_t)n, "%s%s",
                 key->kind == SYMCACHE_KIND_SECTION ? "/" : "", file);
    }
}

static const char *bundle_end(const symcache_key_t *key)
{
    return symcache_key_is_bundle(key) ? UPLOADS_BUNDLE_END : ".src.zip";
}

static const char *build_id_end(symcache_kind_e kind)
{
    return kind == SYMCACHE_KIND_EXECUTABLE ? ""
           : kind == SYMCACHE_KIND_DWP      ? ".dwp"
                                            : ".debug";
}

#define FILE_MAX (SYMCACHE_NAME_MAX + sizeof(".symbfile"))

/* Writes the last part of a path. */
static void file_name(char file[FILE_MAX], const struct layout_walk *walk,
                      const char *name, unsigned form)
{
    symcache_kind_e kind = (symcache_kind_e)walk->key->kind;

    snprintf(file, FILE_MAX, "%s%s", name,
             walk->key->id_type == SYMCACHE_ID_HASH &&
                     kind != SYMCACHE_KIND_FILE
                 ? ".symbfile"
             : kind == SYMCACHE_KIND_GZIP ? ".gz"
                                          : "");
    if (kind == SYMCACHE_KIND_SOURCEBUNDLE) {
        snprintf(file, FILE_MAX, "%.*s%s", stem_size(name), name,
                 bundle_end(walk->key));
    }
    if (form == FORM_PACKED && layout_is_unnamed(walk->key)) {
        snprintf(file, FILE_MAX, LAYOUT_ANY "_");
    } else if (form == FORM_PACKED &&
               walk->source->layout != LAYOUT_BREAKPAD &&
               kind != SYMCACHE_KIND_GZIP) {
        layout_pack(file);
    }
}

/* Writes the path of a place; with two_tier, a folder named by the first two
 * characters of the name comes first. */
static void layout_path(char *path, const struct layout_walk *walk,
                        const char *name, const char *id, unsigned form)
{
    char file[FILE_MAX];
    enum source_layout layout = walk->source->layout;
    bool two_tier = walk->two_tier;
    symcache_kind_e kind = (symcache_kind_e)walk->key->kind;
    const char *word = unified_word(walk->key);

    file_name(file, walk, name, form);
    switch (layout) {
    case LAYOUT_UNIFIED:
        snprintf(path, LAYOUT_PATH_MAX + 1, "%.2s/%s/%s", id, id + 2, word);
        break;
    case LAYOUT_DEBUGINFOD:
        debuginfod_path(path, walk->key, id, word);
        break;
    case LAYOUT_BUILD_ID:
        snprintf(path, LAYOUT_PATH_MAX + 1, "%.2s/%s%s", id, id + 2,
                 build_id_end(kind));
        break;
    case LAYOUT_FLAT:
        snprintf(path, LAYOUT_PATH_MAX + 1, "%s", file);
        break;
    case LAYOUT_SLASHSYMBOLS:
        snprintf(path, LAYOUT_PATH_MAX + 1, "%s/%s/symbols", name, id);
        break;
    case LAYOUT_SYMBFILE:
        symbfile_path(path, walk->key);
        break;
    case LAYOUT_NATIVE:
        if (walk->key->id_type == SYMCACHE_ID_BUILD) {
            snprintf(path, LAYOUT_PATH_MAX + 1, "%s%s", id,
                     kind == SYMCACHE_KIND_SOURCEBUNDLE ? ".src.zip" : "");
        } else {
            snprintf(path, LAYOUT_PATH_MAX + 1, "%s/%s/%s", name, id, file);
        }
        break;
    case LAYOUT_BREAKPAD:
        breakpad_path(path, name, id,
                      kind == SYMCACHE_KIND_DEBUGINFO ? ".dbg" : ".sym", form);
        break;
    default:
        snprintf(path, LAYOUT_PATH_MAX + 1, "%.*s%s%s/%s/%s",
                 two_tier ? (int)layout_tier(name) : 0, name,
                 two_tier ? "/" : "", name, id,
                 form == FORM_POINTER ? "file.ptr" : file);
        break;
    }
}

static void layout_print(const struct layout_walk *walk, unsigned variant,
                         unsigned form, char *path)
{
    char name[SYMCACHE_NAME_MAX + 1], id[LAYOUT_ID_MAX + 1];

    if (form == FORM_INDEX) {
        snprintf(path, LAYOUT_PATH_MAX + 1, "index2.txt");
    } else {
        snprintf(name, sizeof(name), "%s", walk->name);
        symcache_id_print(id, walk->key);
        spell_variant(walk, variant, name, id);
        layout_path(path, walk, name, id, form);
    }

    if (walk->key->kind == SYMCACHE_KIND_SOURCE ||
        walk->key->kind == SYMCACHE_KIND_SECTION) {
        return; /* whose case is known */
    }
    if (walk->source->casing == CASING_LOWER) {
        layout_lower_text(path, strlen(path));
    } else if (walk->source->casing == CASING_UPPER) {
        upper_text(path, strlen(path));
    }
}

/* walks ------------------------------------------------------------------- */

/* A packed file is told by its name, and files that are named by a build id
 * have none. */
static bool has_form(const struct layout_walk *walk, enum layout_form form)
{
    if (walk->key->kind == SYMCACHE_KIND_SOURCEBUNDLE) {
        return form == FORM_PLAIN; /* an archive is packed */
    }
    if (walk->key->kind == SYMCACHE_KIND_FILE) {
        return form != FORM_PACKED; /* nothing tells what is unpacked */
    }
    if (symcache_kind_is_packed((symcache_kind_e)walk->key->kind)) {
        return form == FORM_PACKED;
    }
    return config_layout_has_form(walk->source->layout, form) &&
           (form == FORM_PLAIN || walk->source->layout != LAYOUT_NATIVE ||
            walk->key->id_type != SYMCACHE_ID_BUILD);
}

/* The form that worked last, then the others in the order of the source. */
static void order_variants(struct layout_walk *walk,
                           const struct layout_memory *memory)
{
    static const enum layout_form all[] = {FORM_PLAIN, FORM_PACKED,
                                           FORM_POINTER};
    const struct source_config *source = walk->source;
    const enum layout_form *forms = source->nforms > 0 ? source->forms : all;
    size_t i, n = source->nforms > 0 ? source->nforms : LAYOUT_FORMS;
    bool first;
    int pass;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < n; i++) {
            first = memory->had_any && forms[i] == memory->form;
            if (first == (pass == 0) && has_form(walk, forms[i])) {
                walk->forms[walk->nforms++] = forms[i];
            }
        }
    }
}

/* Puts the variants of a set before the others.  Returns how many they are. */
static unsigned put_first(struct layout_walk *walk, unsigned set)
{
    unsigned before[LAYOUT_VARIANTS], i, n = 0, first;

    memcpy(before, walk->variants, sizeof(before));
    for (i = 0; i < LAYOUT_VARIANTS; i++) {
        if (set & 1u << before[i]) {
            walk->variants[n++] = before[i];
        }
    }
    first = n;
    for (i = 0; i < LAYOUT_VARIANTS; i++) {
        if (!(set & 1u << before[i])) {
            walk->variants[n++] = before[i];
        }
    }
    return first;
}

/* The variant that worked last, then others that have worked, then the rest. */
static void sort_variants(struct layout_walk *walk,
                          const struct layout_memory *memory)
{
    unsigned i;

    for (i = 0; i < LAYOUT_VARIANTS; i++) {
        walk->variants[i] = i;
    }
    walk->nvariants = LAYOUT_VARIANTS;
    put_first(walk, memory->answered);
    put_first(walk, 1u << memory->variant);
}

void layout_begin(struct layout_walk *walk, const struct source_config *source,
                  const symcache_key_t *key, const char *name,
                  const struct layout_memory *memory)
{
    memset(walk, 0, sizeof(*walk));
    walk->source = source;
    walk->key = key;
    walk->name = name;
    sort_variants(walk, memory);
    walk->two_tier = source->layout == LAYOUT_TWO_TIER ||
                     (source->layout == LAYOUT_SYMSTORE && memory->two_tier);
    if (config_source_has_key(source, key)) {
        order_variants(walk, memory);
    }
    walk->tier_sure = source->layout != LAYOUT_SYMSTORE || walk->nforms == 0;
}

unsigned layout_answered(const struct layout_memory *memory)
{
    if (!memory->had_any) {
        return 0;
    }
    return memory->answered | (memory->two_tier ? LAYOUT_SET_TWO_TIER : 0);
}

/* Has this form been given in a spelling that comes to the same path? */
static bool given_path(const struct layout_walk *walk, unsigned rank,
                       const char *path)
{
    char earlier[LAYOUT_PATH_MAX + 1];
    unsigned i;

    for (i = 0; i < rank; i++) {
        layout_print(walk, walk->variants[i], walk->form, earlier);
        if (strcmp(earlier, path) == 0) {
            return true;
        }
    }
    return false;
}

static bool next_file(struct layout_walk *walk, struct layout_place *place)
{
    unsigned rank;

    while (walk->step < walk->nvariants * walk->nforms) {
        rank = walk->step / walk->nforms;
        walk->variant = walk->variants[rank];
        walk->form = walk->forms[walk->step % walk->nforms];
        walk->step++;

        layout_print(walk, walk->variant, walk->form, place->path);
        if (!given_path(walk, rank, place->path)) {
            place->form = walk->form;
            return true;
        }
    }
    return false;
}

bool layout_next(struct layout_walk *walk, struct layout_place *place)
{
    if (next_file(walk, place)) {
        return true;
    }

    if (!walk->probed && (!walk->tier_sure || walk->wants_index)) {
        walk->probed = true;
        place->form = FORM_INDEX;
        layout_print(walk, 0, FORM_INDEX, place->path);
        return true;
    }
    if (walk->tier_sure) {
        return false;
    }

    walk->tier_sure = true; /* the other number of tiers is asked for now */
    walk->two_tier = !walk->two_tier;
    walk->step = 0;
    return next_file(walk, place);
}

bool layout_limit(struct layout_walk *walk, unsigned set)
{
    struct layout_place place;
    struct layout_walk others;
    unsigned n;

    if (set == 0) {
        return false;
    }
    n = put_first(walk, set);
    if (walk->source->layout == LAYOUT_SYMSTORE) {
        walk->two_tier = (set & LAYOUT_SET_TWO_TIER) != 0;
    }
    others = *walk;
    others.step = n * walk->nforms;
    if (set & LAYOUT_SET_OTHERS) {
        *walk = others;
        return false;
    }
    walk->nvariants = n;
    walk->tier_sure = true;
    return layout_next(&others, &place);
}

void layout_want_index(struct layout_walk *walk)
{
    walk->wants_index = true;
}

void layout_index(struct layout_walk *walk, bool present)
{
    if (walk->source->layout == LAYOUT_SYMSTORE) {
        walk->tier_sure = walk->two_tier == present;
    }
}

void layout_hit(const struct layout_walk *walk, struct layout_memory *memory)
{
    memory->variant = walk->variant;
    memory->answered |= 1u << walk->variant;
    memory->form = walk->form;
    memory->two_tier = walk->two_tier;
    memory->had_any = true;
}

/* Does Mach-O have a place of its own besides that of ELF? That depends on the
 * variant. */
static bool has_uuid(const struct layout_walk *walk)
{
    enum source_layout layout = walk->source->layout;

    return walk->key->id_type == SYMCACHE_ID_BUILD &&
           walk->key->build_len == 16 && layout != LAYOUT_UNIFIED &&
           layout != LAYOUT_SLASHSYMBOLS && layout != LAYOUT_DEBUGINFOD &&
           layout != LAYOUT_BUILD_ID;
}

/* Adds the places of the number of tiers that the walk has now.  Those of
 * Mach-O have a spelling of their own, and no other form. */
static size_t add_places(struct layout_place *places, struct layout_walk *walk)
{
    size_t i, n = 0;

    for (i = 0; i < walk->nforms; i++) {
        places[n].form = walk->forms[i];
        layout_print(walk, LAYOUT_VARIANT_GIVEN, walk->forms[i],
                     places[n++].path);
    }
    places[n].form = FORM_PLAIN;
    layout_print(walk, LAYOUT_VARIANT_LOWER, FORM_PLAIN, places[n].path);
    return n + has_uuid(walk);
}

size_t layout_places(struct layout_place places[LAYOUT_PLACES],
                     const struct source_config *source,
                     const symcache_key_t *key, const char *name,
                     size_t *index)
{
    static const struct layout_memory memory;
    struct layout_walk walk;
    size_t n;

    *index = 0;
    layout_begin(&walk, source, key, name, &memory);
    if (walk.nforms == 0) {
        return 0;
    }

    n = add_places(places, &walk);
    if (source->layout == LAYOUT_SYMSTORE && !layout_is_unnamed(key)) {
        *index = n;
        places[n].form = FORM_INDEX;
        layout_print(&walk, 0, FORM_INDEX, places[n++].path);
        walk.two_tier = true;
        n += add_places(places + n, &walk);
    }
    return n;
}
