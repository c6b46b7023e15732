/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symcached's systemd unit keeps it from writing to.  -t of an operator
 * runs outside of the unit's sandbox, and as another user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct systemd_unit;

/* Asks systemd for the unit, unless this process runs in it.  Returns NULL
 * where there is none. */
struct systemd_unit *systemd_unit_read(void);

/*
 * Can symcached write below this absolute path when the unit starts it?  It
 * makes the folder if it is not there.  If not, why is a sentence with the
 * remedy.
 */
bool systemd_unit_can_write(const struct systemd_unit *unit, const char *path,
                            char *why, size_t size);

/* Does the unit make this folder before it starts symcached?  Without a unit
 * it does not. */
bool systemd_unit_makes(const struct systemd_unit *unit, const char *path);

void systemd_unit_free(struct systemd_unit *unit); /* NULL is allowed */
