/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a daemon that has locked itself in can do, and what it cannot any more.
 * Each probe runs in a forked child; the child's exit code is its result.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sandbox/sandbox.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

/* store/file, other/file, config/file, log/file, below this */
static char top[] = "/tmp/symcache-serve.XXXXXX";

static void path_of(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", top, name);
}

static int write_file(const char *name)
{
    char path[256];
    FILE *f;

    path_of(path, name);
    f = fopen(path, "w");
    return f != NULL && fputs("x", f) >= 0 && fclose(f) == 0 ? 0 : -1;
}

static int group_setup(void **state)
{
    static const char *const folders[] = {"store", "other", "config", "log"};
    char path[256], file[32];
    size_t i;

    if (mkdtemp(top) == NULL) {
        return -1;
    }
    for (i = 0; i < 4; i++) {
        path_of(path, folders[i]);
        if (mkdir(path, 0755) != 0) {
            return -1;
        }
        snprintf(file, sizeof(file), "%s/file", folders[i]);
        if (write_file(file) != 0) {
            return -1;
        }
    }
    return 0;
}

static int group_teardown(void **state)
{
    char command[160];

    snprintf(command, sizeof(command), "rm -rf '%s'", top);
    return system(command);
}

static int can_open(const char *name, int flags)
{
    char path[256];
    int fd;

    path_of(path, name);
    fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd != -1) {
        close(fd);
    }
    return fd != -1;
}

/* The result of a probe behind the lock. */
static int run(int (*probe)(void))
{
    char root[256], config[256], log[256], error[256];
    struct daemon_sandbox allowed = {
        .config = config, .log = log, .spool = -1};
    int status, fd;
    pid_t pid;

    path_of(root, "store");
    path_of(config, "config/file");
    path_of(log, "log/file");
    fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    allowed.roots = &fd;
    allowed.nroots = 1;
    pid = fork();
    if (pid == 0) {
        if (daemon_sandbox_enter(&allowed, error, sizeof(error)) < 0) {
            fprintf(stderr, "# %s\n", error);
            _exit(99);
        }
        _exit(probe());
    }
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int probe_read(void)
{
    return can_open("store/file", O_RDONLY) &&
                   can_open("config/file", O_RDONLY)
               ? 0
               : 1;
}

static int probe_files(void)
{
    if (can_open("other/file", O_RDONLY)) {
        return 1;
    }
    if (can_open("store/file", O_WRONLY) ||
        can_open("store/new", O_WRONLY | O_CREAT)) {
        return 2;
    }
    if (can_open("config/file", O_WRONLY)) {
        return 3;
    }
    return can_open("log/new", O_WRONLY | O_CREAT) ? 0 : 4;
}

static int probe_process(void)
{
    char *const argv[] = {"/bin/true", NULL};

    if (fork() != -1) {
        return 1;
    }
    execv(argv[0], argv);
    return errno == EPERM || errno == EACCES ? 0 : 2;
}

static int probe_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0) {
        return 1;
    }
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? 0
               : 2;
}

static void *set(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static int probe_threads(void)
{
    pthread_t thread;
    int done = 0;

    return pthread_create(&thread, NULL, set, &done) == 0 &&
                   pthread_join(thread, NULL) == 0 && done
               ? 0
               : 1;
}

static int probe_sockets(void)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    /* that nobody listens there is another error than "not permitted" */
    snprintf(un.sun_path, sizeof(un.sun_path), "%s/nobody", top);
    return fd != -1 &&
                   connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1 &&
                   errno == ENOENT
               ? 0
               : 1;
}

/* Those of no family and type that is needed: 0 if there is none of them. */
static int probe_other_sockets(void)
{
    static const int others[][3] = {
        {AF_INET, SOCK_DGRAM, 0},       {AF_INET6, SOCK_DGRAM, 0},
        {AF_INET, SOCK_RAW, 1},         {AF_INET, SOCK_STREAM, 262 /* MPTCP */},
        {AF_NETLINK, SOCK_RAW, 0},      {AF_PACKET, SOCK_RAW, 0},
        {38 /* AF_ALG */, SOCK_SEQPACKET, 0}};
    size_t i;

    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (socket(others[i][0], others[i][1], others[i][2]) != -1 ||
            errno != EPERM) {
            return (int)i + 1;
        }
    }
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) != -1
               ? 0
               : 100;
}

/* cmocka's skip() prints "not ok", which is a failure to prove. */
static bool is_skipped(void)
{
#if defined(__SANITIZE_ADDRESS__)
    print_message("# skipped: a sanitizer needs what is locked away\n");
    return true;
#else
    return false;
#endif
}

static void test_what_is_needed(void **state)
{
    assert_int_equal(run(probe_read), 0);
    assert_int_equal(run(probe_threads), 0);
    assert_int_equal(run(probe_sockets), 0);
}

static void test_other_files(void **state)
{
    if (is_skipped()) {
        return;
    }
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1u) < 1) {
        print_message("# skipped: this kernel has no Landlock\n");
        return;
    }
    assert_int_equal(run(probe_files), 0);
}

static void test_other_sockets(void **state)
{
    if (is_skipped()) {
        return;
    }
    assert_int_equal(run(probe_other_sockets), 0);
}

static void test_no_process_and_no_code(void **state)
{
    if (is_skipped()) {
        return;
    }
    assert_int_equal(run(probe_process), 0);
    assert_int_equal(run(probe_code), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_needed),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_other_sockets),
        cmocka_unit_test(test_no_process_and_no_code),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
