/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a list of files of a Sentry, as a page and again as the next
 * one; and the link to a page.
 */
#include <stdlib.h>
#include <string.h>

#include "symcached/source/sentry_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_link(const uint8_t *data, size_t size)
{
    char cursor[SENTRY_CURSOR_MAX + 1] = "";
    char *link = strndup((const char *)data, size);

    if (link != NULL && sentry_list_next(link, cursor) &&
        strstr(link, cursor) == NULL) {
        abort();
    }
    free(link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sentry_file files[SENTRY_FILES_MAX];
    struct sentry_list list = {.files = files};
    struct sentry_lists *lists = sentry_lists_new();
    char error[160] = "";
    size_t i;

    if (lists == NULL) {
        return 0;
    }
    for (i = 0; i < 2; i++) {
        if (!sentry_list_read(&list, (const char *)data, size, error,
                              sizeof(error)) &&
            error[0] == '\0') {
            abort(); /* refused without a reason */
        }
    }
    if (list.n > SENTRY_FILES_MAX) {
        abort();
    }
    for (i = 0; i < list.n; i++) {
        if (list.files[i].id[0] == '\0' || list.files[i].formats == 0 ||
            strlen(list.files[i].id) > SENTRY_ID_MAX) {
            abort();
        }
    }
    sentry_lists_add(lists, "https://a.example/", &list);
    sentry_lists_free(lists);
    read_link(data, size);
    return 0;
}
