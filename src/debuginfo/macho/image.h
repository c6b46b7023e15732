/*
 * Copyright (C) the ngx_symcache authors
 *
 * One Mach-O image: its header and load commands (mach-o/loader.h), in either
 * byte order, of 32 or 64 bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "debuginfo/failure.h"

enum macho_file_type {
    MACHO_OBJECT = 1,
    MACHO_DSYM = 10
};

enum macho_command_type {
    MACHO_SEGMENT = 0x1,
    MACHO_SYMTAB = 0x2,
    MACHO_SEGMENT_64 = 0x19,
    MACHO_UUID = 0x1B
};

struct macho_image {
    const uint8_t *data;
    size_t size;
    bool is_big_endian;
    bool is_64;
    uint32_t cpu_type;
    uint32_t cpu_subtype; /* with its capabilities, the highest byte */
    uint32_t file_type;
    uint32_t num_commands;
    size_t commands; /* offset of the first */
};

/* A load command, and an iterator over them that begins as {.next = 0}. */
struct macho_command {
    uint32_t number; /* of the next one */
    size_t next;
    uint32_t type;
    const uint8_t *data; /* with its header of 8 bytes */
    size_t rest;         /* bytes of the file from there on, at least these */
};

/* Do the first bytes say that a file is a Mach-O image? */
bool macho_image_sniff(const uint8_t *data, size_t size);

/* Reads the header of an image in memory, and checks that all load commands
 * are in the file.  Returns 0, or -1 with a sentence in error. */
int macho_image_open(struct macho_image *image, const uint8_t *data,
                     size_t size, char *error, size_t error_size);

/* Gets the next load command.  Returns false at their end. */
bool macho_image_command(const struct macho_image *image,
                         struct macho_command *command);

/* Read a number in the byte order of the image. */
uint32_t macho_u32(const struct macho_image *image, const uint8_t *p);
uint64_t macho_u64(const struct macho_image *image, const uint8_t *p);

/* Reads the UUID.  Returns false, and 16 zeros, if the image has none. */
bool macho_image_uuid(const struct macho_image *image, uint8_t uuid[16]);

/* Returns the number that SymCaches have for an architecture, or 0 for one
 * that they do not have. */
uint32_t macho_arch(uint32_t cpu_type, uint32_t cpu_subtype);

/* The same with what the reference refuses about an image as a whole, before it
 * looks at its symbols.  Returns 0, or -1 with failure set if it is none, if a
 * load command cannot be used or refers to what is outside of the file, or if
 * many segments claim the same sections. */
int macho_open_valid(struct macho_image *image, const uint8_t *data,
                     size_t size, struct failure *failure);
