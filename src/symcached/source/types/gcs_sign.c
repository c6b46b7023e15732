/*
 * Copyright (C) the ngx_symcache authors
 */
#include "gcs_sign.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/percent.h"

#define EXPIRES 900 /* seconds */
#define SCOPE "auto/storage/goog4_request"
#define SIGNATURE_MAX 1024 /* bytes: 8192 bits */

/* A key with a password has how often that is to be hashed, billions of times
 * if it likes, and OpenSSL would ask for the password at the terminal. */
static int refuse_password(char *text, int size, int writes, void *arg)
{
    return -1;
}

static EVP_PKEY *read_key(const char *text)
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
        key = PEM_read_bio_PrivateKey(bio, NULL, refuse_password, NULL);
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
    EVP_PKEY *key = read_key(text);

    EVP_PKEY_free(key);
    return key != NULL;
}

static void print_hex(char *hex, const unsigned char *data, size_t size)
{
    size_t i;

    hex[0] = '\0';
    for (i = 0; i < size; i++) {
        snprintf(hex + 2 * i, 3, "%02x", data[i]);
    }
}

/* Returns 0, or -1. */
static int sign(char *hex, const char *pem, const char *text)
{
    unsigned char signature[SIGNATURE_MAX];
    size_t size = sizeof(signature);
    EVP_PKEY *key = read_key(pem);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int rc = -1;

    if (key != NULL && context != NULL &&
        EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, signature, &size,
                       (const unsigned char *)text, strlen(text)) == 1) {
        print_hex(hex, signature, size);
        rc = 0;
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return rc;
}

/* The query without the signature, to be freed; NULL without memory. */
static char *make_query(const char *email, const char *time)
{
    char *account = malloc(3 * strlen(email) + 1), *query = NULL;

    if (account != NULL) {
        percent_encode(account, email);
        if (asprintf(&query,
                     "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential="
                     "%s%%2F%.8s%%2Fauto%%2Fstorage%%2Fgoog4_request"
                     "&X-Goog-Date=%s&X-Goog-Expires=%d"
                     "&X-Goog-SignedHeaders=host",
                     account, time, time, EXPIRES) < 0) {
            query = NULL;
        }
    }
    free(account);
    return query;
}

/* The text that is signed, to be freed; NULL without memory. */
static char *string_to_sign(const char *url, const char *query,
                            const char *time)
{
    const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
    unsigned char sum[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1], *request, *text = NULL;
    unsigned size;

    if (asprintf(&request, "GET\n%s\n%s\nhost:%.*s\n\nhost\nUNSIGNED-PAYLOAD",
                 path != NULL ? path : "/", query,
                 (int)strcspn(host, "/"), host) < 0) {
        return NULL;
    }
    if (EVP_Digest(request, strlen(request), sum, &size, EVP_sha256(), NULL) ==
        1) {
        print_hex(hex, sum, size);
        if (asprintf(&text, "GOOG4-RSA-SHA256\n%s\n%.8s/" SCOPE "\n%s", time,
                     time, hex) < 0) {
            text = NULL;
        }
    }
    free(request);
    return text;
}

char *gcs_sign(const char *email, const char *key, const char *url, time_t now)
{
    char time[32], hex[2 * SIGNATURE_MAX + 1], *query, *text = NULL;
    char *signed_url = NULL;
    struct tm tm;

    strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    query = make_query(email, time);
    if (query != NULL) {
        text = string_to_sign(url, query, time);
    }
    if (text != NULL && sign(hex, key, text) == 0 &&
        asprintf(&signed_url, "%s?%s&X-Goog-Signature=%s", url, query, hex) <
            0) {
        signed_url = NULL;
    }
    free(text);
    free(query);
    return signed_url;
}
