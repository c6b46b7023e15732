/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unified_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "debuginfo/auxiliary/auxiliary.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "debuginfo/sourcebundle/sourcebundle.h"
#include "debuginfo/wasm/wasm.h"
#include "derived/symcache/symcache.h"
#include "identity.h"

#define MH_OBJECT 1   /* mach-o/loader.h: of a linker */
#define CODE_ID_MIN 2 /* bytes, as the first one is a folder */

struct unified_input {
    const uint8_t *data;
    size_t size;
    struct unified_path *path;
    char *error;
    size_t error_size;
};

static int fail_path(const struct unified_input *in, const char *what)
{
    snprintf(in->error, in->error_size, "%s", what);
    return -1;
}

static void set_format(const struct unified_input *in, const char *format,
                       const char *arch, enum unified_type type)
{
    snprintf(in->path->format, sizeof(in->path->format), "%s", format);
    snprintf(in->path->arch, sizeof(in->path->arch), "%s", arch);
    in->path->type = type;
}

static int set_code_id(const struct unified_input *in, const uint8_t *id,
                       size_t size)
{
    if (size < CODE_ID_MIN || size > SYMCACHE_BUILD_ID_MAX) {
        return fail_path(in, "has no id, or one that is too long");
    }
    hex_print(in->path->id, id, size, HEX_LOWER);
    return 1;
}

/* As Breakpad writes it, in lower case. */
static int set_debug_id(const struct unified_input *in, const uint8_t guid[16],
                        uint32_t age)
{
    static const uint8_t none[16];

    if (memcmp(guid, none, sizeof(none)) == 0) {
        return fail_path(in, "has no debug id");
    }
    (void)set_code_id(in, guid, 16);
    snprintf(in->path->id + 32, sizeof(in->path->id) - 32, "%" PRIx32, age);
    return 1;
}

static int read_elf(const struct unified_input *in)
{
    struct elf_identity got;

    if (elf_identity_read(in->data, in->size, &got, in->error,
                          in->error_size) != 0) {
        return -1;
    }
    /* a module of the kernel has a build id, an object of a linker none */
    if (got.kind == ELF_KIND_OTHER || got.kind == ELF_KIND_DUMP ||
        (got.kind == ELF_KIND_RELOCATABLE && got.build_id_size == 0)) {
        return 0;
    }
    if (got.is_cut) {
        return fail_path(in, "is cut off");
    }
    in->path->has_debug_info = got.has_debug_info;
    set_format(in, "elf", symc_arch_name(got.arch),
               got.has_code ? UNIFIED_EXECUTABLE : UNIFIED_DEBUGINFO);
    return got.build_id_size > 0
               ? set_code_id(in, got.build_id, got.build_id_size)
               : set_debug_id(in, got.guid, 0);
}

static int read_macho(const struct unified_input *in)
{
    struct macho_identity got;
    const struct macho_slice *slice = got.slices;

    if (macho_identity_read(in->data, in->size, &got, in->error,
                            in->error_size) != 0) {
        return -1;
    }
    if (slice->is_sound && slice->file_type == MH_OBJECT) {
        return 0;
    }
    if (!slice->is_sound || !slice->has_uuid) {
        return fail_path(in, slice->is_sound ? "has no UUID" : "is damaged");
    }
    if (slice->is_cut) {
        return fail_path(in, "is cut off");
    }
    in->path->has_debug_info = slice->has_debug_info;
    set_format(in, "macho", symc_arch_name(slice->arch),
               slice->is_dsym ? UNIFIED_DEBUGINFO : UNIFIED_EXECUTABLE);
    return set_code_id(in, slice->uuid, sizeof(slice->uuid));
}

static int read_pe(const struct unified_input *in)
{
    struct pe_code got;

    if (pe_code_read(in->data, in->size, &got, in->error, in->error_size) !=
        0) {
        return -1;
    }
    if (got.is_cut) {
        return fail_path(in, "is cut off");
    }
    in->path->has_debug_info = got.has_debug_info;
    set_format(in, "pe", symc_arch_name(got.arch),
               got.is_companion ? UNIFIED_DEBUGINFO : UNIFIED_EXECUTABLE);
    return set_debug_id(in, got.debug_id.guid, got.debug_id.age);
}

static int read_pdb(const struct unified_input *in)
{
    struct pdb_identity got;

    if (pdb_identity_read(in->data, in->size, &got, in->error,
                          in->error_size) != 0) {
        return -1;
    }
    in->path->has_debug_info = !got.stripped;
    set_format(in, "pdb", symc_arch_name(got.arch), UNIFIED_DEBUGINFO);
    return set_debug_id(in, got.guid, got.age);
}

static int read_portablepdb(const struct unified_input *in)
{
    struct portablepdb_identity got;

    if (portablepdb_identity_read(in->data, in->size, &got, in->error,
                                  in->error_size) != 0) {
        return -1;
    }
    in->path->has_debug_info = true;
    set_format(in, "portablepdb", symc_arch_name(0), UNIFIED_DEBUGINFO);
    return set_debug_id(in, got.guid, got.stamp);
}

static int read_wasm(const struct unified_input *in)
{
    struct wasm_identity got;

    if (wasm_identity_read(in->data, in->size, &got, in->error,
                           in->error_size) != 0) {
        return -1;
    }
    in->path->has_debug_info = got.has_debug_info;
    set_format(in, "wasm", "wasm32",
               got.has_symbols ? UNIFIED_EXECUTABLE : UNIFIED_DEBUGINFO);
    return set_code_id(in, got.build_id, got.build_id_size);
}

/* Readers look for a bundle under the id of its module: of a PE that is the
 * debug id, although the bundle may have a code id, which is short. */
static int read_sourcebundle(const struct unified_input *in)
{
    struct sourcebundle_identity got;

    if (sourcebundle_identity_read(in->data, in->size, &got, in->error,
                                   in->error_size) != 0) {
        return -1;
    }
    set_format(in, "sourcebundle", symc_arch_name(0), UNIFIED_SOURCEBUNDLE);
    return got.build_id_size > 0
               ? set_code_id(in, got.build_id, got.build_id_size)
               : set_debug_id(in, got.guid, got.age);
}

const char *unified_word(enum unified_type type)
{
    static const char *const words[UNIFIED_TYPES] = {
        [UNIFIED_DEBUGINFO] = "debuginfo",
        [UNIFIED_EXECUTABLE] = "executable",
        [UNIFIED_SOURCEBUNDLE] = "sourcebundle",
        [UNIFIED_UUIDMAP] = "uuidmap",
        [UNIFIED_BCSYMBOLMAP] = "bcsymbolmap",
    };

    return words[type];
}

/* <UUID>.plist and <UUID>.bcsymbolmap.  A property list without a UUID in it
 * is one of many others. */
static int read_map(const struct unified_input *in, const char *name,
                    enum unified_type type)
{
    const char *dot = strrchr(name, '.');
    uint8_t uuid[16];

    if (type == UNIFIED_UUIDMAP &&
        uuid_map_read(in->data, in->size, uuid, in->error, in->error_size) !=
            0) {
        return 0;
    }
    if (dot == NULL ||
        symcache_guid_parse(name, (size_t)(dot - name), uuid) != SYMCACHE_OK) {
        return type == UNIFIED_UUIDMAP
                   ? 0
                   : fail_path(in, "is a symbol map whose name is no UUID");
    }
    set_format(in, unified_word(type), symc_arch_name(0), type);
    return set_code_id(in, uuid, sizeof(uuid));
}

int unified_path_read(const uint8_t *data, size_t size, const char *name,
                      struct unified_path *path, char *error,
                      size_t error_size)
{
    const struct unified_input in = {data, size, path, error, error_size};

    memset(path, 0, sizeof(*path));
    if (wasm_sniff(data, size)) {
        return read_wasm(&in);
    }
    if (symbol_map_sniff(data, size)) {
        return read_map(&in, name, UNIFIED_BCSYMBOLMAP);
    }
    if (uuid_map_sniff(data, size)) {
        return read_map(&in, name, UNIFIED_UUIDMAP);
    }
    switch (identity_format(data, size)) {
    case FORMAT_ELF:
        return read_elf(&in);
    case FORMAT_MACHO:
        return read_macho(&in);
    case FORMAT_PE:
        return read_pe(&in);
    case FORMAT_PDB:
        return read_pdb(&in);
    case FORMAT_PORTABLEPDB:
        return read_portablepdb(&in);
    case FORMAT_SOURCEBUNDLE:
        return read_sourcebundle(&in);
    case FORMAT_BREAKPAD:
        return fail_path(&in, "is a Breakpad file, which this layout has no "
                              "readers for");
    default:
        return 0;
    }
}
