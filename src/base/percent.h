/*
 * Copyright (C) the ngx_symcache authors
 *
 * Percent-encoding of paths (RFC 3986).
 */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

/*
 * Encodes every byte outside the unreserved set, but for "/".  p has room for
 * three times the path and a NUL.
 */
void percent_encode_path(char *p, const char *path);

#endif
