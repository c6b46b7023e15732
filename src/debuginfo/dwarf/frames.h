/*
 * Copyright (C) the ngx_symcache authors
 *
 * Call frame information as DWARF 5, section 6.4, has it in .debug_frame, and
 * the Linux Standard Base in .eh_frame: CIEs, FDEs, and the rows of rules that
 * their instructions make.
 */
#pragma once

#include <stdbool.h>

#include "section.h"

struct cfi;

/* A section with call frame information. */
struct dwarf_frames {
    struct dwarf_found found;
    uint64_t load_address;
    uint32_t arch; /* as SymCaches number them */
    bool is_big;
    bool is_64; /* as of struct dwarf_object */
    bool is_eh; /* .eh_frame */
};

/* Adds all functions.  Returns 0, or -1 with the failure of cfi set: damage
 * that the "symbolic" library does not tolerate. */
int dwarf_frames_read(const struct dwarf_frames *frames, struct cfi *cfi);

/* The same for single functions, whose FDEs are at these offsets of the
 * section.  There need not be one. */
struct dwarf_frames_reader;
struct dwarf_frames_reader *
dwarf_frames_open(const struct dwarf_frames *frames, struct cfi *cfi);
int dwarf_frames_read_at(struct dwarf_frames_reader *reader, uint64_t offset);
void dwarf_frames_close(struct dwarf_frames_reader *reader);
