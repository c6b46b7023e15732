/*
 * Copyright (C) the ngx_symcache authors
 */
#include "enum.h"

#include <stddef.h>
#include <string.h>

static const struct {
    uint32_t number;
    const char *name;
} archs[] = {
    {0, "unknown"},         {101, "x86"},
    {199, "x86_unknown"},   {201, "x86_64"},
    {202, "x86_64h"},       {299, "x86_64_unknown"},
    {301, "arm"},           {302, "armv5"},
    {303, "armv6"},         {304, "armv6m"},
    {305, "armv7"},         {306, "armv7f"},
    {307, "armv7s"},        {308, "armv7k"},
    {309, "armv7m"},        {310, "armv7em"},
    {399, "arm_unknown"},   {401, "arm64"},
    {402, "arm64v8"},       {403, "arm64e"},
    {499, "arm64_unknown"}, {501, "ppc"},
    {601, "ppc64"},         {701, "mips"},
    {801, "mips64"},        {901, "arm64_32"},
    {902, "arm64_32_v8"},   {999, "arm64_32_unknown"},
    {1001, "wasm32"},
};

/* Old files number the architectures from 0 to 18; this maps them to the
 * numbers of today, which are grouped by processor family. */
static const uint16_t old_archs[] = {0,   101, 201, 202, 301, 302, 303,
                                     304, 305, 306, 307, 308, 309, 310,
                                     401, 402, 403, 501, 601};

static const char *const languages[] = {
    "unknown", "c",    "cpp",   "d",      "go",          "objc",
    "objcpp",  "rust", "swift", "csharp", "visualbasic", "fsharp"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static size_t find_arch(uint32_t stored)
{
    size_t i;

    if (stored < COUNT(old_archs)) {
        stored = old_archs[stored];
    }
    for (i = 0; i < COUNT(archs); i++) {
        if (archs[i].number == stored) {
            return i;
        }
    }
    return 0;
}

uint32_t symc_arch_number(uint32_t stored)
{
    return archs[find_arch(stored)].number;
}

const char *symc_arch_name(uint32_t stored)
{
    return archs[find_arch(stored)].name;
}

bool symc_arch_find(const char *name, uint32_t *number)
{
    size_t i;

    for (i = 0; i < COUNT(archs); i++) {
        if (strcmp(archs[i].name, name) == 0) {
            *number = archs[i].number;
            return true;
        }
    }
    return false;
}

const char *symc_language_name(uint32_t stored)
{
    return languages[stored < COUNT(languages) ? stored : 0];
}
