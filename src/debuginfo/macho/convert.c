/*
 * Copyright (C) the ngx_symcache authors
 */
#include "convert.h"

#include <string.h>

#include "accept.h"
#include "identity.h"
#include "symbols.h"
#include "symcache/symcache.h"

#define WORK_BASE ((uint64_t)64 << 20) /* bytes of names, for small files */
#define WORK_FACTOR 4                  /* and for each byte of a file */

static int convert_image(const struct macho_image *image,
                         const struct symfile_sink *sink,
                         struct debuginfo_result *result,
                         struct failure *failure)
{
    int rc;
    struct symfile_writer writer;
    struct symfile_identity identity = {.age = 0};
    struct symbol_list symbols = {
        .work = WORK_BASE + WORK_FACTOR * (uint64_t)image->size};

    macho_image_uuid(image, identity.guid);
    identity.arch = macho_arch(image->cpu_type, image->cpu_subtype);
    symfile_writer_init(&writer);
    rc = macho_symbols_read(image, &symbols, failure);
    if (rc == 0) {
        rc = symbol_list_write(&symbols, &writer, failure);
    }
    symbol_list_free(&symbols);
    if (rc == 0) {
        rc = format_finish(&writer, &identity, sink, result, failure);
    }
    symfile_writer_free(&writer);
    return rc;
}

static int convert(const uint8_t *data, size_t size,
                   const struct symfile_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    char error[200];
    struct macho_image image;

    memset(result, 0, sizeof(*result));
    if (macho_image_open(&image, data, size, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    return macho_accept(&image, failure) != 0
               ? -1
               : convert_image(&image, sink, result, failure);
}

const struct debuginfo_format macho_format = {
    .name = "Mach-O",
    .sniff = macho_sniff,
    .convert = convert,
};
