/*
 * Copyright (C) the ngx_symcache authors
 *
 * As in sandbox.c a call outside the list fails with EPERM.  clone3() fails
 * with ENOSYS, because a filter cannot see its flags; the C library then uses
 * clone(), which is allowed with the flags of a thread only.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "landlock.h"

#define GRANTS_MAX 1100

#define SOCKET_TYPE 0xf /* the rest of the argument is SOCK_CLOEXEC and such */

static const int daemon_calls[] = {
    /* files and folders; Landlock restricts which */
    SCMP_SYS(openat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(fstat),
    SCMP_SYS(fgetxattr),
    SCMP_SYS(getdents64),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    /* open descriptors */
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(lseek),
    SCMP_SYS(fcntl),
    SCMP_SYS(dup),
    SCMP_SYS(close),
    /* connections */
    SCMP_SYS(connect),
    SCMP_SYS(accept4),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(shutdown),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendfile),
    /* the loops */
    SCMP_SYS(epoll_create),
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll),
    SCMP_SYS(eventfd2),
    SCMP_SYS(pipe2),
    SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime),
    /* memory, without a way to make new code */
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    SCMP_SYS(memfd_create),
    /* threads */
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(gettid),
    SCMP_SYS(exit),
    /* clocks, signals to itself, exit */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(setitimer),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrusage),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit_group),
};

/* Unix sockets and TCP.  Landlock restricts neither datagrams nor MPTCP, which
 * would lead to any other machine, and other families lead to parts of the
 * kernel that nothing here needs. */
static int daemon_allow_sockets(scmp_filter_ctx filter)
{
    static const scmp_datum_t families[] = {AF_INET, AF_INET6};
    static const scmp_datum_t protocols[] = {0, IPPROTO_TCP};
    int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
    size_t i;

    for (i = 0; i < 4 && rc == 0; i++) {
        rc = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3,
            SCMP_A0(SCMP_CMP_EQ, families[i / 2]),
            SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_STREAM),
            SCMP_A2(SCMP_CMP_EQ, protocols[i % 2]));
    }
    return rc;
}

/* Allows calls with some arguments only. */
static int daemon_allow_some(scmp_filter_ctx filter)
{
    int rc = daemon_allow_sockets(filter);

    if (rc != 0) {
        return rc;
    }
    rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (rc == 0) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    }
    if (rc == 0) {
        rc = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    }
    if (rc == 0) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
                              0);
    }
    if (rc == 0) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_EQ, FIONREAD));
    }
    return rc != 0 ? rc
                   : seccomp_rule_add(
                         filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                         SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
}

static int daemon_filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    size_t i;
    int rc = 0;

    if (filter == NULL) {
        return ENOMEM;
    }
    for (i = 0; i < sizeof(daemon_calls) / sizeof(daemon_calls[0]) && rc == 0;
         i++) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, daemon_calls[i], 0);
    }
    if (rc == 0) {
        rc = daemon_allow_some(filter);
    }
    if (rc == 0) {
        rc = seccomp_load(filter);
    }
    seccomp_release(filter);
    return -rc;
}

struct daemon_grants {
    struct landlock_grant list[GRANTS_MAX];
    size_t n;
};

/* Grants rights to the folder of a file; NULL grants nothing.  Returns 0, or
 * -1 with errno. */
static int daemon_grant_folder(struct daemon_grants *grants, const char *file,
                               uint64_t rights)
{
    char path[PATH_MAX];
    char *slash;
    int fd;

    if (file == NULL) {
        return 0;
    }
    snprintf(path, sizeof(path), "%s", file);
    slash = strrchr(path, '/');
    if (slash == NULL) {
        path[0] = '.';
        path[1] = '\0';
    } else {
        slash[slash == path] = '\0';
    }
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) {
        return -1;
    }
    grants->list[grants->n++] = (struct landlock_grant){fd, rights};
    return 0;
}

static int daemon_restrict_files(const struct daemon_sandbox *allowed)
{
    static struct daemon_grants grants;
    size_t i, own;
    int rc;

    if (daemon_grant_folder(&grants, allowed->config, LANDLOCK_READ_FILE) !=
            0 ||
        daemon_grant_folder(&grants, allowed->log,
                            LANDLOCK_WRITE_FILE | LANDLOCK_MAKE_REG) != 0 ||
        daemon_grant_folder(&grants, allowed->socket, LANDLOCK_REMOVE_FILE) !=
            0) {
        return -1;
    }
    own = grants.n;
    if (allowed->spool != -1) {
        grants.list[grants.n++] = (struct landlock_grant){
            allowed->spool, LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE};
    }
    for (i = 0; i < allowed->nroots && grants.n < GRANTS_MAX; i++) {
        grants.list[grants.n++] = (struct landlock_grant){
            allowed->roots[i], LANDLOCK_READ_FILE | LANDLOCK_READ_DIR};
    }
    rc = landlock_restrict(grants.list, grants.n, allowed->port);
    for (i = 0; i < own; i++) {
        close(grants.list[i].fd);
    }
    return rc;
}

static int fail_daemon_sandbox(char *error, size_t size, const char *what,
                               int num)
{
    snprintf(error, size, "sandbox: %s: %s", what, strerror(num));
    return -1;
}

int daemon_sandbox_enter(const struct daemon_sandbox *allowed, char *error,
                         size_t size)
{
    int rc, restricted;

    tzset(); /* reads the time zone's file while that is still allowed */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return fail_daemon_sandbox(error, size, "no_new_privs", errno);
    }
#ifdef SANDBOX_ASAN
    /* the check for leaks at the end reads /proc and traces the process */
    return 0;
#endif
    restricted = daemon_restrict_files(allowed);
    if (restricted < 0) {
        return fail_daemon_sandbox(error, size, "landlock", errno);
    }
    rc = daemon_filter_calls();
    return rc == 0 ? restricted
                   : fail_daemon_sandbox(error, size, "seccomp", rc);
}
