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

static void reset(struct line_program_machine *m)
{
    m->address = m->operation = 0;
    m->file = m->line = 1;
    m->is_removed = false;
}

/* collecting rows --------------------------------------------------------- */

static int end_sequence(struct line_program_machine *m, uint64_t end)
{
    struct dwarf_lines *l = m->lines;
    struct dwarf_sequence *s;

    if (m->first == l->num_rows) {
        return 0;
    }
    if (array_need(&l->sequences, &l->sequence_room, l->num_sequences + 1,
                   sizeof(*l->sequences)) != 0) {
        return -1;
    }
    s = &l->sequences[l->num_sequences++];
    s->start = l->rows[m->first].address;
    s->end = end;
    s->highest = l->num_sequences; /* its number, until they are sorted */
    s->first = m->first;
    s->count = l->num_rows - m->first;
    s->last_size = m->last_size;
    m->first = l->num_rows;
    return 0;
}

/* Takes the row that the registers hold.  Rows at address 0, and those that go
 * back, are ignored. */
static int take_row(struct line_program_machine *m, bool is_end)
{
    int rc;
    struct dwarf_lines *l = m->lines;
    struct dwarf_row *row;
    bool has_last = l->num_rows > m->first;

    if (m->address == 0) {
        return 0;
    }
    row = has_last ? &l->rows[l->num_rows - 1] : NULL;
    if (has_last && m->address >= row->address) {
        m->last_size = m->address - row->address;
    }
    if (is_end) {
        rc = end_sequence(m, m->address < m->previous ? m->previous + 1
                                                      : m->address);
        m->previous = 0;
        return rc;
    }
    if (m->address < m->previous) {
        return 0;
    }
    if (!has_last || row->address != m->address) {
        if (array_need(&l->rows, &l->row_room, l->num_rows + 1,
                       sizeof(*l->rows)) != 0) {
            return -1;
        }
        row = &l->rows[l->num_rows++];
        row->address = m->address;
        m->last_size = SYMC_NO_SIZE;
    }
    row->file = m->file > UINT32_MAX ? UINT32_MAX : (uint32_t)m->file;
    row->line = (uint32_t)m->line;
    m->previous = m->address;
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

static void sort_sequences(struct dwarf_lines *l)
{
    size_t i;
    uint64_t highest = 0;

    if (l->num_sequences > 1) {
        qsort(l->sequences, l->num_sequences, sizeof(*l->sequences), compare);
    }
    for (i = 0; i < l->num_sequences; i++) {
        highest = l->sequences[i].end > highest ? l->sequences[i].end
                                                : highest;
        l->sequences[i].highest = highest;
    }
}

/* instructions: each returns 1, 0 if it is invalid, which ends the program, or
 * -1 if memory runs out ------------------------------------------------------
 */

static int advance_address(struct line_program_machine *m, uint64_t by)
{
    m->address += by;
    return m->address >= by && m->address <= m->mask;
}

static int advance(struct line_program_machine *m, uint64_t operations)
{
    uint64_t n;

    if (m->is_removed) {
        return 1;
    }
    if (m->lines->max_operations == 1) {
        m->operation = 0;
        return advance_address(m, m->lines->min_length * operations);
    }
    n = m->operation + operations;
    m->operation = n % m->lines->max_operations;
    return advance_address(m, m->lines->min_length *
                                  (n / m->lines->max_operations));
}

static inline uint64_t advance_line(uint64_t line, int64_t by)
{
    uint64_t back = 0 - (uint64_t)by;

    if (by >= 0) {
        return line + (uint64_t)by;
    }
    return back <= line ? line - back : 0;
}

static int append_row(struct line_program_machine *m)
{
    return m->is_removed || take_row(m, false) == 0 ? 1 : -1;
}

static int set_address(struct line_program_machine *m, uint64_t address)
{
    m->is_removed = address < m->address || address >= m->mask - 1;
    if (!m->is_removed) {
        m->address = address;
        m->operation = 0;
    }
    return 1;
}

static int define_file(struct line_program_machine *m, struct cursor *c)
{
    uint64_t directory = 0;
    struct dwarf_value name = {DWARF_TEXT, 0, ""};

    if (m->lines->encoding.version > 4) {
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
    return dwarf_lines_add_file(m->lines, &name, directory) == 0 ? 1 : -1;
}

/*
 * Ends a sequence whose address was set to that of removed code.  The
 * "symbolic" library ignores that end: it adds the next rows to those before,
 * and then functions between both have no lines. gcc sets the address
 * repeatedly in a sequence, also for functions that the linker has removed.
 */
static int end_removed(struct line_program_machine *m)
{
    int rc;

    if (m->is_like_symbolic) {
        return 0;
    }
    rc = end_sequence(m, m->previous + 1);
    m->previous = 0;
    return rc;
}

static int run_extended(struct line_program_machine *m)
{
    int rc = 1;
    uint64_t length = cursor_uleb(&m->c), address;
    struct cursor c = m->c;

    cursor_skip(&m->c, length);
    if (m->c.failed) {
        return 0;
    }
    c.end = m->c.at;
    switch (cursor_8(&c)) {
    case DW_LNE_end_sequence:
        rc =
            (m->is_removed ? end_removed(m) : take_row(m, true)) == 0 ? 1 : -1;
        reset(m);
        break;
    case DW_LNE_set_address:
        address = cursor_number(&c, m->lines->encoding.address_size);
        rc = c.failed ? 0 : set_address(m, address);
        break;
    case DW_LNE_define_file:
        rc = define_file(m, &c);
        break;
    case DW_LNE_set_discriminator:
        (void)cursor_uleb(&c);
        break;
    default:
        break;
    }
    return c.failed && rc > 0 ? 0 : rc;
}

static void skip_unknown(struct line_program_machine *m, unsigned opcode)
{
    unsigned n;

    for (n = m->lines->opcode_lengths[opcode - 1]; n > 0; n--) {
        (void)cursor_uleb(&m->c);
    }
}

static int run_standard(struct line_program_machine *m, unsigned opcode)
{
    uint64_t by;

    switch (opcode) {
    case 0:
        return run_extended(m);
    case DW_LNS_copy:
        return append_row(m);
    case DW_LNS_advance_pc:
        by = cursor_uleb(&m->c);
        return m->c.failed ? 0 : advance(m, by);
    case DW_LNS_advance_line:
        m->line = advance_line(m->line, cursor_sleb(&m->c));
        break;
    case DW_LNS_set_file:
        m->file = cursor_uleb(&m->c);
        break;
    case DW_LNS_set_column:
    case DW_LNS_set_isa:
        (void)cursor_uleb(&m->c);
        break;
    case DW_LNS_const_add_pc:
        return advance(m, m->lines->special[255].operations);
    case DW_LNS_fixed_advance_pc:
        by = cursor_16(&m->c);
        if (!m->c.failed && !m->is_removed) {
            m->operation = 0;
            return advance_address(m, by);
        }
        break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    default:
        skip_unknown(m, opcode);
    }
    return !m->c.failed;
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
static inline bool run_special(const struct line_program_machine *m,
                               struct usual *u, unsigned opcode)
{
    const struct dwarf_special_opcode *special = &m->lines->special[opcode];
    uint64_t line = u->line;
    uint64_t by = (uint64_t)special->operations * m->lines->min_length;

    if (by > m->mask - u->address) {
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
static inline bool run_short(struct usual *u, unsigned opcode)
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
static void run_usual(struct line_program_machine *m)
{
    struct dwarf_lines *l = m->lines;
    unsigned base = l->opcode_base;
    struct usual u = {m->c.at,
                      m->address,
                      m->line,
                      m->file > UINT32_MAX ? UINT32_MAX : (uint32_t)m->file,
                      l->rows + l->num_rows - 1,
                      l->rows + l->row_room - 1,
                      m->last_size};

    while (m->c.end - u.p >= USUAL_MOST &&
           (*u.p >= base ? run_special(m, &u, *u.p) : run_short(&u, *u.p))) {
    }
    m->c.at = u.p;
    m->address = u.address;
    m->line = u.line;
    m->file = u.file;
    m->previous = u.row->address;
    m->last_size = u.last_size;
    l->num_rows = (size_t)(u.row - l->rows) + 1;
}

static int run(struct line_program_machine *m)
{
    int rc = 1;
    unsigned opcode;
    const struct dwarf_lines *l = m->lines;

    while (rc > 0 && m->c.at < m->c.end) {
        if (!m->is_removed && l->max_operations == 1 &&
            l->num_rows > m->first) {
            run_usual(m);
        }
        if (m->c.at == m->c.end) {
            break;
        }
        opcode = *m->c.at++;
        if (opcode < l->opcode_base) {
            rc = run_standard(m, opcode);
        } else {
            m->line = advance_line(m->line, l->special[opcode].lines);
            rc = advance(m, l->special[opcode].operations);
            rc = rc > 0 ? append_row(m) : rc;
        }
    }
    return rc;
}

/* Finds what special opcodes advance.  Most units of a file have the same ones,
 * and many have few lines. */
static void learn_special(struct dwarf_lines *l)
{
    unsigned i, n;
    uint32_t of = (uint32_t)(uint8_t)l->line_base << 16 |
                  (uint32_t)l->line_range << 8 | l->opcode_base;

    if (l->special_of == of) {
        return;
    }
    l->special_of = of;
    for (i = l->opcode_base; i < 256; i++) {
        n = i - l->opcode_base;
        l->special[i].operations = (uint8_t)(n / l->line_range);
        l->special[i].lines =
            (int16_t)(l->line_base + (int)(n % l->line_range));
    }
}

int dwarf_lines_run(struct dwarf_reader *d, struct dwarf_lines *l)
{
    struct line_program_machine m = {
        .lines = l, .is_like_symbolic = d->object->is_like_symbolic};

    if (l->has_rows) {
        return 0;
    }
    m.c = l->program;
    m.mask = UINT64_MAX >> (64 - 8 * l->encoding.address_size);
    m.last_size = SYMC_NO_SIZE;
    learn_special(l);
    reset(&m);
    l->num_rows = l->num_sequences = 0;
    if (dwarf_charge(d, (uint64_t)(m.c.end - m.c.at)) != 0) {
        return -1;
    }
    if (run(&m) < 0 || end_sequence(&m, m.previous + 1) != 0) {
        return failure_memory(d->failure);
    }
    sort_sequences(l);
    l->has_rows = true;
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

size_t dwarf_lines_find(const struct dwarf_lines *l, uint64_t begin,
                        uint64_t end, const struct dwarf_sequence **sequence,
                        size_t *first)
{
    size_t low = 0, high = l->num_sequences, middle;
    const struct dwarf_sequence *s;
    const struct dwarf_row *rows;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (l->sequences[middle].highest > begin) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == l->num_sequences || l->sequences[low].start >= end) {
        return 0;
    }
    *sequence = s = &l->sequences[low];
    rows = l->rows + s->first;
    low = rows_before(rows, s->count, begin);
    low -= low > 0 && (low == s->count || rows[low].address != begin);
    *first = s->first + low;
    return rows_before(rows + low, s->count - low, end);
}
