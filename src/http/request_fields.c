/*
 * Copyright (C) the ngx_symcache authors
 */

#include "request_fields.h"

#include <string.h>
#include <strings.h>

const char *request_header(struct evhttp_request *req, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(req), name);
}

const char *request_credentials(struct evhttp_request *req, const char *scheme)
{
    const char *value = request_header(req, "Authorization");
    size_t len = strlen(scheme);

    if (value == NULL || strncasecmp(value, scheme, len) != 0 ||
        value[len] != ' ') {
        return NULL;
    }
    value += len;
    return value + strspn(value, " ");
}

static int field_base64_digit(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at;

    c = c == '-' ? '+' : c == '_' ? '/' : c;
    at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

char *request_pair(struct evhttp_request *req, const char *scheme,
                   char pair[REQUEST_PAIR_MAX])
{
    const char *text = request_credentials(req, scheme);
    unsigned bits = 0, n = 0;
    size_t len = 0;
    char *colon;
    int digit;

    if (text == NULL || strlen(text) >= REQUEST_PAIR_MAX) {
        return NULL;
    }
    for (; (digit = field_base64_digit(*text)) >= 0; text++) {
        bits = bits << 6 | (unsigned)digit;
        n += 6;
        if (n >= 8) {
            n -= 8;
            pair[len++] = (char)(bits >> n);
        }
    }
    pair[len] = '\0';
    colon = strchr(pair, ':');
    if (text[strspn(text, "=")] != '\0' || strlen(pair) != len ||
        colon == NULL) {
        return NULL;
    }
    *colon = '\0';
    return colon + 1;
}
