/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/hex.h"

#define CUT_OFF "the file is cut off"

/* The answer in words. */
struct text {
    char *at;
    size_t size;
};

static enum identity_fit say_fit(struct text text, enum identity_fit fit,
                                 const char *what)
{
    snprintf(text.at, text.size, "%s", what);
    return fit;
}

/* Is it asked for because something is made of it, and not as an original? */
static bool is_converted(const symcache_key_t *key)
{
    return !symcache_kind_is_original((symcache_kind_e)key->kind);
}

/*
 * The key of a portable PDB has the age FFFFFFFF; tools that do not know this
 * use 1, and those that know only the file its stamp.
 */
static bool has_age(const struct file_identity *id, uint32_t age)
{
    return age == id->age || (id->format == FORMAT_PORTABLEPDB &&
                              (age == 1 || age == id->stamp));
}

/*
 * Is it the debug id of the key?  If not, text says what it is instead.  A
 * file without one fits no key: all such files would have the same.
 */
static bool has_debug_id(const struct file_identity *id,
                         const symcache_key_t *key, struct text text)
{
    static const uint8_t none[16];
    char want[33], got[33];

    if (memcmp(id->guid, none, sizeof(none)) == 0) {
        return say_fit(text, false, "a file without a debug id");
    }
    if (key->id_type != SYMCACHE_ID_DEBUG ||
        memcmp(id->guid, key->guid, sizeof(key->guid)) != 0) {
        hex_print(want, key->guid, 16, HEX_UPPER);
        hex_print(got, id->guid, 16, HEX_UPPER);
        snprintf(text.at, text.size, "wrong GUID: wanted %s, got %s", want,
                 got);
        return false;
    }
    if (!has_age(id, key->age)) {
        snprintf(text.at, text.size,
                 "wrong age: wanted %" PRIu32 ", got %" PRIu32, key->age,
                 id->age);
        return false;
    }
    /* a file without a name in it may have any name, and so may one that is
     * looked for without one */
    if (id->name_size > 0 && strcmp(key->name, SYMCACHE_NAME_NONE) != 0 &&
        (id->name_size != key->name_len ||
         strncasecmp(id->name, key->name, id->name_size) != 0)) {
        snprintf(text.at, text.size, "wrong name: wanted %s, got %.*s",
                 key->name, (int)id->name_size, id->name);
        return false;
    }
    return true;
}

/* Originals need nothing; of a PDB all symbols are better than public ones. */
static bool may_be_better(const struct file_identity *id, unsigned needs)
{
    return (needs == 0 ? id->format == FORMAT_PDB
                       : (needs & SYMCACHE_HAS_DEBUG) != 0) &&
           !(id->features & SYMCACHE_HAS_DEBUG);
}

/*
 * A file without the data that a kind needs is useless, but it does not count
 * as missing at its source.  For a program without debug information, a
 * SymCache of its symbols is made if there is nothing better; the same holds
 * for a PDB with public symbols only.
 */
static enum identity_fit check_use(const struct file_identity *id,
                                   const symcache_key_t *key, struct text text)
{
    unsigned needs = symcache_kind((symcache_kind_e)key->kind)->needs;

    if (id->is_cut) {
        return say_fit(text, IDENTITY_DAMAGED,
                       id->format == FORMAT_BREAKPAD ? "ends with zeros"
                                                     : CUT_OFF);
    }
    if (needs != 0 && !(id->features & needs)) {
        return say_fit(text, IDENTITY_USELESS,
                       needs & SYMCACHE_HAS_UNWIND    ? "no unwind information"
                       : needs & SYMCACHE_HAS_SOURCES ? "no source files"
                       : needs & SYMCACHE_HAS_CODE
                           ? "no machine code"
                           : "neither debug information nor symbols");
    }
    if (may_be_better(id, needs)) {
        return say_fit(text, IDENTITY_SYMBOLS_ONLY,
                       id->format == FORMAT_PDB ? ", public symbols only"
                                                : ", symbols only");
    }
    return say_fit(
        text, id->is_unfinished ? IDENTITY_UNFINISHED : IDENTITY_FITS, "");
}

static enum identity_fit fits_image(const struct file_identity *id,
                                    const symcache_key_t *key,
                                    struct text text)
{
    if (key->id_type == SYMCACHE_ID_PE && id->timestamp == key->timestamp &&
        id->image_size == key->image_size) {
        return check_use(id, key, text);
    }
    snprintf(text.at, text.size,
             "another image: time stamp and size are %08" PRIX32 "%" PRIx32,
             id->timestamp, id->image_size);
    return IDENTITY_ANOTHER;
}

/*
 * Why a file with the build id is not the original of the kind; NULL: it is. A
 * program that was stripped has the build id of its debug file, which a
 * debugger takes for it, and would look no further.
 */
static const char *wrong_role(const struct file_identity *id,
                              symcache_kind_e kind)
{
    bool code = (id->features & SYMCACHE_HAS_CODE) != 0;

    if (kind == SYMCACHE_KIND_SECTION) {
        return NULL; /* either of both may have it */
    }
    if (kind == SYMCACHE_KIND_EXECUTABLE) {
        return code ? NULL
               : id->format == FORMAT_MACHO
                   ? "debug information, not its program"
                   : "a debug file, without code";
    }
    if (id->format == FORMAT_MACHO) {
        return code ? "a program, not its debug information" : NULL;
    }
    return (id->features & SYMCACHE_HAS_DEBUG) ||
                   (!code && (id->features & SYMCACHE_HAS_SYMBOLS))
               ? NULL
               : "a program without debug information";
}

/* Of several images, one may be the program and another its dSYM. */
static enum identity_fit fits_build_id(const struct file_identity *list,
                                       size_t n, const symcache_key_t *key,
                                       const struct file_identity **which,
                                       struct text text)
{
    char id[2 * SYMCACHE_BUILD_ID_MAX + 1];
    const char *wrong = NULL;
    size_t i;

    for (i = 0; i < n; i++) {
        if (list[i].build_len == 0 || key->id_type != SYMCACHE_ID_BUILD ||
            key->build_len != list[i].build_len ||
            memcmp(key->build, list[i].build, key->build_len) != 0) {
            continue;
        }
        *which = &list[i];
        if (list[i].is_cut && list[i].format == FORMAT_ELF) {
            return say_fit(text, IDENTITY_DAMAGED, CUT_OFF);
        }
        wrong = wrong_role(&list[i], (symcache_kind_e)key->kind);
        if (wrong == NULL) {
            return check_use(&list[i], key, text);
        }
    }
    if (wrong != NULL) {
        return say_fit(text, IDENTITY_ANOTHER, wrong);
    }
    hex_print(id, list->build, list->build_len, HEX_LOWER);
    snprintf(text.at, text.size, "wrong build id: %s",
             list->build_len > 0 ? id : "none");
    return IDENTITY_ANOTHER;
}

enum identity_fit identity_fits(const struct file_identity *list, size_t n,
                                const symcache_key_t *key,
                                const struct file_identity **which,
                                char *detail, size_t detail_size)
{
    struct text text = {detail, detail_size};
    size_t i;

    *which = list;
    if (list->format == FORMAT_ANY) {
        return say_fit(text, IDENTITY_FITS, "");
    }
    if (list->format == FORMAT_PE &&
        !(is_converted(key) && key->id_type == SYMCACHE_ID_DEBUG)) {
        return fits_image(list, key, text);
    }
    if (list->format == FORMAT_SOURCEBUNDLE) {
        return check_use(list, key, text); /* its place identifies the
                                              module */
    }
    if (1u << list->format & FORMATS_AUXILIARY) {
        return symcache_kind_is_auxiliary((symcache_kind_e)key->kind)
                   ? check_use(list, key, text) /* the same */
                   : say_fit(text, IDENTITY_ANOTHER, "no debug file");
    }
    if (list->format == FORMAT_PROGUARD) {
        return key->id_type == SYMCACHE_ID_DEBUG
                   ? check_use(list, key, text) /* the same */
                   : say_fit(text, IDENTITY_ANOTHER, "a mapping");
    }
    if (list->format == FORMAT_SYMBFILE) {
        return key->id_type == SYMCACHE_ID_HASH
                   ? check_use(list, key, text)
                   : say_fit(text, IDENTITY_ANOTHER,
                             "a file without a debug id");
    }
    if (list->format == FORMAT_WASM && !is_converted(key)) {
        return say_fit(text, IDENTITY_DAMAGED, "a WebAssembly module");
    }
    if ((list->format == FORMAT_ELF || list->format == FORMAT_MACHO) &&
        !is_converted(key)) {
        return fits_build_id(list, n, key, which, text);
    }
    /* of several images, that with the id counts, or else the first */
    for (i = n; i > 0; i--) {
        if (memcmp(list[i - 1].guid, key->guid, sizeof(key->guid)) == 0) {
            *which = &list[i - 1];
        }
    }
    return has_debug_id(*which, key, text) ? check_use(*which, key, text)
                                           : IDENTITY_ANOTHER;
}
