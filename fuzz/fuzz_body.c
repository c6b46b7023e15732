/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: unpacking bodies from upstreams.  The output must never exceed
 * the limit, and a failure must have a reason.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symcached/intake/body.h"

#define LIMIT 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_unpack(enum body_kind kind, int in, int out)
{
    struct limited_writer writer = {.fd = out, .max = LIMIT};
    char error[256] = "";
    enum body_status status;
    struct stat st;

    status = body_unpack(kind, in, &writer, error, sizeof(error));
    if (status == BODY_SYSTEM || (status != BODY_OK && error[0] == '\0') ||
        fstat(out, &st) != 0 || st.st_size > LIMIT) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int in = -1, out = -1;
    const char *what = NULL;
    enum body_kind kind;

    if (in < 0) {
        in = memfd_create("in", 0);
        out = memfd_create("out", 0);
    }

    kind = body_sniff(data, size < BODY_HEAD ? size : BODY_HEAD, &what);
    if (what == NULL) {
        abort();
    }
    if (kind >= BODY_OTHER) {
        return 0;
    }

    if (ftruncate(in, 0) != 0 || ftruncate(out, 0) != 0 ||
        lseek(out, 0, SEEK_SET) != 0 ||
        pwrite(in, data, size, 0) != (ssize_t)size) {
        abort();
    }

    check_unpack(kind, in, out);
    return 0;
}
