/*
 * Copyright (C) the ngx_symcache authors
 */
#include "derived.h"

#include <stdio.h>
#include <string.h>

/* Functions of the table, of readers that have members of the union: each
 * reader itself takes only its own struct. */
#define READER(kind, opened, verified)                                        \
    static enum symc_reader_status derived_open_##kind(                       \
        union derived_reader *reader, const void *data, size_t size,          \
        char *error, size_t error_size)                                       \
    {                                                                         \
        return opened(&reader->kind, data, size, error, error_size);          \
    }                                                                         \
                                                                              \
    static enum symc_verify_status derived_verify_##kind(                     \
        union derived_reader *reader, char *error, size_t error_size)         \
    {                                                                         \
        return verified(&reader->kind, error, error_size);                    \
    }

READER(symcache, symc_reader_open, symc_verify)
READER(ppdbcache, ppdbcache_reader_open, ppdbcache_verify)
READER(cficache, cficache_reader_open, cficache_verify)
READER(codecache, codecache_reader_open, codecache_verify)
READER(jscache, jscache_reader_open, jscache_verify)
READER(sourcecache, sourcecache_reader_open, sourcecache_verify)
READER(proguardcache, proguardcache_reader_open, proguardcache_verify)

/* Says that a file is not of the module of a key, unless it has the GUID of
 * the key, or none, where it may. */
static bool derived_has_guid(const uint8_t own[16], const symcache_key_t *key,
                             bool may_lack, char *error, size_t error_size)
{
    static const uint8_t none[16];

    if (memcmp(own, key->guid, sizeof(none)) == 0 ||
        (may_lack && memcmp(own, none, sizeof(none)) == 0)) {
        return true;
    }
    snprintf(error, error_size, "made from a module with another GUID");
    return false;
}

static bool sniff_symcache(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "SYMC", 4) == 0;
}

/* Readers ignore what follows the strings.  Newer files have one more part
 * there and say so; in a file that does not, these bytes are from elsewhere.
 * Of the id only the GUID is compared, because not all tools mean the same by
 * the age, and no id of another kind. */
static bool belongs_symcache(const union derived_reader *reader,
                             const symcache_key_t *key, bool is_received,
                             char *error, size_t error_size)
{
    const struct symc_reader *r = &reader->symcache;

    if (is_received && r->size > r->strings + r->string_bytes &&
        r->data[SYMC_AT_VARIABLES] == 0) {
        snprintf(error, error_size, "something else follows the SymCache");
        return false;
    }
    return key->id_type != SYMCACHE_ID_DEBUG || r->data[SYMC_AT_KIND] != 0 ||
           derived_has_guid(r->data + SYMC_AT_GUID, key, true, error,
                            error_size);
}

static bool belongs_ppdbcache(const union derived_reader *reader,
                              const symcache_key_t *key, bool is_received,
                              char *error, size_t error_size)
{
    return derived_has_guid(reader->ppdbcache.data + PPDBCACHE_AT_GUID, key,
                            false, error, error_size);
}

/* Under a key with a PE code id the debug id is not compared: the image may
 * have had none. */
static bool belongs_cficache(const union derived_reader *reader,
                             const symcache_key_t *key, bool is_received,
                             char *error, size_t error_size)
{
    return key->id_type != SYMCACHE_ID_DEBUG ||
           derived_has_guid(reader->cficache.data + CFICACHE_AT_GUID, key,
                            true, error, error_size);
}

static bool belongs_codecache(const union derived_reader *reader,
                              const symcache_key_t *key, bool is_received,
                              char *error, size_t error_size)
{
    return key->id_type != SYMCACHE_ID_DEBUG ||
           derived_has_guid(reader->codecache.data + CODECACHE_AT_GUID, key,
                            true, error, error_size);
}

static bool derived_sniff_text(const uint8_t *data, size_t size)
{
    return size > 7 && memcmp(data, "MODULE ", 7) == 0;
}

/* Text is lines, of which the last one is whole, too. */
static enum symc_verify_status
derived_verify_text(union derived_reader *reader, char *error,
                    size_t error_size)
{
    const struct derived_bytes *text = &reader->bytes;

    if (text->size == 0 || text->data[text->size - 1] != '\n' ||
        memchr(text->data, '\0', text->size) != NULL) {
        snprintf(error, error_size, "not the lines of a text");
        return SYMC_VIOLATED;
    }
    return SYMC_SOUND;
}

/* Its first line is "MODULE <system> <processor> <id> <name>". */
static bool derived_belongs_text(const union derived_reader *reader,
                                 const symcache_key_t *key, bool is_received,
                                 char *error, size_t error_size)
{
    const char *p = reader->bytes.data, *next;
    const char *end = memchr(p, '\n', reader->bytes.size);
    symcache_key_t id;
    int i;

    for (i = 0; i < 3 && p != NULL && end != NULL; i++) {
        p = memchr(p, ' ', (size_t)(end - p));
        p = p != NULL ? p + 1 : NULL;
    }
    next = p != NULL && end != NULL ? memchr(p, ' ', (size_t)(end - p)) : NULL;
    if (next == NULL ||
        symcache_debug_id_parse(p, (size_t)(next - p), &id) != SYMCACHE_OK ||
        memcmp(id.guid, key->guid, sizeof(id.guid)) != 0) {
        snprintf(error, error_size, "of another module");
        return false;
    }
    return true;
}

/* Nothing says what a file at a URL is. */
static bool derived_sniff_bytes(const uint8_t *data, size_t size)
{
    return false;
}

static enum symc_reader_status derived_open_bytes(union derived_reader *reader,
                                                  const void *data,
                                                  size_t size, char *error,
                                                  size_t error_size)
{
    reader->bytes = (struct derived_bytes){data, size};
    return SYMC_OPENED;
}

static enum symc_verify_status
derived_verify_bytes(union derived_reader *reader, char *error,
                     size_t error_size)
{
    return SYMC_SOUND;
}

static bool derived_belongs_bytes(const union derived_reader *reader,
                                  const symcache_key_t *key, bool is_received,
                                  char *error, size_t error_size)
{
    snprintf(error, error_size, "no transcoder makes a source file");
    return false;
}

static const struct derived_type derived_types[SYMCACHE_KINDS] = {
    [SYMCACHE_KIND_SYMCACHE] =
        {
            .name = "SymCache",
            .oldest = {7, 0, 0},
            .newest = {9, UINT16_MAX, UINT16_MAX},
            .written = {9, 0, 0},
            .refusal =
                "is a portable PDB of .NET: it becomes a PpdbCache, and no "
                "SymCache",
            .has_foreign = true,
            .sniff = sniff_symcache,
            .open = derived_open_symcache,
            .verify = derived_verify_symcache,
            .belongs = belongs_symcache,
        },
    [SYMCACHE_KIND_PPDBCACHE] =
        {
            .name = "PpdbCache",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .written = {1, 0, 0},
            .refusal = "is not a portable PDB: only those of .NET become a "
                       "PpdbCache",
            .sniff = ppdbcache_sniff,
            .open = derived_open_ppdbcache,
            .verify = derived_verify_ppdbcache,
            .belongs = belongs_ppdbcache,
        },
    [SYMCACHE_KIND_CFICACHE] =
        {
            .name = "CfiCache",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .written = {1, 0, 0},
            .refusal =
                "is of a format without call frame information, and does "
                "not become a CfiCache",
            .sniff = cficache_sniff,
            .open = derived_open_cficache,
            .verify = derived_verify_cficache,
            .belongs = belongs_cficache,
        },
    [SYMCACHE_KIND_CODECACHE] =
        {
            .name = "CodeCache",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .written = {1, 0, 0},
            .refusal =
                "is not a program of ELF, Mach-O or Windows: only these "
                "become a CodeCache",
            .sniff = codecache_sniff,
            .open = derived_open_codecache,
            .verify = derived_verify_codecache,
            .belongs = belongs_codecache,
        },
    [SYMCACHE_KIND_JSCACHE] =
        {
            .name = "JsCache",
            .oldest = {2, 0, 0},
            .newest = {2, UINT16_MAX, UINT16_MAX},
            .written = {2, 0, 0},
            .sniff = jscache_sniff,
            .open = derived_open_jscache,
            .verify = derived_verify_jscache,
        },
    [SYMCACHE_KIND_BREAKPAD] =
        {
            .name = "Breakpad text",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .written = {1, 0, 0},
            .sniff = derived_sniff_text,
            .open = derived_open_bytes,
            .verify = derived_verify_text,
            .belongs = derived_belongs_text,
        },
    [SYMCACHE_KIND_SOURCE] =
        {
            .name = "source file",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .sniff = derived_sniff_bytes,
            .open = derived_open_bytes,
            .verify = derived_verify_bytes,
            .belongs = derived_belongs_bytes,
        },
    [SYMCACHE_KIND_SOURCECACHE] =
        {
            .name = "SourceCache",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .written = {1, 0, 0},
            .refusal = "has no source files: only source bundles and portable "
                       "PDBs become a SourceCache",
            .sniff = sourcecache_sniff,
            .open = derived_open_sourcecache,
            .verify = derived_verify_sourcecache,
        },
    [SYMCACHE_KIND_PROGUARDCACHE] =
        {
            .name = "ProguardCache",
            .oldest = {1, 0, 0},
            .newest = {1, UINT16_MAX, UINT16_MAX},
            .written = {1, 0, 0},
            .refusal =
                "is not a mapping of ProGuard or R8: only these become a "
                "ProguardCache",
            .sniff = proguardcache_sniff,
            .open = derived_open_proguardcache,
            .verify = derived_verify_proguardcache,
        },
};

const struct derived_type *derived_type(symcache_kind_e kind)
{
    return derived_types[kind].name != NULL ? &derived_types[kind] : NULL;
}

enum symc_verify_status derived_check(const void *data, size_t size,
                                      const symcache_key_t *key,
                                      bool is_received, char *error,
                                      size_t error_size)
{
    const struct derived_type *type = &derived_types[key->kind];
    union derived_reader reader;

    return type->open(&reader, data, size, error, error_size) == SYMC_OPENED &&
                   (type->belongs == NULL ||
                    type->belongs(&reader, key, is_received, error,
                                  error_size))
               ? type->verify(&reader, error, error_size)
               : SYMC_VIOLATED;
}

bool derived_is_made(symcache_kind_e kind)
{
    return (unsigned)kind < SYMCACHE_KINDS &&
           derived_types[kind].written.major > 0;
}

bool derived_sniff(const uint8_t *data, size_t size, symcache_kind_e *kind)
{
    int i;

    for (i = 0; i < SYMCACHE_KINDS; i++) {
        /* what looks like an original is one */
        if (derived_types[i].name != NULL &&
            symcache_kind((symcache_kind_e)i)->end == NULL &&
            derived_types[i].sniff(data, size)) {
            *kind = (symcache_kind_e)i;
            return true;
        }
    }
    return false;
}
