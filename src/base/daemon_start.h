/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symcached and symbolicated have in common before their loops run.
 */
#pragma once

#include <stdbool.h>

/* exit codes; they are API.  The last is EX_OSERR of sysexits.h: systemd has
 * another meaning for 3. */
enum { EXIT_CONFIG = 1, EXIT_USAGE = 2, EXIT_START = 71 };

struct daemon_options {
    const char *config; /* file; the default is given before reading */
    const char *log;    /* file, or NULL for stderr */
    bool test;
    bool verbose;
};

/*
 * Reads -c, -l, -t and -v, and answers -V and -h with the version of the named
 * program and the usage.  Texts of options are those of argv.  Returns -1 to
 * go on, or the exit code of the process.
 */
int daemon_options_read(struct daemon_options *options, int argc, char **argv,
                        const char *name, const char *usage);

/* Opens the log of the options.  Returns 0, or -1 after saying why on stderr,
 * under the name of the program. */
int daemon_open_log(const struct daemon_options *options, const char *name);

/* Raises the limit of descriptors as far as is allowed: each connection needs
 * one or two, and so does what is done for it. */
void daemon_raise_descriptors(void);

/* Writing to a connection that is closed, or beyond RLIMIT_FSIZE, is an error
 * and does not end the process. */
void daemon_ignore_signals(void);

/* Has this process and its children write no core file: their memory has
 * credentials of sources, and crash reports of others. */
void daemon_forbid_core(void);
