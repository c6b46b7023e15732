/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names from a folder of debug files: symcached and symbolicated run for one
 * command, with this folder as their only source and a store that is removed
 * afterwards.
 */
#pragma once

#include "symcachectl/settings.h"

/*
 * Starts both for "LAYOUT:FOLDER", or "FOLDER" of the layout unified, and sets
 * the address of symbolicated in settings.  The command goes on in a child
 * process, while this one waits for it, ends the daemons and then itself with
 * the child's exit code.  Returns COMMAND_OK in the child, or an exit code
 * after printing what is wrong.
 */
int temporary_daemons_start(const char *symbols, struct settings *settings);
