/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "debuginfo/wasm/wasm.h"

#define CUT_OFF "the file is cut off"

/* What is being looked at, and the answer in words. */
struct check {
    const symcache_key_t *key;
    const char *checksum;
    const uint8_t *data;
    uint64_t size;
    unsigned *features; /* what it has */
    char *detail;
    size_t detail_size;
};

static void guid_print(char *buf, const uint8_t guid[16])
{
    int i;

    for (i = 0; i < 16; i++) {
        snprintf(buf + 2 * i, 3, "%02X", guid[i]);
    }
}

static char found(const struct check *c, const char *note)
{
    snprintf(c->detail, c->detail_size, "%" PRIu64 " bytes%s", c->size, note);
    return 'F';
}

static char say(const struct check *c, char letter, const char *what)
{
    snprintf(c->detail, c->detail_size, "%s", what);
    return letter;
}

/* Is it the identity of the key?  If not, detail says what it is instead. */
static bool is_wanted(const struct check *c, const uint8_t guid[16],
                      uint32_t age)
{
    char want_text[33], got_text[33];

    if (c->key->id_type != SYMCACHE_ID_DEBUG ||
        memcmp(guid, c->key->guid, sizeof(c->key->guid)) != 0) {
        guid_print(want_text, c->key->guid);
        guid_print(got_text, guid);
        snprintf(c->detail, c->detail_size, "wrong GUID: wanted %s, got %s",
                 want_text, got_text);
        return false;
    }
    if (age != c->key->age) {
        snprintf(c->detail, c->detail_size,
                 "wrong age: wanted %" PRIu32 ", got %" PRIu32, c->key->age,
                 age);
        return false;
    }
    return true;
}

/* Is it asked for because something is made of it, and not as an original? */
static bool is_converted(const struct check *c)
{
    return !symcache_kind_is_original((symcache_kind_e)c->key->kind);
}

/* The set of features that a file has. */
static unsigned features_of(bool debug_info, bool symbols, bool unwind_info)
{
    return (debug_info ? SYMCACHE_HAS_DEBUG : 0) |
           (symbols ? SYMCACHE_HAS_SYMBOLS : 0) |
           (unwind_info ? SYMCACHE_HAS_UNWIND : 0);
}

/* A file of which something is made, and its debug id. */
struct content {
    const uint8_t *guid; /* NULL or all zero: none */
    uint32_t age;
    unsigned features;
    bool is_cut;
};

/*
 * Originals need nothing.  A file without what a kind needs is no miss of its
 * source, but of no use.  Of a program without debug information a SymCache of
 * its symbols is made if there is nothing better, as of a PDB with public
 * symbols only.
 */
static char check_use(const struct check *c, const struct content *got)
{
    unsigned needs = symcache_kind((symcache_kind_e)c->key->kind)->needs;

    *c->features = got->features;
    if (got->is_cut) {
        return say(c, 'U', CUT_OFF);
    }
    if (needs != 0 && !(got->features & needs)) {
        return say(c, 'N',
                   needs & SYMCACHE_HAS_UNWIND
                       ? "no unwind information"
                       : "neither debug information nor symbols");
    }
    if ((needs & SYMCACHE_HAS_DEBUG) &&
        !(got->features & SYMCACHE_HAS_DEBUG)) {
        found(c, ", symbols only");
        return 'f';
    }
    return found(c, "");
}

/*
 * The debug id decides, whatever led to the file.  A file without one fits no
 * key: all such files would have the same.
 */
static char check_content(const struct check *c, const struct content *got)
{
    static const uint8_t none[16];

    if (got->guid == NULL || memcmp(got->guid, none, sizeof(none)) == 0) {
        return say(c, 'W', "a file without a debug id");
    }
    return is_wanted(c, got->guid, got->age) ? check_use(c, got) : 'W';
}

static char check_pdb(const struct check *c)
{
    struct pdb_identity got;

    if (pdb_identity_read(c->data, (size_t)c->size, &got, c->detail,
                          c->detail_size) != 0) {
        return 'U';
    }
    *c->features =
        features_of(!got.stripped, true, got.has_unwind_info != 0);
    if (!is_wanted(c, got.guid, got.age)) {
        return 'W';
    }
    if (c->key->kind == SYMCACHE_KIND_CFICACHE) {
        return check_use(c, &(struct content){.features = *c->features});
    }
    found(c, got.stripped ? ", public symbols only" : "");
    return got.stripped ? 'f' : 'F';
}

/*
 * The key of a portable PDB has the age FFFFFFFF; tools that do not know this
 * use 1, and those that know only the file its stamp.
 */
static char check_portablepdb(const struct check *c)
{
    struct portablepdb_identity got;
    uint32_t age = c->key->age;

    if (portablepdb_identity_read(c->data, (size_t)c->size, &got, c->detail,
                                  c->detail_size) != 0) {
        return 'U';
    }
    if (age != 1 && age != got.stamp) {
        age = PORTABLEPDB_AGE;
    }
    if (!is_wanted(c, got.guid, age)) {
        return 'W';
    }
    if (!checksum_fits(c->checksum, c->data, (size_t)c->size, got.id_at)) {
        return say(c, 'U', "another checksum than the one asked for");
    }
    *c->features = SYMCACHE_HAS_DEBUG;
    return found(c, "");
}

/* A file without a name in it may have any name. */
static char check_breakpad(const struct check *c)
{
    struct breakpad_identity got;
    char letter;

    if (breakpad_identity_read(c->data, (size_t)c->size, &got, c->detail,
                               c->detail_size) != 0) {
        return 'U';
    }
    if (!is_wanted(c, got.guid, got.age)) {
        return 'W';
    }
    if (got.name_size > 0 &&
        (got.name_size != c->key->name_len ||
         strncasecmp(got.name, c->key->name, got.name_size) != 0)) {
        snprintf(c->detail, c->detail_size,
                 "wrong name: wanted %s, got %.*s", c->key->name,
                 (int)got.name_size, got.name);
        return 'W';
    }
    /* Text does not say how long it is.  But half of a copy, or one whose rest
     * consists of zeros, rarely ends with a line feed. */
    if (c->data[c->size - 1] == '\0') {
        return say(c, 'U', "ends with zeros");
    }
    letter = check_use(
        c, &(struct content){
               .features = features_of(got.has_debug_info, got.has_symbols,
                                       got.has_unwind_info)});
    return letter == 'F' && c->data[c->size - 1] != '\n' ? 'C' : letter;
}

static char check_pe(const struct check *c)
{
    const symcache_key_t *key = c->key;
    struct content content;
    struct pe_code got;

    if (pe_code_read(c->data, (size_t)c->size, &got, c->detail,
                     c->detail_size) != 0) {
        return 'U';
    }
    content = (struct content){got.debug_id.guid, got.debug_id.age,
                               features_of(got.has_debug_info, got.has_symbols,
                                           got.has_unwind_info),
                               got.is_cut};
    if (is_converted(c) && key->id_type == SYMCACHE_ID_DEBUG) {
        return check_content(c, &content);
    }
    if (key->id_type != SYMCACHE_ID_PE || got.time_stamp != key->timestamp ||
        got.image_size != key->image_size) {
        snprintf(c->detail, c->detail_size,
                 "another image: time stamp and size are %08" PRIX32 "%" PRIx32,
                 got.time_stamp, got.image_size);
        return 'W';
    }
    if (is_converted(c)) {
        return check_use(c, &content);
    }
    return got.is_cut ? say(c, 'U', CUT_OFF) : found(c, "");
}

static char wrong_build_id(const struct check *c, const uint8_t *id,
                           size_t size)
{
    char text[2 * SYMCACHE_BUILD_ID_MAX + 1] = "none";
    size_t i;

    for (i = 0; i < size && i < SYMCACHE_BUILD_ID_MAX; i++) {
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    }
    snprintf(c->detail, c->detail_size, "wrong build id: %s", text);
    return 'W';
}

static bool is_build_id(const symcache_key_t *key, const uint8_t *id,
                        size_t size)
{
    return key->id_type == SYMCACHE_ID_BUILD && key->build_len == size &&
           memcmp(key->build, id, size) == 0;
}

/* A program that was stripped has the build id of its debug file, which a
 * debugger takes for it, and would look no further. */
static char check_elf(const struct check *c)
{
    struct elf_identity got;

    if (elf_identity_read(c->data, (size_t)c->size, &got, c->detail,
                          c->detail_size) != 0) {
        return 'U';
    }
    if (is_converted(c)) {
        return check_content(
            c, &(struct content){got.guid, 0,
                                 features_of(got.has_debug_info,
                                             got.has_symbols,
                                             got.has_unwind_info),
                                 got.is_cut});
    }
    if (!is_build_id(c->key, got.build_id, got.build_id_size)) {
        return wrong_build_id(c, got.build_id, got.build_id_size);
    }
    if (got.is_cut) {
        return say(c, 'U', CUT_OFF);
    }
    if (c->key->kind == SYMCACHE_KIND_SECTION) {
        return found(c, ""); /* either of both may have it */
    }
    if (c->key->kind == SYMCACHE_KIND_EXECUTABLE && !got.has_code) {
        return say(c, 'W', "a debug file, without code");
    }
    if (c->key->kind != SYMCACHE_KIND_EXECUTABLE && !got.has_debug_info &&
        (got.has_code || !got.has_symbols)) {
        return say(c, 'W', "a program without debug information");
    }
    return found(c, "");
}

/* Of several images, that with the UUID counts, or else the first. */
static char check_slices(const struct check *c,
                         const struct macho_identity *got)
{
    const struct macho_slice *slice = &got->slices[0];
    unsigned i;

    for (i = 0; i < got->num_slices; i++) {
        if (got->slices[i].has_uuid &&
            memcmp(got->slices[i].uuid, c->key->guid, 16) == 0) {
            slice = &got->slices[i];
            break;
        }
    }
    return check_content(
        c, &(struct content){slice->has_uuid ? slice->uuid : NULL, 0,
                             features_of(slice->has_debug_info,
                                         slice->has_symbols,
                                         slice->has_unwind_info),
                             !slice->is_sound});
}

static char check_wasm(const struct check *c)
{
    struct wasm_identity got;

    if (wasm_identity_read(c->data, (size_t)c->size, &got, c->detail,
                           c->detail_size) != 0) {
        return 'U';
    }
    if (!is_converted(c)) {
        return say(c, 'U', "a WebAssembly module");
    }
    return check_content(
        c, &(struct content){got.guid, 0,
                             features_of(got.has_debug_info, got.has_symbols,
                                         false),
                             false});
}

static char check_macho(const struct check *c)
{
    bool dsym = c->key->kind != SYMCACHE_KIND_EXECUTABLE, other = false;
    const struct macho_slice *slice;
    struct macho_identity got;
    unsigned i;

    if (macho_identity_read(c->data, (size_t)c->size, &got, c->detail,
                            c->detail_size) != 0) {
        return 'U';
    }
    if (is_converted(c)) {
        return check_slices(c, &got);
    }
    for (i = 0; i < got.num_slices; i++) {
        slice = &got.slices[i];
        if (!slice->has_uuid || !is_build_id(c->key, slice->uuid, 16)) {
            continue;
        }
        if (slice->is_dsym == dsym) {
            return slice->is_sound ? found(c, "") : say(c, 'U', CUT_OFF);
        }
        other = true;
    }
    if (other) {
        return say(c, 'W', dsym ? "a program, not its debug information"
                                : "debug information, not its program");
    }
    return wrong_build_id(c, got.slices[0].uuid,
                          got.num_slices > 0 && got.slices[0].has_uuid ? 16
                                                                       : 0);
}

/* The server says what it is, and nothing in it does. */
static char check_any(const struct check *c)
{
    return found(c, "");
}

char identity_check(const symcache_key_t *key, enum original_format format,
                    const char *checksum,
                    const uint8_t *data, uint64_t size, unsigned *features,
                    char *detail, size_t detail_size)
{
    static char (*const checks[])(const struct check *) = {
        [FORMAT_PDB] = check_pdb,     [FORMAT_BREAKPAD] = check_breakpad,
        [FORMAT_PE] = check_pe,       [FORMAT_ELF] = check_elf,
        [FORMAT_MACHO] = check_macho, [FORMAT_PORTABLEPDB] = check_portablepdb,
        [FORMAT_WASM] = check_wasm,
        [FORMAT_ANY] = check_any,
    };
    struct check c = {key,      checksum, data,       size,
                      features, detail,   detail_size};

    _Static_assert(sizeof(checks) / sizeof(checks[0]) == FORMATS,
                   "a format has no check");
    *features = 0;
    return checks[format](&c);
}

bool identity_has_guid(const symcache_key_t *key, enum original_format format,
                       const uint8_t *data, uint64_t size)
{
    struct portablepdb_identity portable;
    struct pdb_identity pdb;
    const uint8_t *guid;
    char error[160];

    if (format == FORMAT_PDB &&
        pdb_identity_read(data, (size_t)size, &pdb, error, sizeof(error)) ==
            0) {
        guid = pdb.guid;
    } else if (format == FORMAT_PORTABLEPDB &&
               portablepdb_identity_read(data, (size_t)size, &portable, error,
                                         sizeof(error)) == 0) {
        guid = portable.guid;
    } else {
        return false;
    }
    return key->id_type == SYMCACHE_ID_DEBUG &&
           memcmp(guid, key->guid, sizeof(key->guid)) == 0;
}
