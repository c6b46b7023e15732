
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The identity of one module's symbols: PDB name, GUID and age, and the
 * spellings in which clients and disks name it.
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_KEY_H_INCLUDED_
#define _SYMCACHE_KEY_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>
#include "symcache_version.h"


#define SYMCACHE_NAME_MAX    255

/* bytes of <GUID 32 upper hex><AGE 1..8 upper hex>, without a NUL */
#define SYMCACHE_ID_TEXT_MAX  40


typedef enum {
    SYMCACHE_OK = 0,
    SYMCACHE_BAD_PATH,           /* number of path segments */
    SYMCACHE_BAD_VERSION,
    SYMCACHE_BAD_NAME,
    SYMCACHE_BAD_ID,
    SYMCACHE_BAD_AGE
} symcache_status_e;


typedef struct {
    uint8_t    guid[16];         /* in text order, not in PDB file order */
    uint32_t   age;
    uint32_t   name_len;
    char       name[SYMCACHE_NAME_MAX + 1];  /* lower case, NUL-terminated */
} symcache_key_t;


/* What a client asked for: v<major>.<minor>.<patch>/<name>/<id>[/<age>]. */
typedef struct {
    symcache_version_t   version;
    const char          *name;   /* the key's in the client's own case: a part
                                    of the path, key.name_len bytes */
    symcache_key_t       key;    /* last: allocated as far as it is needed */
} symcache_request_t;


/*
 * Checks a PDB name (percent-decoded UTF-8, 1..255 bytes) and copies it in
 * lower case (ASCII letters only: what lies beyond is compared as it is).
 * Names that the store keeps for itself are refused too.  On an error the name
 * in *key is undefined.
 */
symcache_status_e symcache_name_parse(const char *p, size_t len,
    symcache_key_t *key);

/* 32 hex digits, or 8-4-4-4-12, or the latter in {} or (). */
symcache_status_e symcache_guid_parse(const char *p, size_t len,
    uint8_t guid[16]);

/* Decimal 0..4294967295. */
symcache_status_e symcache_age_parse(const char *p, size_t len, uint32_t *age);

/* <GUID 32 hex><AGE 1..8 hex>, any case: the form of directories and URLs
 * of symbol servers. */
symcache_status_e symcache_id_parse(const char *p, size_t len,
    symcache_key_t *key);

/*
 * Writes <GUID 32 upper hex><AGE upper hex> and a NUL into buf, which has room
 * for SYMCACHE_ID_TEXT_MAX + 1 bytes.  Returns the length without the NUL.
 */
size_t symcache_id_print(char *buf, const symcache_key_t *key);

/*
 * Reads a decoded request path behind the location, with or without the
 * leading slash and with or without a trailing one.  On an error *req is
 * undefined.
 */
symcache_status_e symcache_request_parse(const char *p, size_t len,
    symcache_request_t *req);

/*
 * The length of the UTF-8 character at p, which is none of ASCII, or 0 if it
 * is none: overlong forms, surrogates, values above U+10FFFF, and the C1
 * controls, which are control characters like those below U+0020.
 */
size_t symcache_utf8_char(const unsigned char *p, const unsigned char *last);

/* Also of a key that is allocated only as far as its name goes. */
void symcache_key_copy(symcache_key_t *to, const symcache_key_t *from);

/* A short English text for a log line. */
const char *symcache_status_text(symcache_status_e status);


#endif /* _SYMCACHE_KEY_H_INCLUDED_ */
