/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>
#include "debuginfo/auxiliary/auxiliary.h"
#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/msfz/msfz.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "debuginfo/proguard/proguard.h"
#include "debuginfo/sourcebundle/sourcebundle.h"
#include "debuginfo/wasm/wasm.h"

_Static_assert(SOURCEBUNDLE_NAME_SIZE == SYMCACHE_NAME_MAX + 1,
               "a name does not fit");

/* A larger number is the stamp of a portable PDB. */
#define SOURCEBUNDLE_AGE_MAX 0xffff

_Static_assert(IDENTITIES_MAX >= MACHO_SLICES_MAX, "not all images fit");

/* A file, and the text of what is wrong with it. */
struct identity_input {
    const uint8_t *data;
    size_t size;
    char *error;
    size_t error_size;
};

static unsigned identity_features(bool debug_info, bool symbols,
                                  bool unwind_info, bool code)
{
    return (debug_info ? SYMCACHE_HAS_DEBUG : 0) |
           (symbols ? SYMCACHE_HAS_SYMBOLS : 0) |
           (unwind_info ? SYMCACHE_HAS_UNWIND : 0) |
           (code ? SYMCACHE_HAS_CODE : 0);
}

static void identity_set_guid(struct file_identity *id, const uint8_t guid[16],
                              uint32_t age)
{
    memcpy(id->guid, guid, sizeof(id->guid));
    id->age = age;
}

static size_t read_pdb(const struct identity_input *in,
                       struct file_identity *id)
{
    struct pdb_identity identity;

    if (pdb_identity_read(in->data, in->size, &identity, in->error,
                          in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.guid, identity.age);
    id->features = identity_features(!identity.stripped, true,
                                     identity.has_unwind_info != 0, false) |
                   (identity.has_links ? SYMCACHE_HAS_LINKS : 0);
    return 1;
}

static size_t read_portablepdb(const struct identity_input *in,
                               struct file_identity *id)
{
    struct portablepdb_identity identity;

    if (portablepdb_identity_read(in->data, in->size, &identity, in->error,
                                  in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.guid, PORTABLEPDB_AGE);
    id->stamp = identity.stamp;
    id->id_at = identity.id_at;
    id->features =
        SYMCACHE_HAS_DEBUG | (identity.has_sources ? SYMCACHE_HAS_SOURCES : 0);
    return 1;
}

/* Text has no length field.  But a truncated copy, or one whose rest consists
 * of zeros, rarely ends with a line feed. */
static size_t read_breakpad(const struct identity_input *in,
                            struct file_identity *id)
{
    struct breakpad_identity identity;

    if (breakpad_identity_read(in->data, in->size, &identity, in->error,
                               in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.guid, identity.age);
    id->name = identity.name;
    id->name_size = identity.name_size;
    id->features =
        identity_features(identity.has_debug_info, identity.has_symbols,
                          identity.has_unwind_info, false);
    id->is_cut = in->data[in->size - 1] == '\0';
    id->is_unfinished = in->data[in->size - 1] != '\n';
    return 1;
}

static size_t read_pe(const struct identity_input *in,
                      struct file_identity *id)
{
    struct pe_code identity;

    if (pe_code_read(in->data, in->size, &identity, in->error,
                     in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.debug_id.guid, identity.debug_id.age);
    id->timestamp = identity.time_stamp;
    id->image_size = identity.image_size;
    id->features =
        identity_features(identity.has_debug_info, identity.has_symbols,
                          identity.has_unwind_info, !identity.is_companion);
    id->is_cut = identity.is_cut;
    return 1;
}

static size_t read_elf(const struct identity_input *in,
                       struct file_identity *id)
{
    struct elf_identity identity;
    struct elf_altlink supplement;

    if (elf_identity_read(in->data, in->size, &identity, in->error,
                          in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.guid, 0);
    if (identity.build_id_size > 0 &&
        identity.build_id_size <= sizeof(id->build)) {
        id->build_len = identity.build_id_size;
        memcpy(id->build, identity.build_id, identity.build_id_size);
    } else if (elf_altlink_own_id(in->data, in->size, &supplement) &&
               supplement.id_size <= sizeof(id->build)) {
        /* of dwz, with DWARF 5: a checksum takes the place of the build id */
        id->build_len = supplement.id_size;
        memcpy(id->build, supplement.id, supplement.id_size);
    }
    id->features =
        identity_features(identity.has_debug_info, identity.has_symbols,
                          identity.has_unwind_info, identity.has_code);
    id->is_kernel = identity.is_kernel;
    id->is_linked = identity.kind == ELF_KIND_EXECUTABLE ||
                    identity.kind == ELF_KIND_LIBRARY ||
                    identity.kind == ELF_KIND_DEBUG;
    id->is_cut = identity.is_cut;
    return 1;
}

static size_t read_macho(const struct identity_input *in,
                         struct file_identity *id)
{
    struct macho_identity identity;
    const struct macho_slice *slice;
    unsigned i;

    if (macho_identity_read(in->data, in->size, &identity, in->error,
                            in->error_size) != 0) {
        return 0;
    }
    for (i = 0; i < identity.num_slices; i++) {
        slice = &identity.slices[i];
        if (slice->has_uuid) {
            identity_set_guid(&id[i], slice->uuid, 0);
            memcpy(id[i].build, slice->uuid, sizeof(slice->uuid));
            id[i].build_len = sizeof(slice->uuid);
        }
        id[i].features =
            identity_features(slice->has_debug_info, slice->has_symbols,
                              slice->has_unwind_info, !slice->is_dsym);
        id[i].is_cut = !slice->is_sound || slice->is_cut;
    }
    return identity.num_slices;
}

static size_t read_wasm(const struct identity_input *in,
                        struct file_identity *id)
{
    struct wasm_identity identity;

    if (wasm_identity_read(in->data, in->size, &identity, in->error,
                           in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.id.guid, 0);
    id->features = identity_features(identity.has_debug_info,
                                     identity.has_symbols, false, true);
    if (memcmp(identity.id.guid, identity.id.with_length,
               sizeof(identity.id.guid)) == 0) {
        return 1;
    }
    id[1].features = id->features;
    identity_set_guid(&id[1], identity.id.with_length, 0);
    return 2;
}

/* Only its path identifies it. */
static size_t read_symbfile(const struct identity_input *in,
                            struct file_identity *id)
{
    id->features = SYMCACHE_HAS_DEBUG;
    return 1;
}

static size_t read_sourcebundle(const struct identity_input *in,
                                struct file_identity *id)
{
    struct sourcebundle_identity identity;

    if (sourcebundle_identity_read(in->data, in->size, &identity, in->error,
                                   in->error_size) != 0) {
        return 0;
    }
    identity_set_guid(id, identity.guid,
                      identity.age > SOURCEBUNDLE_AGE_MAX ? PORTABLEPDB_AGE
                                                          : identity.age);
    memcpy(id->own_name, identity.name, sizeof(id->own_name));
    id->features = SYMCACHE_HAS_SOURCES;
    return 1;
}

/* The path identifies it.  If the file is not a mapping, the converter reports
 * that: then the file is malformed, not its source. */
static size_t read_proguard(const struct identity_input *in,
                            struct file_identity *id)
{
    id->features = SYMCACHE_HAS_DEBUG;
    return 1;
}

static bool sniff_dwp(const uint8_t *data, size_t size)
{
    uint64_t offset, length;

    return elf_sniff(data, size) &&
           elf_section_find(data, size, ".debug_cu_index", &offset, &length) ==
               NULL;
}

/* Its path identifies it: the UUID in it is that of the symbol map. */
static size_t read_uuidmap(const struct identity_input *in,
                           struct file_identity *id)
{
    uint8_t uuid[16];

    return uuid_map_read(in->data, in->size, uuid, in->error,
                         in->error_size) == 0
               ? 1
               : 0;
}

/* Only its path identifies it. */
static size_t read_bcsymbolmap(const struct identity_input *in,
                               struct file_identity *id)
{
    return 1;
}

/* The units in it have ids of their own, but the program's is not there. */
static size_t read_dwp(const struct identity_input *in,
                       struct file_identity *id)
{
    if (!sniff_dwp(in->data, in->size)) {
        snprintf(in->error, in->error_size,
                 "is no package of split DWARF: it has no .debug_cu_index");
        return 0;
    }
    return 1;
}

static size_t read_il2cpp(const struct identity_input *in,
                          struct file_identity *id)
{
    size_t n;
    const char *text = line_mapping_id(in->data, in->size, &n);

    if (text != NULL && !symcache_debug_id_read(text, n, id->guid, &id->age)) {
        memset(id->guid, 0, sizeof(id->guid));
    }
    return 1;
}

/* The server identifies it; the file contains no identity. */
static size_t read_any(const struct identity_input *in,
                       struct file_identity *id)
{
    (void)in;
    (void)id;
    return 1;
}

static bool sniff_pdb(const uint8_t *data, size_t size)
{
    static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n";

    return msfz_sniff(data, size) ||
           (size >= sizeof(magic) &&
            memcmp(data, magic, sizeof(magic) - 1) == 0);
}

static bool sniff_pe(const uint8_t *data, size_t size)
{
    return size > 2 && memcmp(data, "MZ", 2) == 0;
}

/* Other property lists are of something else. */
static bool sniff_uuidmap(const uint8_t *data, size_t size)
{
    static const char key[] = "DBGOriginalUUID";

    return uuid_map_sniff(data, size) &&
           memmem(data, size, key, sizeof(key) - 1) != NULL;
}

static const struct {
    bool (*sniff)(const uint8_t *data, size_t size); /* or NULL */
    size_t (*read)(const struct identity_input *in, struct file_identity *id);
} formats[] = {
    [FORMAT_PDB] = {sniff_pdb, read_pdb},
    [FORMAT_BREAKPAD] = {breakpad_sniff, read_breakpad},
    [FORMAT_PE] = {sniff_pe, read_pe},
    [FORMAT_ELF] = {elf_sniff, read_elf},
    [FORMAT_MACHO] = {macho_sniff, read_macho},
    [FORMAT_PORTABLEPDB] = {portablepdb_sniff, read_portablepdb},
    [FORMAT_WASM] = {NULL, read_wasm},
    [FORMAT_SYMBFILE] = {NULL, read_symbfile},
    [FORMAT_SOURCEBUNDLE] = {sourcebundle_sniff, read_sourcebundle},
    [FORMAT_PROGUARD] = {proguard_sniff, read_proguard},
    [FORMAT_ANY] = {NULL, read_any},
    [FORMAT_UUIDMAP] = {sniff_uuidmap, read_uuidmap},
    [FORMAT_BCSYMBOLMAP] = {symbol_map_sniff, read_bcsymbolmap},
    [FORMAT_IL2CPP] = {line_mapping_sniff, read_il2cpp},
    [FORMAT_DWP] = {sniff_dwp, read_dwp},
};

_Static_assert(sizeof(formats) / sizeof(formats[0]) == FORMATS,
               "a format has no reader");

int identity_format(const uint8_t *data, size_t size)
{
    int i;

    for (i = 0; i < FORMATS; i++) {
        if (formats[i].sniff != NULL && formats[i].sniff(data, size)) {
            return i == FORMAT_ELF && sniff_dwp(data, size) ? FORMAT_DWP : i;
        }
    }
    return -1;
}

size_t identities_read(enum original_format format, const uint8_t *data,
                       size_t size, struct file_identity list[IDENTITIES_MAX],
                       char *error, size_t error_size)
{
    struct identity_input in = {data, size, error, error_size};
    size_t i;

    memset(list, 0, IDENTITIES_MAX * sizeof(list[0]));
    for (i = 0; i < IDENTITIES_MAX; i++) {
        list[i].format = format;
    }
    return formats[format].read(&in, list);
}
