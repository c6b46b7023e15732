/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unwind_codes_arm64.h"

#include <string.h>

static void set_pair(struct arm64_code *code, uint32_t growth, uint32_t offset,
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
static void read_wide(const uint8_t *p, struct arm64_code *code)
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

bool codes_arm64_read(const uint8_t *codes, unsigned at, unsigned size,
                      struct arm64_code *code)
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

/* Adds the code that makes room, or those of two instructions, as one cannot
 * make more than 4080 bytes.  Returns how many there are now. */
static unsigned add_allocation(struct arm64_code *codes, unsigned n,
                               uint32_t size)
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
static unsigned add_saves(struct arm64_code *codes, unsigned n, uint32_t word,
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

int codes_arm64_unpack(uint32_t word, struct arm64_code *codes)
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

int codes_arm64_packed_epilog(uint32_t word, const struct arm64_code *codes,
                              unsigned count, struct arm64_code *undone)
{
    bool has_homes = (word >> 20 & 1) != 0;
    unsigned i;
    int n = 0;

    if (has_homes && (word >> 13 & 0x7f) == 0 && (word >> 21 & 3) != 1) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        if (codes[i].effect != SET_FRAME &&
            (i == 0 || codes[i].effect != NONE)) { /* 0: pacibsp */
            undone[n++] = codes[i];
        }
    }
    return n;
}
