/*
 * Copyright (C) the ngx_symcache authors
 */
#include "original_check.h"

#include <inttypes.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "debuginfo/identity/identity.h"

/*
 * The checksum that an assembly has of its portable PDB: a hash of the file
 * with zeros for the 20 bytes of its id (PE/COFF addendum of Portable PDB,
 * "PDB Checksum Debug Directory Entry").
 */
#define ID_SIZE 20

static const struct {
    const char *name; /* as assemblies write it */
    const struct nettle_hash *hash;
} algorithms[] = {
    {"SHA256", &nettle_sha256},
    {"SHA384", &nettle_sha384},
    {"SHA512", &nettle_sha512},
    {"SHA1", &nettle_sha1},
};

#define ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

/* The checksum of an algorithm as hex digits; *len is their number.  NULL if
 * text has none. */
static const char *find_checksum(const char *text, const char *name,
                                 size_t *len)
{
    size_t size = strlen(name);

    for (; *text != '\0'; text += *text != '\0') {
        if (strncasecmp(text, name, size) == 0 && text[size] == ':') {
            text += size + 1;
            *len = strcspn(text, ";");
            return text;
        }
        text += strcspn(text, ";");
    }
    return NULL;
}

static void original_pdb_digest(char hex[2 * SHA512_DIGEST_SIZE + 1],
                                const struct nettle_hash *hash,
                                const uint8_t *data, size_t size, size_t id_at)
{
    static const uint8_t zeros[ID_SIZE];
    uint8_t sum[SHA512_DIGEST_SIZE];
    union {
        struct sha1_ctx sha1;
        struct sha256_ctx sha256;
        struct sha512_ctx sha512;
    } context;
    size_t rest = id_at + ID_SIZE;

    hash->init(&context);
    hash->update(&context, id_at, data);
    hash->update(&context, ID_SIZE, zeros);
    hash->update(&context, size - rest, data + rest);
    hash->digest(&context, hash->digest_size, sum);
    hex_print(hex, sum, hash->digest_size, HEX_LOWER);
}

/*
 * Does a portable PDB have one of the checksums that wanted names, as
 * <algorithm>:<hex>, joined by ";"?  id_at is where its id begins, which is
 * within the file.  Where wanted is NULL, or has no checksum of a known
 * algorithm, nothing can be told, and the file passes.
 */
static bool checksum_fits(const char *wanted, const uint8_t *data,
                          size_t size, size_t id_at)
{
    char hex[2 * SHA512_DIGEST_SIZE + 1];
    const char *text;
    bool known = false;
    size_t i, len;

    for (i = 0; wanted != NULL && i < ALGORITHMS; i++) {
        text = find_checksum(wanted, algorithms[i].name, &len);
        if (text == NULL) {
            continue;
        }
        known = true;
        original_pdb_digest(hex, algorithms[i].hash, data, size, id_at);
        if (len == strlen(hex) && strncasecmp(text, hex, len) == 0) {
            return true;
        }
    }
    return !known;
}

char original_check(const symcache_key_t *key, enum original_format format,
                    const char *checksum,
                    const uint8_t *data, uint64_t size, unsigned *features,
                    char *detail, size_t detail_size)
{
    static const char letters[] = {
        [IDENTITY_FITS] = 'F',       [IDENTITY_SYMBOLS_ONLY] = 'f',
        [IDENTITY_UNFINISHED] = 'C', [IDENTITY_USELESS] = 'N',
        [IDENTITY_ANOTHER] = 'W',    [IDENTITY_DAMAGED] = 'U',
    };
    struct file_identity list[IDENTITIES_MAX];
    const struct file_identity *which;
    enum identity_fit fit;
    char note[480];
    size_t n = identities_read(format, data, (size_t)size, list, detail,
                               detail_size);

    *features = 0;
    if (n == 0) {
        return 'U';
    }
    fit = identity_fits(list, n, key, &which, note, sizeof(note));
    if (fit >= IDENTITY_USELESS) {
        snprintf(detail, detail_size, "%s", note);
        return letters[fit];
    }
    if (format == FORMAT_PORTABLEPDB &&
        !checksum_fits(checksum, data, (size_t)size, which->id_at)) {
        snprintf(detail, detail_size,
                 "another checksum than the one asked for");
        return 'U';
    }
    *features = which->features;
    snprintf(detail, detail_size, "%" PRIu64 " bytes%s", size, note);
    return letters[fit];
}

bool original_has_guid(const symcache_key_t *key, enum original_format format,
                       const uint8_t *data, uint64_t size)
{
    struct file_identity list[IDENTITIES_MAX];
    char error[160];

    return identities_read(format, data, (size_t)size, list, error,
                           sizeof(error)) > 0 &&
           key->id_type == SYMCACHE_ID_DEBUG &&
           memcmp(list->guid, key->guid, sizeof(key->guid)) == 0;
}
