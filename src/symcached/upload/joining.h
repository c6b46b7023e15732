/*
 * Copyright (C) the ngx_symcache authors
 *
 * An upload that was a part of a symbfile goes on with all parts, if they are
 * there.  Those that came to other machines are taken from the tier, where each
 * part is before it is answered: so of those who get the last ones, at least
 * one finds all.
 */
#ifndef SYMCACHED_UPLOAD_JOINING_H
#define SYMCACHED_UPLOAD_JOINING_H

#include <stdbool.h>

struct upload;
struct uploads;

/* Before a symbfile is unpacked: gives a part its name.  Returns false if it is
 * refused, as another number of parts is coming in. */
bool joining_check(struct upload *u);

/* The part is stored: the upload goes on with the whole file, or ends. */
void joining_start(struct upload *u);

/* An upload has ended: begins what waited for it. */
void joining_next(struct uploads *uploads);

#endif
