/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind information of x64 (learn.microsoft.com, cpp/build/
 * exception-handling-x64): functions in .pdata, and what their prologs do.
 *
 * Each function gets one record, as in the "symbolic" library: what its prolog
 * does holds for all of it, which is wrong in prologs and epilogs.
 */
#include "unwind.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/le.h"

#define FUNCTION 12    /* bytes: start, end and unwind information */
#define CHAIN_MAX 128  /* parts of one function */
#define REGISTERS 16
#define HAS_CHAIN 4
#define HAS_HANDLER 3

enum {
    PUSH,
    ALLOC_LARGE,
    ALLOC_SMALL,
    SET_FRAME,
    SAVE,
    SAVE_FAR,
    EPILOG, /* or, of version 1, what saves a register of floats */
    SPARE,
    SAVE_XMM,
    SAVE_XMM_FAR,
    MACHINE_FRAME
};

struct unwind_amd64_function {
    uint32_t start;
    uint32_t end;
    uint32_t info; /* address */
};

/* One part of the unwind information of a function. */
struct info {
    const uint8_t *codes;
    unsigned count;
    unsigned version;
    unsigned frame; /* its register; 0: none */
    uint32_t frame_offset;
    bool has_next;
    struct unwind_amd64_function next;
};

struct unwind_amd64_rule {
    const struct cfi_register *target;
    const struct cfi_register *base;
    int64_t number;
    enum cfi_form form;
    bool is_at;
};

struct unwind_amd64_reader {
    const struct pe_image *image;
    struct cfi *cfi;
    struct failure *failure;
    struct cfi_register registers[REGISTERS];
    /* of the function */
    struct unwind_amd64_rule *rules;
    size_t num_rules;
    size_t rule_room;
    int64_t stack; /* its size: from the CFA down to the stack pointer */
    bool has_cfa;
    bool has_machine_frame;
};

static int amd64_damaged(struct unwind_amd64_reader *amd64, uint32_t start,
                         const char *what)
{
    return failure_set(amd64->failure, FAILURE_DAMAGED,
                       "is damaged: %s (function at 0x%lx)", what,
                       (unsigned long)start);
}

static int add(struct unwind_amd64_reader *amd64,
               const struct cfi_register *target,
               const struct cfi_register *base, int64_t number,
               enum cfi_form form, bool is_at)
{
    struct unwind_amd64_rule *rule;

    if (array_need(&amd64->rules, &amd64->rule_room, amd64->num_rules + 1,
                   sizeof(*amd64->rules)) != 0) {
        return failure_memory(amd64->failure);
    }
    rule = &amd64->rules[amd64->num_rules++];
    rule->target = target;
    rule->base = base;
    rule->number = number;
    rule->form = form;
    rule->is_at = is_at;
    return 0;
}

/* Returns how many slots of 16 bits an operation has after its own; -1: there
 * is no such operation. */
static int amd64_operands(unsigned operation, unsigned info)
{
    switch (operation) {
    case PUSH:
    case ALLOC_SMALL:
    case SET_FRAME:
        return 0;
    case MACHINE_FRAME:
        return info <= 1 ? 0 : -1;
    case ALLOC_LARGE:
        return info <= 1 ? (int)info + 1 : -1;
    case SAVE:
    case SAVE_XMM:
    case EPILOG:
        return 1;
    case SAVE_FAR:
    case SAVE_XMM_FAR:
    case SPARE:
        return 2;
    default:
        return -1;
    }
}

static int amd64_save(struct unwind_amd64_reader *amd64,
                      const struct info *info, unsigned reg, uint32_t offset)
{
    if (info->frame != 0) {
        return add(
            amd64, &amd64->registers[reg], &amd64->registers[info->frame],
            (int64_t)(int32_t)(offset - info->frame_offset), CFI_PLUS, true);
    }
    return add(amd64, &amd64->registers[reg], &cfi_cfa,
               amd64->stack - (int64_t)offset, CFI_MINUS, true);
}

static int amd64_machine_frame(struct unwind_amd64_reader *amd64,
                               bool has_code)
{
    struct cfi_register *rsp = &amd64->registers[4];

    amd64->has_machine_frame = true;
    if (add(amd64, rsp, &cfi_cfa, amd64->stack + 16, CFI_MINUS, true) != 0 ||
        add(amd64, &cfi_ra, &cfi_cfa, amd64->stack + 40, CFI_MINUS, true) !=
            0) {
        return -1;
    }
    amd64->stack += has_code ? 48 : 40;
    return 0;
}

static int amd64_operate(struct unwind_amd64_reader *amd64,
                         const struct info *info, const uint8_t *p)
{
    unsigned operation = p[1] & 15, operand = p[1] >> 4;

    switch (operation) {
    case PUSH:
        amd64->stack += 8;
        return add(amd64, &amd64->registers[operand], &cfi_cfa, amd64->stack,
                   CFI_MINUS, true);
    case ALLOC_LARGE:
        amd64->stack += operand == 0 ? le16(p + 2) * 8 : le32(p + 2);
        return 0;
    case ALLOC_SMALL:
        amd64->stack += operand * 8 + 8;
        return 0;
    case SET_FRAME:
        amd64->has_cfa = true;
        return add(amd64, &cfi_cfa, &amd64->registers[info->frame],
                   amd64->stack - (int64_t)info->frame_offset, CFI_PLUS,
                   false);
    case SAVE:
        return amd64_save(amd64, info, operand, (uint32_t)le16(p + 2) * 8);
    case SAVE_FAR:
        return amd64_save(amd64, info, operand, le32(p + 2));
    case MACHINE_FRAME:
        return amd64_machine_frame(amd64, operand == 1);
    default:
        return 0;
    }
}

/* Runs the codes of a part, the last of which the processor executes first.
 * Returns 1 if one of them is none. */
static int amd64_run(struct unwind_amd64_reader *amd64,
                     const struct info *info)
{
    int n, rc = 0;
    unsigned i, count = 0;
    uint8_t starts[256];

    for (i = 0; i < info->count; i += 1 + (unsigned)n) {
        n = amd64_operands(info->codes[2 * i + 1] & 15,
                           info->codes[2 * i + 1] >> 4);
        if (n < 0 || (unsigned)n >= info->count - i) {
            return 1;
        }
        starts[count++] = (uint8_t)i;
    }
    while (count > 0 && rc == 0) {
        rc = amd64_operate(amd64, info,
                           info->codes + 2 * (size_t)starts[--count]);
    }
    return rc;
}

static void amd64_read_function(const uint8_t *p,
                                struct unwind_amd64_function *function)
{
    function->start = le32(p);
    function->end = le32(p + 4);
    function->info = le32(p + 8);
}

/* Reads the part that an entry leads to; *left bounds how many others are
 * followed on the way. */
static bool amd64_read_info(const struct unwind_amd64_reader *amd64,
                            struct unwind_amd64_function function,
                            unsigned *left, struct info *info)
{
    uint32_t size;
    const uint8_t *p;

    while (function.info % 2 != 0) { /* another entry has it */
        p = *left == 0
                ? NULL
                : pe_pdata_at(amd64->image, function.info - 1, FUNCTION);
        if (p == NULL) {
            return false;
        }
        amd64_read_function(p, &function);
        (*left)--;
    }
    p = pe_pdata_at(amd64->image, function.info, 4);
    if (p == NULL) {
        return false;
    }
    info->version = p[0] & 7;
    info->count = p[2];
    info->frame = p[3] & 15;
    info->frame_offset = (uint32_t)(p[3] >> 4) * 16;
    info->has_next = (p[0] >> 3 & HAS_CHAIN) != 0;
    size = 4 + (info->count + 1) / 2 * 4;
    p = pe_pdata_at(amd64->image, function.info,
                    info->has_next                   ? size + FUNCTION
                    : (p[0] >> 3 & HAS_HANDLER) != 0 ? size + 4
                                                     : 4 + 2 * info->count);
    if (p == NULL || (info->version != 1 && info->version != 2)) {
        return false;
    }
    info->codes = p + 4;
    if (info->has_next) {
        amd64_read_function(p + size, &info->next);
    }
    return true;
}

/* Writes the rules of one kind of target: the CFA's, which is first, or the
 * others. */
static int amd64_write_rules(struct unwind_amd64_reader *amd64, bool is_cfa)
{
    size_t i;
    const struct unwind_amd64_rule *rule;

    for (i = 0; i < amd64->num_rules; i++) {
        rule = &amd64->rules[i];
        if ((rule->target == &cfi_cfa) == is_cfa &&
            cfi_rule(amd64->cfi, rule->target, rule->base, rule->number,
                     rule->form, rule->is_at) != 0) {
            return -1;
        }
    }
    return 0;
}

static int amd64_write_function(struct unwind_amd64_reader *amd64,
                                const struct unwind_amd64_function *f)
{
    if (cfi_range(amd64->cfi, f->start, f->end - f->start) != 0 ||
        (!amd64->has_cfa &&
         cfi_rule(amd64->cfi, &cfi_cfa, &amd64->registers[4], amd64->stack,
                  CFI_PLUS, false) != 0) ||
        amd64_write_rules(amd64, true) != 0 ||
        amd64_write_rules(amd64, false) != 0) {
        return -1;
    }
    return amd64->has_machine_frame
               ? 0
               : cfi_rule(amd64->cfi, &cfi_ra, &cfi_cfa, 8, CFI_MINUS, true);
}

static int amd64_take_function(struct unwind_amd64_reader *amd64,
                               const struct unwind_amd64_function *function)
{
    int rc;
    unsigned parts = 0, left = CHAIN_MAX;
    struct info info;

    info.next = *function;
    amd64->num_rules = 0;
    amd64->stack = 8;
    amd64->has_cfa = false;
    amd64->has_machine_frame = false;
    do {
        if (parts++ > CHAIN_MAX) {
            return amd64_damaged(amd64, function->start,
                                 "unwind information without "
                                 "end");
        }
        if (!amd64_read_info(amd64, info.next, &left, &info)) {
            return amd64_damaged(amd64, function->start,
                                 "bad unwind information");
        }
        rc = amd64_run(amd64, &info);
        if (rc != 0) {
            return rc < 0 ? -1 : 0;
        }
    } while (info.has_next);
    return amd64_write_function(amd64, function);
}

static int open_registers(struct unwind_amd64_reader *amd64)
{
    unsigned i;
    static const char *const names[REGISTERS] = {
        "$rax", "$rcx", "$rdx", "$rbx", "$rsp", "$rbp", "$rsi", "$rdi",
        "$r8",  "$r9",  "$r10", "$r11", "$r12", "$r13", "$r14", "$r15"};

    for (i = 0; i < REGISTERS; i++) {
        if (cfi_register(amd64->cfi, names[i], &amd64->registers[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

int pe_unwind_amd64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure)
{
    int rc;
    uint32_t size, i;
    const uint8_t *p;
    struct unwind_amd64_function function;
    struct unwind_amd64_reader *amd64;

    rc = pe_pdata(image, &p, &size, failure);
    if (rc <= 0) {
        return rc;
    }
    amd64 = calloc(1, sizeof(*amd64));
    if (amd64 == NULL) {
        return failure_memory(failure);
    }
    amd64->image = image;
    amd64->cfi = cfi;
    amd64->failure = failure;
    rc = open_registers(amd64);
    if (rc == 0 && size % FUNCTION != 0) {
        rc = amd64_damaged(amd64, 0, "bad table of functions");
    }
    for (i = 0; rc == 0 && i < size / FUNCTION; i++) {
        amd64_read_function(p + (size_t)i * FUNCTION, &function);
        if ((function.start != 0 || function.end != 0 || function.info != 0) &&
            function.end >= function.start) {
            rc = amd64_take_function(amd64, &function);
        }
    }
    free(amd64->rules);
    free(amd64);
    return rc;
}
