/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of PDBs come from clients, and some of them mean something to the
 * programs that they are handed to.
 */
#pragma once

#include <stdbool.h>

/*
 * Is the name (not empty) one file in one folder, and nothing else, wherever
 * it goes: to a shell of Unix or Windows, to Windows itself, to a program as
 * an argument, through any encoding?
 */
bool pdb_name_is_plain(const char *name);
