/*
 * Copyright (C) the ngx_symcache authors
 *
 * The headers of a PE image, and what they refer to.  The format is that of
 * Microsoft's "PE Format" (learn.microsoft.com, windows/win32/debug/pe-format).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pe_directory {
    PE_EXPORTS = 0,
    PE_EXCEPTIONS = 3,
    PE_DEBUG = 6
};

struct pe_image {
    const uint8_t *data;
    size_t size;
    uint16_t machine;
    uint32_t time_stamp;
    uint32_t image_size; /* in memory */
    uint64_t image_base; /* where it prefers to be loaded */
    uint32_t file_alignment;
    uint64_t strings;    /* offset of the COFF string table */
    size_t sections;     /* offset of the section table */
    unsigned num_sections;
    const uint8_t *directories;
    unsigned num_directories;
};

struct pe_section {
    const uint8_t *name; /* 8 bytes; shorter ones end with a NUL */
    uint32_t virtual_size;
    uint32_t address; /* relative to the image's start, as all are here */
    uint32_t raw_size;
    uint32_t raw; /* offset in the file */
    uint32_t flags;
};

/* Do the headers say that a file is a PE image?  Programs for DOS begin with
 * the same two bytes. */
bool pe_sniff(const uint8_t *data, size_t size);

/* Reads the headers of a file in memory.  Returns 0, or -1 with a sentence in
 * error that says what is wrong. */
int pe_image_open(struct pe_image *image, const uint8_t *data, size_t size,
                  char *error, size_t error_size);

/* Returns size bytes at an offset, or NULL if some are outside of the file. */
const uint8_t *pe_image_at(const struct pe_image *image, uint64_t offset,
                           uint64_t size);

/* Returns the bytes of the file that are loaded at an address, or NULL. */
const uint8_t *pe_image_loaded(const struct pe_image *image, uint32_t address,
                               uint32_t size);

/* Addresses whose bytes are also consecutive in the file. */
struct pe_part {
    uint64_t begin;
    uint64_t end;
    uint64_t offset; /* of what is loaded at the beginning */
};

/* Finds what is loaded together with an address.  It may be after the file's
 * end.  Pages are loaded as a whole; this is what the reference goes by.
 * Returns false if nothing is loaded there. */
bool pe_image_part(const struct pe_image *image, uint32_t address,
                   struct pe_part *part);

#define PE_NO_OFFSET UINT64_MAX

/* Returns the offset in the file of what pe_image_part() finds for an address,
 * or PE_NO_OFFSET. */
uint64_t pe_image_offset(const struct pe_image *image, uint32_t address);

/* Gets the address and size of one of the image's directories.  Returns false
 * if it has none. */
bool pe_image_directory(const struct pe_image *image,
                        enum pe_directory directory, uint32_t *address,
                        uint32_t *size);

/* Reads the header of section i, which is below num_sections. */
void pe_image_section(const struct pe_image *image, unsigned i,
                      struct pe_section *section);

/* Returns the number that SymCaches have for the image's architecture, or 0
 * for an unknown one. */
uint32_t pe_image_arch(const struct pe_image *image);
