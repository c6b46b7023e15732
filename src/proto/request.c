
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "request.h"

#include <string.h>

/* in front of a request for a PpdbCache */
#define SYMCACHE_PPDB      "ppdb/"
#define SYMCACHE_PPDB_LEN  5

/* Takes a slash away at the beginning and at the end of a path. */

static const char *
symcache_path_trim(const char *p, const char **last)
{
    if (p < *last && *p == '/') {
        p++;
    }

    if (p < *last && (*last)[-1] == '/') {
        (*last)--;
    }

    return p;
}

/* What follows the version: a name, a GUID and perhaps an age. */

static symcache_status_e
symcache_request_key(const char *p, const char *last, symcache_request_t *req)
{
    const char         *slash;
    symcache_status_e   rc;

    slash = memchr(p, '/', (size_t) (last - p));
    if (slash == NULL) {
        return SYMCACHE_BAD_PATH;
    }

    req->name = p;

    rc = symcache_name_parse(p, (size_t) (slash - p), &req->key);
    if (rc != SYMCACHE_OK) {
        return rc;
    }

    p = slash + 1;

    /* nearly always a GUID of 32 digits; no slash among them is a digit */

    slash = last - p > 32 && p[32] == '/'
            ? p + 32 : memchr(p, '/', (size_t) (last - p));

    rc = symcache_guid_parse(p, (size_t) ((slash ? slash : last) - p),
                             req->key.guid);
    if (rc != SYMCACHE_OK) {
        return rc;
    }

    if (slash == NULL) {
        req->key.age = 1;
        return SYMCACHE_OK;
    }

    return symcache_age_parse(slash + 1, (size_t) (last - slash) - 1,
                              &req->key.age);
}

/* The number of slashes tells best what is wrong with a path. */

static symcache_status_e
symcache_request_fault(const char *p, const char *last, symcache_status_e rc)
{
    int  n;

    n = 0;

    while (p < last) {
        n += *p++ == '/';
    }

    return n == 2 || n == 3 ? rc : SYMCACHE_BAD_PATH;
}

static symcache_status_e
symcache_request_read(const char *p, size_t len, symcache_request_t *req)
{
    const char         *last, *end;
    symcache_status_e   rc;

    last = p + len;
    p = symcache_path_trim(p, &last);

    end = p < last && (*p | 0x20) == 'v'
          ? symcache_version_read(p + 1, last, &req->version) : NULL;

    rc = end && end < last && *end == '/'
         ? symcache_request_key(end + 1, last, req) : SYMCACHE_BAD_VERSION;

    return rc == SYMCACHE_OK ? rc : symcache_request_fault(p, last, rc);
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
