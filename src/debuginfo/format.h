/*
 * Copyright (C) the ngx_symcache authors
 *
 * The interface of a debug format.  Each format defines one struct in its
 * folder; the converter has the table of them (converter/input_format.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "proto/kind.h"

struct cfi;
struct symc_identity;
struct symc_sink;
struct symc_writer;

/* The results of a conversion besides its output.  All is zero before it, but
 * what the converter sets. */
struct debuginfo_result {
    symcache_kind_e output; /* the converter sets it, and */
    bool has_file_addresses; /* that addresses of a SymCache of an ELF file are
                                those of the file, where they have 32 bits, and
                                not relative to the image */
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint8_t is_pdb;       /* and no other format */
    uint8_t publics_only; /* and has no private symbols */
    uint8_t has_links;    /* and says where its source files are */
    uint8_t lacks_split;  /* and files of split DWARF are missing */
    char note[320];       /* a sentence for whoever runs it, or "" */
};

/*
 * Reads data[0..size) and writes the output to the sink.  Returns 0 and the
 * result, or -1 with failure set; then the output is worthless.  Uses no
 * globals and no files but the one of scratch.h, if it was opened.
 */
typedef int debuginfo_convert(const uint8_t *data, size_t size,
                              const struct symc_sink *sink,
                              struct debuginfo_result *result,
                              struct failure *failure);

/* Reads data[0..size) for a CfiCache or its text (cfi.h), and sets what it is
 * the CFI of; with the same rules. */
typedef int cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                     struct failure *failure);

/* How a format becomes one of the outputs. */
struct debuginfo_maker {
    symcache_kind_e output;
    debuginfo_convert *convert;
    cfi_read *read_cfi; /* instead of convert */
};

struct debuginfo_format {
    /* Do the first bytes say that a file is of this format? */
    bool (*sniff)(const uint8_t *data, size_t size);

    /* The outputs that it becomes: what it is converted to unless another one
     * is wanted, and the others. */
    const struct debuginfo_maker *makes;
    unsigned num_makes;
};

/*
 * The end of each convert: writes what the writer has to the sink, under the
 * identity, which becomes the result's.  Returns 0, or -1 with failure set.
 */
int format_finish(struct symc_writer *writer,
                  const struct symc_identity *identity,
                  const struct symc_sink *sink,
                  struct debuginfo_result *result, struct failure *failure);
