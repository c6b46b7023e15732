/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/fd_close.h"
#include "base/hex.h"

#define KEY_FILE ".key"
#define DIGITS "0123456789abcdef"

/* A secret of a fleet is the key of several things. */
#define PURPOSE "symcache guests 1"

/* Returns 0, 1 if there is none, or -1 with errno. */
static int store_name_read_key(struct store_name_key *key, const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n;

    if (fd == -1) {
        return errno == ENOENT ? 1 : -1;
    }
    n = read(fd, key->bytes, sizeof(key->bytes));
    close(fd);
    return n == (ssize_t)sizeof(key->bytes) ? 0 : n < 0 ? -1 : 1;
}

static int write_key(const struct store_name_key *key, const char *path)
{
    char tmp[PATH_MAX + 8];
    FILE *f;
    int fd;

    snprintf(tmp, sizeof(tmp), "%s.new", path);
    (void)unlink(tmp);
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    f = fd != -1 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        fd_close(fd);
        return -1;
    }
    (void)fwrite(key->bytes, 1, sizeof(key->bytes), f);
    return durable_close(f, tmp, path);
}

/* Makes a key.  Returns 0, or -1 with errno. */
static int make_key(struct store_name_key *key, const char *secret)
{
    bool good;

    if (secret == NULL) {
        good = RAND_bytes(key->bytes, sizeof(key->bytes)) == 1;
    } else {
        good = HMAC(EVP_sha256(), secret, (int)strlen(secret),
                    (const unsigned char *)PURPOSE, strlen(PURPOSE),
                    key->bytes, NULL) != NULL;
    }
    errno = EIO;
    return good ? 0 : -1;
}

int store_name_key(struct store_name_key *key, const char *root,
                   const char *secret, bool *is_new)
{
    struct store_name_key made;
    char path[PATH_MAX];
    int rc;

    snprintf(path, sizeof(path), "%s/" KEY_FILE, root);
    rc = store_name_read_key(key, path);
    if (rc == -1 || (rc == 1 || secret != NULL ? make_key(&made, secret) : 0)
                        != 0) {
        return -1;
    }
    *is_new = rc == 1 || (secret != NULL &&
                          memcmp(&made, key, sizeof(made)) != 0);
    if (*is_new) {
        *key = made;
        rc = write_key(key, path);
    }
    return rc;
}

int store_name_print(char name[STORE_NAME + 1],
                     const struct store_name_key *key, const char *text,
                     size_t size)
{
    unsigned char sum[EVP_MAX_MD_SIZE];

    if (HMAC(EVP_sha256(), key->bytes, sizeof(key->bytes),
             (const unsigned char *)text, size, sum, NULL) == NULL) {
        return -1;
    }
    hex_print(name, sum, STORE_NAME / 2, HEX_LOWER);
    return 0;
}

bool store_name_is_one(const char *name)
{
    return strspn(name, DIGITS) == STORE_NAME && name[STORE_NAME] == '\0';
}

bool store_name_is_aside(const char *name)
{
    return strspn(name, DIGITS) == STORE_NAME && name[STORE_NAME] == '-';
}
