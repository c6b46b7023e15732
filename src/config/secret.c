/*
 * Copyright (C) the ngx_symcache authors
 */
#include "secret.h"

#include <string.h>

static int read_secret(struct config_reader *r, const cJSON *item,
                       const char *example, bool is_token, char **secret)
{
    char buf[SECRET_MAX + 1], error[1024];
    const char *text = config_text(r, item, example);
    int rc;

    if (text == NULL) {
        return -1;
    }

    rc = secret_expand(text, buf, sizeof(buf), error, sizeof(error));
    if (rc != 0) {
        rc = config_error(r, item, "%s", error);
    } else if (is_token && !secret_is_token(buf)) {
        rc = config_error(r, item, "has characters other than letters, "
                                   "digits, \"-._~+/\", and \"=\" at its end");
    } else {
        secret_free(*secret);
        *secret = strdup(buf);
        if (*secret == NULL) {
            rc = config_error(r, item, "out of memory");
        }
    }

    explicit_bzero(buf, sizeof(buf));
    return rc;
}

int config_secret(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    return read_secret(r, item, "\"$TOKEN\" or \"@/etc/symcached/token\"",
                       false, at);
}

int config_token(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    return read_secret(r, item, "\"@/etc/symcached/listen.token\"", true, at);
}
