
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "url.h"

#include <string.h>

typedef struct {
    const char  *p;       /* what is left to read */
    const char  *last;
    char        *buf;
    size_t       n;       /* bytes in buf; above SYMCACHE_URL_MAX: no room */
} symcache_url_t;

static void
symcache_url_put(symcache_url_t *u, char c)
{
    if (u->n < SYMCACHE_URL_MAX) {
        u->buf[u->n++] = c;

    } else {
        u->n = SYMCACHE_URL_MAX + 1;
    }
}

static char
symcache_url_lower(char c)
{
    return (char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static int
symcache_url_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
           || (c >= 'a' && c <= 'z');
}

/* The value of a hex digit, or -1. */

static int
symcache_url_digit(char c)
{
    c = symcache_url_lower(c);

    return c >= '0' && c <= '9' ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int
symcache_url_is(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Reads the scheme; returns its port, or NULL if it is another scheme. */

static const char *
symcache_url_scheme(symcache_url_t *u)
{
    static const struct {
        const char  *text;
        const char  *port;
    } schemes[] = { { "https://", "443" }, { "http://", "80" } };

    size_t  i, n, len;

    for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        len = strlen(schemes[i].text);

        for (n = 0; n < len && u->p + n < u->last
                    && symcache_url_lower(u->p[n]) == schemes[i].text[n]; n++)
        {
            /* void */
        }

        if (n == len) {
            u->p += len;
            memcpy(u->buf, schemes[i].text, len);
            u->n = len;
            return schemes[i].port;
        }
    }

    return NULL;
}

/* Reads a port after its colon. */

static int
symcache_url_port(symcache_url_t *u, const char *own)
{
    size_t       len, i;
    unsigned     port;
    const char  *p;

    p = u->p;
    port = 0;

    while (u->p < u->last && *u->p >= '0' && *u->p <= '9' && u->p - p < 5) {
        port = port * 10 + (unsigned) (*u->p++ - '0');
    }

    len = (size_t) (u->p - p);

    if (len == 0 || (len == strlen(own) && memcmp(p, own, len) == 0)) {
        return 1;
    }

    symcache_url_put(u, ':');

    for (i = 0; i < len; i++) {
        symcache_url_put(u, p[i]);
    }

    return *p != '0' && port <= 65535;
}

/* Reads a host and a port: no user, and a host in "[]" is an IPv6 address. */

static int
symcache_url_authority(symcache_url_t *u, const char *port)
{
    size_t  n;

    n = u->n;

    if (u->p < u->last && *u->p == '[') {

        do {
            symcache_url_put(u, symcache_url_lower(*u->p++));
        } while (u->p < u->last && (symcache_url_digit(*u->p) >= 0
                                    || symcache_url_is(*u->p, ":.")));

        if (u->p == u->last || *u->p != ']') {
            return 0;
        }

        symcache_url_put(u, *u->p++);

    } else {

        while (u->p < u->last && (symcache_url_is_alnum(*u->p)
                                  || symcache_url_is(*u->p, "-._")))
        {
            symcache_url_put(u, symcache_url_lower(*u->p++));
        }
    }

    if (u->n == n) {
        return 0;
    }

    if (u->p < u->last && *u->p == ':') {
        u->p++;

        if (!symcache_url_port(u, port)) {
            return 0;
        }
    }

    return u->p == u->last || symcache_url_is(*u->p, "/?#");
}

/* Reads a character of a path or query, of which an escape is one. */

static int
symcache_url_char(symcache_url_t *u)
{
    static const char  digits[] = "0123456789ABCDEF";

    int            high, low, escaped;
    unsigned char  c;

    c = (unsigned char) *u->p++;
    escaped = (c == '%');

    if (escaped) {

        if (u->last - u->p < 2) {
            return 0;
        }

        high = symcache_url_digit(u->p[0]);
        low = symcache_url_digit(u->p[1]);

        if (high < 0 || low < 0) {
            return 0;
        }

        c = (unsigned char) (high << 4 | low);
        u->p += 2;

    } else if (c < ' ' || c == 0x7f) {
        return 0;
    }

    if (symcache_url_is_alnum((char) c) || symcache_url_is((char) c, "-._~")
        || (!escaped && symcache_url_is((char) c, "!$&'()*+,;=:@/?")))
    {
        symcache_url_put(u, (char) c);
        return 1;
    }

    symcache_url_put(u, '%');
    symcache_url_put(u, digits[c >> 4]);
    symcache_url_put(u, digits[c & 0xf]);

    return 1;
}

/*
 * Takes a last segment "." or ".." off the path, which begins at path with a
 * slash, with the one before it for "..".  The slash in front of it stays.
 * Returns 0 if the last segment is another one.
 */

static int
symcache_url_dots(symcache_url_t *u, size_t path)
{
    size_t  n, dots;

    if (u->n > SYMCACHE_URL_MAX) {
        return 0;
    }

    n = u->n;

    while (u->buf[n - 1] == '.') {
        n--;
    }

    dots = u->n - n;

    if (u->buf[n - 1] != '/' || dots < 1 || dots > 2) {
        return 0;
    }

    if (dots == 2 && n - 1 > path) {
        n--;

        while (u->buf[n - 1] != '/') {
            n--;
        }
    }

    u->n = n;

    return 1;
}

static int
symcache_url_path(symcache_url_t *u)
{
    size_t  path;

    path = u->n;
    symcache_url_put(u, '/');

    if (u->p < u->last && *u->p == '/') {
        u->p++;
    }

    while (u->p < u->last && !symcache_url_is(*u->p, "?#")) {

        if (*u->p == '/') {
            u->p++;

            if (!symcache_url_dots(u, path)) {
                symcache_url_put(u, '/');
            }

        } else if (!symcache_url_char(u)) {
            return 0;
        }
    }

    (void) symcache_url_dots(u, path);

    return 1;
}

size_t
symcache_url_normalise(char buf[SYMCACHE_URL_MAX + 1], const char *url,
    size_t len)
{
    const char      *port;
    symcache_url_t   u;

    u.p = url;
    u.last = url + len;
    u.buf = buf;
    u.n = 0;

    port = symcache_url_scheme(&u);

    if (port == NULL || !symcache_url_authority(&u, port)
        || !symcache_url_path(&u))
    {
        return 0;
    }

    while (u.p < u.last && *u.p != '#') {
        if (!symcache_url_char(&u)) {
            return 0;
        }
    }

    if (u.n > SYMCACHE_URL_MAX) {
        return 0;
    }

    buf[u.n] = '\0';

    return u.n;
}
