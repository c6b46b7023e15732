/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>

static void copy_build_id(uint8_t guid[16], const uint8_t *data, size_t size)
{
    memset(guid, 0, 16);
    if (size >= 16) {
        memcpy(guid, data, 16);
    }
}

/* A length below 128 is one byte, and no id is longer. */
void wasm_build_id_read(const uint8_t *data, size_t size,
                        struct wasm_build_id *id)
{
    size_t n = size > 1 && data[0] < 128 && data[0] == size - 1 ? 1 : 0;

    copy_build_id(id->guid, data + n, size - n);
    copy_build_id(id->with_length, data, size);
}

/* As the converter has it: the last id counts, and a short one is none. */
static void read_wasm_custom(struct wasm_bytes *section,
                             struct wasm_identity *identity)
{
    struct wasm_bytes name = wasm_part(section);

    if (name.has_failed) {
        return;
    }
    if (wasm_bytes_are(&name, "build_id")) {
        identity->build_id = section->at;
        identity->build_id_size = (size_t)(section->end - section->at);
        wasm_build_id_read(identity->build_id, identity->build_id_size,
                           &identity->id);
        if (identity->build_id_size < sizeof(identity->id.guid)) {
            identity->build_id_size = 0;
        }
    } else if (wasm_bytes_are(&name, ".debug_info")) {
        identity->has_debug_info = true;
    } else if (wasm_bytes_are(&name, "sourceMappingURL")) {
        identity->source_map = wasm_part(section);
    } else if (wasm_bytes_are(&name, "external_debug_info")) {
        identity->debug_file = wasm_part(section);
    }
}

bool wasm_sniff(const uint8_t *data, size_t size)
{
    return size >= WASM_HEADER_SIZE &&
           memcmp(data, WASM_HEADER, WASM_HEADER_SIZE) == 0;
}

int wasm_identity_read(const uint8_t *data, size_t size,
                       struct wasm_identity *identity, char *error,
                       size_t error_size)
{
    struct wasm_bytes section, bytes = {data, data + size, false};
    uint8_t id;

    memset(identity, 0, sizeof(*identity));
    if (!wasm_sniff(data, size)) {
        snprintf(error, error_size,
                 "is not a WebAssembly module of version 1");
        return -1;
    }
    bytes.at += WASM_HEADER_SIZE;
    while (bytes.at < bytes.end) {
        id = wasm_byte(&bytes);
        section = wasm_part(&bytes);
        if (section.has_failed) {
            snprintf(error, error_size, "is damaged: a section is cut off");
            return -1;
        }
        if (id == WASM_CUSTOM) {
            read_wasm_custom(&section, identity);
        } else if (id == WASM_CODE) {
            identity->has_symbols = true;
            identity->code = (uint64_t)(section.at - data);
        }
    }
    return 0;
}
