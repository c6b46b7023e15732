
/*
 * Copyright (C) the ngx_symcache authors
 *
 * A client's hints about a file beyond its key, such as the checksum of a
 * portable PDB.  They help to find the file, but nothing proves them: the
 * result is remembered for clients with the same hints, and not for the key.
 * The exception is the URL of a key whose id is the hash of it, and with that
 * the time from which on its file counts.
 *
 * Hints are text: "" or "<name>=<value>", joined by "&" in the order of
 * symcache_hint_e, so that equal hints are equal texts.  The values are
 * percent-encoded, so that the text is a part of a query as it is.
 */


#ifndef _SYMCACHE_HINTS_H_INCLUDED_
#define _SYMCACHE_HINTS_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>
#include "key.h"
#include "url.h"


typedef enum {
    /* where the file is, in the normal form of url.h; it is proved: the id of
     * the key is a hash, the SHA-256 of this */
    SYMCACHE_HINT_URL = 0,
    /* seconds since 1970: the file is to be as it was then or later; proved
     * with the URL: the id is the SHA-256 of "<url>#<since>" then */
    SYMCACHE_HINT_SINCE,
    /* "1": a client names the URL, and no file of ours, so no credentials are
     * sent; proved likewise, by "#scraped" at the end */
    SYMCACHE_HINT_SCRAPED,
    /* of what a JsCache is made: "<name>/<id>" of the key of a file at a URL,
     * or "<name>/<id>@<offset>-<size>", bytes of a SourceCache */
    SYMCACHE_HINT_SCRIPT,
    SYMCACHE_HINT_MAP,
    /* a list of uploaded bundles of scripts: a debug id, or "release-" and hex
     * digits; it is proved: the id is the SHA-256 of this */
    SYMCACHE_HINT_ARTIFACTS,
    /* "<algorithm>:<hex>" of a portable PDB, with ";" between several */
    SYMCACHE_HINT_CHECKSUM,
    /* the build id or PE code id of a module, as the text of a key's id */
    SYMCACHE_HINT_CODE_ID,
    /* the name of the file that has this code id */
    SYMCACHE_HINT_CODE_FILE,
    /* of a portable PDB, hex: the layout unified has it in place of an age */
    SYMCACHE_HINT_STAMP,
    /* names of sources, with "," between several: no others are asked; behind
     * one ":" and what it is asked for, if not for all: debug files by build
     * id (d), what lies under the key itself (k), programs (p) */
    SYMCACHE_HINT_SOURCES,
    SYMCACHE_HINTS
} symcache_hint_e;


/* The longest value in bytes, percent-encoded; and the longest text, in which
 * the URL is as long as its escapes make it. */
#define SYMCACHE_HINT_MAX   512
#define SYMCACHE_HINTS_MAX  (SYMCACHE_HINTS * (SYMCACHE_HINT_MAX + 16)        \
                             + 3 * SYMCACHE_URL_MAX)


/* The name of a hint: that of the key in the helper's queries, too. */
const char *symcache_hint_name(symcache_hint_e hint);

/* What its values must be: "<name>= must be ...", for a client's error. */
const char *symcache_hint_syntax(symcache_hint_e hint);

/*
 * Adds a value to a text that has no hint from this one on.  Returns 0, and
 * leaves the text alone, if the value is none of this hint.
 */
int symcache_hint_add(char hints[SYMCACHE_HINTS_MAX + 1], symcache_hint_e hint,
    const char *value, size_t len);

/* Copies the value of a hint that is not the URL, or "" if there is none. */
void symcache_hint_get(const char *hints, symcache_hint_e hint,
    char value[SYMCACHE_HINT_MAX + 1]);

/* The same of SYMCACHE_HINT_URL. */
void symcache_hint_get_url(const char *hints, char url[SYMCACHE_URL_MAX + 1]);


/* A file at a URL, or bytes of a SourceCache, as the kind of the key tells. */
typedef struct {
    symcache_key_t  key;
    uint64_t        offset;
    uint64_t        size;
} symcache_hint_file_t;

/* Reads the value of SYMCACHE_HINT_SCRIPT and SYMCACHE_HINT_MAP, and prints it.
 * Returns 0 if it is none. */
int symcache_hint_file(const char *value, symcache_hint_file_t *file);
void symcache_hint_print_file(char value[SYMCACHE_HINT_MAX + 1],
    const symcache_hint_file_t *file);

/* Returns 1 if there are hints, and all of them are of a proved kind. */
int symcache_hints_proved(const char *hints);


#endif /* _SYMCACHE_HINTS_H_INCLUDED_ */
