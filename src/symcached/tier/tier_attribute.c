/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tier_attribute.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include "base/digest_attribute.h"

#define ATTRIBUTE "user.symcached.tier"
#define NOTE_MAX 32

void tier_attribute_write(const char *file, int64_t stored)
{
    char text[NOTE_MAX];
    int n = snprintf(text, sizeof(text), "%" PRId64, stored);
    bool sealed = digest_unseal_path(file);

    (void)lsetxattr(file, ATTRIBUTE, text, (size_t)n, 0);
    if (sealed) {
        digest_seal_path(file);
    }
}

int64_t tier_attribute_read(const char *file)
{
    char text[NOTE_MAX];
    ssize_t n = lgetxattr(file, ATTRIBUTE, text, sizeof(text) - 1);

    if (n <= 0) {
        return 0;
    }
    text[n] = '\0';
    return strtoll(text, NULL, 10);
}
