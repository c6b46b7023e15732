/*
 * Copyright (C) the ngx_symcache authors
 *
 * The sections of a PE image by name.  Names of more than 8 characters, as
 * those of DWARF's sections, are in the string table of the COFF symbols.
 */
#pragma once

#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/failure.h"
#include "image.h"

/* Does the file end before its sections do, or the names of these?  What they
 * are filled up with may be missing at its end. */
bool pe_sections_are_cut(const struct pe_image *image);

/* Opens an image, and checks that the sections are in the file, and that all
 * names can be understood, which the reference wants.  Returns 0, or -1 with
 * failure set. */
int pe_open_valid(struct pe_image *image, const uint8_t *data, size_t size,
                  struct failure *failure);

/* Finds a section of DWARF by its name without the dot, for example
 * "debug_info", or without ".z".  The address is not told. */
struct dwarf_found pe_section_find(const struct pe_image *image,
                                   const char *name);
