/*
 * Copyright (C) the ngx_symcache authors
 */
#include "retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "proto/upload.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/intake/upload_report.h"
#include "build_retention.h"
#include "upload.h"

int retention_set_expires(const char *path, unsigned seconds)
{
    char text[24];
    int n;

    if (seconds == 0) {
        return removexattr(path, SYMCACHE_UPLOAD_EXPIRES) == 0 ||
                       errno == ENODATA || errno == ENOTSUP
                   ? 0
                   : errno;
    }
    n = snprintf(text, sizeof(text), "%lld",
                 (long long)time(NULL) + (long long)seconds);
    return setxattr(path, SYMCACHE_UPLOAD_EXPIRES, text, (size_t)n, 0) == 0
               ? 0
               : errno;
}

int retention_set_labelled(const char *path, bool is_new, bool is_labelled)
{
    int rc = 0;

    if (is_new && is_labelled) {
        rc = setxattr(path, SYMCACHE_UPLOAD_LABELLED, "1", 1, 0);
    } else if (!is_new && !is_labelled) {
        rc = removexattr(path, SYMCACHE_UPLOAD_LABELLED);
    }
    return rc == 0 || errno == ENODATA || (errno == ENOTSUP && !is_labelled)
               ? 0
               : errno;
}

void retention_set_user(const char *path, const char *user)
{
    if (user != NULL && strcmp(user, "-") != 0) {
        (void)setxattr(path, SYMCACHE_UPLOAD_USER, user, strlen(user), 0);
    }
}

void retention_print_version(char text[RETENTION_VERSION_SIZE],
                             const struct stat *st)
{
    snprintf(text, RETENTION_VERSION_SIZE, "%llu %lld.%09ld",
             (unsigned long long)st->st_ino, (long long)st->st_mtim.tv_sec,
             st->st_mtim.tv_nsec);
}

void retention_set_complete(const char *path, const char *version)
{
    (void)setxattr(path, SYMCACHE_UPLOAD_COMPLETE, version, strlen(version),
                   0);
}

void retention_unset_complete(const char *path)
{
    (void)removexattr(path, SYMCACHE_UPLOAD_COMPLETE);
}

bool retention_is_complete(const char *path, const char *version)
{
    char text[RETENTION_VERSION_SIZE] = "";

    return lgetxattr(path, SYMCACHE_UPLOAD_COMPLETE, text, sizeof(text) - 1) >
               0 &&
           strcmp(text, version) == 0;
}

time_t upload_expires(const char *path)
{
    char text[24] = "";
    ssize_t n = lgetxattr(path, SYMCACHE_UPLOAD_EXPIRES, text,
                          sizeof(text) - 1);

    return n > 0 ? (time_t)strtoll(text, NULL, 10) : 0;
}

bool upload_is_of_builds(const char *path, const struct build_labels *labels)
{
    return labels->build[0] != '\0' ||
           lgetxattr(path, SYMCACHE_UPLOAD_LABELLED, NULL, 0) >= 0 ||
           (errno != ENODATA && errno != ENOTSUP);
}

bool upload_is_kept(const char *path, const struct build_labels *labels)
{
    return upload_expires(path) == 0 && !upload_is_of_builds(path, labels);
}

int retention_extend(const char *path, unsigned seconds)
{
    time_t expires = upload_expires(path);

    if (seconds > 0 &&
        (expires == 0 || expires > time(NULL) + (time_t)seconds)) {
        return 0;
    }
    return retention_set_expires(path, seconds);
}

void retention_touch(const char *path)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                {.tv_nsec = UTIME_OMIT}};

    (void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

/* Seconds that have passed since then; 0 for times to come. */
static uint64_t retention_since(time_t then, time_t now)
{
    return then < now ? (uint64_t)(now - then) : 0;
}

/* The names that lead to a file. */
struct tree_path {
    const char *name;
    const struct tree_path *above; /* NULL: name is the root */
};

/* RETENTION_YOUNG: its builds go, and it may have come for one that the pass
 * does not know. */
enum retention_state {
    RETENTION_KEPT,
    RETENTION_YOUNG,
    RETENTION_UNUSED,
    RETENTION_OVER,
    RETENTION_OF_BUILDS
};

/* What the builds that a file belongs to say about it. */
static enum build_fate
retention_judge_builds(const struct tree_path *parts, int fd,
                       const struct retention_rules *rules)
{
    enum build_fate fate;
    char path[PATH_MAX];

    if (rules->builds == NULL ||
        snprintf(path, sizeof(path), "%s/%s/%s", parts->above->above->name,
                 parts->above->name, parts->name) >= (int)sizeof(path)) {
        return BUILD_NONE;
    }
    fate = builds_judge(rules->builds, path);
    if (fate == BUILD_DROPPED &&
        fgetxattr(fd, SYMCACHE_UPLOAD_LABELLED, NULL, 0) < 0) {
        return BUILD_NONE;
    }
    return fate == BUILD_KEPT && rules->is_try ? BUILD_NONE : fate;
}

/* An attribute that cannot be read keeps the file. */
static enum retention_state
retention_judge_file(const struct tree_path *parts, int fd,
                     const struct stat *st,
                     const struct retention_rules *rules)
{
    time_t now = rules->now;
    enum build_fate fate;
    char text[24] = "";
    ssize_t n;

    if (fgetxattr(fd, SYMCACHE_UPLOAD_PINNED, NULL, 0) >= 0 ||
        (errno != ENODATA && errno != ENOTSUP)) {
        return RETENTION_KEPT;
    }
    fate = retention_judge_builds(parts, fd, rules);
    if (fate == BUILD_DROPPED) {
        return now == 0 || st->st_ctime >= rules->begun ? RETENTION_YOUNG
                                                        : RETENTION_OF_BUILDS;
    }
    if (fate == BUILD_KEPT) {
        return RETENTION_KEPT;
    }
    n = fgetxattr(fd, SYMCACHE_UPLOAD_EXPIRES, text, sizeof(text) - 1);
    if ((n > 0 && strtoll(text, NULL, 10) <= (long long)now) ||
        (rules->max_age > 0 &&
         retention_since(st->st_mtime, now) > rules->max_age)) {
        return RETENTION_OVER;
    }
    return rules->max_unused_for > 0 &&
                   retention_since(st->st_atime, now) >
                       rules->max_unused_for &&
                   retention_since(st->st_ctime, now) > rules->max_unused_for
               ? RETENTION_UNUSED
               : RETENTION_KEPT;
}

static void retention_list_kept(const struct tree_path *parts,
                                const struct stat *st,
                                enum retention_state why,
                                struct retention_sum *sum)
{
    struct retention_found *found = &sum->found[sum->nfound];

    if (sum->nfound == RETENTION_FOUND_MAX ||
        asprintf(&found->path, "%s/%s/%s", parts->above->above->name,
                 parts->above->name, parts->name) < 0) {
        sum->left += why == RETENTION_OF_BUILDS;
        return;
    }
    found->bytes = (uint64_t)st->st_size;
    found->is_unused = why == RETENTION_UNUSED;
    found->is_of_builds = why == RETENTION_OF_BUILDS;
    sum->nfound++;
}

/* Adds files to the index that are older than the index or that it has lost;
 * removed files have no entry. */
static void retention_index_file(const struct tree_path *parts, int fd,
                                 const struct stat *st, bool is_kept)
{
    const struct tree_path *id = parts->above, *name = id->above;
    struct symstore_path place;

    if (!upload_report_place(&place, name->name, id->name)) {
        return;
    }
    snprintf(place.id, sizeof(place.id), "%s", id->name);
    snprintf(place.file, sizeof(place.file), "%s", parts->name);
    if (strncmp(place.id, "elf-", 4) == 0) {
        upload_report_profiler_id(&place, fd, (uint64_t)st->st_size);
    }
    if (is_kept) {
        (void)upload_index_keep(name->above->name, &place);
    } else {
        (void)upload_index_change(name->above->name, &place, false);
    }
}

/* Removes a file that is as it was when it was judged: since then an upload can
 * have replaced it, or kept it for longer. */
static bool retention_remove_file(int dir, const struct tree_path *parts,
                                  int fd, const struct stat *judged)
{
    struct stat now;
    bool is_gone;

    publication_lock();
    is_gone = fstatat(dir, parts->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
              now.st_ino == judged->st_ino &&
              memcmp(&now.st_ctim, &judged->st_ctim, sizeof(now.st_ctim)) ==
                  0 &&
              unlinkat(dir, parts->name, 0) == 0;
    if (is_gone) {
        retention_index_file(parts, fd, judged, false);
    }
    publication_unlock();
    return is_gone;
}

/* Opens a file whose last use the access time is.  That changes where the file
 * is another user's, as one is that was copied there. */
static int retention_open_upload(int dir, const char *name)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(dir, name, flags | O_NOATIME);

    return fd < 0 && errno == EPERM ? openat(dir, name, flags) : fd;
}

/* Notes that something was not seen.  It may be gone or be no file of uploads;
 * what this user may not read is as it was in the last pass. */
static void retention_note_unseen(struct retention_sum *sum, int errnum)
{
    switch (errnum) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENXIO:
    case EACCES:
    case EPERM:
        break;
    default:
        sum->errnum = errnum;
        break;
    }
}

static void retention_look_at(int dir, const struct tree_path *parts,
                              const struct retention_rules *rules,
                              struct retention_sum *sum)
{
    int fd = retention_open_upload(dir, parts->name);
    enum retention_state why = RETENTION_KEPT;
    struct stat st;

    if (fd < 0) {
        retention_note_unseen(sum, errno);
        return;
    }
    if (fstat(fd, &st) != 0) {
        retention_note_unseen(sum, errno);
    } else if (S_ISREG(st.st_mode)) {
        why = retention_judge_file(parts, fd, &st, rules);
        sum->left += why == RETENTION_YOUNG;
        why = why == RETENTION_YOUNG ? RETENTION_KEPT : why;
        if (why == RETENTION_KEPT && rules->indexes) {
            retention_index_file(parts, fd, &st, true);
        }
    }
    if (why != RETENTION_KEPT && sum->found != NULL) {
        retention_list_kept(parts, &st, why, sum);
    } else if (why != RETENTION_KEPT &&
               retention_remove_file(dir, parts, fd, &st)) {
        sum->files++;
        sum->bytes += (uint64_t)st.st_size;
    } else if (why == RETENTION_OF_BUILDS) {
        sum->left++;
    }
    close(fd);
}

/* The levels are: folders of names, folders of ids, files.  A folder that has
 * become empty goes. */
static void retention_descend_kept(int at, const struct tree_path *parts,
                                   int depth,
                                   const struct retention_rules *rules,
                                   struct retention_sum *sum)
{
    /* the root may be a link: to another disk, for example */
    int fd = openat(at, parts->name,
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                        (depth > 0 ? O_NOFOLLOW : 0));
    DIR *dir = fd != -1 ? fdopendir(fd) : NULL;
    struct tree_path below = {.above = parts};
    const struct dirent *entry;

    if (dir == NULL) {
        retention_note_unseen(sum, errno);
        fd_close(fd);
        return;
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        below.name = entry->d_name;
        if (depth == 2) {
            retention_look_at(fd, &below, rules, sum);
        } else {
            retention_descend_kept(fd, &below, depth + 1, rules, sum);
            (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
        }
    }
    retention_note_unseen(sum, errno);
    closedir(dir);
}

void retention_pass(const char *root, const struct retention_rules *rules,
                    struct retention_sum *sum)
{
    struct tree_path parts = {.name = root};

    retention_descend_kept(AT_FDCWD, &parts, 0, rules, sum);
}
