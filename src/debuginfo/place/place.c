/*
 * Copyright (C) the ngx_symcache authors
 */
#include "place.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/portablepdb/portablepdb.h"

/* A file, and what is found out about it. */
struct candidate {
    const uint8_t *data;
    size_t size;
    const char *const *parts;
    bool packed;
    struct debug_place *place;
    char *error;
    size_t error_size;
};

#define FAIL(c, ...)                                                          \
    (snprintf((c)->error, (c)->error_size, __VA_ARGS__), false)

/* Is the second part this debug id? */
static bool has_debug_id(struct candidate *c, const uint8_t guid[16],
                         uint32_t age)
{
    symcache_key_t *key = &c->place->ids[0], path = {0};
    char got[SYMCACHE_ID_TEXT_MAX + 1];

    key->id_type = SYMCACHE_ID_DEBUG;
    memcpy(key->guid, guid, sizeof(key->guid));
    key->age = age;
    c->place->nids = 1;
    symcache_id_print(got, key);
    snprintf(c->place->id, sizeof(c->place->id), "%s", got);
    if (c->parts[1] == NULL) {
        return true;
    }
    if (symcache_debug_id_parse(c->parts[1], strlen(c->parts[1]), &path) !=
            SYMCACHE_OK ||
        memcmp(path.guid, guid, sizeof(path.guid)) != 0 || path.age != age) {
        return FAIL(c, "has the id %s, and not %.136s", got, c->parts[1]);
    }
    return true;
}

/* Is the third part this name, or for a packed file that of a packed one?  This
 * is the last letter replaced by "_", or ".gz" behind it. */
static bool has_file(struct candidate *c, const char *name)
{
    const char *file = c->parts[2] != NULL ? c->parts[2] : name;
    size_t len = strlen(name);
    bool is_same = strcasecmp(file, name) == 0;

    if (!is_same && c->packed) {
        is_same = (strlen(file) == len && file[len - 1] == '_' &&
                   strncasecmp(file, name, len - 1) == 0) ||
                  (strncasecmp(file, name, len) == 0 &&
                   strcasecmp(file + len, ".gz") == 0);
    }
    if (!is_same) {
        return FAIL(c, "is called %s there, and not %.255s", name, file);
    }
    snprintf(c->place->file, sizeof(c->place->file), "%s", name);
    return true;
}

static void note_features(struct candidate *c, bool debug_info, bool symbols,
                          bool unwind_info)
{
    c->place->features = (debug_info ? SYMCACHE_HAS_DEBUG : 0) |
                         (symbols ? SYMCACHE_HAS_SYMBOLS : 0) |
                         (unwind_info ? SYMCACHE_HAS_UNWIND : 0);
}

static bool is_pdb(struct candidate *c)
{
    struct pdb_identity got;

    if (pdb_identity_read(c->data, c->size, &got, c->error, c->error_size) !=
        0) {
        return false;
    }
    note_features(c, !got.stripped, true, got.has_unwind_info != 0);
    return has_debug_id(c, got.guid, got.age) && has_file(c, c->place->name);
}

static bool is_portable_pdb(struct candidate *c)
{
    struct portablepdb_identity got;

    note_features(c, true, false, false);
    return portablepdb_identity_read(c->data, c->size, &got, c->error,
                                     c->error_size) == 0 &&
           has_debug_id(c, got.guid, PORTABLEPDB_AGE) &&
           has_file(c, c->place->name);
}

/* Text says whose it is, whatever its own name on the disk. */
static bool take_name(struct candidate *c, const struct breakpad_identity *got)
{
    symcache_key_t key;

    if (c->parts[2] != NULL || got->name_size == 0) {
        return true;
    }
    if (symcache_name_parse(got->name, got->name_size, &key) != SYMCACHE_OK ||
        key.name[0] == '.') {
        return FAIL(c, "is of a module with a name that is not allowed");
    }
    memcpy(c->place->name, key.name, key.name_len + 1);
    return true;
}

/* crash.sym of crash.pdb, libc.so.6.sym of libc.so.6 */
static bool is_breakpad(struct candidate *c)
{
    const char *name = c->place->name;
    size_t len, stem;
    struct breakpad_identity got;
    char file[SYMCACHE_NAME_MAX + 8];

    if (breakpad_identity_read(c->data, c->size, &got, c->error,
                               c->error_size) != 0 ||
        !has_debug_id(c, got.guid, got.age) || !take_name(c, &got)) {
        return false;
    }
    note_features(c, true, got.has_symbols, got.has_unwind_info);
    len = strlen(name);
    stem = len;
    if (got.name_size > 0 &&
        (got.name_size != len || strncasecmp(got.name, name, len) != 0)) {
        return FAIL(c, "is of %.*s, and not of %s", (int)got.name_size,
                    got.name, name);
    }
    /* text does not say how long it is, but it ends with a line */
    if (c->data[c->size - 1] != '\n') {
        return FAIL(c, "is cut off in its last line");
    }
    if (len > 4 && strcmp(name + len - 4, ".pdb") == 0) {
        stem = len - 4;
    }
    snprintf(file, sizeof(file), "%.*s.sym", (int)stem, name);
    return strlen(file) <= SYMCACHE_NAME_MAX
               ? has_file(c, file)
               : FAIL(c, "has a name that is too long");
}

static bool is_image(struct candidate *c)
{
    symcache_key_t *key = &c->place->ids[0], path = {0};
    struct pe_code got;

    if (pe_code_read(c->data, c->size, &got, c->error, c->error_size) != 0) {
        return false;
    }
    note_features(c, got.has_debug_info, got.has_symbols,
                  got.has_unwind_info);
    key->id_type = SYMCACHE_ID_PE;
    key->timestamp = got.time_stamp;
    key->image_size = got.image_size;
    c->place->nids = 1;
    symcache_id_print(c->place->id, key);
    if (c->parts[1] == NULL) {
        return has_file(c, c->place->name);
    }
    if (symcache_id_parse(c->parts[1], strlen(c->parts[1]), &path) !=
            SYMCACHE_OK ||
        path.id_type != SYMCACHE_ID_PE || path.timestamp != key->timestamp ||
        path.image_size != key->image_size) {
        return FAIL(c, "has the id %s, and not %.136s", c->place->id,
                    c->parts[1]);
    }
    return has_file(c, c->place->name);
}

/* How symbol stores call files by their build id (SSQP). */
struct ssqp {
    const char *code;  /* before the digits of the id of a module */
    const char *debug; /* the same of its debug file, */
    const char *name;  /* which has this name, whatever the module's is */
    size_t digits;     /* shorter ids are filled up with zeros */
};

static const struct ssqp ssqp_elf = {"elf-buildid-", "elf-buildid-sym-",
                                     "_.debug", 40};
static const struct ssqp ssqp_macho = {"mach-uuid-", "mach-uuid-sym-",
                                       "_.dwarf", 32};

/* Notes a build id, and the debug id that is made of it. */
static void note_build_id(struct candidate *c, const uint8_t *id, size_t size,
                          const uint8_t guid[16])
{
    symcache_key_t *keys = c->place->ids;

    keys[0].id_type = SYMCACHE_ID_BUILD;
    keys[0].build_len = (uint8_t)size;
    memcpy(keys[0].build, id, size);
    keys[1].id_type = SYMCACHE_ID_DEBUG;
    memcpy(keys[1].guid, guid, sizeof(keys[1].guid));
    c->place->nids = 2;
}

static void print_ssqp(struct candidate *c, const struct ssqp *ssqp,
                       bool is_debug)
{
    const symcache_key_t *key = &c->place->ids[0];
    char *at = c->place->id;
    size_t i;

    at = stpcpy(at, is_debug ? ssqp->debug : ssqp->code);
    for (i = 0; i < key->build_len || 2 * i < ssqp->digits; i++) {
        snprintf(at, 3, "%02x", i < key->build_len ? key->build[i] : 0);
        at += 2;
    }
}

/*
 * Compares the path with a build id: <name>/elf-buildid-<id>/<name> is a
 * module, and _.debug/elf-buildid-sym-<id>/_.debug its debug file.  Breakpad's
 * tools know the latter as <name>/<debug id>/<name>.dbg.
 */
static bool has_build_id(struct candidate *c, const struct ssqp *ssqp,
                         bool has_code, bool has_debug)
{
    bool is_debug = strcmp(c->place->name, ssqp->name) == 0;
    char debug_id[SYMCACHE_ID_TEXT_MAX + 1], file[SYMCACHE_NAME_MAX + 8];

    symcache_id_print(debug_id, &c->place->ids[1]);
    if (c->parts[1] == NULL) {
        is_debug = !has_code;
        snprintf(file, sizeof(file), "%s", c->place->name);
        print_ssqp(c, ssqp, is_debug);
    } else if (strcasecmp(c->parts[1], debug_id) == 0) {
        is_debug = true;
        snprintf(file, sizeof(file), "%s.dbg", c->place->name);
        print_ssqp(c, ssqp, true);
    } else {
        snprintf(file, sizeof(file), "%s", c->place->name);
        print_ssqp(c, ssqp, is_debug);
        if (strcasecmp(c->parts[1], c->place->id) != 0) {
            return FAIL(c, "has the id %s, and not %.255s", c->place->id,
                        c->parts[1]);
        }
    }
    if (is_debug ? !has_debug : !has_code) {
        return FAIL(c, is_debug ? "has no debug information"
                                : "has no code");
    }
    if (strlen(file) > SYMCACHE_NAME_MAX || !has_file(c, file)) {
        return false;
    }
    if (strcmp(c->place->name, ssqp->name) != 0) {
        memcpy(c->place->module, c->place->name, sizeof(c->place->module));
    }
    if (is_debug) {
        snprintf(c->place->name, sizeof(c->place->name), "%s", ssqp->name);
        snprintf(c->place->file, sizeof(c->place->file), "%s", ssqp->name);
    }
    return true;
}

static bool is_elf(struct candidate *c)
{
    struct elf_identity got;

    if (elf_identity_read(c->data, c->size, &got, c->error, c->error_size) !=
        0) {
        return false;
    }
    if (got.build_id_size == 0 || got.build_id_size > SYMCACHE_BUILD_ID_MAX) {
        return FAIL(c, "is an ELF file without a build id");
    }
    note_features(c, got.has_debug_info, got.has_symbols,
                  got.has_unwind_info);
    note_build_id(c, got.build_id, got.build_id_size, got.guid);
    return has_build_id(c, &ssqp_elf, got.has_code,
                        got.has_debug_info || got.has_symbols);
}

/* Of a fat file, each slice is one by which it may be asked for. */
static bool is_macho(struct candidate *c)
{
    struct macho_identity got;
    const struct macho_slice *slice;
    unsigned i;

    if (macho_identity_read(c->data, c->size, &got, c->error,
                            c->error_size) != 0) {
        return false;
    }
    snprintf(c->error, c->error_size, "is a Mach-O file without a UUID");
    for (i = 0; i < got.num_slices; i++) {
        slice = &got.slices[i];
        if (!slice->is_sound || !slice->has_uuid) {
            continue;
        }
        note_features(c, slice->has_debug_info, slice->has_symbols,
                      slice->has_unwind_info);
        note_build_id(c, slice->uuid, sizeof(slice->uuid), slice->uuid);
        if (has_build_id(c, &ssqp_macho, !slice->is_dsym, slice->is_dsym)) {
            return true;
        }
    }
    return false;
}

static bool sniff_pdb(const uint8_t *data, size_t size)
{
    static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n";

    return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic) - 1) == 0;
}

static bool sniff_image(const uint8_t *data, size_t size)
{
    return size > 2 && memcmp(data, "MZ", 2) == 0;
}

static const struct {
    bool (*sniff)(const uint8_t *data, size_t size);
    bool (*is)(struct candidate *c);
    enum original_format format;
    bool needs_id; /* in the path */
    bool by_build_id;
} kinds[] = {
    {sniff_pdb, is_pdb, FORMAT_PDB, false, false},
    {portablepdb_sniff, is_portable_pdb, FORMAT_PORTABLEPDB, false, false},
    {breakpad_sniff, is_breakpad, FORMAT_BREAKPAD, true, false},
    {sniff_image, is_image, FORMAT_PE, true, false},
    {elf_sniff, is_elf, FORMAT_ELF, true, true},
    {macho_sniff, is_macho, FORMAT_MACHO, true, true},
};

bool debug_place_read(const uint8_t *data, size_t size,
                      const char *const parts[3], bool packed,
                      struct debug_place *place, char *error,
                      size_t error_size)
{
    struct candidate c = {.data = data,
                          .size = size,
                          .parts = parts,
                          .packed = packed,
                          .place = place,
                          .error = error,
                          .error_size = error_size};
    symcache_key_t key;
    size_t i;

    memset(place, 0, sizeof(*place));
    if (symcache_name_parse(parts[0], strlen(parts[0]), &key) !=
            SYMCACHE_OK ||
        parts[0][0] == '.') {
        return FAIL(&c, "has a name that is not allowed");
    }
    memcpy(place->name, key.name, key.name_len + 1);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].sniff(data, size) &&
            (parts[1] != NULL || parts[2] == NULL || !kinds[i].needs_id)) {
            place->format = kinds[i].format;
            if (!kinds[i].is(&c)) {
                return false;
            }
            if (!kinds[i].by_build_id) {
                memcpy(place->module, place->name, sizeof(place->module));
            }
            return true;
        }
    }
    return FAIL(&c, "is no file whose identity can be read: no PDB, no "
                    "Breakpad text, no PE, ELF or Mach-O file");
}
