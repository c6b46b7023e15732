/*
 * Copyright (C) the ngx_symcache authors
 *
 * Apple's compact unwind information, the section __unwind_info
 * (mach-o/compact_unwind_encoding.h).
 */
#pragma once

#include "debuginfo/cfi.h"
#include "debuginfo/dwarf/dwarf.h"

struct compact {
    struct dwarf_section section;
    bool is_big;
    uint32_t arch; /* as SymCaches number them */
    /* the addresses of a function that calls signal handlers; 0: none */
    uint64_t trampoline;
    struct dwarf_frames_reader *frames; /* of __eh_frame, or NULL */
};

/* Adds all functions.  Returns 0, or -1 with the failure of cfi set: damage
 * that the "symbolic" library does not tolerate. */
int compact_read(const struct compact *compact, struct cfi *cfi);
