/*
 * Copyright (C) the ngx_symcache authors
 */
#include "machine_id.h"

#include <sys/random.h>
#include <sys/xattr.h>
#include "base/hex.h"

static bool read_id(char id[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1],
                    const char *root)
{
    ssize_t n = getxattr(root, SYMCACHE_UPLOAD_MACHINE, id,
                         SYMCACHE_UPLOAD_MACHINE_DIGITS);

    id[n == SYMCACHE_UPLOAD_MACHINE_DIGITS ? n : 0] = '\0';
    return id[0] != '\0';
}

void machine_id(char id[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1], const char *root)
{
    unsigned char bytes[SYMCACHE_UPLOAD_MACHINE_DIGITS / 2];
    char made[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1];

    if (!read_id(id, root) &&
        getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes)) {
        hex_print(made, bytes, sizeof(bytes), HEX_LOWER);
        /* another process may do the same, and then one of both holds */
        (void)setxattr(root, SYMCACHE_UPLOAD_MACHINE, made,
                       SYMCACHE_UPLOAD_MACHINE_DIGITS, XATTR_CREATE);
        (void)read_id(id, root);
    }
}
