/*
 * Copyright (C) the ngx_symcache authors
 */
#include "checksum.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ID_SIZE 20

/* In the order of checksum_wanted.algorithms. */
static const char *const names[] = {"SHA256", "SHA384", "SHA512", "SHA1"};

#define ALGORITHMS (sizeof(names) / sizeof(names[0]))

/* The checksum of an algorithm as hex digits; *len is their number.  NULL if
 * text has none. */
static const char *find(const char *text, const char *name, size_t *len)
{
    size_t size = strlen(name);

    for (; *text != '\0'; text += *text != '\0') {
        if (strncasecmp(text, name, size) == 0 && text[size] == ':') {
            text += size + 1;
            *len = strcspn(text, ";");
            return text;
        }
        text += strcspn(text, ";");
    }
    return NULL;
}

void checksum_prepare(struct checksum_wanted *wanted, const char *text)
{
    size_t i, len;

    wanted->text = text;
    for (i = 0; text != NULL && i < ALGORITHMS; i++) {
        if (find(text, names[i], &len) != NULL) {
            wanted->algorithms[i] = EVP_MD_fetch(NULL, names[i], NULL);
        }
    }
}

static bool digest(char hex[2 * EVP_MAX_MD_SIZE + 1], const EVP_MD *md,
                   const uint8_t *data, size_t size, size_t id_at)
{
    static const uint8_t zeros[ID_SIZE];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t sum[EVP_MAX_MD_SIZE];
    unsigned len = 0, i;
    size_t rest = id_at + ID_SIZE;
    bool done;

    done = context != NULL && EVP_DigestInit_ex(context, md, NULL) == 1 &&
           EVP_DigestUpdate(context, data, id_at) == 1 &&
           EVP_DigestUpdate(context, zeros, ID_SIZE) == 1 &&
           EVP_DigestUpdate(context, data + rest, size - rest) == 1 &&
           EVP_DigestFinal_ex(context, sum, &len) == 1;
    EVP_MD_CTX_free(context);
    for (i = 0; i < len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    }
    return done;
}

bool checksum_fits(const struct checksum_wanted *wanted, const uint8_t *data,
                   size_t size, size_t id_at)
{
    char hex[2 * EVP_MAX_MD_SIZE + 1];
    const char *text;
    bool known = false;
    size_t i, len;

    for (i = 0; i < ALGORITHMS; i++) {
        if (wanted->algorithms[i] == NULL) {
            continue;
        }
        known = true;
        text = find(wanted->text, names[i], &len);
        if (digest(hex, wanted->algorithms[i], data, size, id_at) &&
            len == strlen(hex) && strncasecmp(text, hex, len) == 0) {
            return true;
        }
    }
    return !known;
}
