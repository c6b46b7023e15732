/*
 * Copyright (C) the ngx_symcache authors
 */
#include "original_format.h"

#include <stdbool.h>
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

#define BIT(format) (1u << (format))
#define PROGRAMS    (BIT(FORMAT_PE) | BIT(FORMAT_ELF) | BIT(FORMAT_MACHO))
#define DEBUG_FILES (PROGRAMS | BIT(FORMAT_PDB))

/* Of which formats the files of a kind are, or are made. */
static const unsigned formats_of[SYMCACHE_KINDS] = {
    [SYMCACHE_KIND_SYMCACHE] = DEBUG_FILES | BIT(FORMAT_BREAKPAD) |
                               BIT(FORMAT_WASM) | BIT(FORMAT_SYMBFILE),
    [SYMCACHE_KIND_PPDBCACHE] = BIT(FORMAT_PORTABLEPDB),
    [SYMCACHE_KIND_CFICACHE] = DEBUG_FILES | BIT(FORMAT_BREAKPAD),
    [SYMCACHE_KIND_BREAKPAD] = DEBUG_FILES,
    [SYMCACHE_KIND_CODECACHE] = PROGRAMS,
    [SYMCACHE_KIND_SOURCECACHE] =
        BIT(FORMAT_SOURCEBUNDLE) | BIT(FORMAT_PORTABLEPDB) | BIT(FORMAT_PDB),
    [SYMCACHE_KIND_PROGUARDCACHE] = BIT(FORMAT_PROGUARD),
    [SYMCACHE_KIND_JSCACHE] = BIT(FORMAT_ANY),
    [SYMCACHE_KIND_DEBUGINFO] = BIT(FORMAT_PDB) | BIT(FORMAT_PORTABLEPDB) |
                                BIT(FORMAT_ELF) | BIT(FORMAT_MACHO),
    [SYMCACHE_KIND_EXECUTABLE] = PROGRAMS,
    [SYMCACHE_KIND_SYM] = BIT(FORMAT_BREAKPAD),
    [SYMCACHE_KIND_CABINET] = DEBUG_FILES | BIT(FORMAT_PORTABLEPDB),
    [SYMCACHE_KIND_GZIP] = DEBUG_FILES | BIT(FORMAT_PORTABLEPDB),
    [SYMCACHE_KIND_SYMGZIP] = BIT(FORMAT_BREAKPAD),
    [SYMCACHE_KIND_SYMBFILE] = BIT(FORMAT_SYMBFILE),
    [SYMCACHE_KIND_SOURCEBUNDLE] = BIT(FORMAT_SOURCEBUNDLE),
    [SYMCACHE_KIND_MAPPING] = BIT(FORMAT_PROGUARD),
    [SYMCACHE_KIND_UUIDMAP] = BIT(FORMAT_UUIDMAP),
    [SYMCACHE_KIND_BCSYMBOLMAP] = BIT(FORMAT_BCSYMBOLMAP),
    [SYMCACHE_KIND_IL2CPP] = BIT(FORMAT_IL2CPP),
    [SYMCACHE_KIND_DWP] = BIT(FORMAT_DWP),
    [SYMCACHE_KIND_SOURCE] = BIT(FORMAT_ANY),
    [SYMCACHE_KIND_FILE] = BIT(FORMAT_ANY),
    [SYMCACHE_KIND_SECTION] = BIT(FORMAT_ANY) | BIT(FORMAT_ELF), /* of one */
};

static bool is_derived(symcache_kind_e kind)
{
    return symcache_kind(kind)->slots[0] != SYMCACHE_KINDS;
}

unsigned config_format_inputs(symcache_kind_e kind)
{
    return is_derived(kind) ? formats_of[kind] : 0;
}

unsigned config_format_originals(symcache_kind_e kind)
{
    return is_derived(kind) ? 0 : formats_of[kind];
}
