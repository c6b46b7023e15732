/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a sandboxed process can do, and what it cannot any more.  Each probe
 * runs in a forked child; the child's exit code is the probe's result.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "sandbox/sandbox.h"

#define MIB (1024 * 1024)

static FILE *input; /* "sandbox" and a newline */
static FILE *output;

static int group_setup(void **state)
{
    (void)state;

    input = tmpfile();
    output = tmpfile();
    if (input == NULL || output == NULL) {
        return -1;
    }

    /* past the streams, whose buffers are still to be had */
    return write(fileno(input), "sandbox\n", 8) == 8 ? 0 : -1;
}

static int group_teardown(void **state)
{
    (void)state;
    fclose(input);
    fclose(output);
    return 0;
}

/* Returns the wait status of a child that runs probe inside the sandbox. */
static int run(const struct sandbox_limits *limits, int (*probe)(void))
{
    char error[256];
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);

    if (pid == 0) {
        if (sandbox_enter(limits, NULL, error, sizeof(error)) != 0) {
            fprintf(stderr, "# %s\n", error);
            _exit(99);
        }
        _exit(probe());
    }

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int refused(long rc)
{
    return rc == -1 && (errno == EPERM || errno == EACCES);
}

/* A thread that is started on the way into the sandbox.  It reports what it can
 * do when the sandbox is closed. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static enum { NO_THREAD, WAITS, GOES_ON, HAS_ENDED } phase;
static int thread_result;

static void set_phase(int now)
{
    pthread_mutex_lock(&lock);
    phase = now;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_phase(int wanted)
{
    pthread_mutex_lock(&lock);
    while ((int)phase != wanted) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void *probe_thread(void *unused)
{
    set_phase(WAITS);
    wait_phase(GOES_ON);
    thread_result =
        refused(open("/etc/passwd", O_RDONLY | O_CLOEXEC)) &&
                refused(socket(AF_UNIX, SOCK_DGRAM, 0)) && refused(fork())
            ? 0
            : 1;
    set_phase(HAS_ENDED);
    return unused;
}

static void start_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, probe_thread, NULL) == 0) {
        wait_phase(WAITS);
    }
}

static void assert_ok(int (*probe)(void))
{
    struct sandbox_limits limits = {256 * MIB, 1 * MIB, 20};
    int status = run(&limits, probe);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int probe_open(void)
{
    if (!refused(open("/etc/passwd", O_RDONLY | O_CLOEXEC))) {
        return 1;
    }
    if (!refused(open("/dev/null", O_RDWR | O_CLOEXEC))) {
        return 2;
    }
    if (!refused(syscall(SYS_open, "/etc/passwd", O_RDONLY))) {
        return 3;
    }
    return 0;
}

static int probe_socket(void)
{
    int fds[2];

    if (!refused(socket(AF_INET, SOCK_STREAM, 0))) {
        return 1;
    }
    if (!refused(socket(AF_UNIX, SOCK_DGRAM, 0))) {
        return 2;
    }
    if (!refused(socketpair(AF_UNIX, SOCK_STREAM, 0, fds))) {
        return 3;
    }
    return 0;
}

static int probe_process(void)
{
    char *argv[] = {(char *)"true", NULL};
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    if (!refused(pid)) {
        return 1;
    }
    if (!refused(execv("/bin/true", argv))) {
        return 2;
    }
    if (!refused(kill(getppid(), 0))) {
        return 3;
    }
    return 0;
}

static int probe_names(void)
{
    if (!refused(unlink("/nonexistent"))) {
        return 1;
    }
    if (!refused(mkdir("/tmp/nonexistent/x", 0700))) {
        return 2;
    }
    if (!refused(rename("/nonexistent/a", "/nonexistent/b"))) {
        return 3;
    }
    return 0;
}

static int probe_code(void)
{
    void *p;

    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        return 1;
    }
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(input), 0);
    if (p != MAP_FAILED) {
        return 2;
    }
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
             -1, 0);
    if (p == MAP_FAILED) {
        return 3;
    }
    return refused(mprotect(p, 4096, PROT_READ | PROT_EXEC)) ? 0 : 4;
}

/* Calls that tell something of a file by its name, as the kernel has them. */
static int answered_looks(const char *path)
{
    static char buf[4096];
    long how[3] = {O_PATH, 0, 0}, empty = AT_EMPTY_PATH;
    int here = AT_FDCWD, file = fileno(input), answers = 0;

#define LOOK(...) answers += !refused(syscall(__VA_ARGS__))
#ifdef SYS_stat
    LOOK(SYS_stat, path, buf);
    LOOK(SYS_lstat, path, buf);
    LOOK(SYS_access, path, F_OK);
#ifndef __SANITIZE_ADDRESS__ /* whose reports name the program */
    LOOK(SYS_readlink, path, buf, sizeof(buf));
#endif
#endif
    LOOK(SYS_newfstatat, here, path, buf, 0);
    LOOK(SYS_newfstatat, here, path, buf, empty);
    LOOK(SYS_newfstatat, file, path, buf, empty);
    LOOK(SYS_statx, here, path, 0, 0xfff, buf);
    LOOK(SYS_statx, here, path, empty, 0xfff, buf);
    LOOK(SYS_statx, file, path, empty, 0xfff, buf);
    LOOK(SYS_faccessat, here, path, F_OK);
    LOOK(439 /* faccessat2 */, here, path, F_OK, 0);
    LOOK(SYS_readlinkat, here, path, buf, sizeof(buf));
    LOOK(SYS_openat, here, path, O_PATH);
    LOOK(437 /* openat2 */, here, path, how, sizeof(how));
    LOOK(SYS_statfs, path, buf);
    LOOK(SYS_getxattr, path, "user.x", buf, sizeof(buf));
    LOOK(SYS_listxattr, path, buf, sizeof(buf));
    LOOK(SYS_name_to_handle_at, here, path, buf, buf + 64, 0);
    LOOK(SYS_inotify_add_watch, file, path, 1);
    LOOK(SYS_chdir, path);
    LOOK(SYS_truncate, path, 0);
    LOOK(SYS_utimensat, here, path, NULL, 0);
#undef LOOK
    return answers;
}

/* They end alike, whether there is such a file or not. */
static int probe_looks(void)
{
    return answered_looks("/etc/shadow") + answered_looks("/etc/nonexistent") +
           answered_looks("");
}

/* A C library's streams want the size of a block, and go on without it. */
static int probe_streams(void)
{
    char line[16];

    if (lseek(fileno(input), 0, SEEK_SET) != 0) {
        return 4;
    }
    if (fgets(line, sizeof(line), input) == NULL ||
        strcmp(line, "sandbox\n") != 0) {
        return 1;
    }
    if (fputs("1234\n", output) < 0 || fflush(output) != 0) {
        return 2;
    }
    if (fseek(output, -3, SEEK_END) != 0 ||
        fgets(line, sizeof(line), output) == NULL ||
        strcmp(line, "34\n") != 0) {
        return 3;
    }
    return 0;
}

/* What a parser lives on. */
static int probe_work(void)
{
    struct timespec now;
    struct statvfs fs;
    char buf[16];
    char *p;

    if (pread(fileno(input), buf, sizeof(buf), 0) != 8 ||
        memcmp(buf, "sandbox\n", 8) != 0) {
        return 1;
    }
    if (lseek(fileno(input), 0, SEEK_END) != 8) {
        return 2;
    }
    p = malloc(64 * MIB);
    if (p == NULL) {
        return 3;
    }
    memset(p, 1, 64 * MIB);
    p = realloc(p, 96 * MIB);
    if (p == NULL) {
        return 4;
    }
    free(p);
    if (pwrite(fileno(output), buf, 8, 0) != 8 ||
        ftruncate(fileno(output), 4) != 0 || fsync(fileno(output)) != 0) {
        return 5;
    }
    if (fstatvfs(fileno(output), &fs) != 0) {
        return 6;
    }
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? 0 : 7;
}

static int probe_file_size(void)
{
    if (pwrite(fileno(output), "x", 1, MIB - 1) != 1) {
        return 1;
    }
    if (pwrite(fileno(output), "x", 1, MIB) != -1 || errno != EFBIG) {
        return 2;
    }
    return 0;
}

static int probe_memory(void)
{
    return malloc(512ul * MIB) == NULL ? 0 : 1;
}

static int probe_spin(void)
{
    volatile unsigned n = 0;

    while (n != 1) {
        n += 2;
    }
    return 0;
}

static int probe_abort(void)
{
    abort();
}

static void test_no_file_can_be_opened(void **state)
{
    (void)state;
    assert_ok(probe_open);
}

static void test_no_path_tells_anything(void **state)
{
    (void)state;
    assert_ok(probe_looks);
}

static void test_streams_work(void **state)
{
    (void)state;
    assert_ok(probe_streams);
}

static void test_no_socket_can_be_made(void **state)
{
    (void)state;
    assert_ok(probe_socket);
}

static void test_no_process_can_be_started(void **state)
{
    (void)state;
    assert_ok(probe_process);
}

static void test_no_name_can_be_changed(void **state)
{
    (void)state;
    assert_ok(probe_names);
}

static void test_threads_are_in_it(void **state)
{
    struct sandbox_limits limits = {256 * MIB, 1 * MIB, 20};
    char error[256];
    int status;
    pid_t pid;

    (void)state;
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (sandbox_enter(&limits, start_thread, error, sizeof(error)) != 0) {
            fprintf(stderr, "# %s\n", error);
            _exit(99);
        }
        set_phase(GOES_ON);
        wait_phase(HAS_ENDED);
        _exit(thread_result);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_no_code_can_be_made(void **state)
{
    (void)state;
    assert_ok(probe_code);
}

static void test_open_descriptors_and_memory_work(void **state)
{
    (void)state;
    assert_ok(probe_work);
}

static void test_file_size_limit_is_an_error(void **state)
{
    (void)state;
    assert_ok(probe_file_size);
}

static void test_memory_limit_is_an_error(void **state)
{
    (void)state;
    if (getenv("SYMCACHE_SAN") != NULL && *getenv("SYMCACHE_SAN") != '\0') {
        print_message("# skipped: AddressSanitizer needs the address space\n");
        return;
    }
    assert_ok(probe_memory);
}

static void test_cpu_limit_ends_the_process(void **state)
{
    struct sandbox_limits limits = {0, 0, 1};
    int status;

    (void)state;
    status = run(&limits, probe_spin);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXCPU);
}

static void test_seconds_grow_and_never_wrap(void **state)
{
    (void)state;
    assert_true(sandbox_seconds(0) > 0);
    assert_true(sandbox_seconds(1ull << 30) > sandbox_seconds(1ull << 20));
    assert_true(sandbox_seconds(UINT64_MAX) > sandbox_seconds(1ull << 40));
    assert_true(sandbox_seconds(UINT64_MAX) < UINT_MAX);
}

static void test_abort_is_an_abort(void **state)
{
    struct sandbox_limits limits = {0, 0, 0};
    int status;

    (void)state;
    status = run(&limits, probe_abort);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

#ifndef __SANITIZE_ADDRESS__ /* which has its own */

/* In the place of the C library's. */
static bool lacks_memory;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    return lacks_memory ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return lacks_memory ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return lacks_memory ? NULL : __libc_realloc(p, size);
}

/* Without memory the filters are those that were made before. */
static void test_filters_of_bwrap_are_made_before(void **state)
{
    char with_memory[4096], without[sizeof(with_memory)];
    ssize_t size;
    int network, fd;

    (void)state;
    assert_int_equal(sandbox_bwrap_prepare(), 0);
    for (network = 0; network < 2; network++) {
        fd = sandbox_bwrap_filter(network != 0);
        assert_int_not_equal(fd, -1);
        size = read(fd, with_memory, sizeof(with_memory));
        assert_true(size > 0 && size < (ssize_t)sizeof(with_memory));
        close(fd);
        lacks_memory = true;
        fd = sandbox_bwrap_filter(network != 0);
        lacks_memory = false;
        assert_int_not_equal(fd, -1);
        assert_int_equal(read(fd, without, sizeof(without)), size);
        assert_memory_equal(with_memory, without, (size_t)size);
        close(fd);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_file_can_be_opened),
        cmocka_unit_test(test_no_path_tells_anything),
        cmocka_unit_test(test_streams_work),
        cmocka_unit_test(test_no_socket_can_be_made),
        cmocka_unit_test(test_no_process_can_be_started),
        cmocka_unit_test(test_no_name_can_be_changed),
        cmocka_unit_test(test_no_code_can_be_made),
        cmocka_unit_test(test_open_descriptors_and_memory_work),
        cmocka_unit_test(test_file_size_limit_is_an_error),
        cmocka_unit_test(test_memory_limit_is_an_error),
        cmocka_unit_test(test_cpu_limit_ends_the_process),
        cmocka_unit_test(test_seconds_grow_and_never_wrap),
        cmocka_unit_test(test_abort_is_an_abort),
        cmocka_unit_test(test_threads_are_in_it),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(test_filters_of_bwrap_are_made_before),
#endif
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
