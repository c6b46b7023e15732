/*
 * Copyright (C) the ngx_symcache authors
 *
 * Messages between a daemon and its workers, one packet each:
 *
 *   BEGIN    a body, as a descriptor or, if it is small, in the packet, and
 *            what is to be done with it
 *   TEXT     a piece of the worker's text
 *   ASKS     the text is whole, and tells what the worker needs
 *   HAVE     files; the last of these messages says so
 *   DONE     the text is whole, and is the result
 *   REFUSES  the text is whole, and says why there is no result
 *   CANNOT   the worker has no memory, for which the body is not to blame, and
 *            ends
 *
 * A descriptor of a file is sent once; the worker keeps the file mapped under
 * the number of its slot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WORK_MESSAGE_MAX 65536 /* bytes of a packet */
#define WORK_FILES_MAX 200     /* descriptors with it */
#define WORK_SLOTS 2048        /* files that a worker has mapped */
#define WORK_NO_SLOT UINT32_MAX

enum work_message {
    WORK_BEGIN = 1,
    WORK_TEXT,
    WORK_ASKS,
    WORK_HAVE,
    WORK_DONE,
    WORK_REFUSES,
    WORK_CANNOT
};

struct work_head {
    uint32_t message;
    uint32_t detail; /* HAVE: it is the last one; REFUSES: a status */
};

struct work_begin {
    struct work_head head;
    uint32_t kind; /* of the body, for the program */
    uint32_t limit;
    uint32_t text; /* bytes of a text for the kind, which follows; then the
                      body, if it comes without a descriptor */
};

/* The result for a file that a worker has asked for. */
struct work_file {
    uint32_t index; /* index, what and state: as the kind means them */
    uint8_t what;
    uint8_t state;
    uint8_t is_new; /* a descriptor comes with it */
    uint8_t zero;
    uint32_t slot; /* or WORK_NO_SLOT: there is no file */
};

/* Sends a packet, of two pieces, with descriptors; it is tried again for some
 * milliseconds if the kernel has no memory for it.  Returns false, with errno,
 * if it could not be sent. */
bool work_message_send_pieces(int fd, const struct iovec pieces[2],
                              const int *fds, size_t nfds);

/* The same of one piece. */
bool work_message_send(int fd, const void *data, size_t size, const int *fds,
                       size_t nfds);

/* Does errno say that the kernel had no memory for a message?  The other side
 * is there then. */
bool work_message_is_lack(int errnum);

/*
 * Receives a packet.  Returns its size, 0 at the end, or -1 with errno.  At
 * most *nfds descriptors are taken, which are the caller's then.
 */
ssize_t work_message_receive(int fd, void *data, size_t size, int *fds,
                             size_t *nfds);
