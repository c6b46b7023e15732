
/*
 * Copyright (C) the ngx_symcache authors
 *
 * SymCache format versions: three numbers 0..65535, compared as numbers.
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_VERSION_H_INCLUDED_
#define _SYMCACHE_VERSION_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


/* bytes of "65535.65535.65535", without a NUL */
#define SYMCACHE_VERSION_TEXT_MAX  17


typedef struct {
    uint16_t   major;
    uint16_t   minor;
    uint16_t   patch;
} symcache_version_t;


/*
 * Reads exactly "M.m.p", without a prefix, blanks or anything after it.
 * Returns 1; or 0, and leaves *v unchanged.
 */
int symcache_version_parse(const char *p, size_t len, symcache_version_t *v);

/*
 * The same in front of anything else, up to last at most.  Returns what follows
 * the version; or NULL, and leaves *v unchanged.
 */
const char *symcache_version_read(const char *p, const char *last,
    symcache_version_t *v);

/*
 * Writes "M.m.p" and a NUL into buf, which has room for at least
 * SYMCACHE_VERSION_TEXT_MAX + 1 bytes.  Returns the length without the NUL.
 */
size_t symcache_version_print(char *buf, const symcache_version_t *v);

/* Returns < 0, 0 or > 0. */
static inline int
symcache_version_cmp(const symcache_version_t *a, const symcache_version_t *b)
{
    if (a->major != b->major) {
        return a->major < b->major ? -1 : 1;
    }

    if (a->minor != b->minor) {
        return a->minor < b->minor ? -1 : 1;
    }

    if (a->patch != b->patch) {
        return a->patch < b->patch ? -1 : 1;
    }

    return 0;
}

/*
 * The compatibility rule: a file of version a may answer a client that asks
 * for version b when a.major <= b.major and a >= min.
 */
static inline int
symcache_version_serves(const symcache_version_t *a,
    const symcache_version_t *b, const symcache_version_t *min)
{
    return a->major <= b->major && symcache_version_cmp(a, min) >= 0;
}

/*
 * Returns the index of the highest of n versions that may answer a client
 * that asks for version b, or -1.
 */
int symcache_version_best_of(const symcache_version_t *versions, int n,
    const symcache_version_t *b, const symcache_version_t *min);

/* The same: nearly always there is one, and a hit chooses twice. */
static inline int
symcache_version_best(const symcache_version_t *versions, int n,
    const symcache_version_t *b, const symcache_version_t *min)
{
    if (n == 1) {
        return symcache_version_serves(versions, b, min) ? 0 : -1;
    }

    return symcache_version_best_of(versions, n, b, min);
}


#endif /* _SYMCACHE_VERSION_H_INCLUDED_ */
