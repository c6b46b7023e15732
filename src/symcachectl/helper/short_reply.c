/*
 * Copyright (C) the ngx_symcache authors
 */
#include "short_reply.h"

#include <string.h>

#define CONNECT_SECONDS 30
#define STALL_SECONDS 600 /* of a server that stores what it has got */

static size_t on_write(char *data, size_t size, size_t n, void *reply)
{
    struct short_reply *r = reply;
    size_t room = sizeof(r->text) - 1 - r->len;
    size_t len = size * n < room ? size * n : room;

    memcpy(r->text + r->len, data, len);
    r->len += len;
    r->text[r->len] = '\0';
    return size * n;
}

void short_reply_begin(struct short_reply *reply, CURL *curl, const char *url,
                       struct curl_slist *headers)
{
    reply->len = 0;
    reply->text[0] = '\0';
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
}
