/*
 * Copyright (C) the ngx_symcache authors
 */
#include "output.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

int http_output_send(struct http_output *output, int fd)
{
    struct http_output_part *head = &output->parts[0], *body = head + 1;
    struct iovec parts[] = {
        {head->data + head->at, head->size - head->at},
        {NULL, body->size - body->at}, /* it may be NULL */
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n;
    size_t first;

    if (parts[1].iov_len > 0) {
        parts[1].iov_base = body->data + body->at;
    }
    n = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (n == -1) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    first = (size_t)n < parts[0].iov_len ? (size_t)n : parts[0].iov_len;
    head->at += first;
    body->at += (size_t)n - first;
    return head->at == head->size && body->at == body->size;
}

/* Bytes of copies, of all threads. */
static atomic_uint_least64_t copied;

static void free_output_copy(char *data, size_t size)
{
    atomic_fetch_sub(&copied, size);
    free(data);
}

bool http_output_keep(struct http_output *output, uint64_t most)
{
    struct http_output_part *part;
    uint64_t others;
    char *copy;

    for (part = output->parts; part < output->parts + 2; part++) {
        if (part->release != NULL || part->at == part->size) {
            continue;
        }
        copy = malloc(part->size - part->at);
        if (copy == NULL) {
            return false;
        }
        part->size -= part->at;
        part->data = memcpy(copy, part->data + part->at, part->size);
        part->at = 0;
        part->release = free_output_copy;
        others = atomic_fetch_add(&copied, part->size);
        if (others > 0 && others + part->size > most) {
            return false;
        }
    }
    return true;
}

void http_output_release(struct http_output *output)
{
    struct http_output_part *part;

    for (part = output->parts; part < output->parts + 2; part++) {
        if (part->release != NULL) {
            part->release(part->data, part->size);
        }
    }
    memset(output, 0, sizeof(*output));
}

bool http_output_continue(int fd)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

    return send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) ==
           sizeof(text) - 1;
}

bool http_output_is_hung_up(int fd)
{
    struct pollfd socket = {.fd = fd};

    return poll(&socket, 1, 0) == 1 &&
           (socket.revents & (POLLHUP | POLLERR)) != 0;
}
