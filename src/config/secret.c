/*
 * Copyright (C) the ngx_symcache authors
 */
#include "secret.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 127

/*
 * Reads the name of a variable after the dollar at *p, and moves *p past it.
 * Returns the variable's value, or NULL with error set.
 */
static const char *read_variable(struct config_reader *r, const cJSON *item,
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
        config_error(r, item,
                     "\"$\" needs a variable name behind it; \"$$\" stands "
                     "for a dollar");
        return NULL;
    }
    memcpy(name, start, n);
    name[n] = '\0';
    *p = start + n + braces;

    value = getenv(name);
    if (value == NULL || value[0] == '\0') {
        config_error(r, item, "$%s is not set in the environment", name);
        return NULL;
    }
    return value;
}

static int expand(struct config_reader *r, const cJSON *item, const char *p,
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
            piece = read_variable(r, item, &p);
            if (piece == NULL) {
                return -1;
            }
            n = strlen(piece);
        }

        if (n >= size - len) {
            return config_error(r, item, "is too long");
        }
        memcpy(buf + len, piece, n);
        len += n;
    }

    buf[len] = '\0';
    return 0;
}

static int read_first_line(struct config_reader *r, const cJSON *item,
                           const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = -1;
    size_t len = 0;

    if (fd >= 0) {
        while (len < size && (n = read(fd, buf + len, size - len)) > 0) {
            len += (size_t)n;
        }
    }
    if (fd < 0 || n < 0) {
        n = errno;
        if (fd >= 0) {
            close(fd);
        }
        return config_error(r, item, "\"%s\" cannot be read: %s", path,
                            strerror((int)n));
    }
    close(fd);

    /* one byte must be left for the NUL */
    n = (ssize_t)len;
    for (len = 0; len < (size_t)n && buf[len] != '\n'; len++) {
    }
    if (len == size) {
        return config_error(r, item, "the first line of \"%s\" is too long",
                            path);
    }
    len -= len > 0 && buf[len - 1] == '\r';
    if (len == 0) {
        return config_error(r, item, "the first line of \"%s\" is empty",
                            path);
    }
    buf[len] = '\0';
    return 0;
}

static int check_controls(struct config_reader *r, const cJSON *item,
                          const char *p)
{
    for (; *p != '\0'; p++) {
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f) {
            return config_error(r, item, "has a control character");
        }
    }
    return 0;
}

int config_secret(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    char buf[CONFIG_SECRET_MAX + 1], **secret = at;
    const char *text =
        config_text(r, item, "\"$TOKEN\" or \"@/etc/symcached/token\"");
    int rc;

    if (text == NULL) {
        return -1;
    }

    rc = strncmp(text, "@/", 2) == 0
             ? read_first_line(r, item, text + 1, buf, sizeof(buf))
             : expand(r, item, text, buf, sizeof(buf));
    if (rc == 0) {
        rc = check_controls(r, item, buf);
    }
    if (rc == 0) {
        config_secret_free(*secret);
        *secret = strdup(buf);
        if (*secret == NULL) {
            rc = config_error(r, item, "out of memory");
        }
    }

    explicit_bzero(buf, sizeof(buf));
    return rc;
}

void config_secret_free(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
}
