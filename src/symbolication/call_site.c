/*
 * Copyright (C) the ngx_symcache authors
 */
#include "call_site.h"

#include "derived/symcache/symcache.h"

/* By the hundreds of the format's numbers, which are families. */
static const struct {
    uint8_t align; /* of instructions; MIPS has a delay slot, too */
    uint8_t back;
    const char *ip;
} families[] = {
    {1, 1, NULL},  /* unknown */
    {1, 1, "eip"}, /* x86 */
    {1, 1, "rip"}, /* x86_64 */
    {2, 2, "pc"},  /* arm */
    {4, 4, "pc"},  /* arm64 */
    {4, 4, NULL},  /* ppc */
    {4, 4, NULL},  /* ppc64 */
    {4, 8, NULL},  /* mips */
    {4, 8, NULL},  /* mips64 */
    {4, 4, "pc"},  /* arm64_32 */
    {4, 4, NULL},  /* wasm32 */
};

static size_t cpu_family(uint32_t arch)
{
    arch = symc_arch_number(arch) / 100;
    return arch < sizeof(families) / sizeof(families[0]) ? arch : 0;
}

static bool is_return_address(const struct call_site *site)
{
    if (site->wish != CALL_SITE_AUTOMATIC) {
        return site->wish == CALL_SITE_ADJUST;
    }
    if (site->has_wishes || site->index > 0) {
        return true;
    }
    return (site->signal == 4 || site->signal == 10 || site->signal == 11) &&
           site->has_ip && site->ip != site->address;
}

uint64_t call_site_address(const struct call_site *site, uint32_t arch)
{
    size_t f;
    uint64_t address;

    f = cpu_family(arch);
    address = site->address - site->address % families[f].align;
    if (is_return_address(site)) {
        address = address > families[f].back ? address - families[f].back : 0;
    }
    return address;
}

const char *call_site_ip_register(uint32_t arch)
{
    return families[cpu_family(arch)].ip;
}
