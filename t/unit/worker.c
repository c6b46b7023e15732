/*
 * Copyright (C) the ngx_symcache authors
 *
 * Workers that crash, hang and lie: no other answer changes, and nothing of
 * one domain comes to a worker of another.  This program is its own worker. It
 * does what a body says in its lines:
 *
 *   echo       says all bodies that this process has read
 *   crash      a read of address 0
 *   abort      ends itself, as a library does that finds its heap damaged
 *   end        does so with exit code 1
 *   signal     may it send a signal to the process that it is a copy of?
 *   hang       is silent
 *   lie        says what no worker may
 *   talk       says too much
 *   refuse     has no result
 *   cannot     has no memory
 *   deaf       has none to receive what comes next
 *   ask N      asks for N files, and says what is in them
 *   size       says how long the body is, and its last byte
 */
#include <dlfcn.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/spool.h"
#include "sandbox/sandbox.h"
#include "worker_pool/worker_pool.h"

#define ECHO 7
#define MEMORY (64 << 20)

#ifdef __SANITIZE_ADDRESS__ /* a start takes much longer then */
#define MUTATIONS 300
#else
#define MUTATIONS 10000
#endif

/* In the place of the C library's: there is no memory for a message. */

static bool is_deaf;   /* a worker, once there is a message */
static int *num_lost; /* so many new workers the spawner cannot send */

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    static ssize_t (*real)(int, struct msghdr *, int);
    struct msghdr none = {0};

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
    }
    if (is_deaf && real(fd, &none, MSG_PEEK) >= 0) {
        errno = ENOMEM;
        return -1;
    }
    return real(fd, message, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    static ssize_t (*real)(int, const struct msghdr *, int);
    const struct spawner_message *answer = message->msg_iov[0].iov_base;

    if (num_lost != NULL && *num_lost > 0 && message->msg_controllen > 0 &&
        message->msg_iov[0].iov_len == sizeof(*answer) && answer->pid > 0) {
        --*num_lost;
        errno = ENOMEM;
        return -1;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
    }
    return real(fd, message, flags);
}

/* the worker --------------------------------------------------------------- */

static volatile char *volatile nowhere;
static char seen[100000];
static pid_t first; /* the process of which workers are copies */

static void have(void *arg, const struct work_file *file, const uint8_t *data,
                 size_t size)
{
    char text[64];

    snprintf(text, sizeof(text), "[%u %u %u %s:", file->index, file->what,
             file->state, file->is_new ? "new" : "known");
    work_say(arg, text, strlen(text));
    work_say(arg, data != NULL ? (const char *)data : "none",
             data != NULL ? size : 4);
    work_say(arg, "]", 1);
}

static void lie(const char *how)
{
    struct work_head head = {(uint32_t)strtoul(how, NULL, 10), 0};

    if (write(WORK_SOCKET, &head, sizeof(head)) < 0) {
        _exit(1);
    }
}

static void obey(const struct work_body *body, const char *line)
{
    static char much[WORK_MESSAGE_MAX];
    struct work_service *service = body->service;

    if (strcmp(line, "echo") == 0) {
        work_say(service, body->text, strlen(body->text));
        work_say(service, seen, strlen(seen));
    } else if (strcmp(line, "crash") == 0) {
        exit(*nowhere);
    } else if (strcmp(line, "memory") == 0) {
        work_say(service, malloc(MEMORY) != NULL ? "yes" : "no", 2);
    } else if (strcmp(line, "open") == 0) {
        work_say(service, open("/dev/null", O_RDONLY) >= 0 ? "yes" : "no", 2);
    } else if (strcmp(line, "signal") == 0) {
        work_say(service,
                 syscall(SYS_tgkill, first, first, 0) == 0 ? "yes" : "no", 2);
    } else if (strcmp(line, "cannot") == 0) {
        work_cannot();
    } else if (strcmp(line, "deaf") == 0) {
        is_deaf = true;
    } else if (strcmp(line, "abort") == 0) {
        abort();
    } else if (strcmp(line, "end") == 0) {
        _exit(1);
    } else if (strcmp(line, "hang") == 0) {
        for (;;) {
            sleep(1000);
        }
    } else if (strncmp(line, "lie ", 4) == 0) {
        lie(line + 4);
    } else if (strcmp(line, "talk") == 0) {
        for (;;) {
            work_say(service, much, sizeof(much));
        }
    } else if (strcmp(line, "size") == 0) {
        snprintf(much, sizeof(much), "%zu %c", (size_t)body->size,
                 body->data[body->size - 1]);
        work_say(service, much, strlen(much));
    } else if (strncmp(line, "ask ", 4) == 0) {
        work_say(service, line + 4, strlen(line) - 4);
        work_ask(service, have, service);
    }
}

static void read_echo(const struct work_body *body)
{
    char text[4096], *line, *rest = text;

    snprintf(text, sizeof(text), "%.*s", (int)body->size,
             (const char *)body->data);
    snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "|%s", text);
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (strcmp(line, "refuse") == 0) {
            work_say(body->service, "why", 3);
            work_refuse(body->service, 418);
            return;
        }
        obey(body, line);
    }
    work_done(body->service);
}

static int be_worker(void)
{
    static const struct work_kind kinds[] = {{ECHO, read_echo}};
    char error[200];

    first = getpid();
    if (sandbox_prepare_receiving() != 0) {
        return 1;
    }
    work_fork();
    if (sandbox_enter_receiving(MEMORY, error, sizeof(error)) != 0) {
        fprintf(stderr, "# %s\n", error);
        return 1;
    }
    work_serve(kinds, 1);
    return 0;
}

/* the daemon --------------------------------------------------------------- */

static struct event_base *base;
static struct work_pool *pool;
static struct work_counts counts;
static int spawner;

/* A work and what became of it. */
struct result {
    struct work *work;
    enum work_news news;
    bool is_over;
    bool is_late; /* its files come when its worker has died */
    unsigned asked;
    unsigned opened;
    char loss[100];
    char *text;
    size_t size;
};

static int errno_of_open; /* 0: files are opened */

static int open_file(void *arg, size_t input)
{
    struct result *result = arg;
    int fd = errno_of_open == 0 ? memfd_create("file", MFD_CLOEXEC) : -1;
    char text[32];
    int n = snprintf(text, sizeof(text), "content %zu", input);

    if (fd < 0) {
        errno = errno_of_open;
        return -1;
    }
    assert_int_equal(write(fd, text, (size_t)n), n);
    result->opened++;
    return fd;
}

/* Gives as many files as the text says, and one that is not there. */
static void give(struct result *result)
{
    char *text = work_take_text(result->work, &result->size);
    const char *number = strrchr(text, ']');
    size_t i, n = strtoul(number != NULL ? number + 1 : text, NULL, 10);
    struct work_input_file *input_files = calloc(n + 1, sizeof(*input_files));

    for (i = 0; i <= n; i++) {
        input_files[i] =
            (struct work_input_file){.index = (uint32_t)i,
                                     .what = 1,
                                     .state = 2,
                                     .device = 5,
                                     .inode = i < n ? 1000 + i : 0};
    }
    work_send_files(result->work, input_files, n + 1, open_file, result);
    free(input_files);
    free(text);
}

static void on_news(void *arg, enum work_news news)
{
    struct result *result = arg;

    if (news == WORK_WANTS) {
        result->asked++;
        if (!result->is_late) {
            give(result);
        }
        return;
    }
    result->news = news;
    result->is_over = true;
    snprintf(result->loss, sizeof(result->loss), "%s",
             work_loss(result->work));
    if (news != WORK_DIED && news != WORK_UNABLE) {
        result->text = work_take_text(result->work, &result->size);
    }
}

static void start(struct result *result, const char *domain, const char *text,
                  unsigned ms)
{
    struct spool *body = spool_new();
    struct work_order order = {.name = "test", .kind = ECHO,
                               .domain = domain, .body = body,
                               .text = ">", .most = 1 << 20, .ms = ms};

    memset(result, 0, sizeof(*result));
    assert_int_equal(spool_write(body, text, strlen(text)), 0);
    result->work = work_start(pool, &order, on_news, result);
    assert_non_null(result->work);
    spool_unref(body);
}

static void finish(struct result *result)
{
    while (!result->is_over) {
        assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
    }
    work_free(result->work);
}

static void run(struct result *result, const char *domain, const char *text)
{
    start(result, domain, text, 60000);
    finish(result);
}

/* What a body comes to, and the text of its result. */
static void expect(const char *domain, const char *body, enum work_news news,
                   const char *text)
{
    struct result result;

    run(&result, domain, body);
    assert_int_equal(result.news, news);
    if (text != NULL) {
        assert_string_equal(result.text, text);
    }
    free(result.text);
}

static void test_one_domain(void **state)
{
    expect("a", "echo\none", WORK_ENDED, ">|echo\none");
    expect("b", "echo\ntwo", WORK_ENDED, ">|echo\ntwo");
    expect("a", "echo", WORK_ENDED, ">|echo\none|echo");
    expect(NULL, "echo\nthree", WORK_ENDED, ">|echo\nthree");
    expect(NULL, "echo\nfour", WORK_ENDED, ">|echo\nfour");
    expect("b", "echo", WORK_ENDED, ">|echo\ntwo|echo");
}

/* Small ones go along with their order, others have a file. */
static void test_sizes(void **state)
{
    static const size_t sizes[] = {
        6, 4096, SPOOL_SMALL - 1, SPOOL_SMALL, SPOOL_SMALL + 1, 300000};
    char *body = malloc(300001), said[40];
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(body, 'x', sizes[i]);
        memcpy(body, "size\n", 5);
        body[sizes[i] - 1] = 'z';
        body[sizes[i]] = '\0';
        snprintf(said, sizeof(said), "%zu z", sizes[i]);
        expect("s", body, WORK_ENDED, said);
    }
    free(body);
    expect("empty", "", WORK_ENDED, NULL);
    assert_int_equal(spool_bytes(), 0);
}

/* A body that comes in pieces gets its file with the one that makes it large;
 * what is to be written after it is sealed is refused. */
static void test_spool(void **state)
{
    struct spool *spool = spool_new();
    char data[SPOOL_SMALL + 2];
    size_t i;

    for (i = 0; i < SPOOL_SMALL; i += 1024) {
        memset(data, (int)(i / 1024), 1024);
        assert_int_equal(spool_write(spool, data, 1024), 0);
    }
    assert_int_equal(spool->fd, -1);
    assert_int_equal(spool_write(spool, "ab", 2), 0);
    assert_null(spool->data);
    assert_int_equal(pread(spool->fd, data, sizeof(data), 0), sizeof(data));
    for (i = 0; i < SPOOL_SMALL; i++) {
        assert_int_equal(data[i], i / 1024);
    }
    assert_memory_equal(data + SPOOL_SMALL, "ab", 2);
    spool_seal(spool);
    assert_int_equal(spool_write(spool, "c", 1), -1);
    spool_unref(spool);
    assert_int_equal(spool_bytes(), 0);
}

static void test_refuse(void **state)
{
    struct result result;

    start(&result, "r", "refuse", 60000);
    while (!result.is_over) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(result.news, WORK_REFUSED);
    assert_int_equal(work_status(result.work), 418);
    assert_string_equal(result.text, "why");
    work_free(result.work);
    free(result.text);
    expect("r", "echo", WORK_ENDED, ">|refuse|echo");
}

/* One that is lost has none of what it has read when it is replaced. */
static void test_lost(void **state)
{
    static const char liar[] = "its worker was killed: it said what it may "
                               "not";
    static const struct {
        const char *body;
        enum work_news news;
        const char *loss;
    } cases[] = {
#ifndef __SANITIZE_ADDRESS__ /* which has its own end for these */
        {"crash", WORK_DIED,
         "its worker ended by signal 11 (Segmentation fault)"},
        /* which the filter does not let it be more exact about */
        {"abort", WORK_DIED,
         "its worker ended by signal 11 (Segmentation fault)"},
#endif
        {"end", WORK_DIED, "its worker ended with exit code 1"},
        {"cannot", WORK_UNABLE,
         "its worker has no memory, or cannot lock itself in"},
        {"lie 0", WORK_DIED, liar},
        {"lie 1", WORK_DIED, liar},
        {"lie 4", WORK_DIED, liar},
        {"lie 99", WORK_DIED, liar},
        {"talk", WORK_DIED, liar},
    };
    struct result result;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run(&result, "lost", cases[i].body);
        assert_int_equal(result.news, cases[i].news);
        assert_string_equal(result.loss, cases[i].loss);
    }
    run(&result, "lost", "echo");
    assert_string_equal(result.text, ">|echo");
    assert_string_equal(result.loss, "");
    free(result.text);
}

/* For what it lacks the body is not to blame. */
static void test_unable(void **state)
{
    struct result result;

    atomic_store(&counts.died, 0);
    expect("unable", "cannot", WORK_UNABLE, NULL);
    expect("deaf", "deaf", WORK_ENDED, NULL);
    expect("deaf", "echo", WORK_UNABLE, NULL); /* it has read nothing of it */
    expect("deaf", "echo", WORK_ENDED, ">|echo");
    errno_of_open = EMFILE;
    expect("unable", "ask 2", WORK_UNABLE, NULL);
    errno_of_open = ENOENT; /* it was replaced meanwhile */
    run(&result, "unable", "ask 1");
    errno_of_open = 0;
    assert_string_equal(result.text, "[0 1 2 known:none][1 1 2 known:none]");
    free(result.text);
    assert_int_equal(atomic_load(&counts.died), 0);
}

/* Workers that the spawner has started and cannot send are not waited for. */
static void test_not_sent(void **state)
{
    struct result result;
    char domain[8];
    int i;

    *num_lost = 1000;
    for (i = 0; i < 20; i++) {
        snprintf(domain, sizeof(domain), "n%d", i);
        run(&result, domain, "echo"); /* at first by those that are ready */
        free(result.text);
        if (result.news != WORK_ENDED) {
            break;
        }
    }
    assert_int_equal(result.news, WORK_UNABLE);
    *num_lost = 0;
    do { /* orders of before are answered so */
        run(&result, "sent", "echo");
        free(result.text);
    } while (result.news == WORK_UNABLE && ++i < 40);
    assert_int_equal(result.news, WORK_ENDED);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    struct result *result = arg;

    if (result->work != NULL && result->is_late &&
        atomic_load(&counts.died) > 0) {
        result->is_late = false;
        give(result);
    }
}

/* One that has died meanwhile is given no files, in the turn of the loop before
 * the one that tells of it. */
static void test_late_files(void **state)
{
    struct result result = {0};
    int fd = eventfd(1, EFD_CLOEXEC);
    struct event *turn =
        event_new(base, fd, EV_READ | EV_PERSIST, on_turn, &result);

    atomic_store(&counts.died, 0);
    start(&result, "late", "lie 3\nabort", 60000);
    result.is_late = true;
    assert_int_equal(event_add(turn, NULL), 0);
    finish(&result);
    assert_int_equal(result.asked, 1);
    assert_false(result.is_late);
    assert_int_equal(result.opened, 0);
    assert_int_equal(result.news, WORK_DIED);
    event_free(turn);
    close(fd);
}

static void test_hang(void **state)
{
    struct result hanging, other;

    start(&hanging, "h", "hang", 200);
    start(&other, "o", "echo", 60000);
    finish(&other);
    assert_string_equal(other.text, ">|echo");
    free(other.text);
    finish(&hanging);
    assert_int_equal(hanging.news, WORK_DIED);
}

/* Its call has ended before it. */
static void test_cancelled(void **state)
{
    struct result result;

    start(&result, "c", "hang", 60000);
    work_free(result.work);
    expect("c", "echo", WORK_ENDED, ">|echo");
}

static void test_files(void **state)
{
    struct result result;

    run(&result, "f", "ask 2");
    assert_string_equal(result.text, "[0 1 2 new:content 0]"
                                     "[1 1 2 new:content 1]"
                                     "[2 1 2 known:none]");
    free(result.text);
    run(&result, "f", "ask 3");
    assert_int_equal(result.opened, 1);
    assert_string_equal(result.text, "[0 1 2 known:content 0]"
                                     "[1 1 2 known:content 1]"
                                     "[2 1 2 new:content 2]"
                                     "[3 1 2 known:none]");
    free(result.text);
    /* of so many, not all descriptors go into one packet */
    run(&result, "f", "ask 450\nask 450");
    assert_int_equal(result.asked, 2);
    assert_int_equal(result.opened, 447);
    assert_non_null(strstr(result.text, "[449 1 2 known:content 449]"));
    free(result.text);
    run(&result, "g", "ask 1");
    assert_int_equal(result.opened, 1);
    free(result.text);
}

/* A worker that has 1,024 files is used for no further body, as one may add as
 * many: it has place for 2,048. */
static void test_held(void **state)
{
    struct result result;

    (void)state;
    run(&result, "h", "ask 1000");
    assert_int_equal(result.opened, 1000);
    free(result.text);
    run(&result, "h", "ask 1020");
    assert_int_equal(result.opened, 20);
    free(result.text);
    run(&result, "h", "ask 2000");
    assert_int_equal(result.opened, 980);
    assert_non_null(strstr(result.text, "[1999 1 2 new:content 1999]"));
    free(result.text);
    run(&result, "h", "ask 1");
    assert_int_equal(result.opened, 1);
    free(result.text);
}

static void test_rights(void **state)
{
    expect("m", "open", WORK_ENDED, "no");
    expect("m", "signal", WORK_ENDED, "no");
#ifndef __SANITIZE_ADDRESS__
    expect("m", "memory", WORK_ENDED, "no");
#endif
}

/* What is random of a mutation. */
static uint32_t next_random(void)
{
    static uint32_t x = 2463534242u;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

/* Another domain is asked beside each one.  How a worker ended is known at
 * once, also if it ends while its end is asked for. */
static void test_mutations(void **state)
{
    static const char body[] = "echo\nlie 3\nask 2\nrefuse\ncrash\n";
    static const char wanted[] = ">|echo\nother";
    char text[sizeof(body)];
    struct result mutated, other;
    unsigned i, k;

    for (i = 0; i < MUTATIONS; i++) {
        memcpy(text, body + next_random() % 12, sizeof(body) - 12);
        text[sizeof(body) - 12] = '\0';
        for (k = next_random() % 4; k > 0; k--) {
            text[next_random() % 12] = (char)(1 + next_random() % 255);
        }
        start(&mutated, i % 2 ? "x" : NULL, text, 8000);
        start(&other, "y", "echo\nother", 60000);
        finish(&other);
        assert_int_equal(other.news, WORK_ENDED);
        assert_memory_equal(other.text, wanted, strlen(wanted));
        assert_int_equal(other.size,
                         1 + (i % 1000 + 1) * (strlen(wanted) - 1));
        free(other.text);
        finish(&mutated);
        assert_null(strstr(mutated.loss, "not known"));
        free(mutated.text);
    }
}

static int setup(void **state)
{
    static char *const argv[] = {"/proc/self/exe", "--worker", NULL};
    char error[300];

    num_lost = mmap(NULL, sizeof(*num_lost), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (num_lost == MAP_FAILED) {
        return -1;
    }
    if (spawner_start(argv, &spawner, 1, error, sizeof(error)) != 0) {
        fprintf(stderr, "# %s\n", error);
        return -1;
    }
    log_set_level(LOG_LEVEL_EMERG);
    base = event_base_new();
    pool = work_pool_new(base, spawner, &counts);
    return pool != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    work_pool_free(pool);
    event_base_free(base);
    close(spawner);
    /* the spawner, a child of this process, ends with its last socket */
    if (waitpid(-1, NULL, 0) < 0) {
        return -1;
    }
    return atomic_load(&counts.workers) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_domain), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_spool),      cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_unable),     cmocka_unit_test(test_not_sent),
        cmocka_unit_test(test_late_files),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_cancelled),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_rights),     cmocka_unit_test(test_mutations),
    };

    if (argc > 1 && strcmp(argv[1], "--worker") == 0) {
        return be_worker();
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
