/*
 * Copyright (C) the ngx_symcache authors
 *
 * Log lines of the helper: one line an event, on stderr or in a file.
 * Levels by who must act, as in nginx: emerg configuration, crit the operating
 * system refused, error this request failed, warn degraded but served, info
 * normal work.
 *
 * A pipe that nobody reads, or a disk that hangs, stops nobody who writes.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

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

/* file NULL = stderr.  Returns 0, or -1 with errno. */
int log_open(const char *file);

/*
 * From now on a thread writes.  Who has a line waits for that, but not long;
 * while the log does not take any, lines are kept for later, or lost and
 * counted.  Returns 0, or -1 with errno.
 */
int log_start(void);

/* The thread opens the file again, and keeps the old one if it cannot. */
void log_reopen(void);

/*
 * Writes one line with time, level and process id.  Control characters of
 * arguments are escaped, so that a name from a client cannot forge a line.
 * errnum 0 = none; otherwise " (2: No such file or directory)" is appended.
 */
void log_write(enum log_level level, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Writes such a line into buf, cut to size; returns its length, 0 below the
 * level.  log_lines() hands lines over that were written so: to the thread,
 * without waiting for it; what it does not take in time is lost and counted.
 */
size_t log_print(char *buf, size_t size, enum log_level level,
                 const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void log_lines(const char *lines, size_t len);

#define log_emerg(...) log_write(LOG_LEVEL_EMERG, __VA_ARGS__)
#define log_crit(...) log_write(LOG_LEVEL_CRIT, __VA_ARGS__)
#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
