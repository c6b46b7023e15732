/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a module as an operator names it on the command line.
 */
#ifndef SYMCACHECTL_OPERANDS_H
#define SYMCACHECTL_OPERANDS_H

#include "identity.h"

/*
 * Reads "PDB GUID [AGE]", "PDB GUIDAGE" or "PDB/GUIDAGE".  Returns 0, or -1
 * after printing what is wrong.
 */
int operands_identity(const char *command, int count, char **operands,
                      struct identity *identity);

#endif
