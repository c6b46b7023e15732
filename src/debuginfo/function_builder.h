/*
 * Copyright (C) the ngx_symcache authors
 *
 * From the ranges of inlined calls and the line records of a function, as text
 * and DWARF have them (in any order, overlapping, too long), to the tree that
 * a SymCache is written from.  The rules are those of the "symbolic" library's
 * builder; what they do with ranges that contradict each other is part of the
 * output.
 */
#ifndef DEBUGINFO_FUNCTION_BUILDER_H
#define DEBUGINFO_FUNCTION_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "symcache/symcache.h"

/* The name of functions that are inlined somewhere. */
struct inlinee_name {
    struct symfile_name name;
    uint32_t memo; /* the writer's, see struct symfile_function; at first 0 */
};

/* A range of code into which a function is inlined. */
struct inlinee {
    uint64_t address;
    uint64_t size;
    uint32_t depth;  /* 0: inlined into the function itself */
    uint32_t name;   /* index of its name */
    uint32_t source; /* where it is called: index of the source file, */
    uint32_t line;   /* and line */
};

struct inlinees {
    struct inlinee *list;
    size_t count;
    size_t room;
};

/* A line record and what it belongs to: its number, then a node. */
struct line_piece {
    struct symfile_line line;
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

/* Starts from all zero but for the work. */
struct function_builder {
    uint64_t work; /* ranges that may still be looked at, of all functions */
    struct symfile_function root;
    struct inlinees heap;   /* as they were added */
    struct inlinees nested; /* each within its parent, parents first */
    struct line_pieces lines;
    struct line_pieces pieces; /* of the lines, with their nodes */
    struct open_function *open; /* a stack by depth */
    size_t open_room;
    size_t num_open;
    struct symfile_function *nodes;
    size_t num_nodes;
    size_t node_room;
    struct symfile_line *sorted; /* the pieces, node after node */
    size_t sorted_room;
};

/* Begins a function of an address, a size and a name. */
void function_builder_begin(struct function_builder *builder, uint64_t address,
                            uint64_t size, const struct symfile_name *name);

/* These return 0, or -1 without memory. */
int function_builder_inlinee(struct function_builder *builder,
                             const struct inlinee *inlinee);
int function_builder_line(struct function_builder *builder,
                          const struct symfile_line *line);

/*
 * Ends the function and gives it to the writer.  Returns 0, or -1 with failure
 * set: memory, the work, inlining too deep for the writer.
 */
int function_builder_end(struct function_builder *builder,
                         struct symfile_writer *writer,
                         struct inlinee_name *names,
                         struct symfile_source *sources,
                         struct failure *failure);

void function_builder_free(struct function_builder *builder);

#endif
