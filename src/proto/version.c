
/*
 * Copyright (C) the ngx_symcache authors
 */


#include "version.h"


static const char *
symcache_version_number(const char *p, const char *last, uint16_t *number)
{
    uint32_t     n;
    const char  *start;

    n = 0;
    start = p;

    while (p < last && *p >= '0' && *p <= '9') {
        n = n * 10 + (uint32_t) (*p - '0');

        /* Some leading zeros are harmless, but their number is limited. */
        if (n > 65535 || p - start >= 5) {
            return NULL;
        }

        p++;
    }

    if (p == start) {
        return NULL;
    }

    *number = (uint16_t) n;

    return p;
}


const char *
symcache_version_read(const char *p, const char *last, symcache_version_t *v)
{
    unsigned            major, minor, patch;
    symcache_version_t  r;

    /* nearly all versions have a digit each, and something behind them */

    if (last - p > 5 && p[1] == '.' && p[3] == '.') {
        major = (unsigned) (p[0] - '0');
        minor = (unsigned) (p[2] - '0');
        patch = (unsigned) (p[4] - '0');

        if (major < 10 && minor < 10 && patch < 10
            && (unsigned) (p[5] - '0') > 9)
        {
            v->major = (uint16_t) major;
            v->minor = (uint16_t) minor;
            v->patch = (uint16_t) patch;

            return p + 5;
        }
    }

    p = symcache_version_number(p, last, &r.major);
    if (p == NULL || p == last || *p++ != '.') {
        return NULL;
    }

    p = symcache_version_number(p, last, &r.minor);
    if (p == NULL || p == last || *p++ != '.') {
        return NULL;
    }

    p = symcache_version_number(p, last, &r.patch);
    if (p == NULL) {
        return NULL;
    }

    *v = r;

    return p;
}


int
symcache_version_parse(const char *p, size_t len, symcache_version_t *v)
{
    symcache_version_t  r;

    if (symcache_version_read(p, p + len, &r) != p + len) {
        return 0;
    }

    *v = r;

    return 1;
}


static char *
symcache_version_print_large(char *p, uint16_t number)
{
    char      digits[5];
    unsigned  n;

    n = 0;

    do {
        digits[n++] = (char) ('0' + number % 10);
        number /= 10;
    } while (number);

    while (n) {
        *p++ = digits[--n];
    }

    return p;
}


static inline char *
symcache_version_print_number(char *p, uint16_t number)
{
    if (number < 10) {
        *p = (char) ('0' + number);
        return p + 1;
    }

    return symcache_version_print_large(p, number);
}


size_t
symcache_version_print(char *buf, const symcache_version_t *v)
{
    char  *p;

    if (v->major < 10 && v->minor < 10 && v->patch < 10) {

        /* nearly all versions, and a hit prints two */

        buf[0] = (char) ('0' + v->major);
        buf[1] = '.';
        buf[2] = (char) ('0' + v->minor);
        buf[3] = '.';
        buf[4] = (char) ('0' + v->patch);
        buf[5] = '\0';

        return 5;
    }

    p = symcache_version_print_number(buf, v->major);
    *p++ = '.';
    p = symcache_version_print_number(p, v->minor);
    *p++ = '.';
    p = symcache_version_print_number(p, v->patch);
    *p = '\0';

    return (size_t) (p - buf);
}


int
symcache_version_best_of(const symcache_version_t *versions, int n,
    const symcache_version_t *b, const symcache_version_t *min)
{
    int  i, best;

    best = -1;

    for (i = 0; i < n; i++) {

        if (!symcache_version_serves(&versions[i], b, min)) {
            continue;
        }

        if (best == -1
            || symcache_version_cmp(&versions[i], &versions[best]) > 0)
        {
            best = i;
        }
    }

    return best;
}
