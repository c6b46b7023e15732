/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies and parts of them that are packed with gzip or zstd.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "worker_pool/worker_pool.h"

enum packing { PACKED_NOT, PACKED_GZIP, PACKED_ZSTD, PACKED_OTHER };

struct bytes {
    const uint8_t *data; /* NULL: there are none */
    size_t size;
};

/* By the value of a Content-Encoding, which may be NULL. */
enum packing packed_by_name(const char *coding);

/* By the first bytes. */
enum packing packed_by_content(const struct bytes *bytes);

/* Memory for all that is unpacked of a body. */
struct packed_room {
    struct work_service *service;
    uint64_t most;
    uint8_t *data; /* NULL at first */
    uint64_t used;
};

enum packed_result { PACKED_DONE, PACKED_DAMAGED, PACKED_LARGE };

/* Replaces packed bytes by the unpacked ones, which live as long as the room.
 * symbolicated is first asked for the room. */
enum packed_result packed_undo(struct packed_room *room, enum packing packing,
                               struct bytes *bytes);

void packed_free(struct packed_room *room);
