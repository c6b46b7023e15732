/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a _NT_SYMBOL_PATH.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/sympath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sympath path;
    char *text = malloc(size + 1);
    size_t i;

    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (sympath_parse(&path, text) != 0) {
        if (path.error[0] == '\0') {
            abort(); /* refused without a reason */
        }
        path.n = 0;
    } else if (path.n == 0 || path.n > SYMPATH_PLACES) {
        abort();
    }
    for (i = 0; i < path.n; i++) {
        if (path.places[i].text[0] == '\0' ||
            strpbrk(path.places[i].text, "\t\r\n")) {
            abort();
        }
    }
    free(text);
    return 0;
}
