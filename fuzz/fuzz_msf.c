/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the MSF container, and all streams read through it.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/pdb/msf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_stream(const struct msf *msf, uint32_t stream,
                        struct msf_buffer *buffer)
{
    uint32_t at, n, size, len;
    uint8_t head[64];
    const uint8_t *p;

    size = msf_stream_size(msf, stream);
    for (at = 0; at < size; at += len) {
        p = msf_run(msf, stream, at, UINT32_MAX, &len);
        if (p == NULL) {
            break;
        }
        if (len == 0 || len > size - at) {
            abort();
        }
        n = p[0] + p[len - 1];
        (void)n;
    }
    n = size < sizeof(head) ? size : (uint32_t)sizeof(head);
    if (msf_copy(msf, stream, size - n, n, head) == 0 && n > 0) {
        p = msf_view(msf, stream, size - n, n, buffer);
        if (p == NULL || memcmp(p, head, n) != 0) {
            abort();
        }
    }
    if (msf_view(msf, stream, size, 1, buffer) != NULL) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t i;
    struct msf msf;
    char error[200];
    struct msf_buffer buffer = {NULL, 0};

    error[0] = '\0';
    if (msf_open(&msf, data, size, error, sizeof(error)) != MSF_OK) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    for (i = 0; i < msf.num_streams && i < 64; i++) {
        read_stream(&msf, i, &buffer);
    }
    msf_buffer_free(&buffer);
    msf_close(&msf);
    return 0;
}
