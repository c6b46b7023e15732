/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/hex.h"
#include "base/profiler_id.h"
#include "base/utf8.h"
#include "debuginfo/wasm/wasm.h"

/* A file, and what is found out about it. */
struct symstore_path_candidate {
    const struct file_identity *id;
    const char *const *parts;
    bool packed;
    struct symstore_path *place;
    char *error;
    size_t error_size;
};

#define UNKNOWN                                                               \
    "is not a file whose identity can be read: no PDB, no Breakpad text, no " \
    "PE, ELF or Mach-O file, no source bundle, no mapping of names or lines"

#define UTF16_PART 16384 /* bytes of a file that say whether it is */

#define NOT_IN_SYMSTORE(path, ...)                                            \
    (snprintf((path)->error, (path)->error_size, __VA_ARGS__), false)

/* As Breakpad's dump_syms writes it of a program without a build id. */
static bool path_has_no_guid(const struct symstore_path_candidate *path)
{
    static const uint8_t none[16];

    return memcmp(path->id->guid, none, sizeof(none)) == 0;
}

/* Is the second part this debug id?  Without a path, one of zeros is none:
 * nothing tells such files apart. */
static bool path_has_debug_id(struct symstore_path_candidate *path)
{
    const uint8_t *guid = path->id->guid;
    uint32_t age = path->id->age;
    symcache_key_t *key = &path->place->ids[0], wanted = {0};
    char got[SYMCACHE_ID_TEXT_MAX + 1];

    key->id_type = SYMCACHE_ID_DEBUG;
    memcpy(key->guid, guid, sizeof(key->guid));
    key->age = age;
    path->place->nids = 1;
    symcache_id_print(got, key);
    snprintf(path->place->id, sizeof(path->place->id), "%s", got);
    if (path->parts[1] == NULL) {
        return !path_has_no_guid(path) ||
               NOT_IN_SYMSTORE(
                   path,
                   "has an id of zeros, as all modules without one have");
    }
    if (symcache_debug_id_parse(path->parts[1], strlen(path->parts[1]),
                                &wanted) != SYMCACHE_OK ||
        memcmp(wanted.guid, guid, sizeof(wanted.guid)) != 0 ||
        wanted.age != age) {
        return NOT_IN_SYMSTORE(path, "has the id %s, and not %.136s", got,
                               path->parts[1]);
    }
    return true;
}

/* Is the third part this name, or for a packed file that of a packed one?  This
 * is the last letter replaced by "_", or ".gz" after it. */
static bool path_has_file(struct symstore_path_candidate *path,
                          const char *name)
{
    const char *file = path->parts[2] != NULL ? path->parts[2] : name;
    size_t len = strlen(name);
    bool is_same = strcasecmp(file, name) == 0;

    if (!is_same && path->packed) {
        is_same = (strlen(file) == len && file[len - 1] == '_' &&
                   strncasecmp(file, name, len - 1) == 0) ||
                  (strncasecmp(file, name, len) == 0 &&
                   strcasecmp(file + len, ".gz") == 0);
    }
    if (!is_same) {
        return NOT_IN_SYMSTORE(path, "is called %s there, and not %.255s",
                               name, file);
    }
    snprintf(path->place->file, sizeof(path->place->file), "%s", name);
    return true;
}

/* The text of the file names the module, whatever its own name on the disk. */
static bool path_take_name(struct symstore_path_candidate *path)
{
    const struct file_identity *id = path->id;
    symcache_key_t key;

    if (path->parts[2] != NULL || id->name_size == 0) {
        return true;
    }
    if (symcache_name_parse(id->name, id->name_size, &key) != SYMCACHE_OK ||
        key.name[0] == '.') {
        return NOT_IN_SYMSTORE(
            path, "is of a module with a name that is not allowed");
    }
    memcpy(path->place->name, key.name, key.name_len + 1);
    return true;
}

static bool path_fits_pdb(struct symstore_path_candidate *path)
{
    return path_has_debug_id(path) && path_has_file(path, path->place->name);
}

/* crash.sym of crash.pdb, libc.so.6.sym of libc.so.6 */
static bool path_fits_text(struct symstore_path_candidate *path)
{
    const struct file_identity *id = path->id;
    const char *name = path->place->name;
    char file[SYMCACHE_NAME_MAX + 8];
    size_t len, stem;

    if (!path_has_debug_id(path) || !path_take_name(path)) {
        return false;
    }
    len = strlen(name);
    stem = len;
    if (id->name_size > 0 &&
        (id->name_size != len || strncasecmp(id->name, name, len) != 0)) {
        return NOT_IN_SYMSTORE(path, "is of %.*s, and not of %s",
                               (int)id->name_size, id->name, name);
    }
    if (id->is_unfinished) {
        return NOT_IN_SYMSTORE(path, "is cut off in its last line");
    }
    if (len > 4 && strcmp(name + len - 4, ".pdb") == 0) {
        stem = len - 4;
    }
    snprintf(file, sizeof(file), "%.*s.sym", (int)stem, name);
    return strlen(file) <= SYMCACHE_NAME_MAX
               ? path_has_file(path, file)
               : NOT_IN_SYMSTORE(path, "has a name that is too long");
}

/* crash.src.zip of crash.pdb, ring.src.zip of ring */
static bool path_fits_bundle(struct symstore_path_candidate *path)
{
    const char *own = path->id->own_name;
    char file[SYMCACHE_NAME_MAX + 16];
    symcache_key_t key;
    size_t stem;

    if (path_has_no_guid(path)) {
        return NOT_IN_SYMSTORE(
            path, "is a source bundle of no module: it has no debug id");
    }
    if (path->parts[2] == NULL && own[0] != '\0') {
        if (symcache_name_parse(own, strlen(own), &key) != SYMCACHE_OK ||
            key.name[0] == '.') {
            return NOT_IN_SYMSTORE(
                path, "is of a module with a name that is not allowed");
        }
        memcpy(path->place->name, key.name, key.name_len + 1);
    }
    stem = strlen(path->place->name);
    if (stem > 4 && strcmp(path->place->name + stem - 4, ".pdb") == 0) {
        stem -= 4;
    }
    snprintf(file, sizeof(file), "%.*s.src.zip", (int)stem, path->place->name);
    return strlen(file) <= SYMCACHE_NAME_MAX
               ? path_has_debug_id(path) && path_has_file(path, file)
               : NOT_IN_SYMSTORE(path, "has a name that is too long");
}

static bool path_fits_image(struct symstore_path_candidate *path)
{
    symcache_key_t *key = &path->place->ids[0], wanted = {0};

    if (path->id->is_cut) {
        return NOT_IN_SYMSTORE(path,
                               "is truncated: it ends before its sections do");
    }
    key->id_type = SYMCACHE_ID_PE;
    key->timestamp = path->id->timestamp;
    key->image_size = path->id->image_size;
    path->place->nids = 1;
    symcache_id_print(path->place->id, key);
    if (path->parts[1] == NULL) {
        return path_has_file(path, path->place->name);
    }
    if (symcache_id_parse(path->parts[1], strlen(path->parts[1]), &wanted) !=
            SYMCACHE_OK ||
        wanted.id_type != SYMCACHE_ID_PE ||
        wanted.timestamp != key->timestamp ||
        wanted.image_size != key->image_size) {
        return NOT_IN_SYMSTORE(path, "has the id %s, and not %.136s",
                               path->place->id, path->parts[1]);
    }
    return path_has_file(path, path->place->name);
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

/* Notes the build id, and the debug id that is made of it. */
static void path_note_build_id(struct symstore_path_candidate *path)
{
    symcache_key_t *keys = path->place->ids;

    keys[0].id_type = SYMCACHE_ID_BUILD;
    keys[0].build_len = (uint8_t)path->id->build_len;
    memcpy(keys[0].build, path->id->build, path->id->build_len);
    keys[1].id_type = SYMCACHE_ID_DEBUG;
    memcpy(keys[1].guid, path->id->guid, sizeof(keys[1].guid));
    path->place->nids = 2;
}

static void path_print_ssqp(struct symstore_path_candidate *path,
                            const struct ssqp *ssqp, bool is_debug)
{
    const symcache_key_t *key = &path->place->ids[0];
    char *at = stpcpy(path->place->id, is_debug ? ssqp->debug : ssqp->code);
    size_t n = 2 * (size_t)key->build_len;

    at = hex_print(at, key->build, key->build_len, HEX_LOWER);
    for (; n < ssqp->digits; n++) {
        at = stpcpy(at, "0");
    }
}

/*
 * Compares the path with a build id: <name>/elf-buildid-<id>/<name> is a
 * module, and _.debug/elf-buildid-sym-<id>/_.debug its debug file.  Breakpad's
 * tools know the latter as <name>/<debug id>/<name>.dbg.
 */
static bool path_has_build_id(struct symstore_path_candidate *path,
                              const struct ssqp *ssqp)
{
    unsigned features = path->id->features;
    bool has_code = (features & SYMCACHE_HAS_CODE) != 0;
    bool has_debug =
        path->id->format == FORMAT_MACHO
            ? !has_code
            : (features & (SYMCACHE_HAS_DEBUG | SYMCACHE_HAS_SYMBOLS)) != 0;
    bool is_debug = strcmp(path->place->name, ssqp->name) == 0;
    char debug_id[SYMCACHE_ID_TEXT_MAX + 1], file[SYMCACHE_NAME_MAX + 8];

    symcache_id_print(debug_id, &path->place->ids[1]);
    if (path->parts[1] == NULL) {
        is_debug = !has_code;
        snprintf(file, sizeof(file), "%s", path->place->name);
        path_print_ssqp(path, ssqp, is_debug);
    } else if (strcasecmp(path->parts[1], debug_id) == 0) {
        is_debug = true;
        snprintf(file, sizeof(file), "%s.dbg", path->place->name);
        path_print_ssqp(path, ssqp, true);
    } else {
        snprintf(file, sizeof(file), "%s", path->place->name);
        path_print_ssqp(path, ssqp, is_debug);
        if (strcasecmp(path->parts[1], path->place->id) != 0) {
            return NOT_IN_SYMSTORE(path, "has the id %s, and not %.255s",
                                   path->place->id, path->parts[1]);
        }
    }
    if (is_debug ? !has_debug : !has_code) {
        return NOT_IN_SYMSTORE(path, is_debug ? "has no debug information"
                                              : "has no code");
    }
    if (strlen(file) > SYMCACHE_NAME_MAX || !path_has_file(path, file)) {
        return false;
    }
    if (strcmp(path->place->name, ssqp->name) != 0) {
        memcpy(path->place->module, path->place->name,
               sizeof(path->place->module));
    }
    if (is_debug) {
        snprintf(path->place->name, sizeof(path->place->name), "%s",
                 ssqp->name);
        snprintf(path->place->file, sizeof(path->place->file), "%s",
                 ssqp->name);
    }
    return true;
}

static bool path_fits_elf(struct symstore_path_candidate *path)
{
    if (path->id->is_cut) {
        return NOT_IN_SYMSTORE(path,
                               "is truncated: it ends before its sections do");
    }
    if (path->id->build_len == 0) {
        return NOT_IN_SYMSTORE(
            path, path->id->is_linked &&
                          (path->id->features & SYMCACHE_HAS_DEBUG) != 0
                      ? "is an ELF file without a build id: link it with "
                        "-Wl,--build-id"
                      : "is an ELF file without a build id");
    }
    path_note_build_id(path);
    return path_has_build_id(path, &ssqp_elf);
}

static bool path_fits_macho(struct symstore_path_candidate *path)
{
    if (path->id->is_cut || path->id->build_len == 0) {
        return path->error[0] != '\0' ? false
               : path->id->is_cut
                   ? NOT_IN_SYMSTORE(
                         path, "is truncated or damaged: an image is not all "
                               "there")
                   : NOT_IN_SYMSTORE(path, "is a Mach-O file without a UUID");
    }
    path_note_build_id(path);
    return path_has_build_id(path, &ssqp_macho);
}

/* Takes the first id, if the folder, where there is one, has this name. */
static bool path_has_kind(struct symstore_path_candidate *path,
                          const char *name)
{
    if (path->parts[1] != NULL && strcasecmp(path->parts[0], name) != 0) {
        return NOT_IN_SYMSTORE(path, "is called %s there, and not %.255s",
                               name, path->parts[0]);
    }
    path->place->ids[0].id_type = SYMCACHE_ID_DEBUG;
    path->place->nids = 1;
    symcache_id_print(path->place->id, &path->place->ids[0]);
    snprintf(path->place->name, sizeof(path->place->name), "%s", name);
    return path_has_file(path, name);
}

/* A mapping does not contain its id.  Its path does:
 * mapping.txt/<UUID>0/mapping.txt, or a name such as <UUID>.txt, which
 * Sentry's clients send. */
static bool path_fits_mapping(struct symstore_path_candidate *path)
{
    static const char name[] = "mapping.txt", end[] = ".txt";
    const char *id = path->parts[1] != NULL ? path->parts[1] : path->parts[0];
    symcache_key_t *key = &path->place->ids[0];
    size_t len = strlen(id);

    if (path->parts[1] == NULL && len > sizeof(end) - 1 &&
        strcasecmp(id + len - (sizeof(end) - 1), end) == 0) {
        len -= sizeof(end) - 1;
    }
    if (!symcache_debug_id_read(id, len, key->guid, &key->age) ||
        key->age != 0) {
        return NOT_IN_SYMSTORE(path,
                               "is a mapping, which needs a UUID in its name: "
                               "<UUID>.txt");
    }
    return path_has_kind(path, name);
}

/*
 * Names or lines of another file: bcsymbolmap/<UUID>0/bcsymbolmap, or
 * <UUID>.bcsymbolmap and <UUID>.plist, as Apple's tools call them; a
 * package of split DWARF is <debug id>.dwp.  A line
 * mapping has its ids in it.
 */
static bool path_fits_auxiliary(struct symstore_path_candidate *path)
{
    const char *name = symcache_kind_text(
        path->id->format == FORMAT_UUIDMAP       ? SYMCACHE_KIND_UUIDMAP
        : path->id->format == FORMAT_BCSYMBOLMAP ? SYMCACHE_KIND_BCSYMBOLMAP
        : path->id->format == FORMAT_DWP         ? SYMCACHE_KIND_DWP
                                                 : SYMCACHE_KIND_IL2CPP);
    const char *id = path->parts[1] != NULL ? path->parts[1] : path->parts[0];
    const char *dot = path->parts[1] == NULL ? strrchr(id, '.') : NULL;
    size_t len = dot != NULL ? (size_t)(dot - id) : strlen(id);
    symcache_key_t *key = &path->place->ids[0];

    if (!symcache_debug_id_read(id, len, key->guid, &key->age)) {
        if (path->parts[1] != NULL || !path_has_debug_id(path)) {
            return NOT_IN_SYMSTORE(
                path,
                "is a file of type %s, which needs a UUID in its "
                "name",
                name);
        }
    }
    return path_has_kind(path, name);
}

/* How the formats that symbol stores have are compared with a path. */
static const struct {
    bool (*fits)(struct symstore_path_candidate *c);
    bool needs_id; /* in the path */
    bool by_build_id;
} rules[FORMATS] = {
    [FORMAT_PDB] = {path_fits_pdb, false, false},
    [FORMAT_PORTABLEPDB] = {path_fits_pdb, false, false},
    [FORMAT_BREAKPAD] = {path_fits_text, true, false},
    [FORMAT_SOURCEBUNDLE] = {path_fits_bundle, true, false},
    [FORMAT_PE] = {path_fits_image, true, false},
    [FORMAT_ELF] = {path_fits_elf, true, true},
    [FORMAT_MACHO] = {path_fits_macho, true, true},
    [FORMAT_PROGUARD] = {path_fits_mapping, false, false},
    [FORMAT_UUIDMAP] = {path_fits_auxiliary, false, false},
    [FORMAT_BCSYMBOLMAP] = {path_fits_auxiliary, false, false},
    [FORMAT_IL2CPP] = {path_fits_auxiliary, false, false},
    [FORMAT_DWP] = {path_fits_auxiliary, false, false},
};

/* Of a fat file, each image is one by which it may be asked for. */
bool symstore_path_find(const struct file_identity *list, size_t n,
                        const char *const parts[3], bool packed,
                        struct symstore_path *place, char *error,
                        size_t error_size)
{
    enum original_format format = list->format;
    struct symstore_path_candidate path = {.parts = parts,
                                           .packed = packed,
                                           .place = place,
                                           .error = error,
                                           .error_size = error_size};
    symcache_key_t key;
    bool fits = false;

    memset(place, 0, sizeof(*place));
    error[0] = '\0';
    if (symcache_name_parse(parts[0], strlen(parts[0]), &key) !=
            SYMCACHE_OK ||
        parts[0][0] == '.') {
        return NOT_IN_SYMSTORE(&path, "has a name that is not allowed");
    }
    memcpy(place->name, key.name, key.name_len + 1);
    if (rules[format].fits == NULL ||
        (parts[1] == NULL && parts[2] != NULL && rules[format].needs_id)) {
        return NOT_IN_SYMSTORE(&path, UNKNOWN);
    }
    for (path.id = list; path.id < list + n && !fits; path.id++) {
        fits = rules[format].fits(&path);
        place->features = path.id->features;
    }
    place->format = format;
    if (fits && !rules[format].by_build_id) {
        memcpy(place->module, place->name, sizeof(place->module));
    }
    return fits;
}

static void path_add_profiler_ids(struct symstore_path *place,
                                  const struct file_identity *id,
                                  const uint8_t *data, size_t size)
{
    size_t part = size < PROFILER_ID_PART ? size : PROFILER_ID_PART;

    profiler_id_of_file(&place->ids[place->nids++], data, data + size - part,
                        size);
    if (id->is_kernel) {
        profiler_id_of_kernel(&place->ids[place->nids++], id->build,
                              id->build_len,
                              !(id->features & SYMCACHE_HAS_CODE));
    }
}

/* Notes the debug id of an image, by which its PDB is known. */
static void path_add_debug_id(struct symstore_path *place,
                              const struct file_identity *id)
{
    static const uint8_t none[16];
    symcache_key_t *key = &place->ids[place->nids];

    if (memcmp(id->guid, none, sizeof(none)) != 0) {
        key->id_type = SYMCACHE_ID_DEBUG;
        memcpy(key->guid, id->guid, sizeof(key->guid));
        key->age = id->age;
        place->nids++;
    }
}

/* Is it a text of a kind that is known, as PowerShell writes what programs
 * print? */
static bool is_utf16(const uint8_t *data, size_t size)
{
    char text[UTF16_PART / 2 * 3];
    size_t n = utf16_to_utf8(data, size < UTF16_PART ? size : UTF16_PART,
                             text);

    return n <= sizeof(text) &&
           identity_format((const uint8_t *)text, n) >= 0;
}

bool symstore_path_read(const uint8_t *data, size_t size,
                        const char *const parts[3], bool packed,
                        struct symstore_path *place, char *error,
                        size_t error_size)
{
    struct file_identity list[IDENTITIES_MAX];
    int format = identity_format(data, size);
    size_t n;

    if (format < 0) {
        snprintf(error, error_size, "%s",
                 is_utf16(data, size)
                     ? "is in UTF-16, which is not read: convert it to UTF-8"
                 : wasm_sniff(data, size)
                     ? "is a WebAssembly module, which has no path in a symbol "
                       "store: lay it down with \"symcachectl sort\" in a "
                       "folder that is a source"
                     : UNKNOWN);
        return false;
    }
    n = identities_read((enum original_format)format, data, size, list, error,
                        error_size);
    if (n == 0 || !symstore_path_find(list, n, parts, packed, place, error,
                                      error_size)) {
        return false;
    }
    if (format == FORMAT_PE) {
        path_add_debug_id(place, list);
    }
    if (format == FORMAT_ELF || format == FORMAT_PE) {
        path_add_profiler_ids(place, list, data, size);
    }
    return true;
}
