/*
 * Copyright (C) the ngx_symcache authors
 */
#include "presign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/digest.h"
#include "base/hex.h"
#include "base/percent.h"

#define SUM 32
#define HOST_MAX 300
#define SCOPE_MAX 128

static void presign_hmac(unsigned char out[SUM], const void *key, size_t len,
                         const char *text)
{
    unsigned char sum[EVP_MAX_MD_SIZE] = {0};

    (void)HMAC(EVP_sha256(), key, (int)len, (const unsigned char *)text,
               strlen(text), sum, NULL);
    memcpy(out, sum, SUM);
}

/* The host as clients send it, without the port that goes with the scheme. */
static bool presign_read_host(const char *url, char host[HOST_MAX],
                              const char **path)
{
    const char *start = strstr(url, "://"), *port;
    bool tls = strncmp(url, "https:", 6) == 0;
    size_t len;

    if (start == NULL) {
        return false;
    }
    start += 3;
    len = strcspn(start, "/");
    *path = start[len] == '/' ? start + len : "/";
    if (len == 0 || len >= HOST_MAX) {
        return false;
    }
    memcpy(host, start, len);
    host[len] = '\0';
    port = tls ? ":443" : ":80";
    if (len > strlen(port) && strcmp(host + len - strlen(port), port) == 0) {
        host[len - strlen(port)] = '\0';
    }
    return true;
}

/* The parameters are in the order that they are signed in. */
static bool print_query(char *query, size_t size,
                        const struct presign *presign, const char *scope,
                        const char *stamp)
{
    const char *token = presign->session_token;
    char *credential = malloc(3 * (strlen(presign->access_key) + 1 +
                                   strlen(scope)) + 1);
    char *encoded = malloc(3 * strlen(token != NULL ? token : "") + 1);
    char *plain = NULL;
    int n = -1;

    if (credential != NULL && encoded != NULL &&
        asprintf(&plain, "%s/%s", presign->access_key, scope) >= 0) {
        percent_encode(credential, plain);
        percent_encode(encoded, token != NULL ? token : "");
        n = snprintf(query, size,
                     "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%s"
                     "&X-Amz-Date=%s&X-Amz-Expires=%u%s%s"
                     "&X-Amz-SignedHeaders=host",
                     credential, stamp, presign->seconds,
                     token != NULL ? "&X-Amz-Security-Token=" : "", encoded);
        free(plain);
    }
    free(credential);
    free(encoded);
    return n >= 0 && (size_t)n < size;
}

/* The key is made of the parts of the scope, one after the other. */
static bool sign_request(char hex[DIGEST_HEX + 1],
                         const struct presign *presign, const char *date,
                         const char *text)
{
    const char *const parts[] = {date, presign->region, "s3", "aws4_request",
                                 text};
    unsigned char sum[SUM];
    char *key;
    size_t i;
    int n = asprintf(&key, "AWS4%s", presign->secret_key);

    if (n < 0) {
        return false;
    }
    presign_hmac(sum, key, (size_t)n, parts[0]);
    OPENSSL_cleanse(key, (size_t)n);
    free(key);
    for (i = 1; i < sizeof(parts) / sizeof(parts[0]); i++) {
        presign_hmac(sum, sum, SUM, parts[i]);
    }
    hex_print(hex, sum, SUM, HEX_LOWER);
    return true;
}

bool presign_get(char buf[PRESIGN_MAX], const struct presign *presign)
{
    char host[HOST_MAX], stamp[20], date[12], scope[SCOPE_MAX];
    char query[PRESIGN_MAX], text[2 * PRESIGN_MAX], hex[DIGEST_HEX + 1];
    struct digest *digest;
    const char *path;
    struct tm tm;
    int n;

    if (gmtime_r(&presign->now, &tm) == NULL ||
        !presign_read_host(presign->url, host, &path)) {
        return false;
    }
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    snprintf(date, sizeof(date), "%.8s", stamp);
    n = snprintf(scope, sizeof(scope), "%s/%s/s3/aws4_request", date,
                 presign->region);
    if (n < 0 || (size_t)n >= sizeof(scope) ||
        !print_query(query, sizeof(query), presign, scope, stamp)) {
        return false;
    }
    n = snprintf(text, sizeof(text),
                 "GET\n%s\n%s\nhost:%s\n\nhost\nUNSIGNED-PAYLOAD", path, query,
                 host);
    digest = n >= 0 && (size_t)n < sizeof(text) ? digest_new() : NULL;
    if (digest == NULL) {
        return false;
    }
    digest_add(digest, text, (size_t)n);
    digest_hex(digest, hex);
    digest_free(digest);
    snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", stamp, scope,
             hex);
    if (!sign_request(hex, presign, date, text)) {
        return false;
    }
    n = snprintf(buf, PRESIGN_MAX, "%s?%s&X-Amz-Signature=%s", presign->url,
                 query, hex);
    return n >= 0 && n < PRESIGN_MAX;
}
