/*
 * Copyright (C) the ngx_symcache authors
 */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fd_close.h"
#include "hash_table.h"
#include "plain_file.h"

#define LINE_MAX_ (JOURNAL_CHECKSUM + 1 + JOURNAL_RECORD_MAX + 1)

/* A file that is larger is none of ours: nothing of it is read. */
#define SIZE_MAX_ ((off_t)256 << 20)

/* It tells a record from what a crash has left of one; nobody else's file is
 * read, so it need not be hard to forge. */
static void print_journal_checksum(char buf[JOURNAL_CHECKSUM + 1],
                                   const char *record, size_t len)
{
    snprintf(buf, JOURNAL_CHECKSUM + 1, "%016" PRIx64,
             table_hash(0, record, len));
}

static void take_journal_line(char *line, size_t len, journal_fn fn, void *arg)
{
    char checksum[JOURNAL_CHECKSUM + 1];
    char *record = line + JOURNAL_CHECKSUM + 1;

    if (len <= JOURNAL_CHECKSUM + 1 || len >= LINE_MAX_ ||
        memchr(line, '\0', len) != NULL || line[JOURNAL_CHECKSUM] != '\t') {
        return;
    }
    line[len] = '\0';
    print_journal_checksum(checksum, record, len - JOURNAL_CHECKSUM - 1);
    if (memcmp(checksum, line, JOURNAL_CHECKSUM) == 0) {
        fn(arg, record);
    }
}

/* Reads what is behind journal->read. */
static int read_journal_rest(struct journal *journal, int fd, off_t size,
                             journal_fn fn, void *arg)
{
    size_t len = (size_t)(size - journal->read), n = 0;
    char *text = malloc(len + 1), *line, *end, *last = NULL;
    ssize_t got = 1;

    if (text == NULL) {
        return -1;
    }
    while (n < len && got > 0) {
        got = pread(fd, text + n, len - n, journal->read + (off_t)n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        int saved = errno;

        free(text);
        errno = saved;
        return -1;
    }
    for (line = text; (end = memchr(line, '\n',
                                    n - (size_t)(line - text))) != NULL;
         line = end + 1) {
        if (end - line >= JOURNAL_CHECKSUM) {
            last = line;
        }
        take_journal_line(line, (size_t)(end - line), fn, arg);
    }
    if (last != NULL) {
        journal->last = journal->read + (last - text);
        memcpy(journal->last_checksum, last, JOURNAL_CHECKSUM);
    }
    journal->read += line - text;
    journal->size = size;
    free(text);
    return 0;
}

/* There is another file, or none, or its records are no longer those that were
 * read. */
static void start_journal_again(struct journal *journal, journal_fn fn,
                                void *arg)
{
    if (journal->ino != 0) {
        fn(arg, NULL);
    }
    memset(journal, 0, sizeof(*journal));
}

static bool is_journal_unchanged(const struct journal *journal,
                                 const struct stat *st)
{
    return st->st_ino == journal->ino && st->st_dev == journal->dev &&
           st->st_size == journal->size &&
           st->st_ctim.tv_sec == journal->changed.tv_sec &&
           st->st_ctim.tv_nsec == journal->changed.tv_nsec;
}

/*
 * Is it the file that was read, and has it only grown?  A file that was
 * written anew twice has the first one's inode on ext4, and may have grown
 * beyond it since.  Records that are left out when it is written move all
 * others to the front, so it is enough to look for the last one.
 */
static bool is_journal_continued(const struct journal *journal, int fd,
                                 const struct stat *st)
{
    char checksum[JOURNAL_CHECKSUM];

    return st->st_ino == journal->ino && st->st_dev == journal->dev &&
           st->st_size >= journal->size &&
           (journal->last_checksum[0] == '\0' ||
            (pread(fd, checksum, sizeof(checksum), journal->last) ==
                 (ssize_t)sizeof(checksum) &&
             memcmp(checksum, journal->last_checksum, sizeof(checksum)) == 0));
}

int journal_read(struct journal *journal, const char *path, journal_fn fn,
                 void *arg)
{
    struct stat st;
    int fd, rc;

    if (stat(path, &st) != 0) {
        if (errno != ENOENT && errno != ENOTDIR) {
            return -1;
        }
        start_journal_again(journal, fn, arg);
        return 0;
    }
    if (is_journal_unchanged(journal, &st)) {
        return 0;
    }
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size > SIZE_MAX_) {
        errno = fd == -1 ? errno : EFBIG;
        fd_close(fd);
        return -1;
    }
    if (!is_journal_continued(journal, fd, &st)) {
        start_journal_again(journal, fn, arg);
        journal->dev = st.st_dev;
        journal->ino = st.st_ino;
    }
    rc = read_journal_rest(journal, fd, st.st_size, fn, arg);
    if (rc == 0) {
        journal->changed = st.st_ctim;
    }
    close(fd);
    return rc;
}

/* *end gets the size of the file that all of it was read, and this line alone
 * behind it; 0 if not all of it was read. */
static int write_journal_line(const struct journal *journal, int fd,
                              const char *record, off_t *end)
{
    char line[1 + LINE_MAX_ + 1], checksum[JOURNAL_CHECKSUM + 1];
    size_t len = strlen(record), n;
    struct stat st;
    bool all_read;
    ssize_t put;

    if (fstat(fd, &st) != 0) {
        return -1;
    }
    print_journal_checksum(checksum, record, len);
    all_read =
        is_journal_unchanged(journal, &st) && journal->read == journal->size;
    /* behind a line that was cut off, a new one begins */
    n = (size_t)snprintf(line, sizeof(line), "%s%s\t%s\n",
                         st.st_size > 0 && !all_read ? "\n" : "", checksum,
                         record);
    *end = all_read ? st.st_size + (off_t)n : 0;
    put = write(fd, line, n);
    if (put != (ssize_t)n) {
        errno = put < 0 ? errno : ENOSPC;
        return -1;
    }
    return 0;
}

int journal_append(struct journal *journal, const char *path,
                   const char *record, journal_fn fn, void *arg)
{
    struct stat written = {0}, named;
    off_t end = 0;
    int fd, rc, saved, tries = 3;
    bool gone;

    if (strlen(record) > JOURNAL_RECORD_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    do {
        fd = open(path,
                  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
                      O_CLOEXEC,
                  0644);
        if (fd == -1) {
            return -1;
        }
        rc = write_journal_line(journal, fd, record, &end);
        saved = errno;
        /* another process may have written the file anew meanwhile */
        gone = rc == 0 && fstat(fd, &written) == 0 &&
               (stat(path, &named) != 0 || named.st_ino != written.st_ino);
        close(fd);
    } while (gone && --tries > 0);
    if (rc == 0 && !gone && fn != NULL && end > 0 && written.st_size == end) {
        journal->read = journal->size = end;
        journal->changed = written.st_ctim;
        journal->last =
            end - (off_t)(JOURNAL_CHECKSUM + 1 + strlen(record) + 1);
        print_journal_checksum(journal->last_checksum, record, strlen(record));
        fn(arg, record);
        return 1;
    }
    errno = gone ? ESTALE : saved;
    return gone ? -1 : rc;
}

static void new_journal_path(char buf[PATH_MAX], const char *path)
{
    snprintf(buf, PATH_MAX, "%.4000s.new", path);
}

/* Locks the new file: of two processes that write one, one would rename what
 * the other has written in part.  Where there are no locks, as on NFS without
 * them, the checksums tell what is missing.  Returns false with errno. */
static bool lock_new_journal(int fd, const char *tmp)
{
    struct stat own, named;

    if ((flock(fd, LOCK_EX | LOCK_NB) != 0 && errno != ENOLCK &&
         errno != EOPNOTSUPP && errno != ENOSYS) ||
        fstat(fd, &own) != 0) {
        return false;
    }
    if (lstat(tmp, &named) != 0 || named.st_ino != own.st_ino) {
        errno = EAGAIN; /* another process has just renamed it */
        return false;
    }
    return ftruncate(fd, 0) == 0;
}

FILE *journal_rewrite_begin(const char *path)
{
    char tmp[PATH_MAX];
    int fd;
    FILE *f;

    new_journal_path(tmp, path);
    fd = plain_file_make(tmp);
    f = fd != -1 && lock_new_journal(fd, tmp) ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        fd_close(fd);
    }
    return f;
}

void journal_rewrite_put(FILE *f, const char *record)
{
    char checksum[JOURNAL_CHECKSUM + 1];

    print_journal_checksum(checksum, record, strlen(record));
    fprintf(f, "%s\t%s\n", checksum, record);
}

/* Is the file as it was when it was read? */
static bool is_journal_as_read(const struct journal *journal, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return journal->ino == 0;
    }
    return st.st_ino == journal->ino && st.st_dev == journal->dev &&
           st.st_size == journal->size;
}

int journal_rewrite_end(const struct journal *journal, FILE *f,
                        const char *path)
{
    char tmp[PATH_MAX];
    int saved, lock = dup(fileno(f)); /* until it has its name */
    bool failed = lock == -1 || ferror(f) != 0, late;

    new_journal_path(tmp, path);
    failed = fclose(f) != 0 || failed;
    late = !failed && journal != NULL && !is_journal_as_read(journal, path);
    if (failed || late || rename(tmp, path) != 0) {
        saved = failed ? EIO : late ? EAGAIN : errno;
        (void)unlink(tmp);
        fd_close(lock);
        errno = saved;
        return -1;
    }
    close(lock);
    return 0;
}
