/*
 * Copyright (C) the ngx_symcache authors
 */

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "decimal.h"
#include "thread.h"
#include "utf8.h"

#define LOG_LINE_MAX 8192

/* How long a caller waits for its line before the log counts as stuck. */
#define LOG_PATIENCE_MS 100
#define LOG_KEPT 1000 /* lines that are kept for later; more are lost */

static enum log_level log_limit = LOG_LEVEL_INFO;
static int log_fd = STDERR_FILENO;
static const char *log_file; /* or NULL */
static bool log_is_journal;

struct log_line {
    STAILQ_ENTRY(log_line) next;
    size_t len; /* 0: not a line, but the request to reopen the file */
    char text[];
};

/* The lines that the thread has still to write. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t more;
    pthread_cond_t written;
    STAILQ_HEAD(, log_line) lines;
    uint64_t begun; /* number of lines that were queued */
    uint64_t done;  /* number of those that are written */
    unsigned lost;
    bool started;
    bool stuck; /* callers do not wait; ends when the queue is empty */
} log_queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
               .more = PTHREAD_COND_INITIALIZER,
               .lines = STAILQ_HEAD_INITIALIZER(log_queue.lines)};

void log_set_level(enum log_level level)
{
    log_limit = level;
}

/* Returns whether stderr leads to systemd's journal, see systemd.exec(5). */
static bool is_journal(void)
{
    const char *name = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;

    return name != NULL &&
           sscanf(name, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
           st.st_ino == inode;
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
    log_file = file;
    log_is_journal = file == NULL && is_journal();
    return 0;
}

/* lines ------------------------------------------------------------------- */

/* Appends a text, which is mended, and whose control characters become \xNN.
 * Returns the new length. */
static size_t log_append_text(char *line, size_t len, size_t size, char *text,
                              size_t n)
{
    const unsigned char *p;

    if (len + n + 5 <= size && utf8_is_printable(text, n)) {
        memcpy(line + len, text, n);
        return len + n;
    }
    utf8_mend(text);
    for (p = (const unsigned char *)text; *p != '\0' && len + 5 < size; p++) {
        if (*p >= ' ' && *p != 0x7f) {
            line[len++] = (char)*p;
        } else {
            len += (size_t)snprintf(line + len, size - len, "\\x%02X", *p);
        }
    }
    return len;
}

/* The time of a line, which is printed once a second. */
static const char *log_print_time(void)
{
    static _Thread_local char text[32];
    static _Thread_local time_t printed;
    time_t now = time(NULL);
    struct tm tm;

    if (now != printed) {
        localtime_r(&now, &tm);
        strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S", &tm);
        printed = now;
    }
    return text;
}

/* Copies a text without its end.  Returns where the copy ends. */
static char *log_put_text(char *p, const char *text)
{
    size_t n = strlen(text);

    memcpy(p, text, n);
    return p + n;
}

/* Prints what comes before the text, and returns its length.  The journal
 * keeps time and process of a line by itself, and its priority, if the line
 * begins with that. */
static size_t log_print_head(char line[LOG_LINE_MAX], enum log_level level)
{
    static const char *const names[] = {" [emerg] ", " [crit] ", " [error] ",
                                        " [warn] ",  " [info] ", " [debug] "};
    static const int priorities[] = {LOG_CRIT,    LOG_CRIT, LOG_ERR,
                                     LOG_WARNING, LOG_INFO, LOG_DEBUG};
    char digits[DECIMAL_MAX + 1], *p = line;

    if (log_is_journal) {
        return (size_t)snprintf(line, LOG_LINE_MAX, "<%d>", priorities[level]);
    }
    digits[DECIMAL_MAX] = '\0';
    p = log_put_text(p, log_print_time());
    p = log_put_text(p, names[level]);
    p = log_put_text(p,
                     decimal_before(digits + DECIMAL_MAX, (uint64_t)getpid()));
    *p++ = ':';
    *p++ = ' ';
    return (size_t)(p - line);
}

static size_t log_print_line(char line[LOG_LINE_MAX], enum log_level level,
                             int errnum, const char *format, va_list args)
{
    char text[LOG_LINE_MAX], reason[256];
    size_t len = log_print_head(line, level);

    vsnprintf(text, sizeof(text), format, args);
    len = log_append_text(line, len, LOG_LINE_MAX - sizeof(reason), text,
                          strlen(text));

    if (errnum != 0) {
        snprintf(reason, sizeof(reason), " (%d: %s)", errnum,
                 strerror(errnum));
        len = log_append_text(line, len, LOG_LINE_MAX, reason, strlen(reason));
    }
    line[len++] = '\n';
    return len;
}

/* Errors are ignored: a log that cannot be written must not stop the work. */
static void log_put(const char *text, size_t len)
{
    if (write(log_fd, text, len) == -1) {
        return;
    }
}

__attribute__((format(printf, 3, 4))) static void
log_put_line(enum log_level level, int errnum, const char *format, ...)
{
    char line[LOG_LINE_MAX];
    va_list args;
    size_t len;

    va_start(args, format);
    len = log_print_line(line, level, errnum, format, args);
    va_end(args);
    log_put(line, len);
}

/* the thread -------------------------------------------------------------- */

static void log_write_one(const struct log_line *line, unsigned lost)
{
    if (line->len > 0) {
        log_put(line->text, line->len);
    } else if (log_open(log_file) != 0) {
        log_put_line(LOG_LEVEL_CRIT, errno, "cannot reopen \"%s\"", log_file);
    }
    if (lost > 0) {
        log_put_line(LOG_LEVEL_CRIT, 0,
                     "%u lines that came when the log took none are lost",
                     lost);
    }
}

static void *log_run_writer(void *arg)
{
    struct log_line *line;
    unsigned lost;

    pthread_mutex_lock(&log_queue.mutex);
    for (;;) {
        while ((line = STAILQ_FIRST(&log_queue.lines)) == NULL) {
            log_queue.stuck = false;
            pthread_cond_wait(&log_queue.more, &log_queue.mutex);
        }
        STAILQ_REMOVE_HEAD(&log_queue.lines, next);
        lost = STAILQ_EMPTY(&log_queue.lines) ? log_queue.lost : 0;
        log_queue.lost -= lost;
        pthread_mutex_unlock(&log_queue.mutex);

        log_write_one(line, lost);
        free(line);

        pthread_mutex_lock(&log_queue.mutex);
        log_queue.done++;
        pthread_cond_broadcast(&log_queue.written);
    }
    return NULL;
}

int log_start(void)
{
    pthread_condattr_t attr;
    int rc;

    /* the time of day, which is the default, may be set while one waits */
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&log_queue.written, &attr);
    pthread_condattr_destroy(&attr);

    rc = thread_start(log_run_writer, NULL);
    log_queue.started = rc == 0;
    errno = rc;
    return rc == 0 ? 0 : -1;
}

/* Waits until so many lines are written, or the log is stuck.  The caller holds
 * the mutex. */
static void log_wait_for(uint64_t number)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += LOG_PATIENCE_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    while (log_queue.done < number && !log_queue.stuck) {
        log_queue.stuck =
            pthread_cond_timedwait(&log_queue.written, &log_queue.mutex,
                                   &end) == ETIMEDOUT;
    }
}

static void log_queue_line(const char *text, size_t len, bool wait)
{
    struct log_line *line = malloc(sizeof(*line) + len);
    uint64_t number = 0;

    pthread_mutex_lock(&log_queue.mutex);
    if (line == NULL || log_queue.begun - log_queue.done >= LOG_KEPT) {
        log_queue.lost++;
        free(line);
    } else {
        line->len = len;
        memcpy(line->text, text, len);
        STAILQ_INSERT_TAIL(&log_queue.lines, line, next);
        number = ++log_queue.begun;
    }
    pthread_mutex_unlock(&log_queue.mutex);

    /* without the mutex, for which the thread would wait at once */
    if (number > 0) {
        pthread_cond_signal(&log_queue.more);
    }
    if (number > 0 && wait) {
        pthread_mutex_lock(&log_queue.mutex);
        log_wait_for(number);
        pthread_mutex_unlock(&log_queue.mutex);
    }
}

void log_reopen(void)
{
    log_queue_line("", 0, true);
}

void log_write(enum log_level level, int errnum, const char *format, ...)
{
    char line[LOG_LINE_MAX];
    int saved = errno;
    va_list args;
    size_t len;

    if (level > log_limit) {
        return;
    }

    va_start(args, format);
    len = log_print_line(line, level, errnum, format, args);
    va_end(args);
    if (log_queue.started) {
        log_queue_line(line, len, true);
    } else {
        log_put(line, len);
    }
    errno = saved;
}

size_t log_print(char *buf, size_t size, enum log_level level, char *text)
{
    char line[LOG_LINE_MAX];
    size_t len;

    if (level > log_limit) {
        return 0;
    }
    len = log_print_head(line, level);
    len = log_append_text(line, len, LOG_LINE_MAX, text, strlen(text));
    line[len++] = '\n';
    if (len > size) {
        len = size;
        line[len - 1] = '\n';
    }
    memcpy(buf, line, len);
    return len;
}

void log_lines(const char *lines, size_t len)
{
    if (log_queue.started) {
        log_queue_line(lines, len, false);
    } else {
        log_put(lines, len);
    }
}
