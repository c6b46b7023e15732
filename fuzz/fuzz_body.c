/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: unpacking bodies from upstreams.  The output must never exceed
 * the limit, and a failure must have a reason.  Each further cabinet in the
 * input is a part of the set that the first one begins.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symcached/intake/cabinet.h"

#define LIMIT 65536
#define MAGIC "MSCF\0\0\0" /* and a NUL */
#define PARTS 4 /* beside the first one */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(int fd, const uint8_t *data, size_t size)
{
    char next[CABINET_NAME];

    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
        (cabinet_next(fd, next) &&
         (next[0] == '.' || next[0] == '\0' || strchr(next, '/') != NULL))) {
        abort();
    }
}

/* Puts the cabinets after the first one into parts.  Returns how many bytes
 * come before them. */
static size_t split(const uint8_t *data, size_t size,
                    struct cabinet_parts *parts)
{
    const uint8_t *p, *next, *end = data + size;
    size_t before;

    parts->n = 0;
    next = size == 0 ? NULL : memmem(data + 1, size - 1, MAGIC, sizeof(MAGIC));
    before = next == NULL ? size : (size_t)(next - data);
    while ((p = next) != NULL && parts->n < PARTS) {
        next = memmem(p + 1, (size_t)(end - p) - 1, MAGIC, sizeof(MAGIC));
        fill(parts->fds[parts->n++], p,
             (size_t)((next == NULL ? end : next) - p));
    }
    return before;
}

static void check_unpack(enum body_kind kind, int in,
                         const struct cabinet_parts *parts, int out)
{
    struct limited_writer writer = {.fd = out, .max = LIMIT};
    char error[256] = "";
    enum body_status status;
    struct stat st;

    status = decompress(kind, in, parts, &writer, error, sizeof(error));
    if (status == BODY_SYSTEM || (status != BODY_OK && error[0] == '\0') ||
        fstat(out, &st) != 0 || st.st_size > LIMIT) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cabinet_parts parts = {.missing = "no such file"};
    static int in = -1, out = -1;
    const char *what = NULL;
    enum body_kind kind;
    size_t i;

    if (in < 0) {
        for (i = 0; i < PARTS; i++) {
            parts.fds[i] = memfd_create("part", 0);
        }
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

    if (ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0) {
        abort();
    }

    fill(in, data, split(data, size, &parts));
    check_unpack(kind, in, &parts, out);
    return 0;
}
