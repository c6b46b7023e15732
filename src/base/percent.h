/*
 * Copyright (C) the ngx_symcache authors
 *
 * Percent-encoding (RFC 3986).
 */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

/*
 * Encodes every byte outside the unreserved set.  p has room for three times
 * the text and a NUL; returns where that is.
 */
char *percent_encode(char *p, const char *text);

/* The same of a path, in which "/" stays. */
void percent_encode_path(char *p, const char *path);

#endif
