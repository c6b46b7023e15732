/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a list of files of a Sentry.
 */
#include <stdlib.h>
#include <string.h>

#include "symcached/source/sentry_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sentry_lists *lists = sentry_lists_new();
    const struct sentry_list *list;
    char error[160] = "";
    size_t i;

    if (lists == NULL) {
        return 0;
    }
    list = sentry_lists_add(lists, "https://a.example/", (const char *)data,
                            size, error, sizeof(error));
    if (list == NULL && error[0] == '\0') {
        abort(); /* refused without a reason */
    }
    if (list != NULL && list->n > SENTRY_FILES_MAX) {
        abort();
    }
    for (i = 0; list != NULL && i < list->n; i++) {
        if (list->files[i].id[0] == '\0' || list->files[i].formats == 0 ||
            strlen(list->files[i].id) > SENTRY_ID_MAX) {
            abort();
        }
    }
    sentry_lists_free(lists);
    return 0;
}
