/*
 * Copyright (C) the ngx_symcache authors
 */
#include "secret_field.h"

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

/* Is a text JSON of an object?  Editors put a byte order mark before it. */
static bool is_object(const char *text)
{
    text += strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return text[strspn(text, " \t\r\n")] == '{';
}

/* Sets *key to the key in a text.  Returns NULL, or the fault as a
 * sentence. */
static const char *take_key(const char *text, char **key)
{
    cJSON *account;
    char *found;

    if (!is_object(text)) {
        *key = strdup(text);
        return *key != NULL ? NULL : "out of memory";
    }
    account = cJSON_Parse(text);
    found = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(account, "private_key"));
    *key = found != NULL ? strdup(found) : NULL;
    if (found != NULL) {
        explicit_bzero(found, strlen(found));
    }
    cJSON_Delete(account);
    return *key != NULL ? NULL
                        : "is JSON, but not of a service account with a "
                          "\"private_key\"";
}

int config_private_key(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at)
{
    char buf[SECRET_MAX + 1], error[1024], **secret = at;
    const char *wrong;
    int rc;

    if (!cJSON_IsString(item) || item->valuestring[0] == '\0') {
        (void)config_text(r, item, "\"@/etc/symcached/gcs-key\"");
        return -1;
    }
    rc = secret_expand_lines(item->valuestring, buf, sizeof(buf), error,
                             sizeof(error));
    if (rc != 0) {
        rc = config_error(r, item, "%s", error);
    } else {
        secret_free(*secret);
        wrong = take_key(buf, secret);
        rc = wrong == NULL ? 0 : config_error(r, item, "%s", wrong);
    }
    explicit_bzero(buf, sizeof(buf));
    return rc;
}
