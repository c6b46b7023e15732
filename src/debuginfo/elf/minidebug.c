/*
 * Copyright (C) the ngx_symcache authors
 */
#include "minidebug.h"

#include <lzma.h>
#include <stdlib.h>

/* Real ones are a few hundred kilobytes, and become some ten times that. */
#define ROOM_FIRST ((size_t)1 << 20)
#define ROOM_MOST ((size_t)128 << 20)

/* xz -9 needs 65 MiB. */
#define MEMORY ((uint64_t)128 << 20)

/* Decompresses all.  Returns as elf_minidebug_open(). */
static int minidebug_unpack(const uint8_t *data, size_t size, uint8_t **bytes,
                            size_t *unpacked)
{
    lzma_stream z = LZMA_STREAM_INIT;
    lzma_ret rc = lzma_stream_decoder(&z, MEMORY, 0);
    size_t room = 0;
    uint8_t *more;

    *bytes = NULL;
    z.next_in = data;
    z.avail_in = size;
    while (rc == LZMA_OK && (z.avail_out > 0 || room < ROOM_MOST)) {
        if (z.avail_out == 0) {
            more = realloc(*bytes, room == 0 ? ROOM_FIRST : 2 * room);
            if (more == NULL) {
                rc = LZMA_MEM_ERROR;
                break;
            }
            *bytes = more;
            z.next_out = more + room;
            z.avail_out = room == 0 ? ROOM_FIRST : room;
            room += z.avail_out;
        }
        rc = lzma_code(&z, LZMA_FINISH);
    }
    *unpacked = room - z.avail_out;
    lzma_end(&z);
    if (rc == LZMA_STREAM_END) {
        return 1;
    }
    free(*bytes);
    *bytes = NULL;
    return rc == LZMA_MEM_ERROR ? -1 : 0;
}

int elf_minidebug_open(const struct elf_file *file, struct elf_file *mini,
                       uint8_t **bytes)
{
    int rc;
    size_t size;
    struct elf_section section;

    *bytes = NULL;
    if (!elf_file_find_named(file, ".gnu_debugdata", &section) ||
        section.type == ELF_SHT_NOBITS || section.offset > file->size ||
        section.size > file->size - section.offset) {
        return 0;
    }
    rc = minidebug_unpack(file->data + section.offset, (size_t)section.size,
                          bytes, &size);
    if (rc > 0 && (elf_file_open(mini, *bytes, size) != NULL ||
                   mini->machine != file->machine)) {
        free(*bytes);
        *bytes = NULL;
        rc = 0;
    }
    return rc;
}
