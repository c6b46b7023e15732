/*
 * Copyright (C) the ngx_symcache authors
 */

#include "symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/array.h"
#include "base/prefetch.h"

#define FUNCTION_NAME_C13 4
#define NAME_FAILED UINT32_MAX /* in id_functions */
#define FIRST_NUL_NAME 0x1100  /* older kinds have a length before a name */

enum record_kind {
    S_END = 0x0006,
    S_LPROC32_ST = 0x100A,
    S_GPROC32_ST = 0x100B,
    S_THUNK32 = 0x1102,
    S_BLOCK32 = 0x1103,
    S_WITH32 = 0x1104,
    S_LPROC32 = 0x110F,
    S_GPROC32 = 0x1110,
    S_SEPCODE = 0x1132,
    S_LPROC32_ID = 0x1146,
    S_GPROC32_ID = 0x1147,
    S_INLINESITE = 0x114D,
    S_INLINESITE_END = 0x114E,
    S_PROC_ID_END = 0x114F,
    S_LPROC32_DPC = 0x1155,
    S_LPROC32_DPC_ID = 0x1156,
    S_INLINESITE2 = 0x115D
};

struct symbols_open {
    long depth;
    uint32_t node;
};

struct enclosing_procedure {
    long depth;
    uint32_t section;
    uint32_t offset;
};

struct pdb_symbol_record {
    uint32_t kind;
    const uint8_t *data; /* what follows the kind */
    uint32_t size;
};

struct procedure {
    uint32_t length;
    uint32_t type;
    uint32_t offset;
    uint32_t section;
    const char *name;
    uint32_t name_size;
};

/* Progress through one module. */
struct pdb_symbol_walk {
    long depth;
    int opens; /* the record before this one opened a scope */
    int is_skipping;
    long skipped; /* deeper records than this depth are skipped */
    int has_last;
    struct procedure last;
};

void pdb_symbols_free(struct pdb_symbols *symbols)
{
    inlinees_free(&symbols->inlinees);
    lines_list_free(&symbols->list);
    arena_free(&symbols->info);
    free(symbols->id_functions);
    free(symbols->nodes);
    free(symbols->open);
    free(symbols->procedures);
    memset(symbols, 0, sizeof(*symbols));
}

/* The effect of a record; most kinds have none. */
#define OPENS 1 /* a scope */
#define CLOSES 2
#define PROCEDURE 4
#define OTHER 8 /* separated code, inlined calls */
#define NUM_KINDS 0x1170

/* S_LPROC32_ID opens no scope because it does not in the reference.  That has
 * no effect in practice: linkers turn it into S_LPROC32. */
static const uint8_t deeds[NUM_KINDS] = {
    [S_END] = CLOSES,
    [S_PROC_ID_END] = CLOSES,
    [S_INLINESITE_END] = CLOSES,
    [0x0104] = OPENS, /* 16 bit */
    [0x0105] = OPENS,
    [0x0106] = OPENS,
    [0x0107] = OPENS,
    [0x0108] = OPENS,
    [0x0206] = OPENS, /* thunk, block, with: names with a length */
    [0x0207] = OPENS,
    [0x0208] = OPENS,
    [S_LPROC32_ST] = OPENS | PROCEDURE,
    [S_GPROC32_ST] = OPENS | PROCEDURE,
    [0x1010] = OPENS, /* MIPS, IA-64, managed: names with a length */
    [0x1011] = OPENS,
    [0x1015] = OPENS,
    [0x1016] = OPENS,
    [0x101A] = OPENS,
    [0x101B] = OPENS,
    [S_THUNK32] = OPENS,
    [S_BLOCK32] = OPENS,
    [S_WITH32] = OPENS,
    [S_LPROC32] = OPENS | PROCEDURE,
    [S_GPROC32] = OPENS | PROCEDURE,
    [0x1114] = OPENS, /* MIPS, IA-64, managed */
    [0x1115] = OPENS,
    [0x1118] = OPENS,
    [0x1119] = OPENS,
    [0x112A] = OPENS,
    [0x112B] = OPENS,
    [S_SEPCODE] = OPENS | OTHER,
    [S_LPROC32_ID] = PROCEDURE,
    [S_GPROC32_ID] = OPENS | PROCEDURE,
    [0x1149] = OPENS,
    [0x114B] = OPENS,
    [S_INLINESITE] = OPENS | OTHER,
    [S_LPROC32_DPC] = OPENS | PROCEDURE,
    [S_LPROC32_DPC_ID] = OPENS | PROCEDURE,
    [S_INLINESITE2] = OPENS | OTHER,
};

static unsigned deeds_of(uint32_t kind)
{
    return kind < NUM_KINDS ? deeds[kind] : 0;
}

/* trees ------------------------------------------------------------------- */

static void symbols_add_child(struct pdb_symbols *symbols, uint32_t parent,
                              uint32_t child)
{
    struct symc_function *p;

    p = &symbols->nodes[parent];
    if (p->first_child == SYMC_NONE) {
        p->first_child = child;
    } else {
        symbols->nodes[p->last_child].next = child;
    }
    p->last_child = child;
}

static int symbols_deliver_function(struct pdb_symbols *symbols, uint32_t node,
                                    struct failure *failure)
{
    struct symc_tree tree;

    tree.nodes = symbols->nodes;
    tree.lines = symbols->list.data;
    tree.sources = symbols->lines->sources->list;
    return failure_writer(failure,
                          symc_writer_function(symbols->writer, &tree, node));
}

/*
 * Closes functions, from the innermost one outwards, down to the given depth.
 * An inlined function becomes a child of the one around it, even if that stays
 * open.  Any other function is complete and goes to the writer.
 */
static int symbols_close_functions(struct pdb_symbols *symbols, long depth,
                                   struct failure *failure)
{
    long at;
    uint32_t node, child;

    child = SYMC_NONE;
    while (symbols->num_open > 0) {
        node = symbols->open[symbols->num_open - 1].node;
        at = symbols->open[symbols->num_open - 1].depth;
        if (child != SYMC_NONE) {
            symbols_add_child(symbols, node, child);
            child = SYMC_NONE;
        }
        if (at < depth) {
            return 0;
        }
        symbols->num_open--;
        if (symbols->nodes[node].is_inline) {
            child = node;
        } else if (symbols_deliver_function(symbols, node, failure) != 0) {
            return -1;
        }
    }
    symbols->num_nodes = 0;
    symbols->list.count = 0;
    symbols->last_memo = NULL;
    arena_reset(&symbols->info);
    return 0;
}

/* Returns the place of the next function, all zero, or NULL if memory runs
 * out.  It is filled there: a copy would wait for its parts. */
static struct symc_function *next_node(struct pdb_symbols *symbols)
{
    if (symbols->num_nodes >= SYMC_NONE ||
        array_need(&symbols->nodes, &symbols->node_room,
                   symbols->num_nodes + 1, sizeof(*symbols->nodes)) != 0) {
        return NULL;
    }
    return memset(&symbols->nodes[symbols->num_nodes], 0,
                  sizeof(*symbols->nodes));
}

/* Opens the function in the place of the next one. */
static int symbols_open_function(struct pdb_symbols *symbols, long depth,
                                 size_t first_line, struct failure *failure)
{
    struct symc_function *f = &symbols->nodes[symbols->num_nodes];

    lines_clip(&symbols->list, first_line, f->address, f->size);
    f->first_line = (uint32_t)first_line;
    f->num_lines = (uint32_t)(symbols->list.count - first_line);
    f->first_child = f->last_child = f->next = SYMC_NONE;
    if (symbols->list.count >= SYMC_NONE ||
        array_need(&symbols->open, &symbols->open_room, symbols->num_open + 1,
                   sizeof(*symbols->open)) != 0) {
        return failure_memory(failure);
    }
    symbols->open[symbols->num_open].depth = depth;
    symbols->open[symbols->num_open].node = (uint32_t)symbols->num_nodes;
    symbols->num_nodes++;
    symbols->num_open++;
    return 0;
}

static int symbols_keep_text(struct pdb_symbols *symbols, struct symc_name *to)
{
    char *p;
    const struct text *text;

    text = &symbols->names->text;
    p = arena_take(&symbols->info, text->size + 1);
    if (p == NULL) {
        return -1;
    }
    memcpy(p, text->data == NULL ? "" : text->data, text->size);
    to->data = p;
    to->size = (uint32_t)text->size;
    symc_writer_expect(symbols->writer, to);
    return 0;
}

/* procedures -------------------------------------------------------------- */

static int symbols_read_name(uint32_t kind, const uint8_t *p, uint32_t size,
                             struct procedure *procedure)
{
    const uint8_t *end;

    if (kind < FIRST_NUL_NAME) {
        if (size < 1 || p[0] > size - 1) {
            return -1;
        }
        procedure->name = (const char *)p + 1;
        procedure->name_size = p[0];
        return 0;
    }
    end = memchr(p, 0, size);
    if (end == NULL) {
        return -1;
    }
    procedure->name = (const char *)p;
    procedure->name_size = (uint32_t)(end - p);
    return 0;
}

static int parse_procedure(const struct pdb_symbol_record *symbol,
                           struct procedure *procedure)
{
    if (symbol->size < 35 ||
        symbols_read_name(symbol->kind, symbol->data + 35, symbol->size - 35,
                          procedure) != 0) {
        return -1;
    }
    procedure->length = le32(symbol->data + 12);
    procedure->type = le32(symbol->data + 24);
    procedure->offset = le32(symbol->data + 28);
    procedure->section = le16(symbol->data + 32);
    return 0;
}

/* Opens the function of a procedure, or of a separated part of one; section,
 * offset and length are those of the part then.  Returns 1, 0 if it has no
 * address, or -1 on failure. */
static int add_procedure(struct pdb_symbols *symbols,
                         const struct procedure *procedure, uint32_t section,
                         uint32_t offset, uint32_t length, long depth,
                         struct failure *failure)
{
    size_t first;
    uint32_t address;
    struct symc_function *f;

    if (!address_find(symbols->addresses, section, offset, &address)) {
        return 0;
    }
    f = next_node(symbols);
    if (f == NULL) {
        return failure_memory(failure);
    }
    f->address = address;
    f->size = length;
    f->name.data = procedure->name;
    f->name.size = procedure->name_size;
    if (function_name_function(symbols->names, procedure->name,
                               procedure->name_size,
                               procedure->type) == TYPE_TEXT_OK &&
        symbols_keep_text(symbols, &f->name) != 0) {
        return failure_memory(failure);
    }
    first = symbols->list.count;
    if (lines_of_procedure(symbols->lines, section, offset, &symbols->list) !=
            0 ||
        lines_tidy(&symbols->list, first) != 0) {
        return failure_at(failure, symbols->stream, 0, "lines of a procedure");
    }
    return symbols_open_function(symbols, depth, first, failure) != 0 ? -1 : 1;
}

static int push_enclosing_procedure(struct pdb_symbols *symbols, long depth,
                                    const struct procedure *procedure)
{
    struct enclosing_procedure *enclosing;

    if (array_need(&symbols->procedures, &symbols->procedure_room,
                   symbols->num_procedures + 1,
                   sizeof(*symbols->procedures)) != 0) {
        return -1;
    }
    enclosing = &symbols->procedures[symbols->num_procedures++];
    enclosing->depth = depth;
    enclosing->section = procedure->section;
    enclosing->offset = procedure->offset;
    return 0;
}

/* inlined calls
 * ---------------------------------------------------------------- */

/* Gets the name of an inlined function.  Most are needed many times, so the
 * results are kept. */
static int name_inlinee(struct pdb_symbols *symbols, uint32_t id,
                        struct symc_function *f)
{
    uint32_t index, number, *memo;

    memo = NULL;
    if (function_name_resolve(symbols->names, id, &index) != 0) {
        return -1;
    }
    number = index - symbols->names->ids.first;
    if (symbols->names->ids.first != 0 && number < symbols->num_id_functions) {
        memo = &symbols->id_functions[number];
        if (*memo == NAME_FAILED) {
            return -1;
        }
        if (*memo != 0) {
            f->memo = memo;
            return 0;
        }
    }
    if (memo != NULL && symbols->last_memo == memo) {
        f->memo = memo;
        f->name = symbols->last_name;
        return 0;
    }
    if (function_name_id(symbols->names, index) != TYPE_TEXT_OK) {
        /* remember this, unless the types are damaged: then a later attempt
         * may find the name (see reach_record() in types.c) */
        if (memo != NULL && !symbols->names->is_local &&
            symbols->names->ids.num_damages == 0 &&
            symbols->names->types.num_damages == 0) {
            *memo = NAME_FAILED;
        }
        return -1;
    }
    f->memo = symbols->names->is_local ? NULL : memo;
    if (symbols_keep_text(symbols, &f->name) != 0) {
        return -1;
    }
    symbols->last_memo = f->memo;
    symbols->last_name = f->name;
    return 0;
}

/* As add_procedure(), for an inlined call.  Returns 0 also if the call is
 * damaged or has no code. */
static int add_inlinee(struct pdb_symbols *symbols,
                       const struct pdb_symbol_record *symbol, long depth,
                       struct failure *failure)
{
    size_t first;
    uint32_t id, skip;
    uint64_t end;
    const uint8_t *entry;
    const struct enclosing_procedure *enclosing;
    const struct symc_line *last;
    struct symc_function *f;

    if (symbols->num_procedures == 0) {
        return failure_at(failure, symbols->stream, 0,
                          "an inlined call outside of procedures");
    }
    enclosing = &symbols->procedures[symbols->num_procedures - 1];
    skip = symbol->kind == S_INLINESITE2 ? 16 : 12;
    id = le32(symbol->data + 8);
    entry = inlinees_find(&symbols->inlinees, id);
    if (entry == NULL) {
        return 0;
    }
    f = next_node(symbols);
    if (f == NULL) {
        return failure_memory(failure);
    }
    first = symbols->list.count;
    if (inlinees_lines(symbols->lines, entry, symbol->data + skip,
                       symbol->size - skip, enclosing->section,
                       enclosing->offset, &symbols->list) != 0 ||
        lines_tidy(&symbols->list, first) != 0 ||
        symbols->list.count == first || name_inlinee(symbols, id, f) != 0) {
        symbols->list.count = first;
        return 0;
    }
    last = &symbols->list.data[symbols->list.count - 1];
    end = last->address + (last->size == SYMC_NO_SIZE ? 1 : last->size);
    f->is_inline = 1;
    f->address = symbols->list.data[first].address;
    f->size = end - f->address;
    return symbols_open_function(symbols, depth, first, failure) != 0 ? -1 : 1;
}

/* the walk
 * ----------------------------------------------------------------------- */

/* Reads one record.  Returns 1 if it opened a function or is not one, 0 if
 * what is nested in it must be skipped, or -1 on failure. */
static int symbols_take_record(struct pdb_symbols *symbols,
                               struct pdb_symbol_walk *walk,
                               const struct pdb_symbol_record *symbol,
                               struct failure *failure)
{
    const uint8_t *p;
    struct procedure procedure;

    p = symbol->data;
    if ((deeds_of(symbol->kind) & PROCEDURE) != 0) {
        if (parse_procedure(symbol, &procedure) != 0) {
            return 1;
        }
        if (push_enclosing_procedure(symbols, walk->depth, &procedure) != 0) {
            return failure_memory(failure);
        }
        walk->last = procedure;
        walk->has_last = 1;
        return add_procedure(symbols, &procedure, procedure.section,
                             procedure.offset, procedure.length, walk->depth,
                             failure);
    }
    if (symbol->kind == S_SEPCODE) {
        if (symbol->size < 28 || !walk->has_last ||
            le32(p + 20) != walk->last.offset ||
            le16(p + 26) != walk->last.section) {
            return 1;
        }
        return add_procedure(symbols, &walk->last, le16(p + 24), le32(p + 16),
                             le32(p + 8), walk->depth, failure);
    }
    if ((symbol->kind == S_INLINESITE && symbol->size >= 12) ||
        (symbol->kind == S_INLINESITE2 && symbol->size >= 16)) {
        return add_inlinee(symbols, symbol, walk->depth, failure);
    }
    return 1;
}

static int symbols_walk_record(struct pdb_symbols *symbols,
                               struct pdb_symbol_walk *walk,
                               const struct pdb_symbol_record *symbol,
                               struct failure *failure)
{
    int rc, closes;
    unsigned does;

    does = deeds_of(symbol->kind);
    walk->depth += walk->opens;
    walk->opens = (does & OPENS) != 0;
    closes = (does & CLOSES) != 0;
    if (closes) {
        walk->depth--;
        if (symbols->num_procedures > 0 &&
            symbols->procedures[symbols->num_procedures - 1].depth >=
                walk->depth) {
            symbols->num_procedures--;
        }
    }
    if (walk->is_skipping && walk->depth > walk->skipped) {
        return 0;
    }
    walk->is_skipping = 0;
    if (closes) {
        return symbols_close_functions(symbols, walk->depth, failure);
    }
    rc = symbols_take_record(symbols, walk, symbol, failure);
    if (rc == 0) {
        walk->is_skipping = 1;
        walk->skipped = walk->depth;
    }
    return rc < 0 ? -1 : 0;
}

static int walk_records(struct pdb_symbols *symbols, const uint8_t *data,
                        uint32_t size, struct failure *failure)
{
    uint32_t at, length;
    struct pdb_symbol_walk walk;
    struct pdb_symbol_record symbol;

    memset(&walk, 0, sizeof(walk));
    for (at = 4; at < size; at += 2 + length) {
        length = size - at < 4 ? 0 : le16(data + at);
        prefetch(data + at, PREFETCH_AHEAD);
        if (length < 2 || length > size - at - 2) {
            return failure_at(failure, symbols->stream, at, "symbol record");
        }
        symbol.kind = le16(data + at + 2);
        symbol.data = data + at + 4;
        symbol.size = length - 2;
        /* most records neither open nor close a scope, nor have code */
        if (deeds_of(symbol.kind) == 0) {
            continue;
        }
        if (symbols_walk_record(symbols, &walk, &symbol, failure) != 0) {
            return -1;
        }
        if (symbols->lines->count + symbols->names->work +
                symbols->names->crossref.work >
            symbols->work_limit) {
            return failure_work(failure);
        }
    }
    return 0;
}

int pdb_symbols_read(struct pdb_symbols *symbols, const uint8_t *data,
                     uint32_t size, struct failure *failure)
{
    int rc;

    symbols->num_nodes = symbols->num_open = symbols->num_procedures =
        symbols->list.count = 0;
    symbols->last_memo = NULL;
    arena_reset(&symbols->info);
    if (size > 0 && (size < 4 || le32(data) != FUNCTION_NAME_C13)) {
        return failure_at(failure, symbols->stream, 0,
                          "symbols of an unknown format");
    }
    if (inlinees_open(&symbols->inlinees, symbols->lines) != 0) {
        return failure_at(failure, symbols->stream, 0, "table of inlinees");
    }
    crossref_module(&symbols->names->crossref, &symbols->lines->imports);
    rc = walk_records(symbols, data, size, failure);
    return rc != 0 ? rc : symbols_close_functions(symbols, 0, failure);
}
