/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind information of x64 (learn.microsoft.com, cpp/build/
 * exception-handling-x64): functions in .pdata, and what their prologs do.
 */
#ifndef DEBUGINFO_PE_UNWIND_AMD64_H
#define DEBUGINFO_PE_UNWIND_AMD64_H

#include "debuginfo/cfi.h"
#include "image.h"

/* Adds all functions of the image.  Returns 0, or -1 with failure set: damage
 * that the "symbolic" library does not tolerate. */
int pe_unwind_amd64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure);

#endif
