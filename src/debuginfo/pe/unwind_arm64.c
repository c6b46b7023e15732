/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind information of ARM64 (learn.microsoft.com, cpp/build/
 * arm64-exception-handling): functions in .pdata, and in .xdata the codes of
 * what their prologs do, or both in .pdata alone.
 *
 * The "symbolic" library writes records that no reader can use: it takes the
 * address of the codes for the length of a function, and names registers with
 * a dot.  They are written all the same, as the text has to be the library's,
 * and what is right is added as corrections.
 */
#include "unwind.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/le.h"
#include "unwind_codes_arm64.h"

#define FUNCTION 8 /* bytes: start, and where the codes are */
#define CODES 1024 /* bytes of codes at most: 255 words */
#define EPILOG_ROWS (1u << 22) /* more are left out */

struct unwind_arm64_reader {
    const struct pe_image *image;
    struct cfi *cfi;
    struct failure *failure;
    uint32_t epilog_rows; /* of all functions */
    /* as the library names them, and as they are called */
    struct cfi_register sp[2];
    struct cfi_register general[2][REGISTERS];
    struct cfi_register floats[2][FLOATS];
};

struct unwind_arm64_function {
    uint32_t start;
    uint32_t info;
    uint32_t length;
    const uint8_t *codes;
    unsigned size;
    bool is_fragment;       /* its prolog is elsewhere */
    const uint8_t *epilogs; /* a word each; NULL: there is one, at the end */
    unsigned num_epilogs;
    unsigned last_epilog; /* the byte of its codes, if it is the only one */
};

/* The combined effect of the codes up to one. */
struct unwind_arm64_frame {
    int64_t stack; /* bytes */
    bool is_set;   /* x29 is the CFA less base */
    int64_t base;
};

/* Says where a register is saved, so far from the CFA. */
static int arm64_write_saved(struct unwind_arm64_reader *arm64, unsigned set,
                             const struct arm64_code *code, unsigned number,
                             int64_t offset)
{
    const struct cfi_register *reg;

    if (number >= (code->is_float ? FLOATS : REGISTERS)) {
        return 0;
    }
    reg = code->is_float ? &arm64->floats[set][number]
                         : &arm64->general[set][number];
    return cfi_rule(arm64->cfi, reg, &cfi_cfa, offset, CFI_PLUS, true);
}

/* The library does not see that LR is saved alone. */
static bool saves_return_address(const struct arm64_code *code, unsigned set)
{
    return code->effect == SAVE && !code->is_float &&
           (code->second == LR || (set == 1 && code->first == LR));
}

static int arm64_write_saves(struct unwind_arm64_reader *arm64, unsigned set,
                             const struct arm64_code *code, int64_t stack)
{
    int64_t offset = (int64_t)code->offset - stack;

    if (code->effect != SAVE) {
        return 0;
    }
    if (arm64_write_saved(arm64, set, code, code->first, offset) != 0 ||
        arm64_write_saved(arm64, set, code, code->second, offset + 8) != 0) {
        return -1;
    }
    if (code->second == LR) {
        offset += 8;
    }
    return saves_return_address(code, set)
               ? cfi_rule(arm64->cfi, &cfi_ra, &cfi_cfa, offset, CFI_PLUS,
                          true)
               : 0;
}

/* Reads all codes up to the end, in the order in which they are executed. */
static unsigned arm64_read_codes(const struct unwind_arm64_function *function,
                                 struct arm64_code *codes)
{
    unsigned at, i, count = 0;
    struct arm64_code swapped;

    for (at = 0; at < function->size; at += codes[count++].length) {
        if (!codes_arm64_read(function->codes, at, function->size,
                              &codes[count]) ||
            codes[count].effect == END) {
            break;
        }
    }
    for (i = 0; i < count / 2; i++) {
        swapped = codes[i];
        codes[i] = codes[count - 1 - i];
        codes[count - 1 - i] = swapped;
    }
    return count;
}

/* Writes the library's records: a code at a time, as if its instruction had
 * been executed before. */
static int arm64_write_function(struct unwind_arm64_reader *arm64,
                                const struct unwind_arm64_function *function,
                                const struct arm64_code *codes, unsigned count)
{
    int rc = 0;
    bool has_cfa;
    unsigned i;
    int64_t stack = 0;
    const struct arm64_code *code;

    for (i = 0; i < count && rc == 0; i++) {
        code = &codes[i];
        stack += code->size;
        rc = i == 0 ? cfi_range(arm64->cfi, function->start,
                                function->info & 0x1ffc)
                    : cfi_row(arm64->cfi, "STACK CFI      ",
                              function->start + 4 * (uint64_t)i);
        has_cfa = code->effect != SAVE || code->grows;
        if (rc == 0 && has_cfa) {
            rc = cfi_rule(arm64->cfi, &cfi_cfa, &arm64->sp[0], stack, CFI_PLUS,
                          false);
        }
        if (rc == 0) {
            rc = arm64_write_saves(arm64, 0, code, stack);
        }
        if (rc == 0 && i == 0 && !has_cfa) {
            rc = cfi_rule(arm64->cfi, &cfi_cfa, &arm64->sp[0], 0, CFI_BARE,
                          false);
        }
        if (rc == 0 && i == 0 && !saves_return_address(code, 0)) {
            rc = cfi_rule(arm64->cfi, &cfi_ra, &arm64->general[0][LR], 0,
                          CFI_BARE, false);
        }
    }
    return rc;
}

/* What follows from the codes before. */
static void arm64_resolve_codes(struct arm64_code *codes, unsigned count)
{
    unsigned i;

    for (i = 1; i < count; i++) {
        if (codes[i].effect != SAVE_NEXT || codes[i - 1].effect != SAVE) {
            continue;
        }
        codes[i] = codes[i - 1];
        codes[i].size = 0;
        codes[i].offset += 16;
        if (!codes[i].is_float && codes[i].second == FP - 1) {
            codes[i].is_float = true;
            codes[i].first = 8 - 2;
        }
        codes[i].first += 2;
        codes[i].second = codes[i].first + 1;
    }
}

static void arm64_apply(struct unwind_arm64_frame *frame,
                        const struct arm64_code *code)
{
    frame->stack += code->size;
    if (code->effect == SET_FRAME) {
        frame->is_set = true;
        frame->base = frame->stack - (int64_t)code->offset;
    }
}

static int arm64_write_cfa(struct unwind_arm64_reader *arm64,
                           const struct unwind_arm64_frame *frame)
{
    return cfi_rule(arm64->cfi, &cfi_cfa,
                    frame->is_set ? &arm64->general[1][FP] : &arm64->sp[1],
                    frame->is_set ? frame->base : frame->stack, CFI_PLUS,
                    false);
}

/* Adds what is right of a part without a prolog: that of the function has been
 * executed. */
static int correct_fragment(struct unwind_arm64_reader *arm64,
                            const struct unwind_arm64_function *function,
                            const struct arm64_code *codes, unsigned count)
{
    unsigned i;
    bool has_ra = false;
    struct unwind_arm64_frame frame = {0}, last = {0};

    for (i = 0; i < count; i++) {
        arm64_apply(&last, &codes[i]);
        has_ra = has_ra || saves_return_address(&codes[i], 1);
    }
    if (cfi_correction(arm64->cfi, function->start, function->length) != 0 ||
        arm64_write_cfa(arm64, &last) != 0 ||
        (!has_ra && cfi_rule(arm64->cfi, &cfi_ra, &arm64->general[1][LR], 0,
                             CFI_BARE, false) != 0)) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        arm64_apply(&frame, &codes[i]);
        if (arm64_write_saves(arm64, 1, &codes[i], frame.stack) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Says that a code is undone: its registers are what they were. */
static int arm64_write_restored(struct unwind_arm64_reader *arm64,
                                const struct arm64_code *code)
{
    const struct cfi_register *reg;
    unsigned i, numbers[2] = {code->first, code->second};

    for (i = 0; i < 2 && code->effect == SAVE; i++) {
        if (numbers[i] < (code->is_float ? FLOATS : REGISTERS)) {
            reg = code->is_float ? &arm64->floats[1][numbers[i]]
                                 : &arm64->general[1][numbers[i]];
            if (cfi_rule(arm64->cfi, reg, reg, 0, CFI_BARE, false) != 0) {
                return -1;
            }
        }
    }
    return saves_return_address(code, 1)
               ? cfi_rule(arm64->cfi, &cfi_ra, &arm64->general[1][LR], 0,
                          CFI_BARE, false)
               : 0;
}

/* Writes what so many codes have done, and where they have saved registers. */
static int arm64_write_frame(struct unwind_arm64_reader *arm64,
                             const struct arm64_code *codes, unsigned count,
                             bool has_saves)
{
    struct unwind_arm64_frame frame = {0}, last = {0};
    unsigned i;

    for (i = 0; i < count; i++) {
        arm64_apply(&last, &codes[i]);
    }
    if (arm64_write_cfa(arm64, &last) != 0) {
        return -1;
    }
    for (i = 0; i < count && has_saves; i++) {
        arm64_apply(&frame, &codes[i]);
        if (arm64_write_saves(arm64, 1, &codes[i], frame.stack) != 0) {
            return -1;
        }
    }
    return 0;
}

/*
 * Adds a row after each instruction of an epilog, which undoes n codes, and
 * one after its "ret", where the function goes on.  Returns the address
 * there, 0 if it does not fit, or -1.
 */
static int64_t
arm64_correct_epilog(struct unwind_arm64_reader *arm64,
                     const struct unwind_arm64_function *function,
                     const struct arm64_code *codes, unsigned count,
                     uint64_t start, const struct arm64_code *undone,
                     unsigned n)
{
    uint64_t end = start + 4 * ((uint64_t)n + 1);
    uint64_t behind = function->start + (uint64_t)function->length;
    unsigned k;

    if (end > behind || n >= EPILOG_ROWS - arm64->epilog_rows) {
        return 0;
    }
    arm64->epilog_rows += n + 1;
    for (k = n; k > 0; k--) {
        if (cfi_correction_row(arm64->cfi,
                               start + 4 * (uint64_t)(n - k + 1)) != 0 ||
            arm64_write_frame(arm64, undone, k - 1, false) != 0 ||
            arm64_write_restored(arm64, &undone[k - 1]) != 0) {
            return -1;
        }
    }
    return end < behind && (cfi_correction_row(arm64->cfi, end) != 0 ||
                            arm64_write_frame(arm64, codes, count, true) != 0)
               ? -1
               : (int64_t)end;
}

/* Epilogs are sorted by where they begin; one that is not, or whose codes are
 * not there, ends it. */
static int correct_epilogs(struct unwind_arm64_reader *arm64,
                           const struct unwind_arm64_function *function,
                           const struct arm64_code *codes, unsigned count)
{
    uint64_t start, from = function->start + 4 * (uint64_t)count;
    struct arm64_code undone[CODES];
    struct unwind_arm64_function rest;
    uint32_t word;
    unsigned i, at, n;
    int64_t end = 1;

    for (i = 0; i < function->num_epilogs && end > 0; i++) {
        word = function->epilogs != NULL
                   ? le32(function->epilogs + 4 * (size_t)i)
                   : 0;
        at = function->epilogs != NULL ? word >> 22 : function->last_epilog;
        if (at >= function->size) {
            break;
        }
        rest.codes = function->codes + at;
        rest.size = function->size - at;
        n = arm64_read_codes(&rest, undone);
        arm64_resolve_codes(undone, n);
        start = function->epilogs != NULL
                    ? function->start + 4 * (uint64_t)(word & 0x3ffff)
                    : function->start + (uint64_t)function->length -
                          4 * ((uint64_t)n + 1);
        if (start < from) {
            break;
        }
        end = arm64_correct_epilog(arm64, function, codes, count, start,
                                   undone, n);
        from = (uint64_t)end;
    }
    return end < 0 ? -1 : 0;
}

/* Adds what is right: a row after each instruction of the prolog.  Those of
 * epilogs come after it. */
static int arm64_correct_function(struct unwind_arm64_reader *arm64,
                                  const struct unwind_arm64_function *function,
                                  const struct arm64_code *codes,
                                  unsigned count)
{
    unsigned i;
    struct unwind_arm64_frame frame = {0};

    if (function->is_fragment) {
        return correct_fragment(arm64, function, codes, count);
    }
    if (cfi_correction(arm64->cfi, function->start, function->length) != 0 ||
        arm64_write_cfa(arm64, &frame) != 0 ||
        cfi_rule(arm64->cfi, &cfi_ra, &arm64->general[1][LR], 0, CFI_BARE,
                 false) != 0) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        arm64_apply(&frame, &codes[i]);
        if (codes[i].effect == NONE) {
            continue;
        }
        if (cfi_correction_row(arm64->cfi,
                               function->start + 4 * ((uint64_t)i + 1)) != 0 ||
            arm64_write_cfa(arm64, &frame) != 0 ||
            arm64_write_saves(arm64, 1, &codes[i], frame.stack) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Finds the codes of a function. */
static bool read_info(const struct unwind_arm64_reader *arm64,
                      struct unwind_arm64_function *function)
{
    uint32_t word, epilogs, words;
    uint64_t address = function->info;
    const uint8_t *p = pe_pdata_at(arm64->image, address, 4);

    if (p == NULL) {
        return false;
    }
    word = le32(p);
    function->length = (word & 0x3ffff) * 4;
    epilogs = word >> 22 & 31;
    words = word >> 27;
    address += 4;
    if (epilogs == 0 && words == 0) { /* their numbers have a word */
        p = pe_pdata_at(arm64->image, address, 4);
        if (p == NULL) {
            return false;
        }
        epilogs = le16(p);
        words = p[2];
        address += 4;
    }
    function->num_epilogs = 1;
    function->last_epilog = epilogs;
    function->epilogs = NULL;
    if ((word >> 21 & 1) == 0) {
        function->num_epilogs = epilogs;
        function->epilogs =
            pe_pdata_at(arm64->image, address, (size_t)epilogs * 4);
        if (function->epilogs == NULL) {
            function->num_epilogs = 0;
        }
        address += (uint64_t)epilogs * 4;
    }
    function->size = words * 4;
    function->codes = pe_pdata_at(arm64->image, address, function->size);
    return function->codes != NULL && (word >> 18 & 3) == 0; /* the version */
}

static int arm64_take_function(struct unwind_arm64_reader *arm64,
                               struct unwind_arm64_function *function)
{
    unsigned count;
    struct arm64_code codes[CODES];

    if (!read_info(arm64, function)) {
        return failure_set(arm64->failure, FAILURE_DAMAGED,
                           "is damaged: bad unwind information (function at "
                           "0x%lx)",
                           (unsigned long)function->start);
    }
    function->is_fragment = false;
    count = arm64_read_codes(function, codes);
    if (arm64_write_function(arm64, function, codes, count) != 0) {
        return -1;
    }
    arm64_resolve_codes(codes, count);
    return arm64_correct_function(arm64, function, codes, count) != 0
               ? -1
               : correct_epilogs(arm64, function, codes, count);
}

/* The epilog of a packed entry is at the end of the function. */
static int correct_packed_epilog(struct unwind_arm64_reader *arm64,
                                 const struct unwind_arm64_function *function,
                                 const struct arm64_code *codes,
                                 unsigned count)
{
    struct arm64_code undone[CODES_ARM64_PACKED];
    int n = codes_arm64_packed_epilog(function->info, codes, count, undone);
    uint32_t size = 4 * ((uint32_t)n + 1);

    if (n < 0 || function->length < 4 * count + size) {
        return 0;
    }
    return arm64_correct_epilog(arm64, function, codes, count,
                                function->start + (uint64_t)function->length -
                                    size,
                                undone, (unsigned)n) < 0
               ? -1
               : 0;
}

/* The library leaves them out. */
static int take_packed(struct unwind_arm64_reader *arm64,
                       struct unwind_arm64_function *function)
{
    struct arm64_code codes[CODES_ARM64_PACKED] = {0};
    int count = codes_arm64_unpack(function->info, codes);

    function->length = (function->info >> 2 & 0x7ff) * 4;
    function->is_fragment = (function->info & 3) == 2;
    if (count < 0) {
        return 0;
    }
    if (arm64_correct_function(arm64, function, codes, (unsigned)count) != 0) {
        return -1;
    }
    return function->is_fragment
               ? 0
               : correct_packed_epilog(arm64, function, codes,
                                       (unsigned)count);
}

static int open_registers(struct unwind_arm64_reader *arm64)
{
    unsigned set, i;
    char text[16];
    static const char *const dots[2] = {".", ""};

    for (set = 0; set < 2; set++) {
        snprintf(text, sizeof(text), "%ssp", dots[set]);
        if (cfi_register(arm64->cfi, text, &arm64->sp[set]) != 0) {
            return -1;
        }
        for (i = 0; i < REGISTERS; i++) {
            snprintf(text, sizeof(text), "%sx%u", dots[set], i);
            if (i >= 19 &&
                cfi_register(arm64->cfi, text, &arm64->general[set][i]) != 0) {
                return -1;
            }
        }
        for (i = 8; i < FLOATS; i++) {
            snprintf(text, sizeof(text), "%sd%u", dots[set], i);
            if (cfi_register(arm64->cfi, text, &arm64->floats[set][i]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int pe_unwind_arm64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure)
{
    int rc;
    uint32_t size, i;
    const uint8_t *p;
    struct unwind_arm64_function function;
    struct unwind_arm64_reader *arm64;

    rc = pe_pdata(image, &p, &size, failure);
    if (rc <= 0) {
        return rc;
    }
    arm64 = calloc(1, sizeof(*arm64));
    if (arm64 == NULL) {
        return failure_memory(failure);
    }
    arm64->image = image;
    arm64->cfi = cfi;
    arm64->failure = failure;
    rc = open_registers(arm64);
    for (i = 0; rc == 0 && i < size / FUNCTION; i++) {
        function.start = le32(p + (size_t)i * FUNCTION);
        function.info = le32(p + (size_t)i * FUNCTION + 4);
        if ((function.info & 3) != 0) {
            rc = (function.info & 3) != 3 ? take_packed(arm64, &function) : 0;
        } else if (function.info != 0) {
            rc = arm64_take_function(arm64, &function);
        }
    }
    free(arm64);
    return rc;
}
