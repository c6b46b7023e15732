/*
 * Copyright (C) the ngx_symcache authors
 */
#include "converter_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child/child.h"

#define MESSAGES_MAX 1000 /* that are read; our converter writes one */

int converter_check_ask(struct converter_check_channel *channel,
                        const symcache_key_t *key, char text[PROOF_TEXT])
{
    const int on = 1;
    int n, fds[2];

    /* a converter does not wait where it is full */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   fds) != 0) {
        return -1;
    }
    channel->ours = fds[0];
    channel->theirs = fds[1];
    if (setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        converter_check_close(channel);
        return -1;
    }
    n = snprintf(text, PROOF_TEXT, "%d:", CHILD_FD);
    symcache_id_print(text + n, key);
    return 0;
}

void converter_check_close_theirs(struct converter_check_channel *channel)
{
    if (channel->theirs >= 0) {
        close(channel->theirs);
        channel->theirs = -1;
    }
}

void converter_check_close(struct converter_check_channel *channel)
{
    converter_check_close_theirs(channel);
    if (channel->ours >= 0) {
        close(channel->ours);
        channel->ours = -1;
    }
}

static enum converter_check proof_of(const char *text)
{
    /* as converter/output_check.h has them */
    static const char *const texts[] = {
        [PROOF_SOUND] = "sound\n",
        [PROOF_FULL] = "sound\nfull\n",
        [PROOF_PUBLICS] = "sound\npublics\n",
        [PROOF_FULL_LINKS] = "sound\nfull\nlinks\n",
        [PROOF_PUBLICS_LINKS] = "sound\npublics\nlinks\n",
    };
    enum converter_check proof;

    for (proof = PROOF_PUBLICS_LINKS; proof > PROOF_NONE; proof--) {
        if (strcmp(text, texts[proof]) == 0) {
            break;
        }
    }
    return proof;
}

static bool is_from(struct msghdr *message, pid_t pid)
{
    struct ucred who = {0};
    const struct cmsghdr *control = CMSG_FIRSTHDR(message);

    if (control == NULL || control->cmsg_level != SOL_SOCKET ||
        control->cmsg_type != SCM_CREDENTIALS) {
        return false;
    }
    memcpy(&who, CMSG_DATA(control), sizeof(who));
    return who.pid == pid;
}

/* Each message has its sender with it.  There is no space for descriptors,
 * which a hostile process might send. */
enum converter_check
converter_check_read(const struct converter_check_channel *channel, pid_t pid)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    char text[64];
    struct iovec part = {text, sizeof(text) - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    enum converter_check proof = PROOF_NONE;
    int i;
    ssize_t n;

    for (i = 0; channel->ours >= 0 && i < MESSAGES_MAX; i++) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        n = recvmsg(channel->ours, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n <= 0) {
            break;
        }
        text[n] = '\0';
        if (is_from(&message, pid)) {
            proof = proof_of(text);
        }
    }
    return proof;
}
