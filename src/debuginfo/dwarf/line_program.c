/*
 * Copyright (C) the ngx_symcache authors
 *
 * The state machine of line number programs (DWARF 5, section 6.2.5), and what
 * becomes of its rows.
 */
#include "line_program.h"

#include <stdlib.h>

#include "base/array.h"
#include "derived/symcache/symcache.h"

enum {
    DW_LNS_copy = 1,
    DW_LNS_advance_pc = 2,
    DW_LNS_advance_line = 3,
    DW_LNS_set_file = 4,
    DW_LNS_set_column = 5,
    DW_LNS_negate_stmt = 6,
    DW_LNS_set_basic_block = 7,
    DW_LNS_const_add_pc = 8,
    DW_LNS_fixed_advance_pc = 9,
    DW_LNS_set_prologue_end = 10,
    DW_LNS_set_epilogue_begin = 11,
    DW_LNS_set_isa = 12
};

enum {
    DW_LNE_end_sequence = 1,
    DW_LNE_set_address = 2,
    DW_LNE_define_file = 3,
    DW_LNE_set_discriminator = 4
};

/* Bytes of the longest instruction that run_usual() takes. */
#define USUAL_MOST 4

struct line_program_machine {
    struct dwarf_lines *lines;
    struct cursor c;
    uint64_t mask; /* the highest address */
    /* registers */
    uint64_t address;
    uint64_t operation;
    uint64_t file;
    uint64_t line;
    bool is_removed; /* the code is not there: its addresses mean nothing */
    bool is_like_symbolic;
    /* the sequence that is being collected */
    size_t first;
    uint64_t previous;
    uint64_t last_size;
};

static void reset(struct line_program_machine *program)
{
    program->address = program->operation = 0;
    program->file = program->line = 1;
    program->is_removed = false;
}

/* collecting rows --------------------------------------------------------- */

static int end_sequence(struct line_program_machine *program, uint64_t end)
{
    struct dwarf_lines *lines = program->lines;
    struct dwarf_sequence *s;

    if (program->first == lines->num_rows) {
        return 0;
    }
    if (array_need(&lines->sequences, &lines->sequence_room,
                   lines->num_sequences + 1, sizeof(*lines->sequences)) != 0) {
        return -1;
    }
    s = &lines->sequences[lines->num_sequences++];
    s->start = lines->rows[program->first].address;
    s->end = end;
    s->highest = lines->num_sequences; /* its number, until they are sorted */
    s->first = program->first;
    s->count = lines->num_rows - program->first;
    s->last_size = program->last_size;
    program->first = lines->num_rows;
    return 0;
}

/* Takes the row that the registers hold.  Rows at address 0, and those that go
 * back, are ignored. */
static int take_program_row(struct line_program_machine *program, bool is_end)
{
    int rc;
    struct dwarf_lines *lines = program->lines;
    struct dwarf_row *row;
    bool has_last = lines->num_rows > program->first;

    if (program->address == 0) {
        return 0;
    }
    row = has_last ? &lines->rows[lines->num_rows - 1] : NULL;
    if (has_last && program->address >= row->address) {
        program->last_size = program->address - row->address;
    }
    if (is_end) {
        rc = end_sequence(program, program->address < program->previous
                                       ? program->previous + 1
                                       : program->address);
        program->previous = 0;
        return rc;
    }
    if (program->address < program->previous) {
        return 0;
    }
    if (!has_last || row->address != program->address) {
        if (array_need(&lines->rows, &lines->row_room, lines->num_rows + 1,
                       sizeof(*lines->rows)) != 0) {
            return -1;
        }
        row = &lines->rows[lines->num_rows++];
        row->address = program->address;
        program->last_size = SYMC_NO_SIZE;
    }
    row->file =
        program->file > UINT32_MAX ? UINT32_MAX : (uint32_t)program->file;
    row->line = (uint32_t)program->line;
    program->previous = program->address;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct dwarf_sequence *a = left, *b = right;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return a->highest < b->highest ? -1 : a->highest > b->highest;
}

static void sort_sequences(struct dwarf_lines *lines)
{
    size_t i;
    uint64_t highest = 0;

    if (lines->num_sequences > 1) {
        qsort(lines->sequences, lines->num_sequences,
              sizeof(*lines->sequences), compare);
    }
    for (i = 0; i < lines->num_sequences; i++) {
        highest = lines->sequences[i].end > highest ? lines->sequences[i].end
                                                    : highest;
        lines->sequences[i].highest = highest;
    }
}

/* instructions: each returns 1, 0 if it is invalid, which ends the program, or
 * -1 if memory runs out ------------------------------------------------------
 */

static int advance_address(struct line_program_machine *program, uint64_t by)
{
    program->address += by;
    return program->address >= by && program->address <= program->mask;
}

static int advance(struct line_program_machine *program, uint64_t operations)
{
    uint64_t n;

    if (program->is_removed) {
        return 1;
    }
    if (program->lines->max_operations == 1) {
        program->operation = 0;
        return advance_address(program,
                               program->lines->min_length * operations);
    }
    n = program->operation + operations;
    program->operation = n % program->lines->max_operations;
    return advance_address(program, program->lines->min_length *
                                        (n / program->lines->max_operations));
}

static inline uint64_t advance_line(uint64_t line, int64_t by)
{
    uint64_t back = 0 - (uint64_t)by;

    if (by >= 0) {
        return line + (uint64_t)by;
    }
    return back <= line ? line - back : 0;
}

static int append_row(struct line_program_machine *program)
{
    return program->is_removed || take_program_row(program, false) == 0 ? 1
                                                                        : -1;
}

static int set_address(struct line_program_machine *program, uint64_t address)
{
    program->is_removed =
        address < program->address || address >= program->mask - 1;
    if (!program->is_removed) {
        program->address = address;
        program->operation = 0;
    }
    return 1;
}

static int define_file(struct line_program_machine *program, struct cursor *c)
{
    uint64_t directory = 0;
    struct dwarf_value name = {DWARF_TEXT, 0, ""};

    if (program->lines->encoding.version > 4) {
        return 1;
    }
    name.text = cursor_string(c, &(size_t){0});
    if (c->failed) {
        return 0;
    }
    name.number = strlen(name.text);
    directory = cursor_uleb(c);
    (void)cursor_uleb(c);
    (void)cursor_uleb(c);
    if (c->failed) {
        return 0;
    }
    return dwarf_lines_add_file(program->lines, &name, directory) == 0 ? 1
                                                                       : -1;
}

/*
 * Ends a sequence whose address was set to that of removed code.  The
 * "symbolic" library ignores that end: it adds the next rows to those before,
 * and then functions between both have no lines. gcc sets the address
 * repeatedly in a sequence, also for functions that the linker has removed.
 */
static int end_removed(struct line_program_machine *program)
{
    int rc;

    if (program->is_like_symbolic) {
        return 0;
    }
    rc = end_sequence(program, program->previous + 1);
    program->previous = 0;
    return rc;
}

static int run_extended(struct line_program_machine *program)
{
    int rc = 1;
    uint64_t length = cursor_uleb(&program->c), address;
    struct cursor c = program->c;

    cursor_skip(&program->c, length);
    if (program->c.failed) {
        return 0;
    }
    c.end = program->c.at;
    switch (cursor_8(&c)) {
    case DW_LNE_end_sequence:
        rc = (program->is_removed ? end_removed(program)
                                  : take_program_row(program, true)) == 0
                 ? 1
                 : -1;
        reset(program);
        break;
    case DW_LNE_set_address:
        address = cursor_number(&c, program->lines->encoding.address_size);
        rc = c.failed ? 0 : set_address(program, address);
        break;
    case DW_LNE_define_file:
        rc = define_file(program, &c);
        break;
    case DW_LNE_set_discriminator:
        (void)cursor_uleb(&c);
        break;
    default:
        break;
    }
    return c.failed && rc > 0 ? 0 : rc;
}

static void skip_unknown(struct line_program_machine *program, unsigned opcode)
{
    unsigned n;

    for (n = program->lines->opcode_lengths[opcode - 1]; n > 0; n--) {
        (void)cursor_uleb(&program->c);
    }
}

static int run_standard(struct line_program_machine *program, unsigned opcode)
{
    uint64_t by;

    switch (opcode) {
    case 0:
        return run_extended(program);
    case DW_LNS_copy:
        return append_row(program);
    case DW_LNS_advance_pc:
        by = cursor_uleb(&program->c);
        return program->c.failed ? 0 : advance(program, by);
    case DW_LNS_advance_line:
        program->line = advance_line(program->line, cursor_sleb(&program->c));
        break;
    case DW_LNS_set_file:
        program->file = cursor_uleb(&program->c);
        break;
    case DW_LNS_set_column:
    case DW_LNS_set_isa:
        (void)cursor_uleb(&program->c);
        break;
    case DW_LNS_const_add_pc:
        return advance(program, program->lines->special[255].operations);
    case DW_LNS_fixed_advance_pc:
        by = cursor_16(&program->c);
        if (!program->c.failed && !program->is_removed) {
            program->operation = 0;
            return advance_address(program, by);
        }
        break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    default:
        skip_unknown(program, opcode);
    }
    return !program->c.failed;
}

/* the instructions that nearly all programs consist of -------------------- */

/* Registers and the last row, while only usual instructions are run. */
struct usual {
    const uint8_t *p;
    uint64_t address;
    uint64_t line;
    uint32_t file;
    struct dwarf_row *row;
    struct dwarf_row *last; /* that there is room for */
    uint64_t last_size;
};

/* Appends a row, or changes the last one.  Returns false if this is for
 * append_row(). */
static inline bool append_usual(struct usual *u, uint64_t address)
{
    if (address > u->row->address) {
        if (u->row == u->last) {
            return false;
        }
        (++u->row)->address = address;
        u->last_size = SYMC_NO_SIZE;
    } else if (address == u->row->address) {
        u->last_size = 0;
    } else {
        return false;
    }
    u->row->file = u->file;
    u->row->line = (uint32_t)u->line;
    u->address = address;
    return true;
}

/* Runs a special opcode.  Returns false if it is for advance(). */
static inline bool run_special(const struct line_program_machine *program,
                               struct usual *u, unsigned opcode)
{
    const struct dwarf_special_opcode *special =
        &program->lines->special[opcode];
    uint64_t line = u->line;
    uint64_t by = (uint64_t)special->operations * program->lines->min_length;

    if (by > program->mask - u->address) {
        return false;
    }
    u->line = advance_line(line, special->lines);
    if (!append_usual(u, u->address + by)) {
        u->line = line;
        return false;
    }
    u->p++;
    return true;
}

/* Reads an operand of one or two bytes.  Returns its bits, or 0. */
static inline unsigned read_operand(struct usual *u, unsigned *operand)
{
    *operand = u->p[1];
    if (*operand < 0x80) {
        u->p += 2;
        return 7;
    }
    if (u->p[2] >= 0x80) {
        return 0;
    }
    *operand = (*operand & 0x7f) | (unsigned)u->p[2] << 7;
    u->p += 3;
    return 14;
}

/* Runs a standard opcode.  Returns false if it is for run_standard(). */
static inline bool run_short_program(struct usual *u, unsigned opcode)
{
    unsigned operand, bits;

    switch (opcode) {
    case 0:
        if (u->p[1] != 2 || u->p[2] != DW_LNE_set_discriminator ||
            u->p[3] >= 0x80) {
            return false;
        }
        u->p += 4;
        return true;
    case DW_LNS_copy:
        if (!append_usual(u, u->address)) {
            return false;
        }
        u->p++;
        return true;
    case DW_LNS_negate_stmt:
        u->p++;
        return true;
    case DW_LNS_set_column:
        return read_operand(u, &operand) != 0;
    case DW_LNS_advance_line:
        bits = read_operand(u, &operand);
        if (bits != 0) {
            u->line = advance_line(
                u->line,
                (int)operand - (int)((operand >> (bits - 1)) << bits));
        }
        return bits != 0;
    case DW_LNS_set_file:
        bits = read_operand(u, &operand);
        u->file = bits != 0 ? operand : u->file;
        return bits != 0;
    default:
        return false;
    }
}

/* Runs instructions up to one that is not usual.  There must be a row. */
static void run_usual(struct line_program_machine *program)
{
    struct dwarf_lines *lines = program->lines;
    unsigned base = lines->opcode_base;
    struct usual u = {program->c.at,
                      program->address,
                      program->line,
                      program->file > UINT32_MAX ? UINT32_MAX
                                                 : (uint32_t)program->file,
                      lines->rows + lines->num_rows - 1,
                      lines->rows + lines->row_room - 1,
                      program->last_size};

    while (program->c.end - u.p >= USUAL_MOST &&
           (*u.p >= base ? run_special(program, &u, *u.p)
                         : run_short_program(&u, *u.p))) {
    }
    program->c.at = u.p;
    program->address = u.address;
    program->line = u.line;
    program->file = u.file;
    program->previous = u.row->address;
    program->last_size = u.last_size;
    lines->num_rows = (size_t)(u.row - lines->rows) + 1;
}

static int run_program(struct line_program_machine *program)
{
    int rc = 1;
    unsigned opcode;
    const struct dwarf_lines *lines = program->lines;

    while (rc > 0 && program->c.at < program->c.end) {
        if (!program->is_removed && lines->max_operations == 1 &&
            lines->num_rows > program->first) {
            run_usual(program);
        }
        if (program->c.at == program->c.end) {
            break;
        }
        opcode = *program->c.at++;
        if (opcode < lines->opcode_base) {
            rc = run_standard(program, opcode);
        } else {
            program->line =
                advance_line(program->line, lines->special[opcode].lines);
            rc = advance(program, lines->special[opcode].operations);
            rc = rc > 0 ? append_row(program) : rc;
        }
    }
    return rc;
}

/* Finds what special opcodes advance.  Most units of a file have the same ones,
 * and many have few lines. */
static void learn_special(struct dwarf_lines *lines)
{
    unsigned i, n;
    uint32_t of = (uint32_t)(uint8_t)lines->line_base << 16 |
                  (uint32_t)lines->line_range << 8 | lines->opcode_base;

    if (lines->special_of == of) {
        return;
    }
    lines->special_of = of;
    for (i = lines->opcode_base; i < 256; i++) {
        n = i - lines->opcode_base;
        lines->special[i].operations = (uint8_t)(n / lines->line_range);
        lines->special[i].lines =
            (int16_t)(lines->line_base + (int)(n % lines->line_range));
    }
}

int dwarf_lines_run(struct dwarf_reader *d, struct dwarf_lines *lines)
{
    struct line_program_machine program = {
        .lines = lines, .is_like_symbolic = d->object->is_like_symbolic};

    if (lines->has_rows) {
        return 0;
    }
    program.c = lines->program;
    program.mask = UINT64_MAX >> (64 - 8 * lines->encoding.address_size);
    program.last_size = SYMC_NO_SIZE;
    learn_special(lines);
    reset(&program);
    lines->num_rows = lines->num_sequences = 0;
    if (dwarf_charge(d, (uint64_t)(program.c.end - program.c.at)) != 0) {
        return -1;
    }
    if (run_program(&program) < 0 ||
        end_sequence(&program, program.previous + 1) != 0) {
        return failure_memory(d->failure);
    }
    sort_sequences(lines);
    lines->has_rows = true;
    return 0;
}

/* Returns how many of n rows are before an address. */
static size_t rows_before(const struct dwarf_row *rows, size_t n,
                          uint64_t address)
{
    size_t low = 0, middle;

    while (low < n) {
        middle = low + (n - low) / 2;
        if (rows[middle].address < address) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

size_t dwarf_lines_find(const struct dwarf_lines *lines, uint64_t begin,
                        uint64_t end, const struct dwarf_sequence **sequence,
                        size_t *first)
{
    size_t low = 0, high = lines->num_sequences, middle;
    const struct dwarf_sequence *s;
    const struct dwarf_row *rows;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (lines->sequences[middle].highest > begin) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == lines->num_sequences || lines->sequences[low].start >= end) {
        return 0;
    }
    *sequence = s = &lines->sequences[low];
    rows = lines->rows + s->first;
    low = rows_before(rows, s->count, begin);
    low -= low > 0 && (low == s->count || rows[low].address != begin);
    *first = s->first + low;
    return rows_before(rows + low, s->count - low, end);
}
