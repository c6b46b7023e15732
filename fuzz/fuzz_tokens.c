/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the list of tokens for uploads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct upload_token *token)
{
    if (strlen(token->token) < 16 || strpbrk(token->token, "- \t\r\n") ||
        token->user[0] == '\0' || strpbrk(token->user, " \t\r\n")) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct uploads_config uploads = {0};
    const char *wrong;
    unsigned line;
    size_t i;
    FILE *list = size > 0 ? fmemopen((void *)data, size, "r") : NULL;

    if (list == NULL) {
        return 0;
    }
    wrong = config_tokens_read(&uploads, list, &line);
    fclose(list);
    if (wrong != NULL && (wrong[0] == '\0' || line == 0)) {
        abort(); /* refused without a reason or a place */
    }
    for (i = 0; i < uploads.ntokens && wrong == NULL; i++) {
        check(&uploads.tokens[i]);
    }
    config_tokens_clear(&uploads);
    return 0;
}
