/*
 * Copyright (C) the ngx_symcache authors
 *
 * An upload that was a part of a symbfile goes on with all parts, if they are
 * there.  Parts that came to other machines are read from the tier.  Each part
 * is stored there before its client is answered, so at least one of the
 * machines that get the last parts finds them all.
 */
#pragma once

#include <stdbool.h>

struct upload;
struct uploads;

/* Before a symbfile is unpacked: gives a part its name.  Returns false if it
 * is refused, as another number of parts is coming in. */
bool part_join_check(struct upload *upload);

/* The part is stored: the upload goes on with the whole file, or ends. */
void part_join_start(struct upload *upload);

/* An upload has ended: begins what waited for it. */
void part_join_next(struct uploads *uploads);
