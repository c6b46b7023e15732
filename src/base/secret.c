/*
 * Copyright (C) the ngx_symcache authors
 */
#include "secret.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/memops.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "control.h"
#include "fd_close.h"

#define NAME_MAX_LEN 127

/* Where the reason goes if a secret cannot be had. */
struct reason {
    char *text;
    size_t size;
};

static int fail_secret(const struct reason *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail_secret(const struct reason *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(reason->text, reason->size, format, args);
    va_end(args);
    return -1;
}

/*
 * Reads the name of a variable after the dollar at *p, and moves *p past it.
 * Returns the variable's value, or NULL with a reason.
 */
static const char *read_secret_variable(const struct reason *reason,
                                        const char **p)
{
    char name[NAME_MAX_LEN + 1];
    const char *start = *p + 1, *value;
    bool braces = *start == '{';
    size_t n;

    start += braces;
    for (n = 0; isalnum((unsigned char)start[n]) || start[n] == '_'; n++) {
    }
    if (n == 0 || n > NAME_MAX_LEN || (braces && start[n] != '}')) {
        fail_secret(reason,
                    "\"$\" needs a variable name after it; \"$$\" stands "
                    "for a dollar");
        return NULL;
    }
    memcpy(name, start, n);
    name[n] = '\0';
    *p = start + n + braces;

    value = getenv(name);
    if (value == NULL || value[0] == '\0') {
        fail_secret(reason, "$%s is not set in the environment", name);
        return NULL;
    }
    return value;
}

static int read_secret_text(const struct reason *reason, const char *p,
                            char *buf, size_t size)
{
    const char *piece;
    size_t n, len = 0;

    while (*p != '\0') {
        if (p[0] != '$') {
            piece = p;
            n = strcspn(p, "$");
            p += n;
        } else if (p[1] == '$') {
            piece = p;
            n = 1;
            p += 2;
        } else {
            piece = read_secret_variable(reason, &p);
            if (piece == NULL) {
                return -1;
            }
            n = strlen(piece);
        }

        if (n >= size - len) {
            return fail_secret(reason, "is too long");
        }
        memcpy(buf + len, piece, n);
        len += n;
    }

    buf[len] = '\0';
    return 0;
}

/* Reads at most size bytes of a file. */
static int read_secret_file(const struct reason *reason, const char *path,
                            char *buf, size_t size, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = -1;

    *len = 0;
    if (fd >= 0) {
        while (*len < size && (n = read(fd, buf + *len, size - *len)) > 0) {
            *len += (size_t)n;
        }
    }
    if (fd < 0 || n < 0) {
        n = errno;
        fd_close(fd);
        return fail_secret(reason, "\"%s\" cannot be read: %s", path,
                           strerror((int)n));
    }
    close(fd);
    return 0;
}

static int read_secret_line(const struct reason *reason, const char *path,
                            char *buf, size_t size)
{
    size_t len, n;

    if (read_secret_file(reason, path, buf, size, &n) != 0) {
        return -1;
    }
    /* one byte must be left for the NUL */
    for (len = 0; len < n && buf[len] != '\n'; len++) {
    }
    if (len == size) {
        return fail_secret(reason, "the first line of \"%s\" is too long",
                           path);
    }
    len -= len > 0 && buf[len - 1] == '\r';
    if (len == 0) {
        return fail_secret(reason, "the first line of \"%s\" is empty", path);
    }
    buf[len] = '\0';
    return 0;
}

static int read_whole_secret(const struct reason *reason, const char *path,
                             char *buf, size_t size)
{
    size_t n;

    if (read_secret_file(reason, path, buf, size, &n) != 0) {
        return -1;
    }
    if (n == 0 || n == size) {
        return fail_secret(reason, "\"%s\" is too %s", path,
                           n == 0 ? "short" : "long");
    }
    buf[n] = '\0';
    return 0;
}

static int check_secret_controls(const struct reason *reason, const char *p,
                                 const char *allowed)
{
    for (; *p != '\0'; p++) {
        if (control_is(*p) && strchr(allowed, *p) == NULL) {
            return fail_secret(reason, "has a control character");
        }
    }
    return 0;
}

static int expand_secret_line(const char *text, bool is_file, char *buf,
                              size_t size, char *error, size_t error_size)
{
    const struct reason reason = {error, error_size};
    int rc;

    rc = is_file ? read_secret_line(&reason, text + 1, buf, size)
                 : read_secret_text(&reason, text, buf, size);
    return rc == 0 ? check_secret_controls(&reason, buf, "\t") : rc;
}

int secret_expand(const char *text, char *buf, size_t size, char *error,
                  size_t error_size)
{
    return expand_secret_line(text, strncmp(text, "@/", 2) == 0, buf, size,
                              error, error_size);
}

int secret_expand_option(const char *text, char *buf, size_t size, char *error,
                         size_t error_size)
{
    return expand_secret_line(text, text[0] == '@', buf, size, error,
                              error_size);
}

int secret_expand_lines(const char *text, char *buf, size_t size, char *error,
                        size_t error_size)
{
    const struct reason reason = {error, error_size};
    int rc;

    rc = strncmp(text, "@/", 2) == 0
             ? read_whole_secret(&reason, text + 1, buf, size)
             : read_secret_text(&reason, text, buf, size);
    return rc == 0 ? check_secret_controls(&reason, buf, "\t\r\n") : rc;
}

bool secret_is_equal(const char *a, const char *b)
{
    size_t n = strlen(a);

    return strlen(b) == n && memeql_sec(a, b, n);
}

bool secret_is_token(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/");

    return n > 0 && text[n + strspn(text + n, "=")] == '\0';
}

void secret_free(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
}
