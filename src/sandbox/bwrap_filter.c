/*
 * Copyright (C) the ngx_symcache authors
 *
 * A list of denied calls, unlike those of sandbox.c and daemon_sandbox.c: the
 * calls that such a program needs are not known.  Files, the network and other
 * processes are kept from it by namespaces; this is a second layer.
 */
#include "sandbox.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const int denied[] = {
    /* other processes */
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(process_madvise),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(ptrace),
    /* namespaces and mounts */
    SCMP_SYS(chroot),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fspick),
    SCMP_SYS(mount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(pivot_root),
    SCMP_SYS(setns),
    SCMP_SYS(umount2),
    SCMP_SYS(unshare),
    /* memory that neither an address space nor a disk counts */
    SCMP_SYS(memfd_create),
    SCMP_SYS(memfd_secret),
    SCMP_SYS(msgget),
    SCMP_SYS(shmget),
    /* parts of the kernel that no converter needs */
    SCMP_SYS(acct),
    SCMP_SYS(add_key),
    SCMP_SYS(bpf),
    SCMP_SYS(delete_module),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(finit_module),
    SCMP_SYS(init_module),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(ioperm),
    SCMP_SYS(iopl),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(kexec_load),
    SCMP_SYS(keyctl),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(quotactl),
    SCMP_SYS(reboot),
    SCMP_SYS(request_key),
    SCMP_SYS(swapoff),
    SCMP_SYS(swapon),
    SCMP_SYS(syslog),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(vhangup),
};

/* Denies every family of sockets but a few.  The last range also has what does
 * not fit into 32 bits, of which the kernel would look at the lower ones. */
static int deny_bwrap_sockets(scmp_filter_ctx filter, bool network)
{
    scmp_datum_t family;
    int rc = 0;

    for (family = 0; family <= AF_NETLINK && rc == 0; family++) {
        if (family != AF_UNIX &&
            (!network || (family != AF_INET && family != AF_INET6 &&
                          family != AF_NETLINK))) {
            rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
                                  SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_EQ, family));
        }
    }
    return rc != 0 ? rc
                   : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
                                      SCMP_SYS(socket), 1,
                                      SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
}

/* Denies calls with some arguments.  A filter cannot see the flags of clone3();
 * without it the C library uses clone(). */
static int deny_bwrap_some(scmp_filter_ctx filter)
{
    int rc = seccomp_rule_add(
        filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
        SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));

    if (rc == 0) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
                              0);
    }
    return rc != 0 ? rc
                   : seccomp_rule_add(
                         filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                         SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI));
}

static int fill_bwrap_filter(scmp_filter_ctx filter, bool network)
{
    size_t i;
    int rc = 0;

    for (i = 0; i < COUNT(denied) && rc == 0; i++) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
    }
    if (rc == 0) {
        rc = deny_bwrap_sockets(filter, network);
    }
    return rc != 0 ? rc : deny_bwrap_some(filter);
}

static int make_bwrap_filter(bool network)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int fd = memfd_create("filter", MFD_CLOEXEC);
    int rc = fd < 0 ? -errno : -ENOMEM;

    if (filter != NULL && fd >= 0) {
        rc = fill_bwrap_filter(filter, network);
        if (rc == 0) {
            rc = seccomp_export_bpf(filter, fd);
        }
    }
    if (filter != NULL) {
        seccomp_release(filter);
    }
    if (rc != 0 && fd >= 0) {
        close(fd);
        fd = -1;
    }
    if (rc != 0) {
        errno = -rc;
    }
    return fd;
}

/* Without and with network. */
static struct {
    void *data;
    size_t size; /* 0: not made yet */
} made[2];

static int read_bwrap_filter(bool network, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    void *data = size > 0 ? malloc((size_t)size) : NULL;

    if (data == NULL || pread(fd, data, (size_t)size, 0) != size) {
        free(data);
        return -1;
    }
    made[network].data = data;
    made[network].size = (size_t)size;
    return 0;
}

int sandbox_bwrap_prepare(void)
{
    int rc = 0, network, fd;

    for (network = 0; network < 2 && rc == 0; network++) {
        if (made[network].size == 0) {
            fd = make_bwrap_filter(network != 0);
            rc = fd >= 0 ? read_bwrap_filter(network != 0, fd) : -1;
            if (fd >= 0) {
                close(fd);
            }
        }
    }
    return rc;
}

int sandbox_bwrap_filter(bool network)
{
    int fd, saved;

    if (sandbox_bwrap_prepare() != 0) {
        return -1;
    }
    fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd >= 0 &&
        pwrite(fd, made[network].data, made[network].size, 0) !=
            (ssize_t)made[network].size) {
        saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    return fd;
}
