/*
 * Copyright (C) the ngx_symcache authors
 */
#include "proof.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child/child.h"

int proof_ask(const symcache_key_t *key, char text[PROOF_TEXT])
{
    int fd = memfd_create("proof", MFD_CLOEXEC);
    int n = snprintf(text, PROOF_TEXT, "%d:", CHILD_FD);

    symcache_id_print(text + n, key);
    return fd;
}

enum proof proof_read(int fd)
{
    /* as converter/check.h has them */
    static const char *const texts[] = {
        [PROOF_SOUND] = "sound\n",
        [PROOF_FULL] = "sound\nfull\n",
        [PROOF_PUBLICS] = "sound\npublics\n",
    };
    char text[64];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
    enum proof proof;

    text[n < 0 ? 0 : n] = '\0';
    for (proof = PROOF_PUBLICS; proof > PROOF_NONE; proof--) {
        if (strcmp(text, texts[proof]) == 0) {
            break;
        }
    }
    return proof;
}
