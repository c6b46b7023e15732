/*
 * Copyright (C) the ngx_symcache authors
 *
 * To be preloaded: a disk at HANG_BELOW, whose calls do not return while the
 * file HANG_FLAG is there, but for those that it names, as a kernel answers
 * some from its memory, or where it begins with "=", only those.  Of a call that waits, HANG_FLAG.log has a line: "loop"
 * if the main thread has made it, else "thread", its name, and its path.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Names of calls have spaces around them. */
static int hangs(const char *flag, const char *call)
{
    char name[32], others[256] = "";
    int fd = (int)syscall(SYS_openat, AT_FDCWD, flag, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return 0;
    }
    syscall(SYS_read, fd, others, sizeof(others) - 1);
    close(fd);
    snprintf(name, sizeof(name), " %s ", call);
    return (strstr(others, name) == NULL) == (others[0] != '=');
}

static void look(const char *call, int at, const char *path)
{
    const char *below = getenv("HANG_BELOW"), *flag = getenv("HANG_FLAG");
    char folder[PATH_MAX] = "", link[64], whole[2 * PATH_MAX];
    int log;

    if (below == NULL || flag == NULL || !hangs(flag, call)) {
        return;
    }
    if (at >= 0 && path[0] != '/') {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
        (void)!readlink(link, folder, sizeof(folder) - 1);
    }
    snprintf(whole, sizeof(whole), "%s%s%s", folder,
             folder[0] != '\0' && path[0] != '\0' ? "/" : "", path);
    if (strncmp(whole, below, strlen(below)) != 0 ||
        (whole[strlen(below)] != '/' && whole[strlen(below)] != '\0')) {
        return;
    }
    snprintf(folder, sizeof(folder), "%s.log", flag);
    log = (int)syscall(SYS_openat, AT_FDCWD, folder,
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    dprintf(log, "%s %s %s\n", gettid() == getpid() ? "loop" : "thread", call,
            whole);
    close(log);
    while (hangs(flag, call)) {
        usleep(5000);
    }
}

#define REAL(call) ((__typeof__(&call))dlsym(RTLD_NEXT, #call))

#define AT_PATH(type, call, parameters, at, path, ...)                        \
    type call parameters                                                      \
    {                                                                         \
        look(#call, at, path);                                                \
        return REAL(call)(__VA_ARGS__);                                       \
    }

#define PATH(type, call, parameters, ...)                                     \
    AT_PATH(type, call, parameters, -1, path, __VA_ARGS__)

#define OPEN(call, at, parameters, ...)                                       \
    int call parameters                                                       \
    {                                                                         \
        mode_t mode = 0;                                                      \
        va_list args;                                                         \
                                                                              \
        if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {          \
            va_start(args, flags);                                            \
            mode = va_arg(args, mode_t);                                      \
            va_end(args);                                                     \
        }                                                                     \
        look(#call, at, path);                                                \
        return REAL(call)(__VA_ARGS__, mode);                                 \
    }

OPEN(open, -1, (const char *path, int flags, ...), path, flags)
OPEN(openat, at, (int at, const char *path, int flags, ...), at, path, flags)
AT_PATH(int, __openat_2, (int at, const char *path, int flags), at, path, at,
        path, flags)
AT_PATH(int, fstatat, (int at, const char *path, struct stat *st, int flags),
        at, path, at, path, st, flags)
AT_PATH(int, unlinkat, (int at, const char *path, int flags), at, path, at,
        path, flags)
AT_PATH(int, utimensat,
        (int at, const char *path, const struct timespec times[2], int flags),
        at, path != NULL ? path : "", at, path, times, flags)
AT_PATH(int, rename, (const char *path, const char *to), -1, to, path, to)
AT_PATH(int, link, (const char *path, const char *to), -1, to, path, to)
AT_PATH(int, fstat, (int at, struct stat *st), at, "", at, st)
AT_PATH(int, fstatvfs, (int at, struct statvfs *st), at, "", at, st)
AT_PATH(ssize_t, read, (int at, void *to, size_t size), at, "", at, to, size)
AT_PATH(ssize_t, pread, (int at, void *to, size_t size, off_t from), at, "",
        at, to, size, from)
PATH(int, access, (const char *path, int mode), path, mode)
PATH(int, chmod, (const char *path, mode_t mode), path, mode)
PATH(int, lstat, (const char *path, struct stat *st), path, st)
PATH(int, mkdir, (const char *path, mode_t mode), path, mode)
PATH(char *, mkdtemp, (char *path), path)
PATH(int, mkostemp, (char *path, int flags), path, flags)
PATH(DIR *, opendir, (const char *path), path)
PATH(int, rmdir, (const char *path), path)
PATH(int, stat, (const char *path, struct stat *st), path, st)
PATH(int, statvfs, (const char *path, struct statvfs *st), path, st)
PATH(int, unlink, (const char *path), path)
PATH(FILE *, fopen, (const char *path, const char *mode), path, mode)
PATH(ssize_t, getxattr,
     (const char *path, const char *name, void *value, size_t size), path,
     name, value, size)
PATH(ssize_t, lgetxattr,
     (const char *path, const char *name, void *value, size_t size), path,
     name, value, size)
PATH(int, setxattr,
     (const char *path, const char *name, const void *value, size_t size,
      int flags), path, name, value, size, flags)
PATH(int, removexattr, (const char *path, const char *name), path, name)
