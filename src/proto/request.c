
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "request.h"

#include <string.h>

/* in front of a request for a PpdbCache */
#define SYMCACHE_PPDB      "ppdb/"
#define SYMCACHE_PPDB_LEN  5

/* The parts of a path between its slashes: their number, or 0 above 4. */

static int
symcache_path_split(const char *p, size_t len, const char *seg[4],
    size_t seg_len[4])
{
    int          n;
    const char  *last, *slash;

    last = p + len;

    if (p < last && *p == '/') {
        p++;
    }

    if (p < last && last[-1] == '/') {
        last--;
    }

    for (n = 0; n < 4; n++) {
        slash = memchr(p, '/', (size_t) (last - p));

        seg[n] = p;
        seg_len[n] = (size_t) ((slash ? slash : last) - p);

        if (slash == NULL) {
            return n + 1;
        }

        p = slash + 1;
    }

    return 0;
}

static symcache_status_e
symcache_request_read(const char *p, size_t len, symcache_request_t *req)
{
    int                 n;
    size_t              seg_len[4];
    const char         *seg[4];
    symcache_status_e   rc;

    n = symcache_path_split(p, len, seg, seg_len);

    if (n < 3) {
        return SYMCACHE_BAD_PATH;
    }

    if (seg_len[0] < 1 || (seg[0][0] | 0x20) != 'v'
        || !symcache_version_parse(seg[0] + 1, seg_len[0] - 1, &req->version))
    {
        return SYMCACHE_BAD_VERSION;
    }

    req->name = seg[1];

    rc = symcache_name_parse(seg[1], seg_len[1], &req->key);
    if (rc != SYMCACHE_OK) {
        return rc;
    }

    rc = symcache_guid_parse(seg[2], seg_len[2], req->key.guid);
    if (rc != SYMCACHE_OK) {
        return rc;
    }

    if (n == 3) {
        req->key.age = 1;
        return SYMCACHE_OK;
    }

    return symcache_age_parse(seg[3], seg_len[3], &req->key.age);
}

symcache_status_e
symcache_request_parse(const char *p, size_t len, symcache_request_t *req)
{
    symcache_status_e  rc, ppdb;

    rc = symcache_request_read(p, len, req);
    if (rc == SYMCACHE_OK) {
        return rc;
    }

    if (len > 0 && *p == '/') {
        p++;
        len--;
    }

    if (len <= SYMCACHE_PPDB_LEN
        || memcmp(p, SYMCACHE_PPDB, SYMCACHE_PPDB_LEN) != 0)
    {
        return rc;
    }

    ppdb = symcache_request_read(p + SYMCACHE_PPDB_LEN,
                                 len - SYMCACHE_PPDB_LEN, req);

    if (ppdb == SYMCACHE_OK) {
        req->key.kind = SYMCACHE_KIND_PPDBCACHE;

        if (req->key.age == 1) {
            req->key.age = UINT32_MAX;
        }
    }

    return ppdb;
}
