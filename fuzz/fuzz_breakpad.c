/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: Breakpad's text, its identity and its conversion.  Input that
 * does not begin with a MODULE record gets a valid one, so that mutations
 * mostly affect the records behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/breakpad/breakpad.h"
#include "image.h"

#define MODULE "MODULE "
#define SOUND MODULE "Linux x86_64 000102030405060708090A0B0C0D0E0F0 a.so\n"
#define ROOM 0x10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rc;
    char error[200];
    static uint8_t text[sizeof(SOUND) + ROOM];
    struct breakpad_identity identity;
    struct debuginfo_result result = {0};

    if (size > ROOM) {
        return 0;
    }
    if (size < sizeof(MODULE) - 1 ||
        memcmp(data, MODULE, sizeof(MODULE) - 1) != 0) {
        memcpy(text, SOUND, sizeof(SOUND) - 1);
        if (size > 0) {
            memcpy(text + sizeof(SOUND) - 1, data, size);
        }
        data = text;
        size += sizeof(SOUND) - 1;
    }
    rc = breakpad_identity_read(data, size, &identity, error, sizeof(error));
    if (image_check(breakpad_format.makes, data, size, &result) == 0 &&
        (rc != 0 || result.age != identity.age ||
         memcmp(result.guid, identity.guid, 16) != 0)) {
        abort(); /* both readers must agree on the identity */
    }
    return 0;
}
