/*
 * Copyright (C) the ngx_symcache authors
 *
 * A SymCache from a file, opened for reading in a sandbox.
 *
 * A regular file is mapped: a lookup touches a few pages of it, however large
 * it is.  Files in a store are replaced by rename, so a mapping stays whole;
 * when somebody cuts the file short all the same, the process says so and
 * ends with COMMAND_IO instead of dying of SIGBUS.  What is no regular file
 * ("-" is standard input) is read into memory.
 */
#ifndef SYMCACHECTL_INPUT_H
#define SYMCACHECTL_INPUT_H

#include "symcache/symcache.h"

/* Of what cannot be mapped */
#define INPUT_MAX_READ (1ull << 30)

/*
 * Opens the file and enters the sandbox; from then on only descriptors that
 * are open can be used.  Returns COMMAND_OK, or an exit code after having
 * said what is wrong; a SymCache that is not whole has the given code.  The
 * memory is held until the process ends.
 */
int input_open(const char *file, int damaged_code,
               struct symfile_reader *reader);

#endif
