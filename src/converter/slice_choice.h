/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which slice of a file is converted, where it has several images.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "debuginfo/failure.h"

/* Which of several images in a file is meant; absent ones are NULL. */
struct slice_choice {
    const char *arch; /* as SymCaches name it, for example "arm64" */
    const char *id;   /* a GUID, in any form */
};

/*
 * Narrows a file in memory to the image that is meant: fat Mach-O files have
 * one for each architecture.  Returns 0, or -1 with failure set if none or
 * several are meant, with a list of what there is.
 */
int slice_choose(const struct slice_choice *choice, const uint8_t **data,
                 size_t *size, struct failure *failure);
