/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: messages of Pyroscope's DebuginfoService.  The first byte says
 * which one.
 */
#include <stdlib.h>
#include <string.h>

#include "symcached/server/pyroscope_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct pyroscope_file *file)
{
    char again[PYROSCOPE_BUILD_ID_MAX + 1];

    if (strlen(file->name) > SYMCACHE_NAME_MAX ||
        strchr(file->name, '/') != NULL || file->name[0] == '.' ||
        !pyroscope_build_id(again, file->build_id, strlen(file->build_id)) ||
        strcmp(again, file->build_id) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pyroscope_file file;
    const char *wrong;

    if (size == 0) {
        return 0;
    }
    wrong = (data[0] & 1) != 0
                ? pyroscope_read_json((const char *)data + 1, size - 1,
                                      (data[0] & 2) != 0, &file)
                : pyroscope_read_proto(data + 1, size - 1,
                                       (data[0] & 2) != 0, &file);
    if (wrong == NULL) {
        check(&file);
    }
    return 0;
}
