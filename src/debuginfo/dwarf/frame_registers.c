/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_registers.h"

#include <stdio.h>
#include <string.h>

/* Architectures of one family have the same hundreds in SymCaches. */
enum {
    FAMILY_UNKNOWN = 0,
    FAMILY_X86 = 1,
    FAMILY_AMD64 = 2,
    FAMILY_ARM = 3,
    FAMILY_ARM64 = 4,
    FAMILY_PPC = 5,
    FAMILY_PPC64 = 6,
    FAMILY_MIPS = 7,
    FAMILY_MIPS64 = 8,
    FAMILY_ARM64_32 = 9,
    FAMILY_WASM = 10
};

/* Registers with consecutive numbers: so many names that a number ends, from
 * `from` on, or, if count is 0, words. */
struct run {
    uint8_t families[2];
    uint8_t first;
    uint8_t count;
    uint8_t from;
    const char *names;
};

static const struct run runs[] = {
    {{FAMILY_X86}, 0, 0, 0,
     "$eax $ecx $edx $ebx $esp $ebp $esi $edi $eip $eflags $unused1"},
    {{FAMILY_X86}, 11, 8, 0, "$st"},
    {{FAMILY_X86}, 19, 0, 0, "$unused2 $unused3"},
    {{FAMILY_X86}, 21, 8, 0, "$xmm"},
    {{FAMILY_X86}, 29, 8, 0, "$mm"},
    {{FAMILY_X86}, 37, 0, 0,
     "$fcw $fsw $mxcsr $es $cs $ss $ds $fs $gs $unused4 $unused5 $tr $ldtr"},
    {{FAMILY_AMD64}, 0, 0, 0, "$rax $rdx $rcx $rbx $rsi $rdi $rbp $rsp"},
    {{FAMILY_AMD64}, 8, 8, 8, "$r"},
    {{FAMILY_AMD64}, 16, 0, 0, "$rip"},
    {{FAMILY_AMD64}, 17, 16, 0, "$xmm"},
    {{FAMILY_AMD64}, 33, 8, 0, "$st"},
    {{FAMILY_AMD64}, 41, 8, 0, "$mm"},
    {{FAMILY_AMD64}, 49, 0, 0,
     "$rflags $es $cs $ss $ds $fs $gs $unused1 $unused2 $fs.base $gs.base "
     "$unused3 $unused4 $tr $ldtr $mxcsr $fcw $fsw"},
    {{FAMILY_ARM}, 0, 13, 0, "r"},
    {{FAMILY_ARM}, 13, 0, 0, "sp lr pc"},
    {{FAMILY_ARM}, 16, 8, 0, "f"},
    {{FAMILY_ARM}, 24, 0, 0, "fps cpsr"},
    {{FAMILY_ARM}, 64, 32, 0, "s"},
    {{FAMILY_ARM}, 96, 8, 0, "f"},
    {{FAMILY_ARM64, FAMILY_ARM64_32}, 0, 31, 0, "x"},
    {{FAMILY_ARM64, FAMILY_ARM64_32}, 31, 0, 0, "sp"},
    {{FAMILY_ARM64, FAMILY_ARM64_32}, 64, 32, 0, "v"},
    {{FAMILY_MIPS, FAMILY_MIPS64}, 0, 0, 0, "$zero $at $v0 $v1"},
    {{FAMILY_MIPS, FAMILY_MIPS64}, 4, 4, 0, "$a"},
    {{FAMILY_MIPS, FAMILY_MIPS64}, 8, 8, 0, "$t"},
    {{FAMILY_MIPS, FAMILY_MIPS64}, 16, 8, 0, "$s"},
    {{FAMILY_MIPS, FAMILY_MIPS64}, 24, 0, 0,
     "$t8 $t9 $k0 $k1 $gp $sp $fp $ra $lo $hi $pc $f0"},
    {{FAMILY_MIPS, FAMILY_MIPS64}, 36, 30, 2, "$f"}, /* there is no $f1 */
    {{FAMILY_MIPS, FAMILY_MIPS64}, 66, 0, 0, "$fcsr $fir"},
    {{FAMILY_PPC, FAMILY_PPC64}, 0, 32, 0, "r"},
    {{FAMILY_PPC, FAMILY_PPC64}, 32, 32, 0, "f"},
    {{FAMILY_PPC, FAMILY_PPC64}, 65, 0, 0, "lr ctr"},
    {{FAMILY_PPC, FAMILY_PPC64}, 68, 8, 0, "cr"},
    {{FAMILY_PPC, FAMILY_PPC64}, 76, 0, 0, "xer"},
    {{FAMILY_PPC, FAMILY_PPC64}, 77, 32, 0, "vr"},
    {{FAMILY_PPC, FAMILY_PPC64}, 110, 0, 0, "vscr"},
    {{FAMILY_PPC, FAMILY_PPC64}, 114, 0, 0, "tfhar tfiar texasr"},
};

/* Writes the name of a register; "" if it has none. */
static void find_name(unsigned family, unsigned number, char *text, size_t size)
{
    size_t i;
    unsigned k;
    const char *p;
    const struct run *run;

    text[0] = '\0';
    if (family == FAMILY_UNKNOWN) {
        return; /* and no run has a second family of that number */
    }
    for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        run = &runs[i];
        if ((run->families[0] != family && run->families[1] != family) ||
            number < run->first) {
            continue;
        }
        k = number - run->first;
        if (k < run->count) {
            snprintf(text, size, "%s%u", run->names, run->from + k);
        } else if (run->count == 0) {
            for (p = run->names; k > 0 && (p = strchr(p, ' ')) != NULL; k--) {
                p++;
            }
            if (p != NULL) {
                snprintf(text, size, "%.*s", (int)strcspn(p, " "), p);
            }
        }
    }
}

void frame_registers_init(struct frame_registers *registers, uint32_t arch,
                          struct cfi *cfi)
{
    memset(registers, 0, sizeof(*registers));
    registers->cfi = cfi;
    registers->family = arch / 100;
}

uint8_t frame_registers_address_size(const struct frame_registers *registers)
{
    switch (registers->family) {
    case FAMILY_X86:
    case FAMILY_ARM:
    case FAMILY_PPC:
    case FAMILY_MIPS:
    case FAMILY_ARM64_32:
    case FAMILY_WASM:
        return 4;
    default:
        return 8;
    }
}

bool frame_registers_needs_ra(const struct frame_registers *registers)
{
    return registers->family >= FAMILY_ARM &&
           registers->family <= FAMILY_ARM64_32;
}

bool frame_registers_is_arm64(const struct frame_registers *registers)
{
    return registers->family == FAMILY_ARM64 ||
           registers->family == FAMILY_ARM64_32;
}

bool frame_registers_has_corrections(const struct frame_registers *registers)
{
    return registers->family == FAMILY_X86 ||
           registers->family == FAMILY_AMD64 ||
           registers->family == FAMILY_ARM64;
}

int frame_registers_find(struct frame_registers *registers, uint64_t number,
                         const struct cfi_register **found)
{
    char text[sizeof(cfi_cfa.text)];

    *found = NULL;
    if (number >= FRAME_REGISTERS) {
        return 0;
    }
    if (!registers->is_known[number]) {
        find_name(registers->family, (unsigned)number, text, sizeof(text));
        if (text[0] != '\0' && cfi_register(registers->cfi, text,
                                            &registers->known[number]) != 0) {
            return -1;
        }
        registers->is_known[number] = true;
    }
    if (registers->known[number].size > 0) {
        *found = &registers->known[number];
    }
    return 0;
}
