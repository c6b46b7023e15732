/*
 * Copyright (C) the ngx_symcache authors
 */
#include "in_place.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC /* before Linux 5.8 */
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* Those where the kernel itself sees each change, and which do not hang.  An
 * overlay may lie above another one. */
static bool in_place_is_local(int fd)
{
    static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
                                          BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                          TMPFS_MAGIC};
    struct statfs fs;
    size_t i;

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == types[i]) {
            return true;
        }
    }
    return false;
}

bool in_place_is_void(const struct stat *st)
{
    return st->st_size == 0 && st->st_mtime < time(NULL) - IN_PLACE_SETTLED;
}

/* A message with one descriptor. */
struct in_place_message {
    size_t place;
    struct iovec text;
    struct msghdr head;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
};

static void prepare_message(struct in_place_message *message)
{
    memset(message, 0, sizeof(*message));
    message->text.iov_base = &message->place;
    message->text.iov_len = sizeof(message->place);
    message->head.msg_iov = &message->text;
    message->head.msg_iovlen = 1;
    message->head.msg_control = message->control.bytes;
    message->head.msg_controllen = sizeof(message->control.bytes);
}

static int send_descriptor(int socket, size_t place, int fd)
{
    struct in_place_message message;
    struct cmsghdr *control;

    prepare_message(&message);
    message.place = place;
    control = CMSG_FIRSTHDR(&message.head);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(control), &fd, sizeof(fd));
    return sendmsg(socket, &message.head, MSG_DONTWAIT | MSG_NOSIGNAL) ==
                   (ssize_t)sizeof(message.place)
               ? 0
               : -1;
}

bool in_place_may_stay(int fd, time_t unchanged, time_t settled, uint64_t max,
                       struct stat *st)
{
    return in_place_is_local(fd) && fstat(fd, st) == 0 && st->st_size > 0 &&
           (uint64_t)st->st_size <= max && st->st_ctime < unchanged &&
           st->st_mtime < settled;
}

void in_place_map(struct in_place *file, int socket, size_t place, int fd,
                  time_t unchanged, time_t settled, uint64_t max)
{
    struct stat st;
    void *map;

    if (!in_place_may_stay(fd, unchanged, settled, max, &st) ||
        send_descriptor(socket, place, fd) != 0) {
        return;
    }
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        file->map = map;
        file->size = (uint64_t)st.st_size;
    }
}

int in_place_receive(int socket, size_t place)
{
    struct in_place_message message;
    struct cmsghdr *control;
    int fd = -1;

    for (;;) {
        prepare_message(&message);
        if (recvmsg(socket, &message.head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
            (ssize_t)sizeof(message.place)) {
            return -1;
        }
        control = CMSG_FIRSTHDR(&message.head);
        if (control == NULL || control->cmsg_type != SCM_RIGHTS) {
            return -1;
        }
        memcpy(&fd, CMSG_DATA(control), sizeof(fd));
        if (message.place == place) {
            return fd;
        }
        close(fd);
    }
}

int in_place_path(int fd, char path[PATH_MAX])
{
    struct stat opened, st;
    char self[32];
    ssize_t n;

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    n = readlink(self, path, PATH_MAX - 1);
    if (n <= 0 || fstat(fd, &opened) != 0) {
        return -1;
    }
    path[n] = '\0';
    if (stat(path, &st) != 0 || st.st_dev != opened.st_dev ||
        st.st_ino != opened.st_ino) {
        errno = ESTALE;
        return -1;
    }
    return 0;
}

bool in_place_is_public(const char *path)
{
    char folder[PATH_MAX], *slash;
    struct stat st;

    if (stat(path, &st) != 0 || !(st.st_mode & S_IROTH)) {
        return false;
    }
    snprintf(folder, sizeof(folder), "%s", path);
    while ((slash = strrchr(folder, '/')) != NULL && slash > folder) {
        *slash = '\0';
        if (stat(folder, &st) != 0 || !(st.st_mode & S_IXOTH)) {
            return false;
        }
    }
    return true;
}

int in_place_link(int fd, const char *path)
{
    char target[PATH_MAX];

    return in_place_path(fd, target) == 0 ? symlink(target, path) : -1;
}
