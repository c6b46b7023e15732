/*
 * Copyright (C) the ngx_symcache authors
 *
 * Parses the value of _NT_SYMBOL_PATH, such as
 * "srv*C:\cache*\\server\symbols;https://...", into a list of places in the
 * order in which a debugger asks them.
 *
 *   path    := element { ";" element }
 *   element := ("srv" | "symsrv*symsrv.dll") chain | "cache*" [store] | folder
 *   chain   := "*" [store] { "*" [store] }      at most ten stores
 *   store   := folder | URL | (nothing: the debugger's own folder)
 *
 * It does not access the file system or the configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SYMPATH_PLACES 64
#define SYMPATH_TEXT 1024

enum sympath_kind {
    SYMPATH_URL,   /* http or https */
    SYMPATH_STORE, /* folder with the layout of symstore */
    SYMPATH_FOLDER /* folder of PDBs, unless pingme.txt says otherwise */
};

struct sympath_place {
    enum sympath_kind kind;
    bool cache;              /* filled by a debugger, so it may be missing */
    char text[SYMPATH_TEXT]; /* no blanks around it, no slashes at its end */
};

struct sympath {
    size_t n;
    struct sympath_place places[SYMPATH_PLACES]; /* without duplicates */
    char error[256];
};

/*
 * Parses a value.  %NAME% stands for an environment variable.  Returns 0, or -1
 * with the part that is not supported, and the reason, in path->error.
 */
int sympath_parse(struct sympath *path, const char *text);
