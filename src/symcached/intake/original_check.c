/*
 * Copyright (C) the ngx_symcache authors
 */
#include "original_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "debuginfo/identity/identity.h"

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
