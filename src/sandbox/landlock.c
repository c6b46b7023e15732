/*
 * Copyright (C) the ngx_symcache authors
 */
#include "landlock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's interface.  It is repeated here because the headers of Debian 12
 * end at ABI 2. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define ASK_ABI (1u << 0)
#define FS_ABI1 ((1ull << 13) - 1)
#define FS_REFER (1ull << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ull << 14)  /* ABI 3 */
#define NET_CONNECT 2ull          /* ABI 4 */
#define NET_TCP 3ull              /* ABI 4: bind, connect */
#define FS_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define SCOPE_ALL 3ull            /* ABI 6: sockets, signals */

#define RULE_PATH 1
#define RULE_PORT 2

struct landlock_ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

struct landlock_path {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

struct landlock_port {
    uint64_t rights;
    uint64_t port;
};

/* Makes a ruleset that controls every right that this kernel knows.  Returns a
 * descriptor, or -1 with errno. */
static int landlock_make_ruleset(long abi)
{
    struct landlock_ruleset attr = {FS_ABI1, 0, 0};
    size_t size = sizeof(attr.fs);

    if (abi >= 2) {
        attr.fs |= FS_REFER;
    }
    if (abi >= 3) {
        attr.fs |= FS_TRUNCATE;
    }
    if (abi >= 4) {
        attr.net = NET_TCP;
        size += sizeof(attr.net);
    }
    if (abi >= 5) {
        attr.fs |= FS_IOCTL_DEV;
    }
    if (abi >= 6) {
        attr.scoped = SCOPE_ALL;
        size += sizeof(attr.scoped);
    }
    return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

static int add_grants(int ruleset, long abi,
                      const struct landlock_grant *grants, size_t n,
                      unsigned port)
{
    struct landlock_port tcp = {NET_CONNECT, port};
    struct landlock_path path;
    size_t i;

    for (i = 0; i < n; i++) {
        path.rights = grants[i].rights;
        path.fd = grants[i].fd;
        if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &path, 0) !=
            0) {
            return -1;
        }
    }
    return abi >= 4 && port != 0 ? (int)syscall(SYS_landlock_add_rule, ruleset,
                                                RULE_PORT, &tcp, 0)
                                 : 0;
}

int landlock_restrict(const struct landlock_grant *grants, size_t n,
                      unsigned port)
{
    int fd, rc, saved;
    long abi;

    abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_ABI);
    if (abi < 1) {
        return 1;
    }
    fd = landlock_make_ruleset(abi);
    if (fd < 0) {
        return -1;
    }
    rc = add_grants(fd, abi, grants, n, port);
    if (rc == 0) {
        rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
    }
    saved = errno;
    close(fd);
    errno = saved;
    return rc;
}
