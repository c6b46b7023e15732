/*
 * Copyright (C) the ngx_symcache authors
 */
#include "digest_attribute.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "fd_close.h"

/* a digest that is not sealed has these times */
static const symcache_digest_times_t no_times;

void digest_note(int fd, struct digest *digest)
{
    char text[SYMCACHE_DIGEST_TEXT + 1];

    /* the program that made the file may have set the attribute itself */
    (void)fremovexattr(fd, SYMCACHE_DIGEST_ATTRIBUTE);
    if (digest != NULL) {
        digest_text(digest, text);
        digest_note_text(fd, text);
        digest_free(digest);
    }
}

void digest_note_text(int fd, const char text[SYMCACHE_DIGEST_TEXT + 1])
{
    symcache_digest_t value = {0};

    memcpy(value.text, text, SYMCACHE_DIGEST_TEXT);
    (void)fsetxattr(fd, SYMCACHE_DIGEST_ATTRIBUTE, &value, sizeof(value), 0);
}

static void write_value(int fd, symcache_digest_t *value,
                        const symcache_digest_times_t *times)
{
    value->times = *times;
    (void)fsetxattr(fd, SYMCACHE_DIGEST_ATTRIBUTE, value, sizeof(*value),
                    XATTR_REPLACE);
}

/* Reads the digest and the file's present times; false if there is none. */
static bool digest_read_value(int fd, symcache_digest_t *value,
                              symcache_digest_times_t *times)
{
    struct stat st;

    if (fgetxattr(fd, SYMCACHE_DIGEST_ATTRIBUTE, value, sizeof(*value)) !=
            sizeof(*value) ||
        fstat(fd, &st) != 0) {
        return false;
    }
    *times = (symcache_digest_times_t){st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                                       st.st_ctim.tv_sec, st.st_ctim.tv_nsec};
    return true;
}

void digest_seal(int fd)
{
    symcache_digest_t value;
    symcache_digest_times_t now;

    if (digest_read_value(fd, &value, &now) &&
        memcmp(&value.times, &no_times, sizeof(now)) == 0) {
        write_value(fd, &value, &now);
    }
}

bool digest_sealed(int fd, char text[SYMCACHE_DIGEST_TEXT + 1])
{
    symcache_digest_t value;
    symcache_digest_times_t now;

    if (!digest_read_value(fd, &value, &now) ||
        !symcache_digest_holds(&value, sizeof(value), &now)) {
        return false;
    }
    memcpy(text, value.text, SYMCACHE_DIGEST_TEXT);
    text[SYMCACHE_DIGEST_TEXT] = '\0';
    return true;
}

bool digest_of_file(int fd, uint8_t digest[DIGEST_SIZE])
{
    static const char start[] = "sha-256=:";
    char text[SYMCACHE_DIGEST_TEXT + 1];
    uint8_t bytes[BASE64_DECODE_LENGTH(44)]; /* of so many digits */
    struct base64_decode_ctx context;
    size_t n = sizeof(bytes);

    base64_decode_init(&context);
    if (!digest_sealed(fd, text) ||
        !base64_decode_update(&context, &n, bytes, 44, text + strlen(start)) ||
        !base64_decode_final(&context) || n != DIGEST_SIZE) {
        return false;
    }
    memcpy(digest, bytes, DIGEST_SIZE);
    return true;
}

static bool unseal_file(int fd)
{
    symcache_digest_t value;
    symcache_digest_times_t now;

    if (!digest_read_value(fd, &value, &now) ||
        !symcache_digest_holds(&value, sizeof(value), &now)) {
        return false;
    }
    write_value(fd, &value, &no_times);
    return true;
}

static int digest_open_file(const char *path)
{
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

void digest_seal_path(const char *path)
{
    int fd = digest_open_file(path);

    if (fd >= 0) {
        digest_seal(fd);
        close(fd);
    }
}

bool digest_lacks_path(const char *path)
{
    symcache_digest_t value;
    ssize_t n =
        lgetxattr(path, SYMCACHE_DIGEST_ATTRIBUTE, &value, sizeof(value));

    return n == (ssize_t)sizeof(value)
               ? memcmp(&value.times, &no_times, sizeof(no_times)) == 0
               : n < 0 && errno == ENODATA;
}

bool digest_unseal_path(const char *path)
{
    int fd = digest_open_file(path);
    bool was_sealed = fd >= 0 && unseal_file(fd);

    fd_close(fd);
    return was_sealed;
}
