/*
 * Copyright (C) the ngx_symcache authors
 */
#include "short_reply.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "client.h"
#include "symcachectl/terminal/printable.h"

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
    reply->error[0] = '\0';
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reply->error);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    client_trust(curl);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
}

void short_reply_failure(const struct short_reply *reply, CURLcode code,
                         char *reason, size_t size)
{
    snprintf(reason, size, "%s",
             code == CURLE_URL_MALFORMAT
                 ? "--url is not a valid URL; a blank in one is %20"
             : reply->error[0] != '\0' ? reply->error
                                       : curl_easy_strerror(code));
}

/* The likely cause of a status that the web server itself answered. */
static const char *guess_reason(long status)
{
    return status >= 300 && status < 400
               ? "the server is at another address, which --url has to name"
           : status == 413 ? "larger than the web server takes"
           : status == 500 ? "the web server cannot take the file: its error "
                             "log says why"
           : status == 502 ? "the web server does not reach symcached: it is "
                             "not running, or does not let it connect"
           : status == 504 ? "symcached did not answer the web server in time"
           : status == 404 || status == 405
               ? "nothing at this address takes uploads: --url ends as the "
                 "location of nginx, such as /symbols, and its host is a "
                 "server_name there"
               : "no reason given";
}

void short_reply_reason(const struct short_reply *reply, long status,
                        char *reason, size_t size)
{
    cJSON *answer = cJSON_Parse(reply->text);
    const char *detail = printable_field(answer, "detail");

    if (detail[0] == '\0') {
        detail = printable_field(answer, "error");
    }
    snprintf(reason, size, "%s (HTTP %ld)",
             detail[0] != '\0' ? detail : guess_reason(status), status);
    cJSON_Delete(answer);
}

bool short_reply_is_stored(const struct short_reply *reply)
{
    static const char *const results[] = {"stored", "replaced", "same"};
    cJSON *answer = cJSON_Parse(reply->text);
    const char *result = printable_field(answer, "result");
    size_t i = 0;

    while (i < COUNT(results) && strcmp(result, results[i]) != 0) {
        i++;
    }
    cJSON_Delete(answer);
    return i < COUNT(results);
}

void short_reply_untold(const struct short_reply *reply, char *untold,
                        size_t size)
{
    cJSON *answer = cJSON_Parse(reply->text);

    snprintf(untold, size, "%s", printable_field(answer, "untold"));
    cJSON_Delete(answer);
}

bool short_reply_is_forbidden(const struct short_reply *reply)
{
    cJSON *answer = cJSON_Parse(reply->text);
    bool is = strcmp(printable_field(answer, "error"), "forbidden") == 0;

    cJSON_Delete(answer);
    return is;
}
