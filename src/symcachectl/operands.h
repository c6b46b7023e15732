/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a module as an operator names it on the command line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symcachectl/files/identity.h"

/* Is that the name under which mappings of ProGuard and R8 are stored? */
bool operands_is_mapping(const char *name, size_t size);

/*
 * Reads "PDB GUID [AGE]", "PDB GUIDAGE" or "PDB/GUIDAGE"; GUIDAGE may be in
 * Symbolicator's form, too, as "3249d99d-0c40-4931-8610-f4e4fb0b6936-1".
 * Without an age it is 1, of a mapping 0.  Also reads the other ids that
 * originals have: "IMAGE STAMPSIZE" and "NAME buildid-HEX", with or without a
 * slash between; a NAME of "_" stands for none, and after it "buildid-" may be
 * left out.  Any other single operand may be the path of a file that belongs
 * to the module.  Returns 0, or -1 after printing what is wrong.
 */
int operands_original(const char *command, int count, char **operands,
                      struct identity *identity);
