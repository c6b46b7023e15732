/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds the tree from which a function is written to a SymCache, from the
 * ranges of inlined calls and the line records.  In Breakpad's text and DWARF
 * these are in any order, may overlap and may be too long.  The rules are
 * those of the builder of the "symbolic" library, because what they do with
 * contradictory ranges can be seen in the output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "derived/symcache/symcache.h"

/* The name of a function that is inlined somewhere. */
struct inlinee_name {
    struct symc_name name;
    uint32_t memo;    /* see struct symc_function; 0 at the beginning */
    uint8_t language; /* as SymCaches number them */
};

/* A range of code into which a function is inlined. */
struct inlined_range {
    uint64_t address;
    uint64_t size;
    uint32_t depth;  /* 0 if inlined directly into the function */
    uint32_t name;   /* index of its name */
    uint32_t source; /* where it is called: index of the source file, */
    uint32_t line;   /* and line */
};

struct inlined_ranges {
    struct inlined_range *list;
    size_t count;
    size_t room;
};

struct line_records {
    struct symc_line *list;
    size_t count;
    size_t room;
};

/* A piece of a line record, and the node that it belongs to. */
struct line_piece {
    struct symc_line line;
    uint32_t owner;
};

struct line_pieces {
    struct line_piece *list;
    size_t count;
    size_t room;
};

struct open_function {
    uint64_t end;
    uint32_t node;
};

/* Must be all zero at the beginning, except for the work. */
struct function_builder {
    uint64_t work; /* ranges that may still be looked at, in all functions */
    struct symc_function root;
    const struct inlined_range
        *inlinees;                  /* of the function, and its lines: what */
    size_t num_inlinees;            /* was taken, or added to these two: */
    struct symc_line *lines;
    size_t num_lines;
    bool has_taken;
    struct inlined_ranges heap;
    struct line_records added;
    bool is_heap;           /* all inlined ranges are in the heap */
    uint64_t *keys;         /* work space: their order */
    size_t key_room;
    struct inlined_ranges nested; /* each within its parent, parents first */
    struct line_pieces pieces;  /* the lines, split among the nodes */
    struct open_function *open; /* a stack by depth */
    size_t open_room;
    size_t num_open;
    struct symc_function *nodes;
    size_t num_nodes;
    size_t node_room;
    struct symc_line *sorted; /* the pieces, node after node */
    size_t sorted_room;
};

/* Begins a function.  Its language is 0 until the caller sets it in the root.
 */
void function_builder_begin(struct function_builder *builder, uint64_t address,
                            uint64_t size, const struct symc_name *name);

/* Add an inlined range or a line.  Return 0, or -1 if memory runs out. */
int function_builder_inlined_range(struct function_builder *builder,
                                   const struct inlined_range *inlinee);
int function_builder_line(struct function_builder *builder,
                          const struct symc_line *line);

/*
 * Takes all inlined ranges and lines, none of which may begin before the
 * function.  They stay the caller's, but the lines are changed when the
 * function ends.
 */
void function_builder_take(struct function_builder *builder,
                           const struct inlined_range *inlinees,
                           size_t num_inlinees, struct symc_line *lines,
                           size_t num_lines);

/*
 * Ends the function and passes it to the writer.  Returns 0, or -1 with
 * failure set if memory or the work runs out, or the writer fails.
 */
int function_builder_end(struct function_builder *builder,
                         struct symc_writer *writer,
                         struct inlinee_name *names,
                         struct symc_source *sources, struct failure *failure);

void function_builder_free(struct function_builder *builder);
