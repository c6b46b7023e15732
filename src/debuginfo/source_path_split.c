/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_path_split.h"

#include <stdbool.h>

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

void source_path_split(const char *path, uint32_t size,
                       struct symc_text *directory, struct symc_text *name)
{
    uint32_t i, end;

    for (end = size; end > 0 && is_separator(path[end - 1]); end--) {
    }
    end = end == 0 ? size : end;
    for (i = end; i > 0 && !is_separator(path[i - 1]); i--) {
    }
    directory->data = path;
    directory->size = i == 0 ? 0 : i == 1 ? 1 : i - 1;
    name->data = path + i;
    name->size = end - i;
}
