/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frames.h"

#include <stdlib.h>

#include "debuginfo/failure.h"
#include "debuginfo/scratch.h"
#include "frame_address.h"
#include "frame_expression.h"
#include "frame_instructions.h"
#include "frame_registers.h"
#include "inflate.h"

/* Limits the steps in total.  Real files need less than one for each byte. */
#define WORK_BASE 1000000
#define WORK_FACTOR 8

struct dwarf_frames_reader {
    struct dwarf_frames frames;
    struct cfi *cfi;
    uint64_t work;
    uint8_t address_size;
    struct frame_registers registers;
    struct frame_cie cie; /* the one that was run last */
    struct frame_machine machine;
    /* the last rules for registers in this function */
    uint32_t function;
    uint32_t said_in[FRAME_REGISTERS + 1]; /* the last is the return address,
                                              if its number is not below */
    struct frame_rule said[FRAME_REGISTERS + 1];
};

/* entries ----------------------------------------------------------------- */

static bool frame_read_address(const void *context,
                               const struct frame_cie *cie, struct cursor *c,
                               uint64_t *address)
{
    const struct dwarf_frames *frames = context;

    *address =
        cie->has_encoding
            ? frame_address_read(frames, c, cie->encoding, cie->address_size)
            : frame_address_read_form(c, PE_ABSOLUTE, cie->address_size);
    return !c->failed;
}

struct dwarf_frames_entry {
    uint64_t offset;
    uint64_t next;
    bool is_cie;
    uint64_t cie; /* offset of that of an FDE */
    struct cursor rest;
};

enum entry_status { ENTRY, ENTRY_EMPTY, ENTRY_BROKEN };

/* Reads the header of the entry at an offset. */
static enum entry_status read_entry(const struct dwarf_frames *frames,
                                    uint64_t offset,
                                    struct dwarf_frames_entry *entry)
{
    bool is_wide;
    uint64_t length, id, here;
    const struct dwarf_section *s = &frames->found.section;
    struct cursor c = {s->data + offset, s->data + s->size, frames->is_big,
                       false};

    length = cursor_32(&c);
    is_wide = length == UINT32_MAX;
    if (is_wide) {
        length = cursor_64(&c);
    } else if (length >= 0xfffffff0) {
        return ENTRY_BROKEN;
    }
    if (c.failed || length > (uint64_t)(c.end - c.at)) {
        return ENTRY_BROKEN;
    }
    c.end = c.at + length;
    entry->offset = offset;
    entry->next = (uint64_t)(c.end - s->data);
    if (length == 0) {
        return ENTRY_EMPTY;
    }
    here = (uint64_t)(c.at - s->data);
    is_wide = is_wide && !frames->is_eh;
    id = is_wide ? cursor_64(&c) : cursor_32(&c);
    entry->rest = c;
    if (frames->is_eh) {
        entry->is_cie = id == 0;
        entry->cie = here - id;
        return c.failed || id > here ? ENTRY_BROKEN : ENTRY;
    }
    entry->is_cie = id == (is_wide ? UINT64_MAX : UINT32_MAX);
    entry->cie = id;
    return c.failed ? ENTRY_BROKEN : ENTRY;
}

/* Reads what the letters of a CIE's augmentation stand for. */
static bool frame_read_augmentation(const struct dwarf_frames *frames,
                                    struct cursor *c, const char *letters,
                                    size_t count, struct frame_cie *cie)
{
    size_t i;
    uint64_t size;
    uint8_t encoding;
    struct cursor data = {c->at, c->at, c->is_big, false};

    for (i = 0; i < count && !data.failed; i++) {
        switch (letters[i]) {
        case 'z':
            size = cursor_uleb(c);
            data.at = c->at;
            cursor_skip(c, size);
            data.end = c->at;
            if (i > 0 || c->failed) {
                return false;
            }
            break;
        case 'L':
        case 'P':
        case 'R':
            if (letters[0] != 'z') {
                return false;
            }
            encoding = cursor_8(&data);
            if (!frame_address_is_encoding(encoding)) {
                return false;
            }
            if (letters[i] == 'P') {
                (void)frame_address_read(frames, &data, encoding,
                                         cie->address_size);
            } else if (letters[i] == 'L') {
                cie->has_lsda = true;
                cie->lsda = encoding;
            } else {
                cie->has_encoding = true;
                cie->encoding = encoding;
            }
            break;
        case 'S': /* of a signal handler's caller */
            cie->is_signal = true;
            break;
        case 'B': /* AArch64: its return address is signed with key B */
        case 'G': /* AArch64: its stack has tags */
            break;
        default:
            return false;
        }
    }
    return !data.failed;
}

static bool frame_read_cie(const struct dwarf_frames_reader *r,
                           const struct dwarf_frames_entry *entry,
                           struct frame_cie *cie)
{
    size_t count;
    uint8_t version;
    uint64_t ra;
    const char *letters;
    struct cursor c = entry->rest;
    const struct dwarf_frames *frames = &r->frames;

    memset(cie, 0, sizeof(*cie));
    cie->offset = entry->offset;
    version = cursor_8(&c);
    if (version != 1 && version != 3 && (frames->is_eh || version != 4)) {
        return false;
    }
    letters = cursor_string(&c, &count);
    cie->address_size = r->address_size;
    if (version == 4) {
        cie->address_size = cursor_8(&c);
        if (cursor_8(&c) != 0) { /* segments */
            return false;
        }
    }
    cie->code_align = cursor_uleb(&c);
    cie->data_align = cursor_sleb(&c);
    ra = version == 1 ? cursor_8(&c) : cursor_uleb(&c);
    cie->ra = (uint16_t)ra;
    cie->has_augmentation = count > 0;
    if (c.failed || ra > UINT16_MAX ||
        !frame_read_augmentation(frames, &c, letters, count, cie)) {
        return false;
    }
    cie->instructions = c;
    return !c.failed;
}

/* rules ------------------------------------------------------------------- */

static bool is_same(const struct frame_rule *a, const struct frame_rule *b)
{
    return a->kind == b->kind && a->reg == b->reg && a->number == b->number &&
           a->size == b->size;
}

/* Where is kept what was last said of a register?  Returns -1 if it has no
 * name, so that nothing is. */
static int frame_slot_of(const struct dwarf_frames_reader *r, uint16_t reg)
{
    if (reg < FRAME_REGISTERS) {
        return reg;
    }
    return reg == r->cie.ra ? FRAME_REGISTERS : -1;
}

/* A rule that is to be written. */
struct change {
    const struct cfi_register *target;
    const struct cfi_register *base;
    int64_t number;
    enum cfi_form form;
    bool is_at;
};

struct changes {
    unsigned count;
    struct change rules[FRAME_REGISTERS + 3];
};

/* Adds the rule of a register, if it is one that can be written. */
static int frame_add_rule(struct dwarf_frames_reader *r,
                          struct changes *changes,
                          const struct frame_rule *rule)
{
    struct change *change = &changes->rules[changes->count];
    uint64_t base = rule->reg;

    change->form = CFI_BARE;
    change->is_at = false;
    change->number = rule->number;
    switch (rule->kind) {
    case FRAME_AT_OFFSET:
    case FRAME_VALUE:
        change->base = &cfi_cfa;
        change->form = CFI_PLUS;
        change->is_at = rule->kind == FRAME_AT_OFFSET;
        break;
    case FRAME_SAME:
    case FRAME_REGISTER:
        base = rule->kind == FRAME_SAME ? rule->reg : (uint64_t)rule->number;
        if (frame_registers_find(&r->registers, base, &change->base) != 0) {
            return -1;
        }
        change->number = 0;
        break;
    default:
        return 0;
    }
    change->target = &cfi_ra;
    if (rule->reg != r->cie.ra &&
        frame_registers_find(&r->registers, rule->reg, &change->target) != 0) {
        return -1;
    }
    if (change->base != NULL && change->target != NULL) {
        changes->count++;
    }
    return 0;
}

/* Adds the CFA's rule, unless it is an expression. */
static int frame_add_cfa(struct dwarf_frames_reader *r,
                         struct changes *changes, const struct frame_rule *cfa)
{
    struct change *change = &changes->rules[changes->count];

    change->target = &cfi_cfa;
    change->number = cfa->number;
    change->form = CFI_PLUS;
    change->is_at = false;
    if (cfa->kind != FRAME_VALUE) {
        return 0;
    }
    if (frame_registers_find(&r->registers, cfa->reg, &change->base) != 0) {
        return -1;
    }
    changes->count += change->base != NULL;
    return 0;
}

static int frame_write_changes(struct dwarf_frames_reader *r,
                               const struct changes *changes)
{
    unsigned i;
    int rc = 0;
    const struct change *c;

    for (i = 0; i < changes->count && rc == 0; i++) {
        c = &changes->rules[i];
        rc = cfi_rule(r->cfi, c->target, c->base, c->number, c->form, c->is_at);
    }
    return rc;
}

/* Collects what a row changes.  *has_ra is set if there is a rule of the return
 * address among it, even one that is not written. */
static int collect(struct dwarf_frames_reader *r, const struct frame_row *row,
                   const struct frame_rule *cfa, struct changes *changes,
                   bool *has_ra)
{
    int slot, rc = 0;
    unsigned i;
    const struct frame_rule *rule;

    changes->count = 0;
    *has_ra = false;
    if (cfa == NULL || !is_same(cfa, &row->cfa)) {
        rc = frame_add_cfa(r, changes, &row->cfa);
    }
    for (i = 0; i < row->count && rc == 0; i++) {
        rule = &row->rules[i];
        slot = frame_slot_of(r, rule->reg);
        if (slot < 0 || (r->said_in[slot] == r->function &&
                         is_same(&r->said[slot], rule))) {
            continue;
        }
        r->said_in[slot] = r->function;
        r->said[slot] = *rule;
        *has_ra = *has_ra || rule->reg == r->cie.ra;
        rc = frame_add_rule(r, changes, rule);
    }
    return rc;
}

/* Writes a record of a row, if it changes something. */
static int write_row(struct dwarf_frames_reader *r, uint64_t start,
                     uint64_t size, const struct frame_row *row,
                     const struct frame_rule *cfa)
{
    bool has_ra, is_first = r->machine.start == start;
    uint64_t load = r->frames.load_address;
    struct changes changes;
    struct frame_rule same = {r->cie.ra, FRAME_SAME, 0, 0};

    if (collect(r, row, cfa, &changes, &has_ra) != 0) {
        return -1;
    }
    if (changes.count == 0) {
        return 0;
    }
    if (is_first && !has_ra && frame_registers_needs_ra(&r->registers) &&
        frame_add_rule(r, &changes, &same) != 0) {
        return -1;
    }
    if ((is_first ? cfi_range(r->cfi, start - load, size)
                  : cfi_row(r->cfi, "STACK CFI ", r->machine.start - load)) !=
        0) {
        return -1;
    }
    return frame_write_changes(r, &changes);
}

static bool frame_is_expression(const struct frame_rule *rule)
{
    return rule->kind == FRAME_EXPRESSION || rule->kind == FRAME_AT_EXPRESSION;
}

/* Is there something in a row that the text has no words for? */
static bool is_beyond_text(const struct frame_row *row)
{
    unsigned i;

    for (i = 0; i < row->count; i++) {
        if (frame_is_expression(&row->rules[i])) {
            return true;
        }
    }
    return frame_is_expression(&row->cfa);
}

/* corrections ------------------------------------------------------------- */

/* Is the walk told of corrections of these entries?  Those of 32-bit ARM are
 * exception tables, which are switched on by themselves. */
static bool has_corrections(const struct dwarf_frames_reader *r)
{
    return r->cfi->writer != NULL &&
           frame_registers_has_corrections(&r->registers);
}

/* Adds a rule whose value is an expression. */
static int add_expression(struct dwarf_frames_reader *r,
                          const struct cfi_register *target, bool has_cfa,
                          const struct frame_rule *rule)
{
    struct cficache_code *code = &r->cfi->writer->code;
    struct cursor c = {r->frames.found.section.data + rule->number, NULL,
                       r->frames.is_big, false};

    if (r->work < rule->size) {
        return failure_work(r->cfi->failure);
    }
    r->work -= rule->size;
    c.end = c.at + rule->size;
    if (frame_expression_compile(&r->registers, &c, has_cfa, code) != 0) {
        return -1;
    }
    if (rule->kind == FRAME_AT_EXPRESSION && !code->fails &&
        failure_writer(r->cfi->failure,
                       cficache_code_operation(code, CFICACHE_READ)) != 0) {
        return -1;
    }
    return failure_writer(r->cfi->failure,
                          cficache_writer_code(r->cfi->writer, target->name));
}

static int correct_register(struct dwarf_frames_reader *r,
                            const struct frame_rule *rule)
{
    struct changes changes = {0};
    const struct cfi_register *target = &cfi_ra;

    if (!frame_is_expression(rule)) {
        return frame_add_rule(r, &changes, rule) != 0
                   ? -1
                   : frame_write_changes(r, &changes);
    }
    if (rule->reg != r->cie.ra &&
        frame_registers_find(&r->registers, rule->reg, &target) != 0) {
        return -1;
    }
    return target != NULL ? add_expression(r, target, true, rule) : 0;
}

/* Marks a row as one of a frame whose caller was interrupted. */
static int mark_signal(struct dwarf_frames_reader *r)
{
    struct cfi_register mark;

    return cfi_register(r->cfi, CFICACHE_SIGNAL, &mark) != 0
               ? -1
               : cfi_rule(r->cfi, &mark, &cfi_cfa, 0, CFI_BARE,
                          false);
}

/* Writes all rules of a row, as a range of its own. */
static int frame_correct_row(struct dwarf_frames_reader *r, uint64_t end,
                             const struct frame_row *row)
{
    int rc;
    unsigned i;
    bool has_ra = false;
    uint64_t start = r->machine.start;
    struct changes changes = {0};
    struct frame_rule same = {r->cie.ra, FRAME_SAME, 0, 0};

    if (end <= start) {
        return 0;
    }
    rc = cfi_correction(r->cfi, start - r->frames.load_address, end - start);
    if (rc == 0 && frame_is_expression(&row->cfa)) {
        rc = add_expression(r, &cfi_cfa, false, &row->cfa);
    } else if (rc == 0) {
        rc = frame_add_cfa(r, &changes, &row->cfa);
        rc = rc != 0 ? rc : frame_write_changes(r, &changes);
    }
    for (i = 0; i < row->count && rc == 0; i++) {
        has_ra = has_ra || row->rules[i].reg == r->cie.ra;
        rc = correct_register(r, &row->rules[i]);
    }
    if (rc == 0 && !has_ra && frame_registers_needs_ra(&r->registers)) {
        rc = correct_register(r, &same);
    }
    return rc == 0 && r->cie.is_signal ? mark_signal(r) : rc;
}

/* functions --------------------------------------------------------------- */

static int frame_damaged(struct dwarf_frames_reader *r, uint64_t offset,
                         const char *what)
{
    return failure_set(r->cfi->failure, FAILURE_DAMAGED,
                       "is damaged: %s (%s, offset %llu)", what,
                       r->frames.is_eh ? ".eh_frame" : ".debug_frame",
                       (unsigned long long)offset);
}

static int failed(struct dwarf_frames_reader *r, uint64_t offset,
                  enum frame_status status)
{
    return status == FRAME_WORK
               ? failure_work(r->cfi->failure)
               : frame_damaged(r, offset, "bad instructions for frames");
}

/* Reads and runs the CIE of an FDE.  Returns 1 if it cannot be read. */
static int frame_begin_cie(struct dwarf_frames_reader *r, uint64_t offset)
{
    struct dwarf_frames_entry entry;
    struct frame_cie cie;
    enum frame_status status;

    if (offset == r->cie.offset && !r->machine.is_deep) {
        return 0;
    }
    if (offset >= r->frames.found.section.size ||
        read_entry(&r->frames, offset, &entry) != ENTRY || !entry.is_cie ||
        !frame_read_cie(r, &entry, &cie)) {
        return 1;
    }
    r->cie = cie;
    status = frame_machine_begin(&r->machine, &r->cie);
    if (status != FRAME_END) {
        r->cie.offset = FRAME_NO_CIE;
        return failed(r, offset, status);
    }
    return 0;
}

/* Reads the addresses of an FDE and skips to its instructions. */
static bool frame_read_fde(const struct dwarf_frames_reader *r,
                           struct cursor *c, uint64_t *start, uint64_t *size)
{
    uint64_t n;
    const struct frame_cie *cie = &r->cie;
    const struct dwarf_frames *frames = &r->frames;
    struct cursor data;

    if (!frame_read_address(frames, cie, c, start)) {
        return false;
    }
    *size = frame_address_read_form(
        c, cie->has_encoding ? cie->encoding & PE_FORM : PE_ABSOLUTE,
        cie->address_size);
    if (cie->has_augmentation) {
        n = cursor_uleb(c);
        data = *c;
        cursor_skip(c, n);
        data.end = c->at;
        if (cie->has_lsda && !c->failed) {
            (void)frame_address_read(frames, &data, cie->lsda,
                                     cie->address_size);
            return !data.failed;
        }
    }
    return !c->failed;
}

/* Runs a function once more, for what the text does not have of it.  Rules are
 * added to the range that was begun last, so that both cannot be made at once.
 */
static int frame_take_corrections(struct dwarf_frames_reader *r,
                                  const struct dwarf_frames_entry *entry,
                                  uint64_t end)
{
    int rc = 0;
    enum frame_status status;
    const struct frame_row *row;

    while (rc == 0 &&
           (status = frame_machine_next(&r->machine, &row)) != FRAME_END) {
        if (status != FRAME_ROW) {
            rc = failed(r, entry->offset, status);
        } else if (r->work < row->count) {
            rc = failure_work(r->cfi->failure);
        } else {
            r->work -= row->count;
            rc = frame_correct_row(
                r, r->machine.is_last ? end : r->machine.next, row);
        }
    }
    /* a row of the next function that begins no range adds nothing to ours */
    return rc == 0 ? cfi_correction(r->cfi, 0, 0) : rc;
}

static int frame_take_rows(struct dwarf_frames_reader *r,
                           const struct dwarf_frames_entry *entry,
                           uint64_t start, uint64_t size, bool *is_beyond)
{
    int rc = 0;
    bool is_first = true;
    enum frame_status status;
    const struct frame_row *row;
    struct frame_rule cfa = {0, 0, 0, 0};

    r->function++;
    while ((status = frame_machine_next(&r->machine, &row)) == FRAME_ROW) {
        if (r->work < row->count) {
            return failure_work(r->cfi->failure);
        }
        r->work -= row->count;
        if (rc == 0 && start >= r->frames.load_address) {
            rc = write_row(r, start, size, row, is_first ? NULL : &cfa);
        }
        *is_beyond = *is_beyond || is_beyond_text(row);
        cfa = row->cfa;
        is_first = false;
    }
    return rc == 0 && status != FRAME_END ? failed(r, entry->offset, status)
                                          : rc;
}

/* Adds the function of an FDE.  One that cannot be read is skipped. */
static int frame_take_fde(struct dwarf_frames_reader *r,
                          const struct dwarf_frames_entry *entry)
{
    int rc;
    bool is_beyond;
    uint64_t start = 0, size = 0;
    struct cursor c = entry->rest;

    rc = frame_begin_cie(r, entry->cie);
    if (rc != 0) {
        return rc < 0 ? -1 : 0;
    }
    if (!frame_read_fde(r, &c, &start, &size) || start == UINT64_MAX) {
        return 0;
    }
    size = frame_address_mask(start + size, r->cie.address_size) - start;
    is_beyond = r->cie.is_signal;
    frame_machine_restart(&r->machine, &c, start);
    rc = frame_take_rows(r, entry, start, size, &is_beyond);
    if (rc != 0 || !is_beyond || r->machine.is_deep || !has_corrections(r) ||
        start < r->frames.load_address) {
        return rc;
    }
    frame_machine_restart(&r->machine, &c, start);
    return frame_take_corrections(r, entry, start + size);
}

struct dwarf_frames_reader *dwarf_frames_open(const struct dwarf_frames *frames,
                                              struct cfi *cfi)
{
    struct dwarf_section s = frames->found.section;
    struct dwarf_frames_reader *r = calloc(1, sizeof(*r));

    if (r == NULL ||
        (frames->found.is_compressed &&
         dwarf_inflate(&s, frames->is_64, frames->is_big) != 0)) {
        failure_memory(cfi->failure);
        free(r);
        return NULL;
    }
    r->frames = *frames;
    r->frames.found.section = s;
    r->cfi = cfi;
    r->work = WORK_BASE + WORK_FACTOR * (uint64_t)s.size;
    r->cie.offset = FRAME_NO_CIE;
    r->machine.read_address = frame_read_address;
    r->machine.context = &r->frames;
    r->machine.work = &r->work;
    r->machine.section = s.data;
    frame_registers_init(&r->registers, frames->arch, cfi);
    r->machine.is_arm64 = frame_registers_is_arm64(&r->registers);
    r->address_size = frame_registers_address_size(&r->registers);
    return r;
}

void dwarf_frames_close(struct dwarf_frames_reader *r)
{
    if (r != NULL && r->frames.found.is_compressed) {
        scratch_free((uint8_t *)(uintptr_t)r->frames.found.section.data);
    }
    free(r);
}

int dwarf_frames_read_at(struct dwarf_frames_reader *r, uint64_t offset)
{
    struct dwarf_frames_entry entry;

    return offset < r->frames.found.section.size &&
                   read_entry(&r->frames, offset, &entry) == ENTRY &&
                   !entry.is_cie
               ? frame_take_fde(r, &entry)
               : 0;
}

int dwarf_frames_read(const struct dwarf_frames *frames, struct cfi *cfi)
{
    int rc = 0;
    uint64_t offset = 0;
    struct dwarf_frames_entry entry;
    struct frame_cie cie;
    enum entry_status status;
    struct dwarf_frames_reader *r = dwarf_frames_open(frames, cfi);

    if (r == NULL) {
        return -1;
    }
    for (; offset < r->frames.found.section.size && rc == 0;
         offset = entry.next) {
        status = read_entry(&r->frames, offset, &entry);
        if (status == ENTRY_EMPTY && frames->is_eh) {
            break;
        }
        if (status == ENTRY_BROKEN || (status == ENTRY && entry.is_cie &&
                                       !frame_read_cie(r, &entry, &cie))) {
            rc = frame_damaged(r, offset, "bad entry");
        } else if (status == ENTRY && !entry.is_cie) {
            rc = frame_take_fde(r, &entry);
        }
    }
    dwarf_frames_close(r);
    return rc;
}
