/*
 * Copyright (C) the ngx_symcache authors
 */
#include "origin.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "address.h"

#define ORIGIN_FILE "file://"

/* By libcurl's reader of URLs. */
static int parse_origin(char *buf, size_t size, const char *url)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    int n = -1;

    if (parts != NULL &&
        curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ==
            CURLUE_OK &&
        strncasecmp(scheme, "http", 4) == 0) {
        n = snprintf(buf, size, "%s://%s:%s", scheme, host, port);
    }

    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    if (n < 0 || (size_t)n >= size) {
        return -1;
    }

    for (; *buf != '\0'; buf++) {
        *buf = (char)tolower((unsigned char)*buf);
    }
    return 0;
}

/*
 * Does a URL have only characters, and no folders, that libcurl leaves as they
 * are?  Most that are fetched have.  *len gets the length of its start: up to
 * the first "/" of the path, which alone says the origin.
 */
static bool origin_is_simple(const char *url, size_t *len)
{
#define LETTERS                                                               \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    const char *host, *path;

    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return false;
    }
    host = strchr(url, '/') + 2;
    path = host + strspn(host, LETTERS ".-:");
    *len = (size_t)(path - url) + 1;
    return path > host && *path == '/' &&
           path[strspn(path, LETTERS "._-+/%")] == '\0' &&
           strstr(path, "/.") == NULL && strstr(path, "/%2") == NULL;
#undef LETTERS
}

/* Of the last simple URL: thousands in a row have the same origin. */
static _Thread_local struct {
    size_t len; /* 0: there was none */
    char start[ORIGIN_MAX];
    char origin[ORIGIN_MAX];
} last;

static bool origin_is_known(const char *url)
{
    size_t len;

    return origin_is_simple(url, &len) && len == last.len &&
           memcmp(url, last.start, len) == 0;
}

int origin_print(char *buf, size_t size, const char *url)
{
    size_t len;

    if (origin_is_known(url)) {
        len = strlen(last.origin);
        if (len >= size) {
            return -1;
        }
        memcpy(buf, last.origin, len + 1);
        return 0;
    }
    if (parse_origin(buf, size, url) != 0) {
        return -1;
    }
    if (origin_is_simple(url, &len) && len <= sizeof(last.start) &&
        strlen(buf) < sizeof(last.origin)) {
        last.len = len;
        memcpy(last.start, url, len);
        memcpy(last.origin, buf, strlen(buf) + 1);
    }
    return 0;
}

char *origin_directory(const char *path)
{
    char *origin;

    return asprintf(&origin, ORIGIN_FILE "%s", path) < 0 ? NULL : origin;
}

const char *origin_path(const char *origin)
{
    size_t len = strlen(ORIGIN_FILE);

    return strncmp(origin, ORIGIN_FILE, len) == 0 ? origin + len : NULL;
}

int origin_host(char *buf, size_t size, const char *url)
{
    char origin[ORIGIN_MAX], *host;
    size_t len;

    if (origin_print(origin, sizeof(origin), url) != 0) {
        return -1;
    }

    host = strstr(origin, "://") + 3;
    *strrchr(host, ':') = '\0';
    len = strlen(host);
    if (len >= size) {
        return -1;
    }
    memcpy(buf, host, len + 1);
    return 0;
}

bool origin_same(const char *a, const char *b)
{
    char x[ORIGIN_MAX], y[ORIGIN_MAX];

    return origin_print(x, sizeof(x), a) == 0 &&
           origin_print(y, sizeof(y), b) == 0 && strcmp(x, y) == 0;
}

char *origin_plain(const char *url)
{
    CURLU *parts;
    char *text = NULL, *plain = NULL;

    if (origin_is_known(url)) {
        return strdup(url);
    }
    parts = curl_url();
    if (parts != NULL &&
        curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        curl_url_set(parts, CURLUPART_USER, NULL, 0);
        curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
        curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0);
        if (curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK) {
            plain = strdup(text);
        }
    }

    curl_free(text);
    curl_url_cleanup(parts);
    return plain;
}

bool origin_reserved(const char *url)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    char host[ORIGIN_MAX];
    size_t len;

    if (origin_host(host, sizeof(host), url) != 0) {
        return false;
    }
    len = strlen(host);

    if (host[0] == '[') {
        host[strcspn(host, "]%")] = '\0';
        return inet_pton(AF_INET6, host + 1, &in6.sin6_addr) == 1 &&
               address_reserved((struct sockaddr *)&in6);
    }

    /* a fully qualified name may end with a dot, and to some also an address
     */
    len -= len > 0 && host[len - 1] == '.';
    host[len] = '\0';
    if (inet_aton(host, &in4.sin_addr) == 1) {
        return address_reserved((struct sockaddr *)&in4);
    }
    return len >= 9 && strncmp(host + len - 9, "localhost", 9) == 0 &&
           (len == 9 || host[len - 10] == '.');
}

void origin_place(char *buf, size_t size, const char *url)
{
    const char *host = strstr(url, "://"), *at;
    size_t len;

    host = host == NULL ? url : host + 3;
    at = memchr(host, '@', strcspn(host, "/?#"));
    len = strcspn(at == NULL ? host : at + 1, "?#");

    snprintf(buf, size, "%.*s%.*s", (int)(host - url), url, (int)len,
             at == NULL ? host : at + 1);
}
