/*
 * Copyright (C) the ngx_symcache authors
 *
 * A module as an operator names it on the command line.
 */
#ifndef SYMCACHECTL_OPERANDS_H
#define SYMCACHECTL_OPERANDS_H

#include "identity.h"

/*
 * "PDB GUID [AGE]", "PDB GUIDAGE" or "PDB/GUIDAGE".  Returns 0, or -1 after
 * having said what is wrong.
 */
int operands_identity(const char *command, int count, char **operands,
                      struct identity *identity);

#endif
