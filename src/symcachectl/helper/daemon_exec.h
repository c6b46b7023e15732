/*
 * Copyright (C) the ngx_symcache authors
 *
 * Commands that a daemon itself does, because it knows the rules.
 */
#ifndef SYMCACHECTL_HELPER_DAEMON_EXEC_H
#define SYMCACHECTL_HELPER_DAEMON_EXEC_H

/*
 * Becomes the daemon that the first of these arguments names, which end with
 * NULL: the one beside this program, in ../sbin, or in PATH.  Returns
 * COMMAND_IO after printing why there is none.
 */
int daemon_exec(const char *const *args);

#endif
