/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind information of ARM64 (learn.microsoft.com, cpp/build/
 * arm64-exception-handling): functions in .pdata, and in .xdata the codes of
 * what their prologs do, or both in .pdata alone.
 */
#ifndef DEBUGINFO_PE_UNWIND_ARM64_H
#define DEBUGINFO_PE_UNWIND_ARM64_H

#include "debuginfo/cfi.h"
#include "image.h"

/* Adds all functions of the image.  Those whose information is packed into
 * .pdata are corrections.  Returns 0, or -1 with failure set. */
int pe_unwind_arm64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure);

#endif
