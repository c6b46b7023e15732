/*
 * Copyright (C) the ngx_symcache authors
 *
 * A PDB in memory, put together from parts.  Fuzz targets vary one part of an
 * image that is otherwise sound, or all of them, so that a mutation lands
 * in a record and not in a block number or a length that guards it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "debuginfo/format.h"

enum image_part {
    IMAGE_INFO,
    IMAGE_NAMES,
    IMAGE_TYPES, /* records only, without the header of the stream */
    IMAGE_IDS,   /* the same */
    IMAGE_DBI,   /* the whole stream; else it is made to fit the parts */
    IMAGE_RECORDS,
    IMAGE_SECTIONS,
    IMAGE_SYMBOLS, /* of the first module, without the signature */
    IMAGE_LINES,   /* C13 part of the first module */
    IMAGE_SYMBOLS2,
    IMAGE_LINES2,
    IMAGE_OMAP_TO,
    IMAGE_OMAP_FROM,
    IMAGE_SRCSRV,
    IMAGE_PARTS
};

struct image_bytes {
    const uint8_t *data; /* NULL: the part of the sound image, if any */
    uint32_t size;
};

struct image {
    struct image_bytes parts[IMAGE_PARTS];
    uint32_t machine;
    uint32_t shuffle; /* not 0: blocks are scattered in the file */
};

void image_init(struct image *image);

/* Sets parts from records of {u8 part, u16 size, bytes}; the last may end
 * early.  What is no part number is folded into the range. */
void image_parse(struct image *image, const uint8_t *data, size_t size);

/* The inverse: returns the number of bytes, or 0 when they pass room. */
size_t image_print(const struct image *image, uint8_t *to, size_t room);

/* The file; valid until the next call. */
const uint8_t *image_build(const struct image *image, size_t *size);

/* Converts a file.  Aborts when the output is not sound, or when it fails
 * without a reason.  Returns what the conversion does. */
int image_check(const struct debuginfo_maker *maker, const uint8_t *data,
                size_t size, struct debuginfo_result *result);

/* The same with an image. */
void image_convert(const struct image *image);

/* The same with one part of a sound image replaced, if its size has room in
 * 16 bits. */
void image_convert_part(enum image_part part, const uint8_t *data,
                        size_t size);
