/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the reference refuses about a Mach-O image as a whole, before it looks
 * at its symbols.
 */
#ifndef DEBUGINFO_MACHO_VALIDATE_H
#define DEBUGINFO_MACHO_VALIDATE_H

#include "debuginfo/failure.h"
#include "image.h"

/* Opens an image.  Returns 0, or -1 with failure set if it is none, if a load
 * command cannot be used or refers to what is outside of the file, or if many
 * segments claim the same sections. */
int macho_open_valid(struct macho_image *image, const uint8_t *data,
                     size_t size, struct failure *failure);

#endif
