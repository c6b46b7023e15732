/*
 * Copyright (C) the ngx_symcache authors
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "log.h"
#include "utf8.h"

#define LOG_LINE_MAX 8192

static enum log_level log_limit = LOG_LEVEL_INFO;
static int log_fd = STDERR_FILENO;

void log_set_level(enum log_level level)
{
    log_limit = level;
}

int log_open(const char *file)
{
    int fd = STDERR_FILENO;

    if (file != NULL) {
        fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (fd == -1) {
            return -1;
        }
    }

    if (log_fd != STDERR_FILENO) {
        close(log_fd);
    }
    log_fd = fd;
    return 0;
}

/* Copies text; a control character becomes \xNN.  Returns the new length. */
static size_t append_escaped(char *line, size_t len, size_t size,
                             const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    for (; *p != '\0' && len + 5 < size; p++) {
        if (*p >= ' ' && *p != 0x7f) {
            line[len++] = (char)*p;
        } else {
            len += (size_t)snprintf(line + len, size - len, "\\x%02X", *p);
        }
    }
    return len;
}

void log_write(enum log_level level, int errnum, const char *format, ...)
{
    static const char *const names[] = {"emerg", "crit", "error",
                                        "warn",  "info", "debug"};
    char text[LOG_LINE_MAX], line[LOG_LINE_MAX], reason[256];
    int saved = errno;
    struct tm tm;
    time_t now;
    va_list args;
    size_t len;

    if (level > log_limit) {
        return;
    }

    now = time(NULL);
    localtime_r(&now, &tm);
    len = strftime(line, sizeof(line), "%Y/%m/%d %H:%M:%S", &tm);
    len += (size_t)snprintf(line + len, sizeof(line) - len,
                            " [%s] %ld: ", names[level], (long)getpid());

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    utf8_mend(text);
    len = append_escaped(line, len, sizeof(line) - sizeof(reason), text);

    if (errnum != 0) {
        snprintf(reason, sizeof(reason), " (%d: %s)", errnum,
                 strerror(errnum));
        len = append_escaped(line, len, sizeof(line), reason);
    }
    line[len++] = '\n';

    /* A log that cannot be written must not stop the work. */
    if (write(log_fd, line, len) == -1) {
        errno = saved;
        return;
    }
    errno = saved;
}
