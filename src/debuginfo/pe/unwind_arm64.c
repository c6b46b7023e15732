/*
 * Copyright (C) the ngx_symcache authors
 *
 * The "symbolic" library writes records that no reader can use: it takes the
 * address of the codes for the length of a function, and names registers with
 * a dot.  They are written all the same, as the text has to be the library's,
 * and what is right is added as corrections.
 */
#include "unwind_arm64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "pdata.h"

#define FUNCTION 8 /* bytes: start, and where the codes are */
#define CODES 1024 /* bytes of codes at most: 255 words */
#define PACKED_CODES 24
#define EPILOG_ROWS (1u << 22) /* more are left out */
#define REGISTERS 36           /* that codes can name */
#define FLOATS 17
#define FP 29
#define LR 30

/* The effect of a code. */
enum effect {
    NONE,
    ALLOCATE,  /* the stack grows by size */
    SAVE,      /* registers are saved at offset, after it grew by size */
    SAVE_NEXT, /* as the code before it, the next pair after that */
    SET_FRAME, /* x29 is the stack pointer plus offset */
    END
};

struct code {
    enum effect effect;
    unsigned length; /* bytes */
    uint32_t size;
    uint32_t offset;
    bool grows; /* the stack, even by 0 */
    bool is_float;
    unsigned first;  /* register */
    unsigned second; /* or REGISTERS */
};

struct reader {
    const struct pe_image *image;
    struct cfi *cfi;
    struct failure *failure;
    struct cfi_register cfa;
    struct cfi_register ra;
    uint32_t epilog_rows; /* of all functions */
    /* as the library names them, and as they are called */
    struct cfi_register sp[2];
    struct cfi_register general[2][REGISTERS];
    struct cfi_register floats[2][FLOATS];
};

struct function {
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
struct frame {
    int64_t stack; /* bytes */
    bool is_set;   /* x29 is the CFA less base */
    int64_t base;
};

static void set_pair(struct code *code, uint32_t growth, uint32_t offset,
                     unsigned first, unsigned second)
{
    code->effect = SAVE;
    code->grows = growth > 0;
    code->size = growth;
    code->offset = offset;
    code->first = first;
    code->second = second;
}

/* Reads a code of two bytes: 110..... */
static void read_wide(const uint8_t *p, struct code *code)
{
    unsigned word = (unsigned)p[0] << 8 | p[1], x = word >> 6 & 15;
    unsigned z = (word & 63) * 8, none = REGISTERS;

    code->length = 2;
    switch (p[0] >> 2 & 7) {
    case 0:
    case 1: /* 11000: alloc_m */
        code->effect = ALLOCATE;
        code->size = (word & 0x7ff) * 16;
        break;
    case 2: /* save_regp */
        set_pair(code, 0, z, 19 + x, 20 + x);
        break;
    case 3: /* save_regp_x */
        set_pair(code, z + 8, 0, 19 + x, 20 + x);
        break;
    case 4: /* save_reg */
        set_pair(code, 0, z, 19 + x, none);
        break;
    case 5: /* save_reg_x, save_lrpair */
        if ((p[0] & 2) == 0) {
            set_pair(code, (word & 31) * 8 + 8, 0, 19 + (word >> 5 & 15),
                     none);
        } else {
            set_pair(code, 0, z, 19 + 2 * (x & 7), LR);
        }
        break;
    case 6: /* save_fregp, save_fregp_x */
        code->is_float = true;
        x &= 7;
        set_pair(code, (p[0] & 2) != 0 ? z + 8 : 0, (p[0] & 2) != 0 ? 0 : z,
                 8 + x, 9 + x);
        break;
    default: /* save_freg, save_freg_x; others are of SVE */
        code->is_float = true;
        if ((p[0] & 2) == 0) {
            set_pair(code, 0, z, 8 + (x & 7), none);
        } else if (p[0] == 0xDE) {
            set_pair(code, (word & 31) * 8 + 8, 0, 8 + (word >> 5 & 7), none);
        } else {
            code->effect = NONE;
        }
        break;
    }
}

/* Reads the code at codes[at..size).  Returns false if it is cut off. */
static bool read_code(const uint8_t *codes, unsigned at, unsigned size,
                      struct code *code)
{
    const uint8_t *p = codes + at;
    static const uint8_t lengths[32] = {4, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1,
                                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                        1, 1, 2, 3, 4, 5, 1, 1, 1, 1};

    memset(code, 0, sizeof(*code));
    code->length = p[0] >= 0xE0 ? lengths[p[0] - 0xE0] : p[0] >= 0xC0 ? 2 : 1;
    if (code->length > size - at) {
        return false;
    }
    if (p[0] < 0x20) {
        code->effect = ALLOCATE;
        code->size = (uint32_t)p[0] * 16;
    } else if (p[0] < 0x40) {
        set_pair(code, (uint32_t)(p[0] & 31) * 8, 0, 19, 20);
        code->grows = true;
    } else if (p[0] < 0x80) {
        set_pair(code, 0, (uint32_t)(p[0] & 63) * 8, FP, LR);
    } else if (p[0] < 0xC0) {
        set_pair(code, (uint32_t)(p[0] & 63) * 8 + 8, 0, FP, LR);
    } else if (p[0] < 0xE0) {
        read_wide(p, code);
    } else if (p[0] == 0xE0) {
        code->effect = ALLOCATE;
        code->size = ((uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]) * 16;
    } else if (p[0] == 0xE1 || p[0] == 0xE2) {
        code->effect = SET_FRAME;
        code->offset = p[0] == 0xE1 ? 0 : (uint32_t)p[1] * 8;
    } else if (p[0] == 0xE6) {
        code->effect = SAVE_NEXT;
    } else if (p[0] == 0xE4 || p[0] == 0xE5) {
        code->effect = END;
    }
    return true;
}

/* Says where a register is saved, so far from the CFA. */
static int write_saved(struct reader *r, unsigned set, const struct code *code,
                       unsigned number, int64_t offset)
{
    const struct cfi_register *reg;

    if (number >= (code->is_float ? FLOATS : REGISTERS)) {
        return 0;
    }
    reg = code->is_float ? &r->floats[set][number] : &r->general[set][number];
    return cfi_rule(r->cfi, reg, &r->cfa, offset, CFI_PLUS, true);
}

/* The library does not see that LR is saved alone. */
static bool saves_return_address(const struct code *code, unsigned set)
{
    return code->effect == SAVE && !code->is_float &&
           (code->second == LR || (set == 1 && code->first == LR));
}

static int write_saves(struct reader *r, unsigned set, const struct code *code,
                       int64_t stack)
{
    int64_t offset = (int64_t)code->offset - stack;

    if (code->effect != SAVE) {
        return 0;
    }
    if (write_saved(r, set, code, code->first, offset) != 0 ||
        write_saved(r, set, code, code->second, offset + 8) != 0) {
        return -1;
    }
    if (code->second == LR) {
        offset += 8;
    }
    return saves_return_address(code, set)
               ? cfi_rule(r->cfi, &r->ra, &r->cfa, offset, CFI_PLUS, true)
               : 0;
}

/* Reads all codes up to the end, in the order in which they are executed. */
static unsigned read_codes(const struct function *f, struct code *codes)
{
    unsigned at, i, count = 0;
    struct code swapped;

    for (at = 0; at < f->size; at += codes[count++].length) {
        if (!read_code(f->codes, at, f->size, &codes[count]) ||
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
static int write_function(struct reader *r, const struct function *f,
                          const struct code *codes, unsigned count)
{
    int rc = 0;
    bool has_cfa;
    unsigned i;
    int64_t stack = 0;
    const struct code *code;

    for (i = 0; i < count && rc == 0; i++) {
        code = &codes[i];
        stack += code->size;
        rc = i == 0 ? cfi_range(r->cfi, f->start, f->info & 0x1ffc)
                    : cfi_row(r->cfi, "STACK CFI      ",
                              f->start + 4 * (uint64_t)i);
        has_cfa = code->effect != SAVE || code->grows;
        if (rc == 0 && has_cfa) {
            rc = cfi_rule(r->cfi, &r->cfa, &r->sp[0], stack, CFI_PLUS, false);
        }
        if (rc == 0) {
            rc = write_saves(r, 0, code, stack);
        }
        if (rc == 0 && i == 0 && !has_cfa) {
            rc = cfi_rule(r->cfi, &r->cfa, &r->sp[0], 0, CFI_BARE, false);
        }
        if (rc == 0 && i == 0 && !saves_return_address(code, 0)) {
            rc = cfi_rule(r->cfi, &r->ra, &r->general[0][LR], 0, CFI_BARE,
                          false);
        }
    }
    return rc;
}

/* What follows from the codes before. */
static void resolve_codes(struct code *codes, unsigned count)
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

static void apply(struct frame *frame, const struct code *code)
{
    frame->stack += code->size;
    if (code->effect == SET_FRAME) {
        frame->is_set = true;
        frame->base = frame->stack - (int64_t)code->offset;
    }
}

static int write_cfa(struct reader *r, const struct frame *frame)
{
    return cfi_rule(
        r->cfi, &r->cfa, frame->is_set ? &r->general[1][FP] : &r->sp[1],
        frame->is_set ? frame->base : frame->stack, CFI_PLUS, false);
}

/* Adds what is right of a part without a prolog: that of the function has been
 * executed. */
static int correct_fragment(struct reader *r, const struct function *f,
                            const struct code *codes, unsigned count)
{
    unsigned i;
    bool has_ra = false;
    struct frame frame = {0}, last = {0};

    for (i = 0; i < count; i++) {
        apply(&last, &codes[i]);
        has_ra = has_ra || saves_return_address(&codes[i], 1);
    }
    if (cfi_correction(r->cfi, f->start, f->length) != 0 ||
        write_cfa(r, &last) != 0 ||
        (!has_ra && cfi_rule(r->cfi, &r->ra, &r->general[1][LR], 0, CFI_BARE,
                             false) != 0)) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        apply(&frame, &codes[i]);
        if (write_saves(r, 1, &codes[i], frame.stack) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Says that a code is undone: its registers are what they were. */
static int write_restored(struct reader *r, const struct code *code)
{
    const struct cfi_register *reg;
    unsigned i, numbers[2] = {code->first, code->second};

    for (i = 0; i < 2 && code->effect == SAVE; i++) {
        if (numbers[i] < (code->is_float ? FLOATS : REGISTERS)) {
            reg = code->is_float ? &r->floats[1][numbers[i]]
                                 : &r->general[1][numbers[i]];
            if (cfi_rule(r->cfi, reg, reg, 0, CFI_BARE, false) != 0) {
                return -1;
            }
        }
    }
    return saves_return_address(code, 1)
               ? cfi_rule(r->cfi, &r->ra, &r->general[1][LR], 0, CFI_BARE,
                          false)
               : 0;
}

/* Writes what so many codes have done, and where they have saved registers. */
static int write_frame(struct reader *r, const struct code *codes,
                       unsigned count, bool has_saves)
{
    struct frame frame = {0}, last = {0};
    unsigned i;

    for (i = 0; i < count; i++) {
        apply(&last, &codes[i]);
    }
    if (write_cfa(r, &last) != 0) {
        return -1;
    }
    for (i = 0; i < count && has_saves; i++) {
        apply(&frame, &codes[i]);
        if (write_saves(r, 1, &codes[i], frame.stack) != 0) {
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
static int64_t correct_epilog(struct reader *r, const struct function *f,
                              const struct code *codes, unsigned count,
                              uint64_t start, const struct code *undone,
                              unsigned n)
{
    uint64_t end = start + 4 * ((uint64_t)n + 1);
    uint64_t behind = f->start + (uint64_t)f->length;
    unsigned k;

    if (end > behind || n >= EPILOG_ROWS - r->epilog_rows) {
        return 0;
    }
    r->epilog_rows += n + 1;
    for (k = n; k > 0; k--) {
        if (cfi_correction_row(r->cfi, start + 4 * (uint64_t)(n - k + 1)) !=
                0 ||
            write_frame(r, undone, k - 1, false) != 0 ||
            write_restored(r, &undone[k - 1]) != 0) {
            return -1;
        }
    }
    return end < behind && (cfi_correction_row(r->cfi, end) != 0 ||
                            write_frame(r, codes, count, true) != 0)
               ? -1
               : (int64_t)end;
}

/* Epilogs are sorted by where they begin; one that is not, or whose codes are
 * not there, ends it. */
static int correct_epilogs(struct reader *r, const struct function *f,
                           const struct code *codes, unsigned count)
{
    uint64_t start, from = f->start + 4 * (uint64_t)count;
    struct code undone[CODES];
    struct function rest;
    uint32_t word;
    unsigned i, at, n;
    int64_t end = 1;

    for (i = 0; i < f->num_epilogs && end > 0; i++) {
        word = f->epilogs != NULL ? le32(f->epilogs + 4 * (size_t)i) : 0;
        at = f->epilogs != NULL ? word >> 22 : f->last_epilog;
        if (at >= f->size) {
            break;
        }
        rest.codes = f->codes + at;
        rest.size = f->size - at;
        n = read_codes(&rest, undone);
        resolve_codes(undone, n);
        start = f->epilogs != NULL
                    ? f->start + 4 * (uint64_t)(word & 0x3ffff)
                    : f->start + (uint64_t)f->length - 4 * ((uint64_t)n + 1);
        if (start < from) {
            break;
        }
        end = correct_epilog(r, f, codes, count, start, undone, n);
        from = (uint64_t)end;
    }
    return end < 0 ? -1 : 0;
}

/* Adds what is right: a row after each instruction of the prolog. */
static int correct_function(struct reader *r, const struct function *f,
                            const struct code *codes, unsigned count)
{
    unsigned i;
    struct frame frame = {0};

    if (f->is_fragment) {
        return correct_fragment(r, f, codes, count);
    }
    if (cfi_correction(r->cfi, f->start, f->length) != 0 ||
        write_cfa(r, &frame) != 0 ||
        cfi_rule(r->cfi, &r->ra, &r->general[1][LR], 0, CFI_BARE, false) !=
            0) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        apply(&frame, &codes[i]);
        if (codes[i].effect == NONE) {
            continue;
        }
        if (cfi_correction_row(r->cfi, f->start + 4 * ((uint64_t)i + 1)) !=
                0 ||
            write_cfa(r, &frame) != 0 ||
            write_saves(r, 1, &codes[i], frame.stack) != 0) {
            return -1;
        }
    }
    return correct_epilogs(r, f, codes, count);
}

/* Finds the codes of a function. */
static bool read_info(const struct reader *r, struct function *f)
{
    uint32_t word, epilogs, words;
    uint64_t address = f->info;
    const uint8_t *p = pe_pdata_at(r->image, address, 4);

    if (p == NULL) {
        return false;
    }
    word = le32(p);
    f->length = (word & 0x3ffff) * 4;
    epilogs = word >> 22 & 31;
    words = word >> 27;
    address += 4;
    if (epilogs == 0 && words == 0) { /* their numbers have a word */
        p = pe_pdata_at(r->image, address, 4);
        if (p == NULL) {
            return false;
        }
        epilogs = le16(p);
        words = p[2];
        address += 4;
    }
    f->num_epilogs = 1;
    f->last_epilog = epilogs;
    f->epilogs = NULL;
    if ((word >> 21 & 1) == 0) {
        f->num_epilogs = epilogs;
        f->epilogs = pe_pdata_at(r->image, address, (size_t)epilogs * 4);
        if (f->epilogs == NULL) {
            f->num_epilogs = 0;
        }
        address += (uint64_t)epilogs * 4;
    }
    f->size = words * 4;
    f->codes = pe_pdata_at(r->image, address, f->size);
    return f->codes != NULL && (word >> 18 & 3) == 0; /* the version */
}

static int take_function(struct reader *r, struct function *f)
{
    unsigned count;
    struct code codes[CODES];

    if (!read_info(r, f)) {
        return failure_set(r->failure, FAILURE_DAMAGED,
                           "is damaged: bad unwind information (function at "
                           "0x%lx)",
                           (unsigned long)f->start);
    }
    f->is_fragment = false;
    count = read_codes(f, codes);
    if (write_function(r, f, codes, count) != 0) {
        return -1;
    }
    resolve_codes(codes, count);
    return correct_function(r, f, codes, count);
}

/* Adds the code that makes room, or those of two instructions, as one cannot
 * make more than 4080 bytes.  Returns how many there are now. */
static unsigned add_allocation(struct code *codes, unsigned n, uint32_t size)
{
    if (size > 4080) {
        codes[n].effect = ALLOCATE;
        codes[n++].size = 4080;
        size -= 4080;
    }
    codes[n].effect = ALLOCATE;
    codes[n++].size = size;
    return n;
}

/*
 * Adds the codes of registers that a packed entry has saved.  The first
 * instruction makes room for all of them.
 */
static unsigned add_saves(struct code *codes, unsigned n, uint32_t word,
                          uint32_t room)
{
    unsigned i, general = word >> 16 & 15, floats = word >> 13 & 7;
    bool has_lr = (word >> 21 & 3) == 1, has_homes = (word >> 20 & 1) != 0;
    uint32_t floats_at = (general + has_lr) * 8;

    for (i = 0; i < general; i += 2, room = 0) {
        if (i + 1 == general && has_lr && i == 0) { /* there is no such code */
            n = add_allocation(codes, n, room);
            room = 0;
        }
        set_pair(&codes[n++], room, i * 8, 19 + i,
                 i + 1 < general ? 20 + i
                 : has_lr        ? LR
                                 : REGISTERS);
    }
    if (has_lr && general % 2 == 0) {
        set_pair(&codes[n++], room, general * 8, LR, REGISTERS);
        room = 0;
    }
    floats += floats > 0; /* one alone cannot be packed */
    for (i = 0; i < floats; i += 2, room = 0) {
        codes[n].is_float = true;
        set_pair(&codes[n++], room, floats_at + i * 8, 8 + i,
                 i + 1 < floats ? 9 + i : REGISTERS);
    }
    if (has_homes) { /* of x0 to x7, two each */
        codes[n].effect = room > 0 ? ALLOCATE : NONE;
        codes[n].size = room;
        n += 4;
    }
    return n;
}

/* Makes the codes from the numbers of a packed entry, in the order in which
 * they are executed.  Returns how many, or -1 if the numbers are not valid. */
static int unpack(uint32_t word, struct code *codes)
{
    unsigned n = 0, chain = word >> 21 & 3, floats = word >> 13 & 7;
    uint32_t size = (word >> 23) * 16;
    uint32_t saved = (word >> 16 & 15) * 8 + (chain == 1 ? 8 : 0) +
                     (floats > 0 ? floats * 8 + 8 : 0) +
                     ((word >> 20 & 1) != 0 ? 64 : 0);

    saved = (saved + 15) & ~15u;
    if (saved > size || (word >> 16 & 15) > 10) {
        return -1;
    }
    n += chain == 2; /* pacibsp */
    n = add_saves(codes, n, word, saved);
    size -= saved;
    if (chain < 2) {
        return (int)(size > 0 ? add_allocation(codes, n, size) : n);
    }
    if (size > 512) {
        n = add_allocation(codes, n, size);
        size = 0;
    }
    set_pair(&codes[n++], size, 0, FP, LR);
    codes[n++].effect = SET_FRAME;
    return (int)n;
}

/* The library leaves them out. */
static int take_packed(struct reader *r, struct function *f)
{
    struct code codes[PACKED_CODES] = {0};
    int count = unpack(f->info, codes);

    f->length = (f->info >> 2 & 0x7ff) * 4;
    f->is_fragment = (f->info & 3) == 2;
    f->num_epilogs = 0; /* where they are is not told */
    return count >= 0 ? correct_function(r, f, codes, (unsigned)count) : 0;
}

static int open_registers(struct reader *r)
{
    unsigned set, i;
    char text[16];
    static const char *const dots[2] = {".", ""};

    for (set = 0; set < 2; set++) {
        snprintf(text, sizeof(text), "%ssp", dots[set]);
        if (cfi_register(r->cfi, text, &r->sp[set]) != 0) {
            return -1;
        }
        for (i = 0; i < REGISTERS; i++) {
            snprintf(text, sizeof(text), "%sx%u", dots[set], i);
            if (i >= 19 &&
                cfi_register(r->cfi, text, &r->general[set][i]) != 0) {
                return -1;
            }
        }
        for (i = 8; i < FLOATS; i++) {
            snprintf(text, sizeof(text), "%sd%u", dots[set], i);
            if (cfi_register(r->cfi, text, &r->floats[set][i]) != 0) {
                return -1;
            }
        }
    }
    return cfi_register(r->cfi, ".cfa", &r->cfa) != 0
               ? -1
               : cfi_register(r->cfi, ".ra", &r->ra);
}

int pe_unwind_arm64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure)
{
    int rc;
    uint32_t size, i;
    const uint8_t *p;
    struct function f;
    struct reader *r;

    rc = pe_pdata(image, &p, &size, failure);
    if (rc <= 0) {
        return rc;
    }
    r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return failure_memory(failure);
    }
    r->image = image;
    r->cfi = cfi;
    r->failure = failure;
    rc = open_registers(r);
    for (i = 0; rc == 0 && i < size / FUNCTION; i++) {
        f.start = le32(p + (size_t)i * FUNCTION);
        f.info = le32(p + (size_t)i * FUNCTION + 4);
        if ((f.info & 3) != 0) {
            rc = (f.info & 3) != 3 ? take_packed(r, &f) : 0;
        } else if (f.info != 0) {
            rc = take_function(r, &f);
        }
    }
    free(r);
    return rc;
}
