/*
 * Copyright (C) the ngx_symcache authors
 */
#include "machine.h"

static const struct {
    uint16_t machine;
    uint16_t arch;
    uint32_t pointer_size;
} machines[] = {
    {0x014C, SYMC_ARCH_X86, 4},     {0x8664, SYMC_ARCH_AMD64, 8},
    {0x01C0, SYMC_ARCH_ARM, 4},     {0xAA64, SYMC_ARCH_ARM64, 8},
    {0x01F0, SYMC_ARCH_PPC, 4},     {0x0200, SYMC_ARCH_UNKNOWN, 8},
    {0x5064, SYMC_ARCH_UNKNOWN, 8}, {0x5128, SYMC_ARCH_UNKNOWN, 16},
};

int pdb_open_failed(enum msf_status status, const char *text,
                    struct failure *failure)
{
    static const enum failure_code codes[] = {
        FAILURE_NONE, FAILURE_NOT_PDB,   FAILURE_PORTABLE, FAILURE_PDB2,
        FAILURE_MSFZ, FAILURE_TRUNCATED, FAILURE_DAMAGED,  FAILURE_LIMIT};

    return failure_set(failure, codes[status], "%s", text);
}

uint32_t pdb_arch(uint32_t machine)
{
    size_t i;

    for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (machines[i].machine == machine) {
            return machines[i].arch;
        }
    }
    return SYMC_ARCH_UNKNOWN;
}

unsigned pdb_pointer_size(uint32_t machine)
{
    size_t i;

    for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (machines[i].machine == machine) {
            return machines[i].pointer_size;
        }
    }
    return 4;
}
