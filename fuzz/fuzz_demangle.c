/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a decorated name.  The readable name must be inside the buffer
 * or be the decorated name itself, and be there soon.
 */
#include <stdlib.h>
#include <time.h>

#include "symbolication/symbolication.h"

#define TIME_MAX (CLOCKS_PER_SEC / 2) /* ten times what linkage_name.h says */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[DEMANGLE_ROOM];
    const clock_t begin = clock();
    struct symc_string name, readable;
    bool is_done;

    name.data = (const char *)data;
    name.size = size;
    linkage_by(linkage_demangle_here);
    linkage_begin();
    is_done = demangle(&name, SYMC_NONE, room, &readable);
    if (clock() - begin > TIME_MAX ||
        (!is_done && (readable.data != name.data || readable.size != size)) ||
        (is_done && readable.data >= room &&
         readable.size > (size_t)(room + sizeof(room) - readable.data))) {
        abort();
    }
    return 0;
}
