/*
 * Copyright (C) the ngx_symcache authors
 *
 * _NT_SYMBOL_PATH: "srv*C:\cache*\\server\symbols;https://..." as a list of
 * places in the order in which a debugger asks them.
 *
 *   path    := element { ";" element }
 *   element := ("srv" | "symsrv*symsrv.dll") chain | "cache*" [store] | folder
 *   chain   := "*" [store] { "*" [store] }      at most ten stores
 *   store   := folder | URL | (nothing: the debugger's own folder)
 *
 * Knows nothing of files and configurations.
 */
#ifndef CONFIG_SYMPATH_H
#define CONFIG_SYMPATH_H

#include <stdbool.h>
#include <stddef.h>

#define SYMPATH_PLACES 64
#define SYMPATH_TEXT 1024

enum sympath_kind {
    SYMPATH_URL,   /* http or https */
    SYMPATH_STORE, /* folder in the layout of symstore */
    SYMPATH_FOLDER /* folder of PDBs, unless pingme.txt says otherwise */
};

struct sympath_place {
    enum sympath_kind kind;
    bool cache;              /* a debugger fills it: may be missing */
    char text[SYMPATH_TEXT]; /* without blanks and slashes at its end */
};

struct sympath {
    size_t n;
    struct sympath_place places[SYMPATH_PLACES]; /* none twice */
    char error[256];
};

/*
 * Reads a value.  %NAME% stands for an environment variable.  Returns 0, or -1
 * and error says what cannot be expressed here, and where.
 */
int sympath_parse(struct sympath *path, const char *text);

#endif
