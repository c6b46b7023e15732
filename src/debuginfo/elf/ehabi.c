/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ehabi.h"

#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"

#define ENTRY 8 /* bytes of .ARM.exidx: a function, and how it is unwound */
#define CANNOT_UNWIND 1
#define COMPACT 0x80000000u /* no address follows, but a model's number */
#define REGISTERS 16
#define SP 13
#define LR 14
#define PC 15

/* Bytes of instructions.  They lie in words, the highest byte first. */
struct ehabi_code {
    const uint8_t *words;
    uint32_t at;
    uint32_t end;
    bool is_big;
};

/* The sum of a register and a number. */
struct ehabi_slot {
    uint8_t base;
    uint32_t offset;
};

/* The effect of the instructions so far. */
struct ehabi_state {
    struct ehabi_slot sp;
    struct ehabi_slot saved[REGISTERS];
    uint16_t is_saved; /* a bit each */
};

struct ehabi_reader {
    const struct elf_file *file;
    struct cfi *cfi;
    struct dwarf_found table; /* .ARM.extab */
    struct cfi_register registers[REGISTERS];
};

/* Computes the address that a word of 31 bits means, which is relative to its
 * own. */
static uint32_t follow_offset(uint32_t word, uint32_t address)
{
    return address + ((word & 0x7fffffff) | (word & 0x40000000) << 1);
}

/* instructions ------------------------------------------------------------ */

static bool ehabi_next_byte(struct ehabi_code *code, uint32_t *byte)
{
    uint32_t in_word = code->at % 4;

    if (code->at >= code->end) {
        return false;
    }
    *byte = code->words[code->at - in_word +
                        (code->is_big ? in_word : 3 - in_word)];
    code->at++;
    return true;
}

static bool next_uleb128(struct ehabi_code *code, uint32_t *number)
{
    uint32_t byte = 0x80;
    unsigned shift;

    *number = 0;
    for (shift = 0; (byte & 0x80) != 0; shift += 7) {
        if (shift > 28 || !ehabi_next_byte(code, &byte)) {
            return false;
        }
        *number |= (byte & 0x7f) << shift;
    }
    return true;
}

static bool is_saved(const struct ehabi_state *state, unsigned i)
{
    return (state->is_saved >> i & 1) != 0;
}

/* Takes registers from the stack, the lowest one first.  The stack pointer is
 * among them where a signal handler returns to; after it there are no more, as
 * they would be relative to a word of the stack. */
static bool ehabi_pop_registers(struct ehabi_state *state, uint32_t mask)
{
    unsigned i;
    uint32_t last = mask >> SP;

    if (is_saved(state, SP) || ((last & 1) != 0 && last != 7)) {
        return false;
    }
    for (i = 0; i < REGISTERS; i++) {
        if ((mask >> i & 1) != 0) {
            state->saved[i] = state->sp;
            state->sp.offset += 4;
        }
    }
    state->is_saved |= (uint16_t)mask;
    return true;
}

static bool ehabi_move_stack(struct ehabi_state *state, uint32_t size)
{
    state->sp.offset += size;
    return !is_saved(state, SP);
}

/* The stack pointer becomes another register.  One that was taken from the
 * stack before has no rule, as above. */
static bool ehabi_set_sp(struct ehabi_state *state, uint32_t from)
{
    state->sp.base = (uint8_t)from;
    state->sp.offset = 0;
    return from != SP && from != PC && !is_saved(state, from) &&
           !is_saved(state, SP);
}

/* Executes an instruction 1011....  Registers of coprocessors matter by their
 * size only: callers are found without them. */
static bool ehabi_execute_1011(struct ehabi_state *state,
                               struct ehabi_code *code, uint32_t op)
{
    uint32_t byte;

    switch (op) {
    case 0xb1:
        return ehabi_next_byte(code, &byte) && byte > 0 && byte < 16 &&
               ehabi_pop_registers(state, byte);
    case 0xb2:
        return next_uleb128(code, &byte) &&
               ehabi_move_stack(state, 0x204 + (byte << 2));
    case 0xb3: /* as FSTMX stores them, which adds a word */
        return ehabi_next_byte(code, &byte) &&
               ehabi_move_stack(state, ((byte & 15) + 1) * 8 + 4);
    case 0xb4: /* the authentication code of a return address */
        return ehabi_move_stack(state, 4);
    case 0xb5: /* the stack pointer here was part of that code */
        return true;
    default:
        return op >= 0xb8 && ehabi_move_stack(state, ((op & 7) + 1) * 8 + 4);
    }
}

/* Executes an instruction 11...... */
static bool ehabi_execute_11(struct ehabi_state *state,
                             struct ehabi_code *code, uint32_t op)
{
    uint32_t byte;

    if (op < 0xc6 || (op >= 0xd0 && op < 0xd8)) {
        return ehabi_move_stack(state, ((op & 7) + 1) * 8);
    }
    if (op > 0xc9 || !ehabi_next_byte(code, &byte)) {
        return false;
    }
    if (op != 0xc7) {
        return ehabi_move_stack(state, ((byte & 15) + 1) * 8);
    }
    return byte > 0 && byte < 16 &&
           ehabi_move_stack(state, ((byte & 1) + (byte >> 1 & 1) +
                                    (byte >> 2 & 1) + (byte >> 3)) *
                                       4);
}

/* Executes an instruction.  Returns false if it is none, or has no rule. */
static bool ehabi_execute_code(struct ehabi_state *state,
                               struct ehabi_code *code, uint32_t op)
{
    uint32_t byte;

    switch (op >> 4) {
    case 0x8: /* without registers, unwinding is refused */
        return ehabi_next_byte(code, &byte) && (op & 15) + byte > 0 &&
               ehabi_pop_registers(state, (op & 15) << 12 | byte << 4);
    case 0x9:
        return ehabi_set_sp(state, op & 15);
    case 0xa:
        return ehabi_pop_registers(state, ((2u << (op & 7)) - 1) << 4 |
                                              (op & 8) << (LR - 3));
    case 0xb:
        return ehabi_execute_1011(state, code, op);
    default:
        if (op >= 0xc0) {
            return ehabi_execute_11(state, code, op);
        }
        return ehabi_move_stack(state,
                                op < 0x40 ? op * 4 + 4 : -((op & 63) * 4 + 4));
    }
}

static bool ehabi_run_code(struct ehabi_state *state, struct ehabi_code *code)
{
    uint32_t op;

    memset(state, 0, sizeof(*state));
    state->sp.base = SP;
    while (ehabi_next_byte(code, &op) && op != 0xb0) {
        if (!ehabi_execute_code(state, code, op)) {
            return false;
        }
    }
    return true;
}

/* tables ------------------------------------------------------------------ */

/* Finds the instructions at an address of .ARM.extab.  After a personality
 * routine they are as compilers of C++ place them. */
static bool ehabi_find_in_table(const struct ehabi_reader *ehabi,
                                uint32_t address, struct ehabi_code *code)
{
    const struct dwarf_section *table = &ehabi->table.section;
    uint32_t word, more, size, at = address - (uint32_t)ehabi->table.address;

    if (at % 4 != 0 || at >= table->size || table->size - at < 4) {
        return false;
    }
    code->words = table->data + at;
    word = byte_order_32(code->words, ehabi->file->is_big);
    more = word >> 16 & 0xff;
    code->at = 2;
    if ((word & COMPACT) == 0) {
        if (table->size - at < 8) {
            return false;
        }
        at += 4;
        code->words += 4;
        more = code->words[ehabi->file->is_big ? 0 : 3];
        code->at = 1;
    } else if (word >> 24 == 0x80) {
        more = 0;
        code->at = 1;
    } else if (word >> 24 > 0x82) {
        return false;
    }
    size = 4 + more * 4;
    code->end = size;
    return table->size - at >= size;
}

/* Finds the instructions of an entry of .ARM.exidx. */
static bool ehabi_find_code(const struct ehabi_reader *ehabi,
                            const uint8_t *entry, uint32_t address,
                            struct ehabi_code *code)
{
    uint32_t word = byte_order_32(entry + 4, ehabi->file->is_big);

    code->is_big = ehabi->file->is_big;
    if (word == CANNOT_UNWIND) {
        return false;
    }
    if ((word & COMPACT) == 0) {
        return ehabi_find_in_table(ehabi, follow_offset(word, address + 4),
                                   code);
    }
    code->words = entry + 4;
    code->at = 1;
    code->end = 4;
    return word >> 24 == 0x80;
}

/* records ----------------------------------------------------------------- */

static int ehabi_write_slot(const struct ehabi_reader *ehabi,
                            const struct cfi_register *reg,
                            struct ehabi_slot slot, bool is_at)
{
    return cfi_rule(ehabi->cfi, reg, &ehabi->registers[slot.base],
                    (int32_t)slot.offset, CFI_PLUS, is_at);
}

/* Adds what is known of a frame that a signal interrupted. */
static int write_interrupted(const struct ehabi_reader *ehabi,
                             const struct ehabi_state *state)
{
    struct cfi_register mark;

    return cfi_register(ehabi->cfi, CFICACHE_SIGNAL, &mark) != 0 ||
                   ehabi_write_slot(ehabi, &ehabi->registers[LR],
                                    state->saved[LR], true) != 0
               ? -1
               : cfi_rule(ehabi->cfi, &mark, &cfi_cfa, 0, CFI_BARE, false);
}

static int ehabi_write_state(const struct ehabi_reader *ehabi,
                             const struct ehabi_state *state)
{
    unsigned i, link = is_saved(state, PC) ? PC : LR;
    struct ehabi_slot lr = {LR, 0};
    bool is_signal = is_saved(state, SP);

    if (ehabi_write_slot(ehabi, &cfi_cfa,
                         is_signal ? state->saved[SP] : state->sp,
                         is_signal) != 0 ||
        ehabi_write_slot(ehabi, &cfi_ra,
                         is_saved(state, link) ? state->saved[link] : lr,
                         is_saved(state, link)) != 0) {
        return -1;
    }
    for (i = 0; i < SP; i++) {
        if (is_saved(state, i) &&
            ehabi_write_slot(ehabi, &ehabi->registers[i], state->saved[i],
                             true) != 0) {
            return -1;
        }
    }
    return is_signal ? write_interrupted(ehabi, state) : 0;
}

static int open_ehabi_registers(struct ehabi_reader *ehabi)
{
    unsigned i;
    char text[16];
    static const char *const names[] = {"sp", "lr", "pc"};

    for (i = 0; i < REGISTERS; i++) {
        snprintf(text, sizeof(text), "r%u", i);
        if (cfi_register(ehabi->cfi, i < SP ? text : names[i - SP],
                         &ehabi->registers[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Returns the end of the code that has an address, for the last function of the
 * table. */
static uint32_t code_end(const struct elf_file *file, uint32_t address)
{
    const struct dwarf_found text = elf_file_find(file, "text");

    return address >= text.address &&
                   address - text.address < text.section.size
               ? (uint32_t)(text.address + text.section.size)
               : address;
}

/* Returns where the function of an entry of .ARM.exidx begins. */
static uint32_t entry_start(const struct elf_file *file,
                            const struct dwarf_found *index, size_t at)
{
    return follow_offset(byte_order_32(index->section.data + at, file->is_big),
                         (uint32_t)(index->address + at));
}

int elf_ehabi_read(const struct elf_file *file, struct cfi *cfi)
{
    size_t at;
    uint64_t load = elf_file_load_address(file);
    uint32_t start, end;
    const struct dwarf_found index = elf_file_find(file, "ARM.exidx");
    struct ehabi_reader ehabi = {
        .file = file, .cfi = cfi, .table = elf_file_find(file, "ARM.extab")};
    struct ehabi_state state;
    struct ehabi_code code;

    if (file->machine != ELF_EM_ARM || file->is_64 || file->type == ELF_REL ||
        index.section.data == NULL) {
        return 0;
    }
    if (open_ehabi_registers(&ehabi) != 0) {
        return -1;
    }
    if (cfi->writer != NULL) {
        cfi->writer->fills_gaps = true; /* DWARF knows prologs, too */
    }
    for (at = 0; index.section.size - at >= ENTRY; at += ENTRY) {
        start = entry_start(file, &index, at);
        end = index.section.size - at < 2 * ENTRY
                  ? code_end(file, start)
                  : entry_start(file, &index, at + ENTRY);
        start &= ~1u; /* says that the function is in Thumb code */
        end &= ~1u;
        if (start < load || end <= start ||
            !ehabi_find_code(&ehabi, index.section.data + at,
                             (uint32_t)(index.address + at), &code) ||
            !ehabi_run_code(&state, &code)) {
            continue;
        }
        if (cfi_correction(cfi, start - load, end - start) != 0 ||
            ehabi_write_state(&ehabi, &state) != 0) {
            return -1;
        }
    }
    return 0;
}
