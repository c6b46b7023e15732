/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a page of the list of a bucket.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symcached/tier/bucket_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_listed(void *arg, const struct tier_listed *listed)
{
    if (listed->name[0] == '\0' ||
        strlen(listed->name) >= TIER_PAGE_TEXT) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tier_page page;
    char error[300];
    int fd = memfd_create("page", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    if ((tier_page_read(&page, fd, "p/", on_listed, NULL, error,
                        sizeof(error)) != 0) != (error[0] != '\0')) {
        abort(); /* refused without a reason, or the other way round */
    }
    close(fd);
    return 0;
}
