/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is kept of an answer besides its body: the status, some header lines,
 * and the beginning of error pages, which some protocols need.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/digest.h"
#include "proto/version.h"

#define FETCH_RESPONSE_VALUE 256
#define FETCH_RESPONSE_TYPE 128
#define FETCH_RESPONSE_META 1024
#define FETCH_RESPONSE_LINK 256
#define FETCH_RESPONSE_SOURCE_MAP 2048
#define FETCH_RESPONSE_DEBUGINFOD 3072

/* A text is "" if the answer did not have it.  fetch_response_clear() names
 * each of these. */
struct fetch_response {
    long status;          /* of the last hop; 0 = no answer was complete */
    unsigned retry_after; /* seconds, with any status; 0 = now, or not sent */
    uint64_t bytes;       /* of its body */
    size_t lines_size;    /* bytes of its header and trailers */
    bool whole;           /* the header was complete */
    bool again;           /* Retry-After was sent, with any value */
    bool moved;           /* there was a redirect on the way */
    bool framed; /* a body that was cut off can be told from a complete one */
    bool may_be_reset; /* it is not, if its stream of HTTP/2 was reset without
                          an error */
    int64_t length;       /* Content-Length; -1 = none */
    char type[FETCH_RESPONSE_TYPE];       /* Content-Type */
    char moved_type[FETCH_RESPONSE_TYPE]; /* of the last redirect */
    char coding[32];                    /* Content-Encoding */
    char range[64];                     /* Content-Range */
    char ranges[32];                    /* Accept-Ranges */
    char etag[FETCH_RESPONSE_VALUE];
    char modified[64]; /* Last-Modified */
    char date[64];
    char transfer[64]; /* Transfer-Encoding */
    /* SHA-256 of the file, and of the body of this answer, as texts. */
    char digest[SYMCACHE_DIGEST_TEXT + 1];
    char content_digest[SYMCACHE_DIGEST_TEXT + 1];
    bool verified;   /* the body has that digest */
    /* lines x-amz-meta-symcache-<name>: <value>, or x-goog-..., as
     * "<name>: <value>\n", see object.h of the tiers */
    char meta[FETCH_RESPONSE_META];
    char reason[64]; /* X-Symcache-Reason */
    char next[FETCH_RESPONSE_LINK]; /* of the Link to the next page, from the
                                       end of its URL on */
    char source_map[FETCH_RESPONSE_SOURCE_MAP]; /* SourceMap or X-SourceMap;
                                                   a longer one is left out */
    char debuginfod[FETCH_RESPONSE_DEBUGINFOD]; /* lines X-DEBUGINFOD-<name>,
                                                   as properties of the file
                                                   (proto/properties.h) */
    char body[1024]; /* the beginning of the body of an error */
};

/* Drops the state of the last hop, except for moved and moved_type. */
void fetch_response_clear(struct fetch_response *response);

/*
 * Takes a line that libcurl calls a header line; it is not terminated.  Lines
 * of a trailer are ignored.  Returns false if there are so many lines that
 * the transfer must end.
 */
bool fetch_response_line(struct fetch_response *response, const char *line,
                         size_t len);

/* Takes a part of the body of an error. */
void fetch_response_body(struct fetch_response *response, const char *data,
                         size_t len);

/*
 * Reads the version of a Content-Type "<type>; version=M.m.p", whose type does
 * not matter.  Returns 1, 0 if there is none, or -1 if it is bad.
 */
int fetch_response_version(const char *type, symcache_version_t *version);

/* Does a Content-Encoding make the body different from the file? */
bool fetch_response_coded(const struct fetch_response *response);

/*
 * Is the body of a 200 the file, and all of it, by what the header says?  For
 * files whose content does not prove that.  Returns false, with the reason in
 * detail, if not.
 */
bool fetch_response_is_whole(const struct fetch_response *response,
                             char *detail, size_t size);

/* The hop has ended: takes over what libcurl knows of its header. */
void fetch_response_end(struct fetch_response *response, CURL *easy);
