/*
 * Copyright (C) the ngx_symcache authors
 */
#include "disassembly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "symbolication/symbolication.h"

/* A processor. */
struct processor {
    uint32_t family; /* the number of its architecture / 100 */
    const char *name;
    const char *syntax;
    cs_arch arch;
    int mode;
    unsigned step; /* instructions begin at multiples of it; and bytes that are
                      none are told by that many */
};

static const struct processor processors[] = {
    {SYMC_ARCH_X86 / 100, "i686", "Intel", CS_ARCH_X86, CS_MODE_32, 1},
    {SYMC_ARCH_AMD64 / 100, "x86_64", "Intel", CS_ARCH_X86, CS_MODE_64, 1},
    {SYMC_ARCH_ARM / 100, "arm", "ARM", CS_ARCH_ARM, CS_MODE_ARM, 2},
    {SYMC_ARCH_ARM64 / 100, "aarch64", "ARM", CS_ARCH_ARM64,
     CS_MODE_LITTLE_ENDIAN, 4},
};

struct disassembly_run {
    const struct disassembly *d;
    const struct processor *processor;
    struct json_writer *w;
    csh disassembler;
    cs_insn *insn;
    const uint8_t *bytes; /* from the first address on */
    uint32_t size;        /* of them */
    uint32_t length;      /* instructions begin before that */
    uint32_t start;
    bool is_arm;       /* of 32 bits, where these count */
    bool is_odd;       /* the address says that it is in Thumb code */
    uint32_t mode;     /* of the instructions up to... */
    uint32_t mode_end; /* ...this address */
    struct chain chain;
    char room[DEMANGLE_ROOM];
};

/* names ------------------------------------------------------------------- */

/* Finds the function at an address.  Those of Thumb code may have an odd one
 * as their first. */
static bool find_function(struct disassembly_run *disassembly,
                          uint64_t address)
{
    struct symc_lookup lookup = {.reader = disassembly->d->names,
                                 .address = address};

    if (disassembly->d->names == NULL) {
        return false;
    }
    if (disassembly->is_arm && disassembly->mode == CODECACHE_THUMB) {
        lookup.address |= 1;
    }
    symc_reader_lookup_all(&lookup, 1);
    chain_at(disassembly->d->names, lookup.location, &disassembly->chain);
    return disassembly->chain.count > 0 &&
           chain_entry(&disassembly->chain) != SYMC_NONE;
}

/* Writes " <FUNCTION+0x10>" into text. */
static void name_target(struct disassembly_run *disassembly, uint64_t target,
                        char *text, size_t text_size)
{
    const struct symc_string *name;
    struct symc_string readable;
    uint32_t entry;

    text[0] = '\0';
    if (target > UINT32_MAX || !find_function(disassembly, target)) {
        return;
    }
    name =
        &disassembly->chain.frames[disassembly->chain.count - 1].function.name;
    if (name->data == NULL) {
        return;
    }
    (void)demangle(name,
                   disassembly->chain.frames[disassembly->chain.count - 1]
                       .function.language,
                   disassembly->room, &readable);
    entry =
        chain_entry(&disassembly->chain) & (disassembly->is_arm ? ~1u : ~0u);
    if (entry < target) {
        snprintf(text, text_size, " <%.*s+0x%llx>", (int)readable.size,
                 readable.data, (unsigned long long)(target - entry));
    } else {
        snprintf(text, text_size, " <%.*s>", (int)readable.size,
                 readable.data);
    }
}

/* instructions ------------------------------------------------------------ */

/* Does the instruction go to an address that stands in it?  It is the last
 * operand of all processors. */
static bool find_target(const struct disassembly_run *disassembly,
                        uint64_t *target)
{
    const cs_detail *detail = disassembly->insn->detail;
    unsigned n;

    if (!cs_insn_group(disassembly->disassembler, disassembly->insn,
                       CS_GRP_JUMP) &&
        !cs_insn_group(disassembly->disassembler, disassembly->insn,
                       CS_GRP_CALL) &&
        !cs_insn_group(disassembly->disassembler, disassembly->insn,
                       CS_GRP_BRANCH_RELATIVE)) {
        return false;
    }
    switch (disassembly->processor->arch) {
    case CS_ARCH_X86:
        n = detail->x86.op_count;
        if (n == 0 || detail->x86.operands[n - 1].type != X86_OP_IMM) {
            return false;
        }
        *target = (uint64_t)detail->x86.operands[n - 1].imm;
        return true;
    case CS_ARCH_ARM:
        n = detail->arm.op_count;
        if (n == 0 || detail->arm.operands[n - 1].type != ARM_OP_IMM) {
            return false;
        }
        *target = (uint32_t)detail->arm.operands[n - 1].imm;
        return true;
    default:
        n = detail->arm64.op_count;
        if (n == 0 || detail->arm64.operands[n - 1].type != ARM64_OP_IMM) {
            return false;
        }
        *target = (uint64_t)detail->arm64.operands[n - 1].imm;
        return true;
    }
}

static void disassembly_write_text(struct disassembly_run *disassembly,
                                   uint32_t offset, const char *text)
{
    json_write_open(disassembly->w, '[');
    json_write_number(disassembly->w, offset);
    json_write_text(disassembly->w, text);
    json_write_close(disassembly->w, ']');
}

static void write_instruction(struct disassembly_run *disassembly,
                              uint32_t offset)
{
    char name[LINKAGE_READABLE_MAX + 64] = "";
    char text[sizeof(name) + sizeof(disassembly->insn->mnemonic) +
              sizeof(disassembly->insn->op_str) + 2];
    uint64_t target;

    if (find_target(disassembly, &target)) {
        name_target(disassembly, target, name, sizeof(name));
    }
    snprintf(text, sizeof(text), "%s%s%s%s", disassembly->insn->mnemonic,
             disassembly->insn->op_str[0] != '\0' ? " " : "",
             disassembly->insn->op_str, name);
    disassembly_write_text(disassembly, offset, text);
}

/* Writes bytes that are no instruction. */
static void write_bytes(struct disassembly_run *disassembly, uint32_t offset,
                        uint32_t n)
{
    char text[64] = ".byte";
    size_t size = strlen(text);
    uint32_t i;

    for (i = 0; i < n; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s0x%02x",
                                 i == 0 ? " " : ", ",
                                 disassembly->bytes[offset + i]);
    }
    disassembly_write_text(disassembly, offset, text);
}

/*
 * Sets how the code at an address is read.  Where nothing is known it is
 * Thumb, which all but old programs of 32-bit ARM have; so samply takes it.
 */
static bool set_mode(struct disassembly_run *disassembly, uint32_t address)
{
    int mode;

    if (!disassembly->is_arm || address < disassembly->mode_end) {
        return true;
    }
    disassembly->mode = codecache_reader_mode(disassembly->d->code, address,
                                              &disassembly->mode_end);
    if (disassembly->mode == CODECACHE_MODES ||
        (address == disassembly->start && disassembly->is_odd)) {
        disassembly->mode = CODECACHE_THUMB;
    }
    mode = disassembly->mode == CODECACHE_ARM ? CS_MODE_ARM : CS_MODE_THUMB;
    return cs_option(disassembly->disassembler, CS_OPT_MODE,
                     (size_t)mode | (disassembly->d->code->is_big
                                         ? (size_t)CS_MODE_BIG_ENDIAN
                                         : 0)) == CS_ERR_OK;
}

/* Writes what is at an offset.  Returns its bytes; 0: the code ends in it. */
static uint32_t write_next(struct disassembly_run *disassembly,
                           uint32_t offset)
{
    const uint8_t *at = disassembly->bytes + offset;
    uint64_t address = (uint64_t)disassembly->start + offset;
    size_t left = disassembly->size - offset;
    uint32_t n = disassembly->processor->step;

    if (disassembly->is_arm && disassembly->mode == CODECACHE_ARM) {
        n = 4;
    }
    if (disassembly->is_arm && disassembly->mode != CODECACHE_DATA &&
        disassembly->mode_end - address < left) {
        left = (size_t)(disassembly->mode_end - address);
    }
    if (left < n) {
        n = (uint32_t)left;
    }
    if ((!disassembly->is_arm || disassembly->mode != CODECACHE_DATA) &&
        cs_disasm_iter(disassembly->disassembler, &at, &left, &address,
                       disassembly->insn)) {
        write_instruction(disassembly, offset);
        return disassembly->insn->size;
    }
    write_bytes(disassembly, offset, n);
    return n;
}

static void disassembly_write_all(struct disassembly_run *disassembly)
{
    size_t size_at;
    uint32_t offset = 0, n = 1;
    struct json_writer *w = disassembly->w;
    char size[16];

    json_write_open(w, '{');
    json_put_open(w, "instructions", '[');
    size_at = w->size;
    while (offset < disassembly->length && offset < disassembly->size &&
           n > 0 && w->size - size_at < disassembly->d->order.answer &&
           set_mode(disassembly, disassembly->start + offset)) {
        n = write_next(disassembly, offset);
        offset += n;
    }
    json_write_close(w, ']');
    snprintf(size, sizeof(size), "0x%x", disassembly->start);
    json_put_text(w, "startAddress", size);
    snprintf(size, sizeof(size), "0x%x", offset);
    json_put_text(w, "size", size);
    json_put_text(w, "arch", disassembly->processor->name);
    json_put_open(w, "syntax", '[');
    json_write_text(w, disassembly->processor->syntax);
    json_write_close(w, ']');
    json_write_close(w, '}');
}

/* the range --------------------------------------------------------------- */

/* Finds how far to go.  The function's end counts if it is behind the size. */
static uint32_t length_of(struct disassembly_run *disassembly)
{
    const struct disassembly_order *order = &disassembly->d->order;
    uint64_t end, length = order->size;
    uint32_t size;

    if (order->has_whole_function &&
        find_function(disassembly, disassembly->start)) {
        size = chain_function_size(&disassembly->chain);
        /* the address of a Thumb function is odd */
        end = (uint64_t)(chain_entry(&disassembly->chain) &
                         ~(disassembly->processor->step - 1)) +
              size;
        if (size > 0 && end > disassembly->start &&
            end - disassembly->start > length) {
            length = end - disassembly->start;
        }
    }
    return length < order->most ? (uint32_t)length : order->most;
}

static bool disassembly_find_code(struct disassembly_run *disassembly,
                                  char error[DISASSEMBLY_ERROR])
{
    uint32_t family = symc_arch_number(disassembly->d->code->arch) / 100;
    size_t i;

    for (i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
        if (processors[i].family == family) {
            disassembly->processor = &processors[i];
        }
    }
    if (disassembly->processor == NULL) {
        snprintf(error, DISASSEMBLY_ERROR,
                 "the module is for a processor whose code is not "
                 "disassembled here");
        return false;
    }
    disassembly->is_arm = disassembly->processor->arch == CS_ARCH_ARM;
    disassembly->is_odd = (disassembly->d->order.start & 1) != 0;
    disassembly->start =
        disassembly->d->order.start & ~(disassembly->processor->step - 1);
    disassembly->bytes = codecache_reader_at(
        disassembly->d->code, disassembly->start, &disassembly->size);
    if (disassembly->bytes == NULL) {
        snprintf(error, DISASSEMBLY_ERROR,
                 "the module has no machine code at this address");
        return false;
    }
    return true;
}

bool disassemble(const struct disassembly *d, struct json_writer *w,
                 char error[DISASSEMBLY_ERROR])
{
    struct disassembly_run *disassembly = calloc(1, sizeof(*disassembly));
    bool is_done = false;

    if (disassembly == NULL) {
        snprintf(error, DISASSEMBLY_ERROR, "out of memory");
        return false;
    }
    disassembly->d = d;
    disassembly->w = w;
    if (disassembly_find_code(disassembly, error)) {
        snprintf(error, DISASSEMBLY_ERROR, "the disassembler cannot begin");
        if (cs_open(disassembly->processor->arch,
                    (cs_mode)disassembly->processor->mode,
                    &disassembly->disassembler) == CS_ERR_OK &&
            cs_option(disassembly->disassembler, CS_OPT_DETAIL, CS_OPT_ON) ==
                CS_ERR_OK &&
            set_mode(disassembly, disassembly->start)) {
            disassembly->insn = cs_malloc(disassembly->disassembler);
        }
        if (disassembly->insn != NULL) {
            disassembly->length = length_of(disassembly);
            disassembly_write_all(disassembly);
            cs_free(disassembly->insn, 1);
            is_done = true;
        }
        if (disassembly->disassembler != 0) {
            cs_close(&disassembly->disassembler);
        }
    }
    free(disassembly);
    return is_done;
}
