/*
 * Copyright (C) the ngx_symcache authors
 */
#include "derived.h"

#include <stdio.h>
#include <string.h>

static bool sniff_symcache(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "SYMC", 4) == 0;
}

static enum symc_open_status open_symcache(union derived_reader *reader,
                                           const void *data, size_t size,
                                           char *error, size_t error_size)
{
    return symc_reader_open(&reader->symcache, data, size, error, error_size);
}

static enum symc_verify_status verify_symcache(union derived_reader *reader,
                                               char *error, size_t error_size)
{
    return symc_verify(&reader->symcache, error, error_size);
}

/*
 * Readers ignore what follows the strings.  Newer files have one more part
 * there and say so; in a file that does not, these bytes are from elsewhere.
 */
static bool is_longer(const void *data, size_t size)
{
    struct symc_reader reader;
    char error[512];

    return symc_reader_open(&reader, data, size, error, sizeof(error)) ==
               SYMC_OPENED &&
           reader.size > reader.strings + reader.string_bytes &&
           reader.data[SYMC_AT_VARIABLES] == 0;
}

static enum symc_verify_status check_symcache(const void *data, size_t size,
                                              const symcache_key_t *key,
                                              bool is_received, char *error,
                                              size_t error_size)
{
    if (is_received && is_longer(data, size)) {
        snprintf(error, error_size, "something else follows the SymCache");
        return SYMC_VIOLATED;
    }
    return symc_check(data, size,
                      key->id_type == SYMCACHE_ID_DEBUG ? key->guid : NULL,
                      error, error_size);
}

static bool sniff_ppdbcache(const uint8_t *data, size_t size)
{
    return ppdbcache_sniff(data, size);
}

static enum symc_open_status open_ppdbcache(union derived_reader *reader,
                                            const void *data, size_t size,
                                            char *error, size_t error_size)
{
    return ppdbcache_reader_open(&reader->ppdbcache, data, size, error,
                                 error_size);
}

static enum symc_verify_status verify_ppdbcache(union derived_reader *reader,
                                                char *error, size_t error_size)
{
    return ppdbcache_verify(&reader->ppdbcache, error, error_size);
}

static enum symc_verify_status check_ppdbcache(const void *data, size_t size,
                                               const symcache_key_t *key,
                                               bool is_received, char *error,
                                               size_t error_size)
{
    return ppdbcache_check(data, size, key->guid, error, error_size);
}

static bool sniff_cficache(const uint8_t *data, size_t size)
{
    return cficache_sniff(data, size);
}

static enum symc_open_status open_cficache(union derived_reader *reader,
                                           const void *data, size_t size,
                                           char *error, size_t error_size)
{
    return cficache_reader_open(&reader->cficache, data, size, error,
                                error_size);
}

static enum symc_verify_status verify_cficache(union derived_reader *reader,
                                               char *error, size_t error_size)
{
    return cficache_verify(&reader->cficache, error, error_size);
}

/* Under a key with a PE code id the debug id is not compared: the image may
 * have had none. */
static enum symc_verify_status check_cficache(const void *data, size_t size,
                                              const symcache_key_t *key,
                                              bool is_received, char *error,
                                              size_t error_size)
{
    struct cficache_reader reader;

    if (key->id_type == SYMCACHE_ID_DEBUG) {
        return cficache_check(data, size, key->guid, error, error_size);
    }
    return cficache_reader_open(&reader, data, size, error, error_size) ==
                   SYMC_OPENED
               ? cficache_verify(&reader, error, error_size)
               : SYMC_VIOLATED;
}

static bool sniff_codecache(const uint8_t *data, size_t size)
{
    return codecache_sniff(data, size);
}

static enum symc_open_status open_codecache(union derived_reader *reader,
                                            const void *data, size_t size,
                                            char *error, size_t error_size)
{
    return codecache_reader_open(&reader->codecache, data, size, error,
                                 error_size);
}

static enum symc_verify_status verify_codecache(union derived_reader *reader,
                                                char *error, size_t error_size)
{
    return codecache_verify(&reader->codecache, error, error_size);
}

/* As for a CfiCache. */
static enum symc_verify_status
check_codecache(const void *data, size_t size, const symcache_key_t *key,
                bool is_received, char *error, size_t error_size)
{
    return codecache_check(data, size,
                           key->id_type == SYMCACHE_ID_DEBUG ? key->guid : NULL,
                           error, error_size);
}

static bool sniff_jscache(const uint8_t *data, size_t size)
{
    return jscache_sniff(data, size);
}

static enum symc_open_status open_jscache(union derived_reader *reader,
                                             const void *data, size_t size,
                                             char *error, size_t error_size)
{
    return jscache_reader_open(&reader->jscache, data, size, error,
                               error_size);
}

static enum symc_verify_status verify_jscache(union derived_reader *reader,
                                                 char *error,
                                                 size_t error_size)
{
    return jscache_verify(&reader->jscache, error, error_size);
}

/* The id is a digest of the originals, which whoever had them compares. */
static enum symc_verify_status check_jscache(const void *data, size_t size,
                                                const symcache_key_t *key,
                                                bool is_received, char *error,
                                                size_t error_size)
{
    return jscache_check(data, size, error, error_size);
}

static bool sniff_text(const uint8_t *data, size_t size)
{
    return size > 7 && memcmp(data, "MODULE ", 7) == 0;
}

/* Text is lines, of which the last one is whole, too. */
static enum symc_verify_status verify_text(union derived_reader *reader,
                                           char *error, size_t error_size)
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
static enum symc_verify_status check_text(const void *data, size_t size,
                                          const symcache_key_t *key,
                                          bool is_received, char *error,
                                          size_t error_size)
{
    union derived_reader reader = {.bytes = {data, size}};
    const char *p = data, *end = memchr(p, '\n', size), *next;
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
        return SYMC_VIOLATED;
    }
    return verify_text(&reader, error, error_size);
}

/* Nothing says what a file at a URL is. */
static bool sniff_bytes(const uint8_t *data, size_t size)
{
    return false;
}

static enum symc_open_status open_bytes(union derived_reader *reader,
                                           const void *data, size_t size,
                                           char *error, size_t error_size)
{
    reader->bytes = (struct derived_bytes){data, size};
    return SYMC_OPENED;
}

static enum symc_verify_status verify_bytes(union derived_reader *reader,
                                               char *error, size_t error_size)
{
    return SYMC_SOUND;
}

static enum symc_verify_status check_bytes(const void *data, size_t size,
                                              const symcache_key_t *key,
                                              bool is_received, char *error,
                                              size_t error_size)
{
    snprintf(error, error_size, "no transcoder makes a source file");
    return SYMC_VIOLATED;
}

static bool sniff_sourcecache(const uint8_t *data, size_t size)
{
    return sourcecache_sniff(data, size);
}

static enum symc_open_status
open_sourcecache(union derived_reader *reader, const void *data, size_t size,
                 char *error, size_t error_size)
{
    return sourcecache_reader_open(&reader->sourcecache, data, size, error,
                                   error_size);
}

static enum symc_verify_status
verify_sourcecache(union derived_reader *reader, char *error,
                   size_t error_size)
{
    return sourcecache_verify(&reader->sourcecache, error, error_size);
}

/* A bundle need not say of which module it is. */
static enum symc_verify_status
check_sourcecache(const void *data, size_t size, const symcache_key_t *key,
                  bool is_received, char *error, size_t error_size)
{
    return sourcecache_check(data, size, error, error_size);
}

static bool sniff_proguardcache(const uint8_t *data, size_t size)
{
    return proguardcache_sniff(data, size);
}

static enum symc_open_status open_proguardcache(union derived_reader *reader,
                                                const void *data, size_t size,
                                                char *error, size_t error_size)
{
    return proguardcache_reader_open(&reader->proguardcache, data, size, error,
                                     error_size);
}

static enum symc_verify_status
verify_proguardcache(union derived_reader *reader, char *error,
                     size_t error_size)
{
    return proguardcache_verify(&reader->proguardcache, error, error_size);
}

/* A mapping does not contain its id. */
static enum symc_verify_status
check_proguardcache(const void *data, size_t size, const symcache_key_t *key,
                    bool is_received, char *error, size_t error_size)
{
    return proguardcache_check(data, size, error, error_size);
}

static const struct derived_type types[SYMCACHE_KINDS] = {
    [SYMCACHE_KIND_SYMCACHE] = {
        .name = "SymCache",
        .oldest = {7, 0, 0},
        .newest = {9, UINT16_MAX, UINT16_MAX},
        .written = {9, 0, 0},
        .refusal = "is a portable PDB of .NET: it becomes a PpdbCache, and no "
                   "SymCache",
        .has_foreign = true,
        .sniff = sniff_symcache,
        .open = open_symcache,
        .verify = verify_symcache,
        .check = check_symcache,
    },
    [SYMCACHE_KIND_PPDBCACHE] = {
        .name = "PpdbCache",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .written = {1, 0, 0},
        .refusal = "is not a portable PDB: only those of .NET become a "
                   "PpdbCache",
        .sniff = sniff_ppdbcache,
        .open = open_ppdbcache,
        .verify = verify_ppdbcache,
        .check = check_ppdbcache,
    },
    [SYMCACHE_KIND_CFICACHE] = {
        .name = "CfiCache",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .written = {1, 0, 0},
        .refusal = "is of a format without call frame information, and does "
                   "not become a CfiCache",
        .sniff = sniff_cficache,
        .open = open_cficache,
        .verify = verify_cficache,
        .check = check_cficache,
    },
    [SYMCACHE_KIND_CODECACHE] = {
        .name = "CodeCache",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .written = {1, 0, 0},
        .refusal = "is not a program of ELF, Mach-O or Windows: only these "
                   "become a CodeCache",
        .sniff = sniff_codecache,
        .open = open_codecache,
        .verify = verify_codecache,
        .check = check_codecache,
    },
    [SYMCACHE_KIND_JSCACHE] = {
        .name = "JsCache",
        .oldest = {2, 0, 0},
        .newest = {2, UINT16_MAX, UINT16_MAX},
        .written = {2, 0, 0},
        .sniff = sniff_jscache,
        .open = open_jscache,
        .verify = verify_jscache,
        .check = check_jscache,
    },
    [SYMCACHE_KIND_BREAKPAD] = {
        .name = "Breakpad text",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .written = {1, 0, 0},
        .sniff = sniff_text,
        .open = open_bytes,
        .verify = verify_text,
        .check = check_text,
    },
    [SYMCACHE_KIND_SOURCE] = {
        .name = "source file",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .sniff = sniff_bytes,
        .open = open_bytes,
        .verify = verify_bytes,
        .check = check_bytes,
    },
    [SYMCACHE_KIND_SOURCECACHE] = {
        .name = "SourceCache",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .written = {1, 0, 0},
        .refusal = "has no source files: only source bundles and portable "
                   "PDBs become a SourceCache",
        .sniff = sniff_sourcecache,
        .open = open_sourcecache,
        .verify = verify_sourcecache,
        .check = check_sourcecache,
    },
    [SYMCACHE_KIND_PROGUARDCACHE] = {
        .name = "ProguardCache",
        .oldest = {1, 0, 0},
        .newest = {1, UINT16_MAX, UINT16_MAX},
        .written = {1, 0, 0},
        .refusal = "is not a mapping of ProGuard or R8: only these become a "
                   "ProguardCache",
        .sniff = sniff_proguardcache,
        .open = open_proguardcache,
        .verify = verify_proguardcache,
        .check = check_proguardcache,
    },
};

const struct derived_type *derived_type(symcache_kind_e kind)
{
    return types[kind].name != NULL ? &types[kind] : NULL;
}

bool derived_is_made(symcache_kind_e kind)
{
    return (unsigned)kind < SYMCACHE_KINDS && types[kind].written.major > 0;
}

bool derived_sniff(const uint8_t *data, size_t size, symcache_kind_e *kind)
{
    int i;

    for (i = 0; i < SYMCACHE_KINDS; i++) {
        /* what looks like an original is one */
        if (types[i].name != NULL &&
            symcache_kind((symcache_kind_e)i)->end == NULL &&
            types[i].sniff(data, size)) {
            *kind = (symcache_kind_e)i;
            return true;
        }
    }
    return false;
}
