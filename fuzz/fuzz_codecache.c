/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a CodeCache, which need not be sound, and its disassembly,
 * behind the start and the size in 4 bytes each, and a byte of options.
 */
#include <stdlib.h>
#include <string.h>

#include "disassembly/disassembly.h"

#define HEAD 9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[DISASSEMBLY_ERROR] = "";
    struct codecache_reader reader;
    struct json_writer w = {0};
    struct json json = {0};
    struct json_error json_error;
    struct disassembly d = {.code = &reader,
                            .order = {.most = 4096, .answer = 65536}};

    if (size < HEAD) {
        return 0;
    }
    memcpy(&d.order.start, data, 4);
    memcpy(&d.order.size, data + 4, 4);
    d.order.has_whole_function = data[8] & 1;
    if (codecache_reader_open(&reader, data + HEAD, size - HEAD, error,
                              sizeof(error)) != SYMC_OPENED ||
        codecache_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        if (error[0] == '\0') {
            abort();
        }
        error[0] = '\0';
    }
    if (codecache_sniff(data + HEAD, size - HEAD) &&
        codecache_reader_open(&reader, data + HEAD, size - HEAD, error,
                              sizeof(error)) == SYMC_OPENED) {
        if (!disassemble(&d, &w, error)) {
            if (error[0] == '\0') {
                abort();
            }
        } else if (json_read(&json, w.data, w.size, w.size, &json_error) !=
                   w.size) {
            abort();
        }
    }
    json_free(&json);
    free(w.data);
    return 0;
}
