/*
 * Copyright (C) the ngx_symcache authors
 *
 * Log lines of the helper: one line for each event, on stderr or in a file.
 * The levels are named as in nginx: emerg for errors in the configuration, crit
 * when the operating system refused something, error when a request failed,
 * warn when it was served in spite of a problem, info for normal work.
 *
 * A pipe that nobody reads, or a disk that hangs, does not block callers for
 * long.
 */
#pragma once

#include <stddef.h>

enum log_level {
    LOG_LEVEL_EMERG,
    LOG_LEVEL_CRIT,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

void log_set_level(enum log_level level);

/*
 * Opens the log; NULL is stderr, where systemd's journal gets a priority in the
 * place of time, level and process id (sd-daemon(3)).  The text of file must
 * stay valid, as log_reopen() uses it again.  Returns 0, or -1 with errno.
 */
int log_open(const char *file);

/*
 * Starts a thread, which writes all lines from now on.  log_write() waits for
 * it, but not long: while the log is stuck, lines are kept for later, and
 * those that are too many are lost and counted.  Returns 0, or -1 with errno.
 */
int log_start(void);

/* Makes the thread open the file again; if it cannot, it keeps the old one. */
void log_reopen(void);

/*
 * Writes one line with time, level and process id.  Control characters of
 * arguments are escaped, so that a name from a client cannot forge a line.
 * errnum 0 = none; otherwise " (2: No such file or directory)" is appended.
 */
void log_write(enum log_level level, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Writes such a line into buf, cut to size, and returns its length, or 0 if
 * the level is not logged; the text is mended in place.  log_lines() passes
 * lines that were made this way to the thread without waiting for it; while
 * the log is stuck they are kept or lost as above.
 */
size_t log_print(char *buf, size_t size, enum log_level level, char *text);
void log_lines(const char *lines, size_t len);

#define log_emerg(...) log_write(LOG_LEVEL_EMERG, __VA_ARGS__)
#define log_crit(...) log_write(LOG_LEVEL_CRIT, __VA_ARGS__)
#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
