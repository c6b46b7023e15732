/*
 * Copyright (C) the ngx_symcache authors
 */
#include "secret_field.h"

#include <stdlib.h>
#include <string.h>

static int read_secret(struct config_reader *r, const cJSON *item,
                       const char *example, bool is_token, char **secret)
{
    char buf[SECRET_MAX + 1], error[1024];
    const char *text = field_text(r, item, example);
    int rc;

    if (text == NULL) {
        return -1;
    }

    rc = secret_expand(text, buf, sizeof(buf), error, sizeof(error));
    if (rc != 0) {
        rc = field_error(r, item, "%s", error);
    } else if (is_token && !secret_is_token(buf)) {
        rc = field_error(r, item,
                         "has characters other than letters, "
                         "digits, \"-._~+/\", and \"=\" at its end");
    } else {
        secret_free(*secret);
        *secret = strdup(buf);
        if (*secret == NULL) {
            rc = field_error(r, item, "out of memory");
        }
    }

    explicit_bzero(buf, sizeof(buf));
    return rc;
}

int field_secret(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    return read_secret(r, item, "\"$TOKEN\" or \"@/etc/symcached/token\"",
                       false, at);
}

int field_token(struct config_reader *r, const cJSON *item,
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

/* Sets *key to the key in the JSON of an account, and *email to whose it is;
 * NULL if they are not there. */
static void read_secret_account(const char *text, char **key, char **email)
{
    cJSON *account = cJSON_Parse(text);
    char *found = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(account, "private_key"));
    const char *whose = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(account, "client_email"));

    *key = found != NULL ? strdup(found) : NULL;
    *email = whose != NULL ? strdup(whose) : NULL;
    if (found != NULL) {
        explicit_bzero(found, strlen(found));
    }
    cJSON_Delete(account);
}

/* Sets *key to the key in a text.  Returns NULL, or the fault as a
 * sentence. */
static const char *take_secret_key(const char *text, char **key)
{
    char *email;

    if (!is_object(text)) {
        *key = strdup(text);
        return *key != NULL ? NULL : "out of memory";
    }
    read_secret_account(text, key, &email);
    free(email);
    return *key != NULL ? NULL
                        : "is JSON, but not of a service account with a "
                          "\"private_key\"";
}

int field_private_key(struct config_reader *r, const cJSON *item,
                      const struct config_field *field, void *at)
{
    char buf[SECRET_MAX + 1], error[1024], **secret = at;
    const char *wrong;
    int rc;

    if (!cJSON_IsString(item) || item->valuestring[0] == '\0') {
        (void)field_text(r, item, "\"@/etc/symcached/gcs-key\"");
        return -1;
    }
    rc = secret_expand_lines(item->valuestring, buf, sizeof(buf), error,
                             sizeof(error));
    if (rc != 0) {
        rc = field_error(r, item, "%s", error);
    } else {
        secret_free(*secret);
        wrong = take_secret_key(buf, secret);
        rc = wrong == NULL ? 0 : field_error(r, item, "%s", wrong);
    }
    explicit_bzero(buf, sizeof(buf));
    return rc;
}

char *field_private_key_account(const cJSON *item)
{
    char buf[SECRET_MAX + 1], error[1024], *email = NULL, *key;

    if (cJSON_IsString(item) &&
        secret_expand_lines(item->valuestring, buf, sizeof(buf), error,
                            sizeof(error)) == 0 &&
        is_object(buf)) {
        read_secret_account(buf, &key, &email);
        secret_free(key);
    }
    explicit_bzero(buf, sizeof(buf));
    return email;
}
