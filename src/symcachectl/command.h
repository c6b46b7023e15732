/*
 * Copyright (C) the ngx_symcache authors
 *
 * What all subcommands have in common: exit codes and messages about errors.
 */
#pragma once

enum command_exit {
    COMMAND_OK = 0,
    COMMAND_NOT_FOUND = 1, /* something does not exist; verify: a violation */
    COMMAND_USAGE = 2,
    COMMAND_INCOMPLETE = 2, /* of symbolicate: a frame has no name */
    COMMAND_IO = 3,         /* also: no answer from the helper */
    COMMAND_FOREIGN = 4,    /* not a SymCache, or an incomplete one */
    COMMAND_INTERRUPTED = 130
};

/* A subcommand gets the arguments that follow its name, and returns an exit
 * code.  It has printed its errors to standard error. */
int lookup_command(int argc, char **argv);
int dump_command(int argc, char **argv);
int retrace_command(int argc, char **argv);
int verify_command(int argc, char **argv);
int convert_command(int argc, char **argv);
int warm_command(int argc, char **argv);
int why_command(int argc, char **argv);
int jobs_command(int argc, char **argv);
int sources_command(int argc, char **argv);
int status_command(int argc, char **argv);
int forget_command(int argc, char **argv);
int drain_command(int argc, char **argv);
int ls_command(int argc, char **argv);
int import_command(int argc, char **argv);
int clean_command(int argc, char **argv);
int tier_command(int argc, char **argv);
int upload_command(int argc, char **argv);
int uploads_command(int argc, char **argv);
int watch_command(int argc, char **argv);
int transcoder_command(int argc, char **argv);
int symbolicate_command(int argc, char **argv);
int minidump_command(int argc, char **argv);
int symbfile_command(int argc, char **argv);
int bundle_sources_command(int argc, char **argv);
int sort_command(int argc, char **argv);

/* Prints what is wrong with the arguments, and where to find help.  Returns
 * COMMAND_USAGE. */
int command_usage(const char *command, const char *what, const char *argument);

/* Returns the only argument of a command that takes a FILE; or NULL after
 * printing what is wrong. */
const char *command_file(const char *command, int argc, char **argv);

/* Prints "FILE: reason" to standard error.  Returns code. */
int command_fail(int code, const char *file, const char *reason);

/* Ends the process with COMMAND_IO. */
_Noreturn void command_no_memory(void);

/* Flushes standard output.  Returns code; or COMMAND_IO after printing why
 * it could not be written. */
int command_finish(int code);
