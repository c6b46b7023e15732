/*
 * Copyright (C) the ngx_symcache authors
 *
 * What an original says of itself: of which module it is, and what it has.  One
 * table by format reads it; whether a key asks for it, and where it belongs in
 * a symbol store (symstore_path.h), follows from that alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "symstore_path.h"
#include "unified_path.h"
#include "proto/key.h"

/* Images of a fat Mach-O file; other files are one. */
#define IDENTITIES_MAX 44

struct file_identity {
    enum original_format format;
    uint8_t guid[16]; /* the debug id in text order; all zero: there is none */
    uint32_t age;     /* of the debug id; FFFFFFFF of a portable PDB */
    uint32_t stamp;   /* of a portable PDB */
    size_t id_at;     /* of a portable PDB: where GUID and stamp are */
    uint8_t build[SYMCACHE_BUILD_ID_MAX]; /* the code id of ELF and Mach-O */
    size_t build_len;                     /* 0: there is none */
    uint32_t timestamp, image_size;       /* the code id of PE */
    const char *name; /* of the module, in the file; Breakpad's only */
    size_t name_size;
    char own_name[SYMCACHE_NAME_MAX + 1]; /* of a source bundle: its debug
                                             file's name; or "" */
    unsigned features; /* a set of SYMCACHE_HAS_... */
    bool is_kernel;    /* of Linux, or one of its modules */
    bool is_linked;    /* ELF: a program, library or debug file */
    bool is_cut;       /* the file ends in front of what it needs */
    bool is_unfinished; /* text that does not end with a line */
};

/* The format that the first bytes are of, or -1: it has no place in a symbol
 * store. */
int identity_format(const uint8_t *data, size_t size);

/*
 * Reads the identities of a whole file of the format, of which there is at
 * least one.  Returns how many, or 0 with a sentence in error.
 */
size_t identities_read(enum original_format format, const uint8_t *data,
                       size_t size, struct file_identity list[IDENTITIES_MAX],
                       char *error, size_t error_size);

/* Is it what the key asks for? */
enum identity_fit {
    IDENTITY_FITS,
    IDENTITY_SYMBOLS_ONLY, /* yes, but there may be a better one */
    IDENTITY_UNFINISHED,   /* yes, if the file has its whole length */
    IDENTITY_USELESS, /* it is, but the kind cannot be made of it */
    IDENTITY_ANOTHER,
    IDENTITY_DAMAGED
};

/*
 * Compares the n identities of a file with a key: for a derived kind by the
 * debug id, for an original by its own id.  detail gets a sentence about others
 * than those that fit, and a note such as ", symbols only" about these; *which
 * the one that was compared.
 */
enum identity_fit identity_fits(const struct file_identity *list, size_t n,
                                const symcache_key_t *key,
                                const struct file_identity **which,
                                char *detail, size_t detail_size);
