/*
 * Copyright (C) the ngx_symcache authors
 */
#include "message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LACK_TRIES 10 /* of a message for which the kernel has no memory */

union control {
    struct cmsghdr align;
    char room[CMSG_SPACE(WORK_FILES_MAX * sizeof(int))];
};

bool work_message_is_lack(int errnum)
{
    return errnum == ENOMEM || errnum == ENOBUFS;
}

bool work_message_send_pieces(int fd, const struct iovec pieces[2],
                              const int *fds, size_t nfds)
{
    union control control;
    struct msghdr message = {.msg_iov = (struct iovec *)pieces,
                             .msg_iovlen = 2};
    static const struct timespec moment = {.tv_nsec = 1000000};
    unsigned tries = 0;
    struct cmsghdr *head;
    ssize_t n;

    if (nfds > 0) {
        memset(&control, 0, CMSG_SPACE(nfds * sizeof(int)));
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(head), fds, nfds * sizeof(int));
    }
    do {
        n = sendmsg(fd, &message, MSG_NOSIGNAL);
    } while (n == -1 &&
             (errno == EINTR ||
              (work_message_is_lack(errno) && ++tries < LACK_TRIES &&
               (nanosleep(&moment, NULL), true))));
    return n == (ssize_t)(pieces[0].iov_len + pieces[1].iov_len);
}

bool work_message_send(int fd, const void *data, size_t size, const int *fds,
                       size_t nfds)
{
    const struct iovec pieces[2] = {
        {.iov_base = (void *)data, .iov_len = size}};

    return work_message_send_pieces(fd, pieces, fds, nfds);
}

/* Takes as many as there is room for, and closes the others. */
static void take_descriptors(struct msghdr *message, int *fds, size_t *nfds)
{
    struct cmsghdr *head;
    size_t i, n, most = *nfds;
    int fd;

    *nfds = 0;
    for (head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (i = 0; i < n; i++) {
            memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
            if (*nfds < most) {
                fds[(*nfds)++] = fd;
            } else {
                close(fd);
            }
        }
    }
}

ssize_t work_message_receive(int fd, void *data, size_t size, int *fds,
                             size_t *nfds)
{
    union control control;
    struct iovec piece = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    ssize_t n;

    if (nfds != NULL) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
    }
    do {
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (n == -1 && errno == EINTR);
    if (nfds != NULL && n >= 0) {
        take_descriptors(&message, fds, nfds);
    }
    if (n > 0 && (message.msg_flags & MSG_TRUNC) != 0) {
        errno = EMSGSIZE;
        return -1;
    }
    return n;
}
