/*
 * Copyright (C) the ngx_symcache authors
 *
 * "symcached --transcoders": runs the transcoders of a configuration once, as
 * symcached would, and tells what each gave and took.
 */
#ifndef SYMCACHED_TRANSCODE_TRANSCODERS_COMMAND_H
#define SYMCACHED_TRANSCODE_TRANSCODERS_COMMAND_H

struct source_type;

/*
 * The command line: --transcoders [--init] [-c FILE] [NAME].  NAME is the
 * program of a transcoder without its folder; none means all.  With --init,
 * the program is run with this one argument and the transcoder's environment,
 * so that it makes what it needs.  As root, both are done as the owner of the
 * store's root.  Returns an exit code: 0; 1 if the configuration is wrong or
 * one failed; 2 for a wrong command line.
 */
int transcoders_command(int argc, char **argv,
                        const struct source_type *const *types,
                        const char *default_config);

#endif
