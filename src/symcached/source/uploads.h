/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploaded files that another machine of the fleet has: where the folder of
 * uploads has no file, the tier that they are kept in is asked.
 */
#ifndef SYMCACHED_SOURCE_UPLOADS_H
#define SYMCACHED_SOURCE_UPLOADS_H

struct lookup;

/* A step of a lookup whose source has a tier, see steps.h. */
void uploads_ask_tier(struct lookup *lookup);

#endif
