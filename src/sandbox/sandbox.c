/*
 * Copyright (C) the ngx_symcache authors
 *
 * The sandbox has three layers.  Rlimits bound what a bug can use up.  Landlock
 * takes the file system and the network away, even if the system call filter
 * has a hole.  Seccomp allows only the calls that are needed to compute with
 * open descriptors.  A call outside the list fails with EPERM instead of
 * killing the process: so a library that probes for an optional feature can go
 * on without it, and errors can still be written to stderr.
 *
 * No call that takes a path is in the list, as seccomp cannot check a path and
 * Landlock does not restrict stat().  newfstatat() is such a call, and fstat()
 * of glibc 2.33 to 2.38 uses it; stdio works without it.
 */
#include "sandbox.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "landlock.h"

#ifdef SANDBOX_ASAN
#include <sanitizer/lsan_interface.h>
#endif

static int sandbox_error(char *error, size_t size, const char *what, int num)
{
    snprintf(error, size, "%s: %s", what, strerror(num));
    return -1;
}

static int sandbox_limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard}, now;

    /* an unprivileged process cannot raise its hard limit */
    if (getrlimit(resource, &now) == 0 && now.rlim_max != RLIM_INFINITY) {
        if (limit.rlim_max > now.rlim_max) {
            limit.rlim_max = now.rlim_max;
        }
        if (limit.rlim_cur > limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max;
        }
    }

    return setrlimit(resource, &limit);
}

#define RECEIVED_MAX 512 /* descriptors that are open at a time */

#define SECONDS_LEAST 20
#define BYTES_A_SECOND ((uint64_t)1 << 20)

unsigned sandbox_seconds(uint64_t bytes)
{
    uint64_t most = UINT_MAX / 2 - SECONDS_LEAST;

    bytes /= BYTES_A_SECOND;
    return SECONDS_LEAST + (unsigned)(bytes < most ? bytes : most);
}

static int rlimits(const struct sandbox_limits *limits, uint64_t own_memory)
{
    rlim_t files = own_memory != 0 ? RECEIVED_MAX : 0;

#ifndef SANDBOX_ASAN /* it reserves terabytes of address space */
    if (limits->memory != 0 &&
        sandbox_limit(RLIMIT_AS, limits->memory, limits->memory) != 0) {
        return -1;
    }
    if (own_memory != 0 &&
        sandbox_limit(RLIMIT_DATA, own_memory, own_memory) != 0) {
        return -1;
    }
#endif

    if (limits->file_size != 0) {
        if (sandbox_limit(RLIMIT_FSIZE, limits->file_size,
                          limits->file_size) != 0) {
            return -1;
        }
        /* write() then fails with EFBIG, which can be reported */
        signal(SIGXFSZ, SIG_IGN);
    }

    if (limits->cpu_seconds != 0 &&
        sandbox_limit(RLIMIT_CPU, limits->cpu_seconds,
                      (rlim_t)limits->cpu_seconds + 1) != 0) {
        return -1;
    }

    if (sandbox_limit(RLIMIT_CORE, 0, 0) != 0 ||
        sandbox_limit(RLIMIT_NPROC, 0, 0) != 0 ||
        sandbox_limit(RLIMIT_NOFILE, files, files) != 0) {
        return -1;
    }

    return 0;
}

static const int sandbox_calls[] = {
    /* use of open descriptors */
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(pwrite64),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(fstatfs),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fadvise64),
    SCMP_SYS(copy_file_range),
    SCMP_SYS(sendfile),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(close),
    /* memory, without a way to make new code */
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    /* clocks, signals to itself, exit */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_getres),
    SCMP_SYS(setitimer),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrusage),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrandom),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
#ifdef SANDBOX_ASAN /* needed for a complete report */
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(uname),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(readlink),
#endif
};

/* abort() sends a signal to the process itself. */
static int sandbox_allow_abort(scmp_filter_ctx filter)
{
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                            SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
}

static int sandbox_allow(scmp_filter_ctx filter)
{
    size_t i;
    int rc;

    for (i = 0; i < sizeof(sandbox_calls) / sizeof(sandbox_calls[0]); i++) {
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, sandbox_calls[i], 0);
        if (rc != 0) {
            return rc;
        }
    }

    rc = seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
        SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    if (rc != 0) {
        return rc;
    }

    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                            SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* Descriptors that are sent, and read-only views of their files.  No signal:
 * the filter is made before the process is, which alone might be sent one, so
 * that abort() ends in its last resort, an instruction that is forbidden. */
static int sandbox_allow_received(scmp_filter_ctx filter)
{
    int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 0);

    return rc != 0 ? rc
                   : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap),
                                      2, SCMP_A2(SCMP_CMP_EQ, PROT_READ),
                                      SCMP_A3(SCMP_CMP_EQ, MAP_PRIVATE));
}

/*
 * Returns 0, or an errno.  The calls are a tree and no list: the kernel tries
 * a filter with each call that there is when it is installed, which took an
 * eighth of the time of a worker's start.
 */
static int sandbox_make_filter(bool receives, scmp_filter_ctx *made)
{
    scmp_filter_ctx filter;
    int rc;

    filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter == NULL) {
        return ENOMEM;
    }

    /* for all threads */
    rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (rc == 0) {
        rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    }
    if (rc == 0) {
        rc = sandbox_allow(filter);
    }
    if (rc == 0) {
        rc = receives ? sandbox_allow_received(filter)
                      : sandbox_allow_abort(filter);
    }
    if (rc != 0) {
        seccomp_release(filter);
        return -rc;
    }
    *made = filter;
    return 0;
}

/* The filter of processes that receive, as the kernel takes it. */
static struct sock_fprog sandbox_prepared;

int sandbox_prepare_receiving(void)
{
    scmp_filter_ctx filter;
    off_t size = -1;
    int rc = sandbox_make_filter(true, &filter), fd;

    if (rc != 0) {
        errno = rc;
        return -1;
    }
    fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd >= 0 && seccomp_export_bpf(filter, fd) == 0) {
        size = lseek(fd, 0, SEEK_CUR);
    }
    seccomp_release(filter);
    if (size > 0) {
        sandbox_prepared.len =
            (unsigned short)((size_t)size /
                             sizeof(sandbox_prepared.filter[0]));
        sandbox_prepared.filter = malloc((size_t)size);
        if (sandbox_prepared.filter == NULL ||
            pread(fd, sandbox_prepared.filter, (size_t)size, 0) != size) {
            free(sandbox_prepared.filter);
            sandbox_prepared.filter = NULL;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return sandbox_prepared.filter != NULL ? 0 : -1;
}

/* Returns 0, or an errno. */
static int sandbox_seccomp(bool receives)
{
    scmp_filter_ctx filter;
    int rc;

    if (receives && sandbox_prepared.filter != NULL) {
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                       SECCOMP_FILTER_FLAG_TSYNC, &sandbox_prepared) == 0
                   ? 0
                   : errno;
    }
    rc = sandbox_make_filter(receives, &filter);
    if (rc == 0) {
        rc = -seccomp_load(filter);
        seccomp_release(filter);
    }
    return rc;
}

/* own_memory: 0 = it receives nothing */
static int enter(const struct sandbox_limits *limits, uint64_t own_memory,
                 void (*start)(void), char *error, size_t size)
{
    int rc;

#ifdef SANDBOX_ASAN
    /* the check at exit would start a thread and read /proc, so it is made
       here */
    __lsan_do_leak_check();
#endif

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return sandbox_error(error, size, "sandbox: no_new_privs", errno);
    }

    if (landlock_restrict(NULL, 0, 0) < 0) {
        return sandbox_error(error, size, "sandbox: landlock", errno);
    }

    if (start != NULL) {
        start();
    }

    /* after Landlock, which needs to open a descriptor for its ruleset */
    if (rlimits(limits, own_memory) != 0) {
        return sandbox_error(error, size, "sandbox: setrlimit", errno);
    }

    rc = sandbox_seccomp(own_memory != 0);
    if (rc != 0) {
        return sandbox_error(error, size, "sandbox: seccomp", rc);
    }

    return 0;
}

int sandbox_enter(const struct sandbox_limits *limits, void (*start)(void),
                  char *error, size_t size)
{
    return enter(limits, 0, start, error, size);
}

int sandbox_enter_receiving(uint64_t own_memory, char *error, size_t size)
{
    static const struct sandbox_limits none = {0, 0, 0};

    return enter(&none, own_memory, NULL, error, size);
}
