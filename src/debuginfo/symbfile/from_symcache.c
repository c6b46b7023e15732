/*
 * Copyright (C) the ngx_symcache authors
 *
 * A SymCache has one location for each range of addresses: a line of the
 * innermost function, with the calls that lead there.  A record of a symbfile
 * goes over all ranges of one function, or of one call of an inlined one, that
 * follow each other, and has the lines of those where it is the innermost.
 */
#include "from_symcache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "from_symcache_chain.h"
#include "writer.h"

/* Lines of one record: so its payload stays below 16 MiB. */
#define LINES_MAX (1u << 19)

struct from_symcache_piece {
    uint64_t begin;
    uint64_t end;
    uint32_t depth;
    uint32_t function;
    bool has_file; /* it was the innermost, with this file */
    uint32_t file;
    uint32_t call_file;
    uint32_t call_line;
    struct symc_string name;
    struct symbfile_line *lines;
    size_t num_lines;
    size_t line_room;
};

struct from_symcache {
    const struct symc_reader *symcache;
    uint64_t base;
    struct inline_chain chain;
    struct from_symcache_piece
        *pieces; /* of one function without gaps, by begin and depth */
    size_t num_pieces;
    size_t piece_room;
    size_t open[INLINE_CHAIN_MAX]; /* the last piece of each depth */
    size_t num_open;
    struct arena arena; /* paths of these pieces */
    struct symbfile_writer writer;
    struct failure *failure;
};

static void free_pieces(struct from_symcache *from)
{
    size_t i;

    for (i = 0; i < from->num_pieces; i++) {
        free(from->pieces[i].lines);
    }
    from->num_pieces = from->num_open = 0;
    arena_reset(&from->arena);
}

static int put_piece(struct from_symcache *from,
                     const struct from_symcache_piece *piece)
{
    static const struct symc_string none = {"", 0};
    struct symbfile_record r = {.address = from->base + piece->begin,
                                .size = piece->end - piece->begin,
                                .func = piece->name,
                                .depth = piece->depth,
                                .lines = piece->lines,
                                .num_lines = piece->num_lines};

    if (inline_chain_path(from->symcache, piece->file, &from->arena, &r.file,
                          from->failure) != 0) {
        return -1;
    }
    if (piece->depth > 0) {
        r.call_line = piece->call_line;
        if (inline_chain_path(from->symcache, piece->call_file, &from->arena,
                              &r.call_file, from->failure) != 0) {
            return -1;
        }
        if (r.call_file.data == NULL) {
            r.call_file = none; /* without it, the file of the caller */
        }
    }
    return symbfile_writer_add(&from->writer, &r);
}

/* Writes the pieces: first those of the function itself, as the reference
 * does, whose readers take the last one for the parent of all that follow. */
static int put_pieces(struct from_symcache *from)
{
    int rc = 0;
    size_t i, pass;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < from->num_pieces && rc == 0; i++) {
            if ((from->pieces[i].depth > 0) == (pass > 0)) {
                rc = put_piece(from, &from->pieces[i]);
            }
        }
    }
    free_pieces(from);
    return rc;
}

/* Does the piece that is open at a depth belong to the chain's link there? */
static bool goes_on(const struct from_symcache *from, size_t depth)
{
    const struct from_symcache_piece *piece = &from->pieces[from->open[depth]];
    const struct inline_chain_link *link = &from->chain.links[depth];

    return piece->function == link->function &&
           (depth == 0 || (piece->call_file == link[-1].file &&
                           piece->call_line == link[-1].line));
}

/* May the innermost function get a line in its open piece? */
static bool takes_line(const struct from_symcache_piece *piece,
                       const struct inline_chain_link *link)
{
    return piece->num_lines < LINES_MAX &&
           (piece->file == link->file || !piece->has_file);
}

static int open_piece(struct from_symcache *from, uint64_t begin)
{
    size_t depth = from->num_open;
    const struct inline_chain_link *link = &from->chain.links[depth];
    struct from_symcache_piece *piece;

    if (array_need(&from->pieces, &from->piece_room, from->num_pieces + 1,
                   sizeof(*from->pieces)) != 0) {
        return failure_memory(from->failure);
    }
    from->open[from->num_open++] = from->num_pieces;
    piece = &from->pieces[from->num_pieces++];
    memset(piece, 0, sizeof(*piece));
    piece->begin = begin;
    piece->depth = (uint32_t)depth;
    piece->function = link->function;
    piece->file = SYMC_NONE;
    piece->call_file = depth > 0 ? link[-1].file : SYMC_NONE;
    piece->call_line = depth > 0 ? link[-1].line : 0;
    piece->name = link->name;
    return 0;
}

static int add_line(struct from_symcache *from,
                    struct from_symcache_piece *piece,
                    const struct inline_chain_link *link, uint64_t begin)
{
    uint32_t last =
        piece->num_lines > 0 ? piece->lines[piece->num_lines - 1].line : 0;

    piece->file = link->file;
    piece->has_file = true;
    if (link->line == last) {
        return 0;
    }
    if (array_need(&piece->lines, &piece->line_room, piece->num_lines + 1,
                   sizeof(*piece->lines)) != 0) {
        return failure_memory(from->failure);
    }
    piece->lines[piece->num_lines].offset = begin - piece->begin;
    piece->lines[piece->num_lines++].line = link->line;
    return 0;
}

/* Takes the chain of a range of the SymCache. */
static int take_range(struct from_symcache *from, uint64_t begin, uint64_t end)
{
    size_t depth, count = from->chain.count, same = 0;
    const struct inline_chain_link *innermost;

    while (same < from->num_open && same < count && goes_on(from, same)) {
        same++;
    }
    if (same == 0 && from->num_open > 0 && put_pieces(from) != 0) {
        return -1;
    }
    if (count == 0) {
        return 0;
    }
    innermost = &from->chain.links[count - 1];
    if (same == count &&
        !takes_line(&from->pieces[from->open[same - 1]], innermost)) {
        same--;
    }
    from->num_open = same;
    while (from->num_open < count) {
        if (open_piece(from, begin) != 0) {
            return -1;
        }
    }
    for (depth = 0; depth < count; depth++) {
        from->pieces[from->open[depth]].end = end;
    }
    return add_line(from, &from->pieces[from->open[count - 1]], innermost,
                    begin);
}

static int take_symcache_ranges(struct from_symcache *from)
{
    uint32_t i, n = from->symcache->num_ranges;
    uint64_t end;

    for (i = 0; i < n; i++) {
        end = i + 1 < n ? symc_reader_range(from->symcache, i + 1)
                        : (uint64_t)UINT32_MAX + 1;
        if (inline_chain_read(from->symcache,
                              symc_reader_range_location(from->symcache, i),
                              &from->chain, from->failure) != 0 ||
            take_range(from, symc_reader_range(from->symcache, i), end) != 0) {
            return -1;
        }
    }
    return put_pieces(from);
}

int symbfile_ranges_from_symcache(const struct symc_reader *symcache,
                                  uint64_t base, const struct symc_sink *sink,
                                  struct failure *failure)
{
    int rc;
    struct from_symcache *from = calloc(1, sizeof(*from));

    if (from == NULL) {
        return failure_memory(failure);
    }
    from->symcache = symcache;
    from->base = base;
    from->failure = failure;
    rc = symbfile_writer_begin(&from->writer, sink, failure) != 0 ||
                 take_symcache_ranges(from) != 0 ||
                 symbfile_writer_finish(&from->writer) != 0
             ? -1
             : 0;
    free_pieces(from);
    symbfile_writer_free(&from->writer);
    arena_free(&from->arena);
    free(from->pieces);
    free(from);
    return rc;
}
