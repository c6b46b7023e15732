
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The SHA-256 digest of a file in HTTP (RFC 9530), which is asked for with
 * Want-Repr-Digest and sent in Repr-Digest and Content-Digest; and the form in
 * which it is kept with a file of the store.
 */


#ifndef _SYMCACHE_DIGEST_H_INCLUDED_
#define _SYMCACHE_DIGEST_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SYMCACHE_HEADER_WANT_DIGEST     "Want-Repr-Digest"
#define SYMCACHE_HEADER_DIGEST          "Repr-Digest"
#define SYMCACHE_HEADER_CONTENT_DIGEST  "Content-Digest"

#define SYMCACHE_DIGEST_WANT            "sha-256=10"

/* The extended attribute of a file in the store. */
#define SYMCACHE_DIGEST_ATTRIBUTE       "user.symcached.sha256"

/* "sha-256=:<44 characters of base64>:" */
#define SYMCACHE_DIGEST_TEXT            54


/* When a file and its inode were changed, as stat() tells. */

typedef struct {
    int64_t   mtime;
    int64_t   mtime_nsec;
    int64_t   ctime;
    int64_t   ctime_nsec;
} symcache_digest_times_t;


/*
 * The value of the attribute.  It is valid as long as the file was not changed
 * since.  A change of its content changes mtime.  A program can set mtime
 * back, but it cannot set ctime.
 */

typedef struct {
    char                     text[SYMCACHE_DIGEST_TEXT + 2];  /* and NULs */
    symcache_digest_times_t  times;
} symcache_digest_t;


/* Does the value of a Want-Repr-Digest ask for SHA-256? */
int symcache_digest_wanted(const char *value, size_t len);

/*
 * Looks for SHA-256 in the value of a Repr-Digest or Content-Digest and writes
 * it to text, with a NUL.  Returns 0, leaving text alone, if there is none.
 */
int symcache_digest_read(const char *value, size_t len,
    char text[SYMCACHE_DIGEST_TEXT + 1]);

/*
 * Is the attribute, of which len bytes were read, the digest of a file with
 * these times?
 */
int symcache_digest_holds(const symcache_digest_t *digest, size_t len,
    const symcache_digest_times_t *times);


#endif /* _SYMCACHE_DIGEST_H_INCLUDED_ */
