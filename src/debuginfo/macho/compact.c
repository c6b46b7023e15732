/*
 * Copyright (C) the ngx_symcache authors
 *
 * Each function is told how it saves registers by 32 bits, an encoding; entries
 * are in pages of two kinds.  What the encodings become is as in the "symbolic"
 * library.
 */
#include "compact.h"

#include <stdlib.h>

#include "base/byte_order.h"

#define HEADER 28
#define PAGE 12 /* bytes of an entry of the root */
#define REGULAR 2
#define COMPRESSED 3
#define MODE_DWARF_X86 4
#define MODE_DWARF_ARM64 3
#define SAVED 6 /* registers of x86 at most */

enum family { FAMILY_X86 = 1, FAMILY_AMD64 = 2, FAMILY_ARM64 = 4 };

struct compact_unwind_entry {
    uint32_t address;
    uint32_t encoding;
};

struct compact_unwind_reader {
    const struct compact *compact;
    struct cfi *cfi;
    unsigned family;
    unsigned word; /* bytes */
    uint64_t common; /* offset of common encodings */
    uint32_t num_common;
    struct cfi_register sp;
    struct cfi_register fp;
    struct cfi_register lr; /* of ARM64 */
    struct cfi_register saved[18]; /* as encodings number them, from 1 on; of
                                      ARM64 x19 to x28 and d8 to d15 */
};

static int damaged_unwind_info(struct compact_unwind_reader *compact,
                               uint64_t offset, const char *what)
{
    return failure_set(compact->cfi->failure, FAILURE_DAMAGED,
                       "is damaged: %s (__unwind_info, offset %llu)", what,
                       (unsigned long long)offset);
}

static const uint8_t *bytes_at(const struct compact_unwind_reader *compact,
                               uint64_t offset, uint64_t size)
{
    const struct dwarf_section *s = &compact->compact->section;

    return offset > s->size || size > s->size - offset ? NULL
                                                       : s->data + offset;
}

static uint32_t u16(const struct compact_unwind_reader *compact,
                    const uint8_t *p)
{
    return byte_order_16(p, compact->compact->is_big);
}

static uint32_t u32(const struct compact_unwind_reader *compact,
                    const uint8_t *p)
{
    return byte_order_32(p, compact->compact->is_big);
}

/* rules ------------------------------------------------------------------- */

/* Says that a register is saved so many words from the CFA. */
static int rule_saved(struct compact_unwind_reader *compact,
                      const struct cfi_register *reg, int64_t words)
{
    return cfi_rule(compact->cfi, reg, &cfi_cfa, words * (int)compact->word,
                    CFI_PLUS, true);
}

/* x86 with a frame pointer: which registers lie below it. */
static int write_compact_frame(struct compact_unwind_reader *compact,
                               uint32_t encoding)
{
    unsigned i, reg, offset = encoding >> 16 & 0xff;

    if (cfi_rule(compact->cfi, &cfi_cfa, &compact->fp, 2 * (int)compact->word,
                 CFI_PLUS, false) != 0 ||
        rule_saved(compact, &compact->fp, -2) != 0 ||
        rule_saved(compact, &cfi_ra, -1) != 0) {
        return -1;
    }
    for (i = 0; i < 5; i++) {
        reg = encoding >> (3 * i) & 7;
        if (reg >= 1 && reg <= SAVED &&
            rule_saved(compact, &compact->saved[reg - 1],
                       -(int64_t)(offset + 2 - i)) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Finds which registers a permutation of count of them stands for.  Its digits
 * number those that are left. */
static bool unpack_registers(unsigned count, uint32_t permutation,
                             unsigned *registers)
{
    unsigned i, k, digit, left;
    bool is_used[SAVED + 1] = {false};
    static const unsigned factors[SAVED + 1][SAVED] = {
        {0},
        {1},
        {5, 1},
        {20, 4, 1},
        {60, 12, 3, 1},
        {120, 24, 6, 2, 1},
        {120, 24, 6, 2, 1, 1}};

    for (i = 0; i < count; i++) {
        digit = permutation / factors[count][i];
        permutation %= factors[count][i];
        if (count == SAVED && i == SAVED - 1) {
            digit = 0; /* one register is left */
        }
        left = digit;
        for (k = 1; k <= SAVED; k++) {
            if (!is_used[k] && left-- == 0) {
                break;
            }
        }
        if (k > SAVED) {
            return false;
        }
        is_used[k] = true;
        registers[i] = k;
    }
    return true;
}

/* x86 without a frame pointer. */
static int write_frameless(struct compact_unwind_reader *compact,
                           uint32_t encoding)
{
    unsigned i, count = encoding >> 10 & 7, registers[SAVED];

    if (cfi_rule(compact->cfi, &cfi_cfa, &compact->sp,
                 (int64_t)(encoding >> 16 & 0xff) * compact->word, CFI_PLUS,
                 false) != 0 ||
        rule_saved(compact, &cfi_ra, -1) != 0) {
        return -1;
    }
    if (count > SAVED ||
        !unpack_registers(count, encoding & 0x3ff, registers)) {
        return 0;
    }
    for (i = 0; i < count; i++) {
        if (rule_saved(compact, &compact->saved[registers[count - 1 - i] - 1],
                       -2 - (int64_t)i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int write_arm64_frame(struct compact_unwind_reader *compact,
                             uint32_t encoding)
{
    unsigned i;
    int64_t at_word = -3;

    if (cfi_rule(compact->cfi, &cfi_cfa, &compact->fp, 16, CFI_PLUS, false) !=
            0 ||
        rule_saved(compact, &compact->fp, -2) != 0 ||
        rule_saved(compact, &cfi_ra, -1) != 0) {
        return -1;
    }
    for (i = 0; i < 9; i++) {
        if ((encoding >> i & 1) == 0) {
            continue;
        }
        if (rule_saved(compact, &compact->saved[2 * i], at_word) != 0 ||
            rule_saved(compact, &compact->saved[2 * i + 1], at_word - 1) !=
                0) {
            return -1;
        }
        at_word -= 2;
    }
    return 0;
}

/* Writes the rules of functions without an encoding: nothing is saved. */
static int write_leaf(struct compact_unwind_reader *compact)
{
    if (compact->family == FAMILY_ARM64) {
        return cfi_rule(compact->cfi, &cfi_cfa, &compact->sp, 0, CFI_BARE,
                        false) != 0
                   ? -1
                   : cfi_rule(compact->cfi, &cfi_ra, &compact->lr, 0, CFI_BARE,
                              false);
    }
    return cfi_rule(compact->cfi, &cfi_cfa, &compact->sp, 8, CFI_PLUS,
                    false) != 0
               ? -1
               : rule_saved(compact, &cfi_ra, -1);
}

static int write_rules(struct compact_unwind_reader *compact,
                       uint32_t encoding)
{
    unsigned mode = encoding >> 24 & 15;

    if (compact->family == FAMILY_ARM64) {
        if (mode == 4) {
            return write_arm64_frame(compact, encoding);
        }
        if (mode != 2) {
            return write_leaf(compact);
        }
        return cfi_rule(compact->cfi, &cfi_cfa, &compact->sp,
                        (int64_t)(encoding >> 12 & 0xfff) * 16, CFI_PLUS,
                        false) != 0
                   ? -1
                   : cfi_rule(compact->cfi, &cfi_ra, &compact->lr, 0, CFI_PLUS,
                              false);
    }
    return mode == 1   ? write_compact_frame(compact, encoding)
           : mode == 2 ? write_frameless(compact, encoding)
                       : write_leaf(compact);
}

/* Signal handlers return to _sigtramp, which has the registers of the
 * interrupted function in a structure that rbx leads to. */
static int write_trampoline(struct compact_unwind_reader *compact)
{
    static const char rules[] =
        "$rbx: $rbx 48 + ^ 24 + ^ $rbp: $rbx 48 + ^ 64 + ^ "
        "$r12: $rbx 48 + ^ 112 + ^ $r13: $rbx 48 + ^ 120 + ^ "
        "$r14: $rbx 48 + ^ 128 + ^ $r15: $rbx 48 + ^ 136 + ^ "
        ".cfa: $rbx 48 + ^ 72 + ^ .ra: $rbx 48 + ^ 144 + ^";

    return cfi_rules(compact->cfi, rules, sizeof(rules) - 1);
}

static int write_entry(struct compact_unwind_reader *compact,
                       const struct compact_unwind_entry *entry, uint64_t size)
{
    unsigned mode = entry->encoding >> 24 & 15;
    bool is_arm64 = compact->family == FAMILY_ARM64;

    if (size == 0) {
        return 0;
    }
    if (compact->family == FAMILY_AMD64 && compact->compact->trampoline != 0 &&
        entry->address == compact->compact->trampoline) {
        return cfi_range(compact->cfi, entry->address, size) != 0
                   ? -1
                   : write_trampoline(compact);
    }
    if (mode == (is_arm64 ? MODE_DWARF_ARM64 : MODE_DWARF_X86)) {
        return compact->compact->frames == NULL
                   ? 0
                   : dwarf_frames_read_at(compact->compact->frames,
                                          entry->encoding & 0xffffff);
    }
    if (compact->family == FAMILY_X86 && mode != 1 && mode != 2) {
        return 0;
    }
    return cfi_range(compact->cfi, entry->address, size) != 0
               ? -1
               : write_rules(compact, entry->encoding);
}

/* pages ------------------------------------------------------------------- */

/* Iterates over the entries of all pages. */
struct pages {
    uint64_t next; /* offset of the root's entry of the next page */
    uint32_t left; /* how many there are */
    uint32_t base; /* of this page: its first address */
    uint64_t page;
    uint32_t kind;
    uint64_t entries;
    uint32_t index;
    uint32_t count;
    uint64_t encodings;
    uint32_t num_encodings;
    bool is_at_end; /* the mark after the last page was read */
};

static int open_page(struct compact_unwind_reader *compact,
                     struct pages *pages)
{
    uint64_t offset;
    const uint8_t *p = bytes_at(compact, pages->next, PAGE);

    if (p == NULL) {
        return damaged_unwind_info(compact, pages->next, "bad list of pages");
    }
    pages->base = u32(compact, p);
    pages->page = u32(compact, p + 4);
    pages->next += PAGE;
    pages->left--;
    pages->index = pages->count = 0;
    if (pages->page == 0) {
        pages->is_at_end = true;
        return 0;
    }
    p = bytes_at(compact, pages->page, 8);
    pages->kind = p == NULL ? 0 : u32(compact, p);
    if (pages->kind != REGULAR && pages->kind != COMPRESSED) {
        return damaged_unwind_info(compact, pages->page, "bad page");
    }
    pages->entries = pages->page + u16(compact, p + 4);
    pages->count = u16(compact, p + 6);
    if (pages->kind == COMPRESSED) {
        offset = pages->page;
        p = bytes_at(compact, offset, 12);
        if (p == NULL) {
            return damaged_unwind_info(compact, offset, "bad page");
        }
        pages->encodings = offset + u16(compact, p + 8);
        pages->num_encodings = u16(compact, p + 10);
    }
    return 0;
}

static int read_compressed(struct compact_unwind_reader *compact,
                           const struct pages *pages, uint32_t word,
                           struct compact_unwind_entry *entry)
{
    uint32_t index = word >> 24;
    uint64_t offset;
    const uint8_t *p;

    entry->address = pages->base + (word & 0xffffff);
    if (index < compact->num_common) {
        offset = compact->common + (uint64_t)index * 4;
    } else if (index - compact->num_common < pages->num_encodings) {
        offset =
            pages->encodings + (uint64_t)(index - compact->num_common) * 4;
    } else {
        return damaged_unwind_info(compact, pages->page, "bad encoding");
    }
    p = bytes_at(compact, offset, 4);
    if (p == NULL) {
        return damaged_unwind_info(compact, offset, "bad encoding");
    }
    entry->encoding = u32(compact, p);
    return 0;
}

/* Reads the next entry.  Returns 1, 0 at the end, or -1. */
static int next_compact_entry(struct compact_unwind_reader *compact,
                              struct pages *pages,
                              struct compact_unwind_entry *entry)
{
    uint32_t size;
    const uint8_t *p;

    while (pages->index == pages->count) {
        if (pages->is_at_end || pages->left == 0) {
            return 0;
        }
        if (open_page(compact, pages) != 0) {
            return -1;
        }
        if (pages->is_at_end) {
            entry->address = pages->base;
            entry->encoding = 0;
            return 1;
        }
    }
    size = pages->kind == REGULAR ? 8 : 4;
    p = bytes_at(compact, pages->entries + (uint64_t)pages->index * size,
                 size);
    if (p == NULL) {
        return damaged_unwind_info(compact, pages->entries, "bad entry");
    }
    pages->index++;
    if (pages->kind == COMPRESSED) {
        return read_compressed(compact, pages, u32(compact, p), entry) != 0
                   ? -1
                   : 1;
    }
    entry->address = u32(compact, p);
    entry->encoding = u32(compact, p + 4);
    return 1;
}

static int read_pages(struct compact_unwind_reader *compact)
{
    int rc;
    struct pages pages = {0};
    struct compact_unwind_entry entry, next;
    const uint8_t *p = bytes_at(compact, 0, HEADER);

    if (p == NULL || u32(compact, p) != 1) {
        return damaged_unwind_info(compact, 0, "not of version 1");
    }
    compact->common = u32(compact, p + 4);
    compact->num_common = u32(compact, p + 8);
    pages.next = u32(compact, p + 20);
    pages.left = u32(compact, p + 24);
    rc = next_compact_entry(compact, &pages, &entry);
    while (rc > 0) {
        rc = next_compact_entry(compact, &pages, &next);
        if (rc <= 0) {
            break; /* the last one has no end */
        }
        if (next.address < entry.address) {
            return damaged_unwind_info(compact, pages.page,
                                       "addresses that descend");
        }
        if (write_entry(compact, &entry, next.address - entry.address) != 0) {
            return -1;
        }
        entry = next;
    }
    return rc;
}

static int open_compact_registers(struct compact_unwind_reader *compact)
{
    unsigned i;
    const char *const *names;
    static const char *const x86[] = {"$ebp", "$esp", "$ebx", "$ecx",
                                      "$edx", "$edi", "$esi", "$ebp"};
    static const char *const amd64[] = {"$rbp", "$rsp", "$rbx", "$r12",
                                        "$r13", "$r14", "$r15", "$rbp"};
    static const char *const arm64[] = {
        "x29", "sp",  "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
        "x27", "x28", "d8",  "d9",  "d10", "d11", "d12", "d13", "d14", "d15"};
    bool is_arm64 = compact->family == FAMILY_ARM64;

    names = is_arm64 ? arm64 : compact->family == FAMILY_X86 ? x86 : amd64;
    if (cfi_register(compact->cfi, names[0], &compact->fp) != 0 ||
        cfi_register(compact->cfi, names[1], &compact->sp) != 0 ||
        (is_arm64 && cfi_register(compact->cfi, "x30", &compact->lr) != 0)) {
        return -1;
    }
    for (i = 0; i < (is_arm64 ? 18 : SAVED); i++) {
        if (cfi_register(compact->cfi, names[2 + i], &compact->saved[i]) !=
            0) {
            return -1;
        }
    }
    return 0;
}

int compact_read(const struct compact *compact, struct cfi *cfi)
{
    int rc;
    struct compact_unwind_reader *r = calloc(1, sizeof(*r));

    if (r == NULL) {
        return failure_memory(cfi->failure);
    }
    r->compact = compact;
    r->cfi = cfi;
    r->family = compact->arch / 100;
    r->word = r->family == FAMILY_X86 ? 4 : 8;
    rc = open_compact_registers(r) != 0 ? -1 : read_pages(r);
    free(r);
    return rc;
}
