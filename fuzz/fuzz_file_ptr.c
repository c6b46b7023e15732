/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the content of file.ptr.  No text may lead to a path outside of
 * the mapped directory.
 */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "symcached/source/file_ptr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct map_config table[] = {
    {(char *)"\\\\srv\\sym", (char *)"/a"},
    {(char *)"X:\\", (char *)"/x"},
};

static void check_rel(const char *rel)
{
    size_t len;

    for (;;) {
        len = strcspn(rel, "/");
        if (len == 0 || memchr(rel, '\\', len) != NULL ||
            memchr(rel, ':', len) != NULL ||
            (rel[0] == '.' && (len == 1 || (len == 2 && rel[1] == '.')))) {
            abort();
        }
        if (rel[len] == '\0') {
            return;
        }
        rel += len + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[FILE_PTR_TEXT], rel[FILE_PTR_TEXT];
    const char *root = NULL;
    enum file_ptr_kind kind;
    size_t i;

    kind = file_ptr_parse(data, size, text);
    for (i = 0; text[i] != '\0'; i++) {
        if ((unsigned char)text[i] < ' ') {
            abort();
        }
    }

    if (kind == FILE_PTR_PATH &&
        config_map_location(table, 2, "/base", text, &root, rel) == NULL) {
        if (root == NULL) {
            abort();
        }
        check_rel(rel);
    }

    return 0;
}
