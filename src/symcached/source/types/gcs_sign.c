/*
 * Copyright (C) the ngx_symcache authors
 */
#include "gcs_sign.h"

#include <ctype.h>
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/percent.h"

#define EXPIRES 900 /* seconds */
#define SCOPE "auto/storage/goog4_request"
#define SIGNATURE_MAX 1024 /* bytes: 8192 bits */
#define HEADERS_MAX 32

/* A key with a password has how often that is to be hashed, billions of times
 * if it likes, and OpenSSL would ask for the password at the terminal. */
static int gcs_refuse_password(char *text, int size, int writes, void *arg)
{
    return -1;
}

static EVP_PKEY *gcs_read_key(const char *text)
{
    char *pem = malloc(strlen(text) + 1), *p = pem;
    EVP_PKEY *key = NULL;
    BIO *bio;

    if (pem == NULL) {
        return NULL;
    }
    for (; *text != '\0'; text++) {
        if (text[0] == '\\' && text[1] == 'n') {
            *p++ = '\n';
            text++;
        } else {
            *p++ = *text;
        }
    }
    *p = '\0';
    bio = BIO_new_mem_buf(pem, -1);
    if (bio != NULL) {
        key = PEM_read_bio_PrivateKey(bio, NULL, gcs_refuse_password, NULL);
        BIO_free(bio);
    }
    explicit_bzero(pem, strlen(pem));
    free(pem);
    if (key != NULL && (EVP_PKEY_base_id(key) != EVP_PKEY_RSA ||
                        EVP_PKEY_size(key) > SIGNATURE_MAX)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

bool gcs_sign_is_key(const char *text)
{
    EVP_PKEY *key = gcs_read_key(text);

    EVP_PKEY_free(key);
    return key != NULL;
}

/* Returns 0, or -1. */
static int sign(char *hex, const char *pem, const char *text)
{
    unsigned char signature[SIGNATURE_MAX];
    size_t size = sizeof(signature);
    EVP_PKEY *key = gcs_read_key(pem);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int rc = -1;

    if (key != NULL && context != NULL &&
        EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, signature, &size,
                       (const unsigned char *)text, strlen(text)) == 1) {
        hex_print(hex, signature, size, HEX_LOWER);
        rc = 0;
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return rc;
}

/* The headers of Google's among those of a request, in order, and what is
 * signed of them. */
struct signed_headers {
    const char *lines[HEADERS_MAX];
    size_t n;
    char *names; /* with a separator before each, encoded: "%3Bx-goog-..." */
    char *text;  /* lines "<name>:<value>" */
};

static size_t gcs_name_length(const char *line)
{
    return strcspn(line, ":;"); /* "Name;" has no value */
}

/* A name comes before one that it begins, whatever follows it in its line. */
static int gcs_by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = gcs_name_length(x), m = gcs_name_length(y);
    int order = strncasecmp(x, y, n < m ? n : m);

    return order != 0 ? order : (n > m) - (n < m);
}

static void gcs_free_headers(struct signed_headers *headers)
{
    free(headers->names);
    free(headers->text);
}

static void gcs_print_header(FILE *names, FILE *text, const char *line)
{
    size_t i, n = gcs_name_length(line);

    fputs("%3B", names);
    for (i = 0; i < n; i++) {
        fputc(tolower((unsigned char)line[i]), names);
        fputc(tolower((unsigned char)line[i]), text);
    }
    line += n + (line[n] != '\0');
    fprintf(text, ":%s\n", line + strspn(line, " "));
}

/* Returns 0, or -1 without memory or with too many.  Then nothing is to be
 * freed. */
static int gcs_read_headers(struct signed_headers *headers,
                            const struct curl_slist *list)
{
    size_t names_size, text_size, i;
    FILE *names, *text;
    int rc;

    headers->n = 0;
    for (; list != NULL; list = list->next) {
        if (strncasecmp(list->data, "x-goog-", 7) != 0) {
            continue;
        }
        if (headers->n == HEADERS_MAX) {
            return -1;
        }
        headers->lines[headers->n++] = list->data;
    }
    qsort(headers->lines, headers->n, sizeof(headers->lines[0]), gcs_by_name);
    headers->names = headers->text = NULL;
    names = open_memstream(&headers->names, &names_size);
    text = open_memstream(&headers->text, &text_size);
    for (i = 0; i < headers->n && names != NULL && text != NULL; i++) {
        gcs_print_header(names, text, headers->lines[i]);
    }
    rc = names != NULL && fclose(names) == 0 ? 0 : -1;
    rc = text != NULL && fclose(text) == 0 ? rc : -1;
    if (rc != 0) {
        gcs_free_headers(headers);
    }
    return rc;
}

/* The query without the signature, to be freed; NULL without memory.  own: what
 * the URL has, whose names come after "X-Goog-" in the order that they are
 * signed in. */
static char *gcs_make_query(const char *email, const char *time,
                            const struct signed_headers *headers,
                            const char *own)
{
    char *account = malloc(3 * strlen(email) + 1), *query = NULL;

    if (account != NULL) {
        percent_encode(account, email);
        if (asprintf(&query,
                     "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential="
                     "%s%%2F%.8s%%2Fauto%%2Fstorage%%2Fgoog4_request"
                     "&X-Goog-Date=%s&X-Goog-Expires=%d"
                     "&X-Goog-SignedHeaders=host%s%s%s",
                     account, time, time, EXPIRES, headers->names,
                     own[0] != '\0' ? "&" : "", own) < 0) {
            query = NULL;
        }
    }
    free(account);
    return query;
}

/* The request as it is signed, to be freed; NULL without memory. */
static char *gcs_canonical_request(const char *method, const char *url,
                                   const char *query,
                                   const struct signed_headers *headers)
{
    const char *host = strstr(url, "://") + 3;
    size_t len = strcspn(host, "/?"), path = strcspn(host + len, "?"), i;
    char *request;
    size_t size;
    FILE *out = open_memstream(&request, &size);

    if (out == NULL) {
        return NULL;
    }
    fprintf(out, "%s\n%.*s\n%s\nhost:%.*s\n%s\nhost", method,
            path > 0 ? (int)path : 1, path > 0 ? host + len : "/", query,
            (int)len, host, headers->text);
    for (i = 0; headers->names[i] != '\0'; i++) {
        if (headers->names[i] == '%') {
            fputc(';', out);
            i += 2;
        } else {
            fputc(headers->names[i], out);
        }
    }
    fputs("\nUNSIGNED-PAYLOAD", out);
    if (fclose(out) != 0) {
        free(request);
        return NULL;
    }
    return request;
}

/* The text that is signed, to be freed; NULL without memory. */
static char *gcs_string_to_sign(const char *method, const char *url,
                                const char *query,
                                const struct signed_headers *headers,
                                const char *time)
{
    char *request = gcs_canonical_request(method, url, query, headers);
    unsigned char sum[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1], *text = NULL;
    unsigned size;

    if (request == NULL) {
        return NULL;
    }
    if (EVP_Digest(request, strlen(request), sum, &size, EVP_sha256(), NULL) ==
        1) {
        hex_print(hex, sum, size, HEX_LOWER);
        if (asprintf(&text, "GOOG4-RSA-SHA256\n%s\n%.8s/" SCOPE "\n%s", time,
                     time, hex) < 0) {
            text = NULL;
        }
    }
    free(request);
    return text;
}

char *gcs_sign(const char *email, const char *key, const char *method,
               const char *url, const struct curl_slist *list, time_t now)
{
    char time[32], hex[2 * SIGNATURE_MAX + 1], *query, *text = NULL;
    char *signed_url = NULL;
    size_t len = strcspn(url, "?");
    struct signed_headers headers;
    struct tm tm;

    if (gcs_read_headers(&headers, list) != 0) {
        return NULL;
    }
    strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    query =
        gcs_make_query(email, time, &headers, url + len + (url[len] == '?'));
    if (query != NULL) {
        text = gcs_string_to_sign(method, url, query, &headers, time);
    }
    if (text != NULL && sign(hex, key, text) == 0 &&
        asprintf(&signed_url, "%.*s?%s&X-Goog-Signature=%s", (int)len, url,
                 query, hex) < 0) {
        signed_url = NULL;
    }
    free(text);
    free(query);
    gcs_free_headers(&headers);
    return signed_url;
}
