/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds a SymCache of version 9 from trees of functions and from public
 * symbols, in the order in which they are delivered: first all functions, then
 * all symbols.  The output is byte for byte what the "symbolic" library writes
 * for the same input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"
#include "ranges.h"
#include "record_set.h"
#include "string_table.h"

#define SYMC_NO_SIZE UINT64_MAX

struct symc_text {
    const char *data; /* any bytes, without a NUL at the end */
    uint32_t size;
};

/* A source file.  The data of an absent srcsrv part, and of a compilation
 * directory that cannot be written, is NULL. */
struct symc_source {
    struct symc_text comp_dir;
    struct symc_text directory;
    struct symc_text name;
    struct symc_text srcsrv_directory;
    struct symc_text srcsrv_name;
    struct symc_text srcsrv_revision;
    uint32_t file; /* its index in the SymCache, or SYMC_NONE */
};

/* A SymCache has no addresses beyond 32 bits.  Lines and functions may have
 * them all the same; the writer treats them as the "symbolic" library does. */
struct symc_line {
    uint64_t address;
    uint32_t line;
    uint32_t source; /* index of the source file */
    uint64_t size;   /* or SYMC_NO_SIZE */
};

/* A function, or an inlined instance of one; links are indices of nodes. */
struct symc_function {
    uint64_t address;
    uint64_t size;
    struct symc_name name;
    uint32_t *memo;      /* inlined: where its index + 1 is kept, or NULL */
    uint32_t first_line; /* in lines, ascending by address */
    uint32_t num_lines;
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next;    /* sibling */
    uint8_t language; /* as SymCaches number them; 0 is unknown */
    bool is_inline;
};

struct symc_tree {
    struct symc_function *nodes;
    const struct symc_line *lines;
    struct symc_source *sources;
};

struct symc_range {
    uint32_t start;
    uint32_t end;
};

struct symc_call {
    uint32_t address;
    uint32_t location;
};

struct symc_symbol {
    uint32_t address;
    uint32_t name; /* string offset */
};

enum symc_status {
    SYMC_OK = 0,
    SYMC_NO_MEMORY = -1, /* or a table would pass 32 bits */
    SYMC_TOO_DEEP = -2,  /* functions are inlined too deeply */
    SYMC_NO_WRITE = -3   /* the sink failed */
};

/* Changes what is written; each function may be NULL. */
struct symc_transform {
    void *arg;

    /* Replaces a name, or a part of a path. */
    void (*text)(void *arg, const char **text, uint32_t *size);

    /* Sees each part of a path. */
    void (*see)(void *arg, const char *text, uint32_t size);

    /* Returns the source that a line of this one is of, and that line; or
     * NULL: it stays as it is. */
    struct symc_source *(*line)(void *arg, const struct symc_source *source,
                                uint32_t *line);
};

struct symc_writer {
    const struct symc_transform *transform; /* or NULL */
    bool undecorates; /* names have the decorations of Windows linkers */
    const char *kept; /* but names that begin so stay as they are, or NULL */
    bool has_calls_without_lines; /* inlined into a function without lines are
                                     taken, too; the reference drops them */
    struct symc_string_table strings;
    struct symc_set files;
    struct symc_set functions;
    struct symc_set calls; /* call locations */
    struct symc_set lineless; /* addresses of functions without lines */
    struct symc_ranges ranges;
    struct symc_symbol *symbols;
    size_t num_symbols;
    size_t symbol_room;
    bool has_used_room; /* of a caller, who has written to all of it before */
    uint64_t *order; /* of the symbols, or NULL: see symc_writer_order() */
    size_t num_order;
    int has_end;       /* there is a function */
    int is_open;       /* the last range is of a symbol and has no end */
    uint32_t last_end; /* the highest end of a function */
    struct symc_range *inlined; /* stacks of the recursion */
    size_t num_inlined;
    size_t inlined_room;
    struct symc_call *callees;
    size_t num_callees;
    size_t callee_room;
};

struct symc_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t arch;
};

/* Makes an empty writer.  It does not change names unless the caller sets
 * undecorates. */
void symc_writer_init(struct symc_writer *writer);
void symc_writer_free(struct symc_writer *writer);

/* Adds one function with everything that is inlined into it.  Sorts the
 * children of the root by address first. */
enum symc_status symc_writer_function(struct symc_writer *writer,
                                      const struct symc_tree *tree,
                                      uint32_t root);

/* Removes the decoration of a name if the writer undecorates. */
void symc_writer_undecorate(const struct symc_writer *writer,
                            const char **name, uint32_t *size);

/* Announces a name that will be added soon: removes its decoration if the
 * writer undecorates, hashes it, and prefetches what inserting it needs. */
void symc_writer_expect(const struct symc_writer *writer,
                        struct symc_name *name);

/* Adds a string to which nothing refers, after all others if it is added last.
 * The text must stay until the end. */
enum symc_status symc_writer_string(struct symc_writer *writer,
                                    const char *text, size_t size);

/*
 * Adds one public symbol.  Addresses after its end belong to no symbol, unless
 * another one begins there; if the size is 0, the symbol extends to the next
 * one.  Only 32 bits of address and end are used, without a check, as the
 * "symbolic" library does.
 */
enum symc_status symc_writer_symbol(struct symc_writer *writer,
                                    uint64_t address, uint64_t size,
                                    struct symc_name *name);

/* Before the first symbol: gives the writer an array of this many bytes, or
 * NULL, for its symbols, which it frees. */
void symc_writer_take_room(struct symc_writer *writer, void *array,
                           size_t size);

/*
 * Tells the order of all symbols, where the caller has sorted them: their
 * addresses above their numbers, ascending, and of several at one address the
 * first alone.  The writer frees it.
 */
void symc_writer_order(struct symc_writer *writer, uint64_t *order, size_t n);

/* Ends the input and writes the file.  Afterwards the writer can only be
 * freed. */
enum symc_status symc_writer_finish(struct symc_writer *writer,
                                    const struct symc_identity *identity,
                                    const struct symc_sink *sink);
