/*
 * Copyright (C) the ngx_symcache authors
 */
#include "write_ahead_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "base/workdir.h"
#include "symcached/intake/upload_report.h"
#include "symcached/upload_index/upload_index.h"

#define FOLDER ".changing"
#define REMOVAL "removal\n"
#define TRIES 10
#define LINE_MAX_SIZE 4096
#define PARTS (3 + SYMSTORE_PATH_IDS)

struct intent {
    FILE *file; /* with the lock */
    char path[PATH_MAX];
};

static struct intent *wal_intent_new(const char *root, const char *name)
{
    struct intent *intent = calloc(1, sizeof(*intent));

    if (intent != NULL) {
        snprintf(intent->path, sizeof(intent->path), "%.1024s/" FOLDER "/%s",
                 root, name);
    }
    return intent;
}

void write_ahead_log_leave(struct intent *intent)
{
    if (intent != NULL) {
        if (intent->file != NULL) {
            fclose(intent->file);
        }
        free(intent);
    }
}

void write_ahead_log_drop(struct intent *intent)
{
    if (intent != NULL) {
        (void)unlink(intent->path);
        write_ahead_log_leave(intent);
    }
}

static void run_drop_intent(void *data)
{
    struct intent **intent = data;

    write_ahead_log_drop(*intent);
    *intent = NULL;
}

static void leave_intent(void *data)
{
    write_ahead_log_leave(*(struct intent **)data);
}

void write_ahead_log_settle(struct intent *intent)
{
    char root[PATH_MAX];

    if (intent != NULL) {
        snprintf(root, sizeof(root), "%s", intent->path);
        *strrchr(root, '/') = '\0';
        *strrchr(root, '/') = '\0'; /* FOLDER */
        (void)uploads_disk_call(root, run_drop_intent, leave_intent, &intent,
                                sizeof(intent));
    }
}

/* Takes the lock of a file that is open, unless it has been removed before. */
static int wal_lock_intent(struct intent *intent, int fd)
{
    struct stat st;

    if (fd < 0) {
        return errno;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0) {
        int errnum = errno;

        close(fd);
        return errnum;
    }
    if (st.st_nlink == 0) {
        close(fd);
        return EAGAIN;
    }
    intent->file = fdopen(fd, "r+");
    if (intent->file == NULL) {
        close(fd);
        return ENOMEM;
    }
    return 0;
}

/* writing ----------------------------------------------------------------- */

static void wal_print_line(FILE *file, const struct symstore_path *place)
{
    char ids[UPLOAD_REPORT_IDS_SIZE];

    upload_report_print_ids(ids, place, "\t");
    fprintf(file, "%s\t%s\t%s%s\n", place->name, place->id, place->file, ids);
}

/* Another process may take the new file for one that was left, before it is
 * locked, and remove it, as it is empty. */
static int wal_make_intent(struct intent *intent)
{
    char path[PATH_MAX];
    int tries, rc = EAGAIN;

    memcpy(path, intent->path, sizeof(path));
    *strrchr(path, '/') = '\0';
    if (workdir_make_path(path) != 0) {
        return errno;
    }
    memcpy(path, intent->path, sizeof(path));
    for (tries = 0; tries < TRIES && rc == EAGAIN; tries++) {
        memcpy(intent->path, path, sizeof(path));
        rc = wal_lock_intent(intent, mkostemp(intent->path, O_CLOEXEC));
    }
    return rc;
}

int write_ahead_log_write(struct intent **intent, const char *root,
                          bool removes, const struct upload_file *files,
                          size_t n)
{
    struct intent *made = wal_intent_new(root, "XXXXXX");
    size_t i;
    int rc;

    if (made == NULL) {
        return ENOMEM;
    }
    rc = wal_make_intent(made);
    if (rc != 0) {
        write_ahead_log_leave(made);
        return rc;
    }
    if (removes) {
        fputs(REMOVAL, made->file);
    }
    for (i = 0; i < n; i++) {
        wal_print_line(made->file, &files[i].place);
    }
    if (fflush(made->file) != 0) {
        rc = errno;
        write_ahead_log_drop(made);
        return rc;
    }
    *intent = made;
    return 0;
}

/* See uploads_disk_call(). */
struct wal_note {
    char root[PATH_MAX];
    bool removes;
    struct upload_file file;
    struct intent *intent;
    int errnum;
};

static void run_note(void *data)
{
    struct wal_note *note = data;

    note->errnum = write_ahead_log_write(&note->intent, note->root,
                                         note->removes, &note->file, 1);
}

static void leave_note(void *data)
{
    write_ahead_log_leave(((struct wal_note *)data)->intent);
}

int write_ahead_log_note(struct intent **intent, const char *root,
                         bool removes, const struct upload_file *file)
{
    struct wal_note note = {.removes = removes, .file = *file};
    int rc;

    snprintf(note.root, sizeof(note.root), "%s", root);
    rc = uploads_disk_call(root, run_note, leave_note, &note, sizeof(note));
    if (rc == 0) {
        *intent = note.intent;
        rc = note.errnum;
    }
    return rc;
}

/* reading ----------------------------------------------------------------- */

/* A line that is cut is of a process that has changed nothing yet.  Returns
 * false without memory. */
static bool wal_read_line(char *line, struct publication *files)
{
    char *parts[PARTS], *p = line;
    struct symstore_path place = {.nids = 0};
    size_t n = 0, len = strlen(line);

    if (len == 0 || line[len - 1] != '\n') {
        return true;
    }
    line[len - 1] = '\0';
    while (p != NULL && n < PARTS) {
        parts[n++] = strsep(&p, "\t");
    }
    if (n < 4 || p != NULL) {
        return true;
    }
    snprintf(place.name, sizeof(place.name), "%s", parts[0]);
    snprintf(place.id, sizeof(place.id), "%s", parts[1]);
    snprintf(place.file, sizeof(place.file), "%s", parts[2]);
    return !upload_report_ids(&place, (const char *const *)parts + 3, n - 3) ||
           publication_add(files, &place, "", "") != NULL;
}

/* Returns 0, or an errno: of it nothing is known. */
static int wal_read_intent(struct intent *intent, struct publication *files)
{
    char line[LINE_MAX_SIZE];
    int rc = wal_lock_intent(
        intent,
        open(intent->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));

    files->removes = false; /* one before had no file */
    while (rc == 0 && fgets(line, sizeof(line), intent->file) != NULL) {
        files->removes |= strcmp(line, REMOVAL) == 0;
        rc = wal_read_line(line, files) ? 0 : ENOMEM;
    }
    return rc == 0 && ferror(intent->file) ? errno : rc;
}

/* Takes one, unless another process has it, or it has no file.  Returns 0, or
 * an errno. */
static int wal_take_intent(struct intent **intent, const char *root,
                           const char *name, struct publication *files)
{
    struct intent *found = wal_intent_new(root, name);
    int rc = found != NULL ? wal_read_intent(found, files) : ENOMEM;

    if (rc != 0) {
        write_ahead_log_leave(found);
    } else if (files->nfiles == 0) {
        write_ahead_log_drop(found);
    } else {
        *intent = found;
    }
    return rc == EWOULDBLOCK || rc == ENOENT || rc == ELOOP ? 0 : rc;
}

struct intent *write_ahead_log_take(const char *root,
                                    struct publication *files)
{
    struct intent *intent = NULL;
    const struct dirent *entry;
    char path[PATH_MAX];
    DIR *dir;
    int rc, errnum;

    snprintf(path, sizeof(path), "%.1024s/" FOLDER, root);
    dir = opendir(path);
    errnum = dir != NULL || errno == ENOENT ? 0 : errno;
    /* one that cannot be opened is not in the way of the others */
    while (dir != NULL && intent == NULL && files->nfiles == 0 &&
           (errno = 0, entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            rc = wal_take_intent(&intent, root, entry->d_name, files);
            errnum = rc != 0 ? rc : errnum;
        }
    }
    if (dir != NULL && intent == NULL && files->nfiles == 0 && errno != 0) {
        errnum = errno;
    }
    if (intent == NULL && errnum != 0) {
        log_error(errnum,
                  "uploads: %s cannot be read: what is known of files that a "
                  "killed process has stored or removed is dropped at the "
                  "next start or SIGHUP",
                  path);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return intent;
}
