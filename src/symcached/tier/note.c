/*
 * Copyright (C) the ngx_symcache authors
 */
#include "note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include "base/digest.h"

#define ATTRIBUTE "user.symcached.tier"
#define NOTE_MAX 320

void tier_note_write(const char *file, int64_t stored, const char *etag)
{
    char text[NOTE_MAX];
    int n = snprintf(text, sizeof(text), "%" PRId64 " %.256s", stored, etag);
    bool sealed = digest_unseal_path(file);

    (void)lsetxattr(file, ATTRIBUTE, text, (size_t)n, 0);
    if (sealed) {
        digest_seal_path(file);
    }
}

bool tier_note_read(const char *file, int64_t *stored, char *etag,
                    size_t size)
{
    char text[NOTE_MAX];
    ssize_t n = lgetxattr(file, ATTRIBUTE, text, sizeof(text) - 1);
    int used = 0;

    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    if (sscanf(text, "%" SCNd64 " %n", stored, &used) != 1 || used == 0) {
        return false;
    }
    snprintf(etag, size, "%s", text + used);
    return true;
}
