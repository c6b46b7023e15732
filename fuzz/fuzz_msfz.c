/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a compressed PDB.  What it is expanded to is no larger than was
 * said before, and has the container of a PDB.
 */
#include <stdlib.h>

#include "debuginfo/msfz/msfz.h"
#include "debuginfo/pdb/msf.h"

#define ROOM_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t bound = msfz_bound(data, size), made = 0;
    size_t room = bound < ROOM_MAX ? (size_t)bound : ROOM_MAX;
    char error[200] = "";
    enum msfz_status status;
    struct msf msf;
    uint8_t *to = calloc(1, room + 1);

    if (to == NULL) {
        return 0;
    }
    status = msfz_expand_memory(data, size, to, room, &made, error,
                                sizeof(error));
    if (status != MSFZ_OK && error[0] == '\0') {
        abort();
    }
    if (status == MSFZ_OK &&
        (made > room ||
         msf_open(&msf, to, (size_t)made, error, sizeof(error)) != MSF_OK)) {
        abort();
    }
    if (status == MSFZ_OK) {
        msf_close(&msf);
    }
    free(to);
    return 0;
}
