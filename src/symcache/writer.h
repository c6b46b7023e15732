/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds a SymCache of version 9 from trees of functions and from public
 * symbols, in the order in which they are delivered: first all functions, then
 * all symbols.  Same input, same bytes as the "symbolic" library writes.
 */
#ifndef SYMCACHE_WRITER_H
#define SYMCACHE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranges.h"
#include "set.h"
#include "strings.h"

#define SYMFILE_NO_SIZE UINT64_MAX

struct symfile_text {
    const char *data; /* any bytes; not ended by NUL */
    uint32_t size;
};

/* A source file.  An absent srcsrv part has data NULL. */
struct symfile_source {
    struct symfile_text directory;
    struct symfile_text name;
    struct symfile_text srcsrv_directory;
    struct symfile_text srcsrv_name;
    struct symfile_text srcsrv_revision;
    uint32_t file; /* its index in the SymCache, or SYMFILE_NONE */
};

/* Addresses beyond 32 bits are in no SymCache; what a line or a function there
 * still does to the file is the writer's affair. */
struct symfile_line {
    uint64_t address;
    uint32_t line;
    uint32_t source; /* index of the source file */
    uint64_t size;   /* or SYMFILE_NO_SIZE */
};

/* A function, or an inlined instance of one; links are indices of nodes. */
struct symfile_function {
    uint64_t address;
    uint64_t size;
    struct symfile_name name;
    uint32_t *memo;      /* inlined: NULL, or where its index + 1 is kept */
    uint32_t first_line; /* in lines, ascending by address */
    uint32_t num_lines;
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next; /* sibling */
    uint32_t is_inline;
};

struct symfile_tree {
    struct symfile_function *nodes;
    const struct symfile_line *lines;
    struct symfile_source *sources;
};

struct symfile_range {
    uint32_t start;
    uint32_t end;
};

struct symfile_call {
    uint32_t address;
    uint32_t location;
};

struct symfile_symbol {
    uint32_t address;
    uint32_t name; /* string offset */
};

enum symfile_status {
    SYMFILE_OK = 0,
    SYMFILE_NO_MEMORY = -1, /* or a table would pass 32 bits */
    SYMFILE_TOO_DEEP = -2,  /* inlined into each other too often */
    SYMFILE_NO_WRITE = -3   /* the sink failed */
};

struct symfile_writer {
    bool undecorates; /* names have the decorations of Windows linkers */
    struct symfile_strings strings;
    struct symfile_set files;
    struct symfile_set functions;
    struct symfile_set calls; /* call locations */
    struct symfile_ranges ranges;
    struct symfile_symbol *symbols;
    size_t num_symbols;
    size_t symbol_room;
    int has_end;       /* there is a function */
    int is_open;       /* the last range is a symbol's, without end */
    uint32_t last_end; /* of all functions */
    struct symfile_range *inlined; /* stacks of the recursion */
    size_t num_inlined;
    size_t inlined_room;
    struct symfile_call *callees;
    size_t num_callees;
    size_t callee_room;
};

struct symfile_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t arch;
};

/* Takes output in order.  Returns 0, or -1 to stop. */
struct symfile_sink {
    int (*write)(void *context, const void *data, size_t size);
    void *context;
};

/* A writer that takes names as they are, until undecorates is set. */
void symfile_writer_init(struct symfile_writer *writer);
void symfile_writer_free(struct symfile_writer *writer);

/* One function with all that is inlined into it.  Children of the root are
 * put into address order first. */
enum symfile_status symfile_writer_function(struct symfile_writer *writer,
                                            const struct symfile_tree *tree,
                                            uint32_t root);

/* A name that will come soon: hashes it, so that what looking it up needs is
 * then at hand, after its decoration is gone where the writer undecorates. */
void symfile_writer_expect(const struct symfile_writer *writer,
                           struct symfile_name *name);

/* One public symbol. */
enum symfile_status symfile_writer_symbol(struct symfile_writer *writer,
                                          uint32_t address,
                                          struct symfile_name *name);

/* Ends the input and writes the file.  The writer is then only to be freed. */
enum symfile_status
symfile_writer_finish(struct symfile_writer *writer,
                      const struct symfile_identity *identity,
                      const struct symfile_sink *sink);

#endif
