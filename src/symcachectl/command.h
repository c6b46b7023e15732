/*
 * Copyright (C) the ngx_symcache authors
 *
 * What all subcommands agree on: exit codes, and who says what went wrong.
 */
#ifndef SYMCACHECTL_COMMAND_H
#define SYMCACHECTL_COMMAND_H

enum command_exit {
    COMMAND_OK = 0,
    COMMAND_NOT_FOUND = 1, /* something was not; verify: a violation */
    COMMAND_USAGE = 2,
    COMMAND_IO = 3,      /* also: no answer from the helper */
    COMMAND_FOREIGN = 4, /* not a SymCache, or not a whole one */
    COMMAND_INTERRUPTED = 130
};

/* Subcommands get the arguments behind their name and return an exit code.
 * They have said what went wrong on standard error. */
int lookup_command(int argc, char **argv);
int dump_command(int argc, char **argv);
int verify_command(int argc, char **argv);
int warm_command(int argc, char **argv);
int why_command(int argc, char **argv);
int jobs_command(int argc, char **argv);
int sources_command(int argc, char **argv);
int forget_command(int argc, char **argv);
int ls_command(int argc, char **argv);
int import_command(int argc, char **argv);
int clean_command(int argc, char **argv);

/* Says on standard error what is wrong with the arguments, and where help is.
 * Returns COMMAND_USAGE. */
int command_usage(const char *command, const char *what, const char *argument);

/* The only argument of a command that takes a FILE; NULL after a complaint. */
const char *command_file(const char *command, int argc, char **argv);

/* Says "FILE: reason" on standard error.  Returns code. */
int command_fail(int code, const char *file, const char *reason);

/* Ends the process with COMMAND_IO. */
_Noreturn void command_no_memory(void);

/* Flushes standard output.  Returns code, or COMMAND_IO after having said why
 * that failed. */
int command_finish(int code);

#endif
