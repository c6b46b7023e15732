/*
 * Copyright (C) the ngx_symcache authors
 */
#include "original_format.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [FORMAT_PDB] = "pdb",
    [FORMAT_BREAKPAD] = "breakpad",
    [FORMAT_PE] = "pe",
    [FORMAT_ELF] = "elf",
    [FORMAT_MACHO] = "macho",
    [FORMAT_PORTABLEPDB] = "portablepdb",
    [FORMAT_WASM] = "wasm",
    [FORMAT_SYMBFILE] = "symbfile",
    [FORMAT_SOURCEBUNDLE] = "sourcebundle",
    [FORMAT_PROGUARD] = "proguard",
    [FORMAT_ANY] = "any",
    [FORMAT_UUIDMAP] = "uuidmap",
    [FORMAT_BCSYMBOLMAP] = "bcsymbolmap",
    [FORMAT_IL2CPP] = "il2cpp",
    [FORMAT_DWP] = "dwp",
};

_Static_assert(sizeof(names) / sizeof(names[0]) == FORMATS,
               "a format has no name");

const char *config_format_name(enum original_format format)
{
    return names[format];
}

int config_format_find(const char *name)
{
    int i;

    for (i = 0; i < FORMATS; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

void config_formats_print(char buf[CONFIG_FORMATS_TEXT], unsigned formats,
                          const char *between)
{
    size_t n = 0;
    int i;

    buf[0] = '\0';
    for (i = 0; i < FORMATS; i++) {
        if (formats & 1u << i) {
            n += (size_t)snprintf(buf + n, CONFIG_FORMATS_TEXT - n, "%s%s",
                                  n > 0 ? between : "", names[i]);
        }
    }
}

unsigned config_formats_parse(const char *text)
{
    char name[16];
    unsigned formats = 0;
    size_t len;
    int format;

    for (;; text += len + 1) {
        len = strcspn(text, ",");
        snprintf(name, sizeof(name), "%.*s", (int)len, text);
        format = config_format_find(name);
        if (format < 0) {
            return 0;
        }
        formats |= 1u << format;
        if (text[len] == '\0') {
            return formats;
        }
    }
}

unsigned config_format_inputs(symcache_kind_e kind)
{
    switch (kind) {
    case SYMCACHE_KIND_CFICACHE:
        return FORMATS_ALL &
               ~(1u << FORMAT_PORTABLEPDB | 1u << FORMAT_WASM |
                 1u << FORMAT_SYMBFILE | 1u << FORMAT_SOURCEBUNDLE |
                 1u << FORMAT_PROGUARD);
    case SYMCACHE_KIND_SYMCACHE:
        return FORMATS_ALL &
               ~(1u << FORMAT_PORTABLEPDB | 1u << FORMAT_SOURCEBUNDLE |
                 1u << FORMAT_PROGUARD);
    case SYMCACHE_KIND_BREAKPAD:
        return FORMATS_ALL &
               ~(1u << FORMAT_PORTABLEPDB | 1u << FORMAT_WASM |
                 1u << FORMAT_SYMBFILE | 1u << FORMAT_BREAKPAD |
                 1u << FORMAT_SOURCEBUNDLE | 1u << FORMAT_PROGUARD);
    case SYMCACHE_KIND_PPDBCACHE:
        return 1u << FORMAT_PORTABLEPDB;
    case SYMCACHE_KIND_CODECACHE:
        return 1u << FORMAT_PE | 1u << FORMAT_ELF | 1u << FORMAT_MACHO;
    case SYMCACHE_KIND_SOURCECACHE:
        return 1u << FORMAT_SOURCEBUNDLE | 1u << FORMAT_PORTABLEPDB |
               1u << FORMAT_PDB;
    case SYMCACHE_KIND_PROGUARDCACHE:
        return 1u << FORMAT_PROGUARD;
    case SYMCACHE_KIND_JSCACHE:
        return 1u << FORMAT_ANY;
    default:
        return 0;
    }
}

unsigned config_format_originals(symcache_kind_e kind)
{
    switch (kind) {
    case SYMCACHE_KIND_DEBUGINFO:
        return 1u << FORMAT_PDB | 1u << FORMAT_PORTABLEPDB |
               1u << FORMAT_ELF | 1u << FORMAT_MACHO;
    case SYMCACHE_KIND_EXECUTABLE:
        return 1u << FORMAT_PE | 1u << FORMAT_ELF | 1u << FORMAT_MACHO;
    case SYMCACHE_KIND_SYM:
        return 1u << FORMAT_BREAKPAD;
    case SYMCACHE_KIND_SYMBFILE:
        return 1u << FORMAT_SYMBFILE;
    case SYMCACHE_KIND_SOURCEBUNDLE:
        return 1u << FORMAT_SOURCEBUNDLE;
    case SYMCACHE_KIND_MAPPING:
        return 1u << FORMAT_PROGUARD;
    case SYMCACHE_KIND_UUIDMAP:
        return 1u << FORMAT_UUIDMAP;
    case SYMCACHE_KIND_BCSYMBOLMAP:
        return 1u << FORMAT_BCSYMBOLMAP;
    case SYMCACHE_KIND_IL2CPP:
        return 1u << FORMAT_IL2CPP;
    case SYMCACHE_KIND_DWP:
        return 1u << FORMAT_DWP;
    case SYMCACHE_KIND_SOURCE:
    case SYMCACHE_KIND_FILE:
        return 1u << FORMAT_ANY;
    case SYMCACHE_KIND_SECTION: /* itself, or of an ELF file */
        return 1u << FORMAT_ANY | 1u << FORMAT_ELF;
    default:
        return 0;
    }
}
