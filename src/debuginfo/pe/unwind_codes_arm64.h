/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind codes of Windows on ARM64, and those that an entry of .pdata stands
 * for, into which they are packed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CODES_ARM64_PACKED 24 /* codes of a packed entry at most */

#define REGISTERS 36 /* that codes can name */
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

struct arm64_code {
    enum effect effect;
    unsigned length; /* bytes */
    uint32_t size;
    uint32_t offset;
    bool grows; /* the stack, even by 0 */
    bool is_float;
    unsigned first;  /* register */
    unsigned second; /* or REGISTERS */
};

/* Reads the code at codes[at..size).  Returns false if it is cut off. */
bool codes_arm64_read(const uint8_t *codes, unsigned at, unsigned size,
                      struct arm64_code *code);

/* Makes the codes from the numbers of a packed entry, in the order in which
 * they are executed.  Returns how many, or -1 if the numbers are not valid. */
int codes_arm64_unpack(uint32_t word, struct arm64_code *codes);

/*
 * Makes those that the epilog of a packed entry undoes: the prolog's, but x29
 * needs no instruction, and parameters are not read back.  Returns how many,
 * or -1 where parameters are all that is saved: by Microsoft's documentation
 * an instruction gives back their room, and by the unwinder of .NET there is
 * none.
 */
int codes_arm64_packed_epilog(uint32_t word, const struct arm64_code *codes,
                              unsigned count, struct arm64_code *undone);
