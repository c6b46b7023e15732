/*
 * Copyright (C) the ngx_symcache authors
 */
#include "parser_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debuginfo/auxiliary/auxiliary.h"
#include "debuginfo/second_thread.h"
#include "debuginfo/cfi.h"
#include "debuginfo/msfz/msfz.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "debuginfo/proguard/proguard.h"
#include "debuginfo/scratch.h"
#include "debuginfo/sourcebundle/sourcebundle.h"
#include "debuginfo/sourcemap/sourcemap.h"
#include "slice_choice.h"
#include "input_format.h"
#include "memory.h"
#include "sandbox/sandbox.h"
#include "breakpad_output.h"
#include "supplement_file.h"
#include "derived/derived.h"

#define MIB ((uint64_t)1 << 20)

/* Bytes of memory for one of a symbol map or line mapping: its values, and
 * what is made of them. */
#define TEXT_FACTOR 8

/* Bytes of stack, as threads have them (base/thread.c). */
#define STACK_SIZE (8 * MIB)

/* Files that get room for data in between have this many times theirs. */
#define SCRATCH_FACTOR 8

/* Up to this size it is in large pages, which means fewer page faults.  To
 * find and clear many of them takes longer than they save. */
#define SCRATCH_HUGE (64 * MIB)

struct parser_input {
    const uint8_t *data;
    size_t size;
    uint8_t *expanded;  /* room for an expanded PDB, or NULL */
    size_t room;        /* its bytes */
    size_t beside;      /* bytes of other files that are read */
    const uint8_t *map; /* a script's source map; NULL: none was named */
    size_t map_size;
};

/* Bytes that the parser works on: for limits that grow with the file. */
static size_t parser_work_size(const struct parser_input *input)
{
    return (input->size > input->room ? input->size : input->room) +
           input->map_size;
}

struct parser_output {
    int fd;
    uint64_t left;   /* bytes that it may still have */
    bool is_bounded; /* our caller has set a lower RLIMIT_FSIZE than we do */
};

static char shrank[4400]; /* the message of the handler below */
static size_t shrank_size;

/* The input became shorter, or could not be read, while it was mapped. */
static void parser_on_sigbus(int signo)
{
    ssize_t rc;

    rc = write(STDERR_FILENO, shrank, shrank_size);
    _exit(rc < 0 ? FAILURE_IO : FAILURE_IO);
}

static void parser_catch_sigbus(const struct conversion *conversion)
{
    int n;
    struct sigaction action;

    n = snprintf(shrank, sizeof(shrank),
                 "%s: %s: cannot be read: it shrank, or the disk failed, "
                 "while it was mapped\n",
                 conversion->program, conversion_shown(conversion));
    shrank_size = (size_t)n < sizeof(shrank) ? (size_t)n : sizeof(shrank);
    memset(&action, 0, sizeof(action));
    action.sa_handler = parser_on_sigbus;
    sigaction(SIGBUS, &action, NULL);
}

static int parser_map_file(int fd, const uint8_t **data, size_t *size,
                           struct failure *failure)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return failure_set(failure, FAILURE_IO, "cannot be read: %s",
                           strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return failure_set(failure, FAILURE_IO, "is not a regular file");
    }
    *size = (size_t)st.st_size;
    *data = (const uint8_t *)"";
    if (st.st_size > 0) {
        *data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (*data == MAP_FAILED) {
            *data = (const uint8_t *)"";
            *size = 0;
            return failure_set(failure, FAILURE_IO, "cannot be mapped: %s",
                               strerror(errno));
        }
    }
    return 0;
}

static int parser_map_input(const struct parser_process_job *job,
                            struct parser_input *input,
                            struct failure *failure)
{
    return parser_map_file(job->input_fd, &input->data, &input->size,
                           failure) != 0 ||
                   (job->map_fd >= 0 &&
                    parser_map_file(job->map_fd, &input->map, &input->map_size,
                                    failure) != 0)
               ? -1
               : 0;
}

/* Reserves room for the expanded form of a compressed PDB, before the sandbox
 * limits memory.  Only the used part takes memory. */
static int parser_map_expanded(struct parser_input *input,
                               struct failure *failure)
{
    uint64_t room;
    void *p;

    if (!msfz_sniff(input->data, input->size)) {
        return 0;
    }
    room = msfz_bound(input->data, input->size);
    if (room == 0) {
        return 0; /* parser_expand_input() says why */
    }
    p = mmap(NULL, (size_t)room, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return failure_set(failure, FAILURE_IO, "cannot be expanded: %s",
                           strerror(errno));
    }
    input->expanded = p;
    input->room = (size_t)room;
    return 0;
}

/* Puts an ordinary PDB in the place of a compressed one. */
static int parser_expand_input(struct parser_input *input,
                               struct failure *failure)
{
    static const enum failure_code codes[] = {
        [MSFZ_OK] = FAILURE_NONE,         [MSFZ_UNKNOWN] = FAILURE_MSFZ,
        [MSFZ_DAMAGED] = FAILURE_DAMAGED, [MSFZ_TRUNCATED] = FAILURE_TRUNCATED,
        [MSFZ_LIMIT] = FAILURE_LIMIT,     [MSFZ_FAILED] = FAILURE_LIMIT,
    };
    enum msfz_status status;
    char error[256];
    uint64_t size;

    if (!msfz_sniff(input->data, input->size)) {
        return 0;
    }
    status = msfz_expand_memory(input->data, input->size, input->expanded,
                                input->room, &size, error, sizeof(error));
    if (status != MSFZ_OK) {
        return failure_set(
            failure, codes[status],
            status == MSFZ_FAILED ? "cannot be expanded: %s" : "is %s", error);
    }
    input->data = input->expanded;
    input->size = (size_t)size;
    return 0;
}

/*
 * Maps a file without a name in the current folder, which for a transcoder is
 * its work directory, as room for large data in between.  It is larger than
 * what real files need, but takes no space on the disk before it is used.
 * Without it that data is in memory, which is so as well where our caller
 * allows only smaller files.  Returns the size, or 0.
 */
static size_t parser_map_scratch(const struct parser_input *input)
{
    int fd;
    void *p = MAP_FAILED;
    size_t size = SCRATCH_FACTOR * parser_work_size(input);

    if (!input_has_compressed_parts(input->data, input->size) &&
        ((input->map_size == 0 && !proguard_sniff(input->data, input->size)) ||
         parser_work_size(input) < INPUT_COMPRESSED_LEAST)) {
        return 0;
    }
    fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        return 0;
    }
    signal(SIGXFSZ, SIG_IGN);
    if (ftruncate(fd, (off_t)size) == 0) {
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (p == MAP_FAILED) {
        close(fd);
        return 0;
    }
    if (size <= SCRATCH_HUGE) {
        (void)madvise(p, size, MADV_HUGEPAGE);
    }
    scratch_use(p, size, fd);
    return size;
}

/* About ten times what the outputs of real files need.  Source files are not
 * packed there, and have a limit of their own.  A JsCache has 28 bytes for each
 * position, for which "C," or "CAAC," is enough in a source map. */
static uint64_t parser_output_limit(const struct parser_input *input)
{
    return 64 * MIB +
           (sourcebundle_sniff(input->data, input->size) ||
                    portablepdb_sniff(input->data, input->size)
                ? 2 * SOURCEBUNDLE_TEXTS_MAX
                : 2 * (uint64_t)parser_work_size(input)) +
           6 * (uint64_t)input->map_size;
}

static int parser_enter_sandbox(const struct conversion *conversion,
                                const struct parser_input *input,
                                size_t scratch, struct failure *failure)
{
    size_t size = parser_work_size(input);
    char error[200];
    struct sandbox_limits limits;
    void (*start)(void) = input_wants_thread(input->data, input->size)
                              ? second_thread_start
                              : NULL;

    if (!conversion->has_sandbox) {
        if (start != NULL) {
            start();
        }
        return 0;
    }
    limits.memory = 512 * MIB + 4 * (uint64_t)size + scratch + input->room +
                    8 * (uint64_t)input->beside;
    /* parser_write_all() bounds the output */
    limits.file_size = scratch > parser_output_limit(input)
                           ? scratch
                           : parser_output_limit(input);
    limits.cpu_seconds = sandbox_seconds(size + input->beside);
    memory_limit(limits.memory);
    if (sandbox_enter(&limits, start, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_SANDBOX,
                           "is not parsed without a sandbox: %s "
                           "(--no-sandbox does)",
                           error);
    }
    return 0;
}

static bool parser_is_bounded_below(uint64_t size)
{
    struct rlimit now;

    return getrlimit(RLIMIT_FSIZE, &now) == 0 &&
           now.rlim_cur != RLIM_INFINITY && now.rlim_cur < size;
}

static int parser_write_all(void *context, const void *data, size_t size)
{
    struct parser_output *output = context;
    ssize_t n;
    const char *p;

    if (size > output->left) {
        errno = EFBIG;
        return -1;
    }
    output->left -= size;
    for (p = data; size > 0; p += n, size -= (size_t)n) {
        n = write(output->fd, p, size);
        if (n < 0 && errno == EINTR) {
            n = 0;
        }
        if (n < 0 && errno == EFBIG && output->is_bounded) {
            errno = EDQUOT; /* this limit is not the fault of the input */
        }
        if (n < 0) {
            return -1;
        }
    }
    return 0;
}

/* Sets the failure of a file that does not become what is wanted. */
static int parser_refuse_kind(symcache_kind_e wanted, struct failure *failure)
{
    return failure_set(failure,
                       wanted == SYMCACHE_KIND_SYMCACHE ? FAILURE_PORTABLE
                                                        : FAILURE_NOT_PDB,
                       "%s", derived_type(wanted)->refusal);
}

/* A module has the name of its file. */
static int parser_write_breakpad(const struct conversion *conversion,
                                 const struct parser_input *input,
                                 const struct symc_sink *sink,
                                 struct debuginfo_result *result,
                                 struct failure *failure)
{
    int rc = sym_output(input->data, input->size, basename(conversion->input),
                        sink, result, failure);

    result->output = SYMCACHE_KIND_BREAKPAD;
    return rc;
}

/* Converts to the output that is wanted, if one is. */
static int parser_convert_input(const struct conversion *conversion,
                                struct parser_input *input,
                                const struct symc_sink *sink,
                                struct debuginfo_result *result,
                                struct failure *failure)
{
    int rc;
    const struct debuginfo_maker *maker;

    if (conversion->has_wanted &&
        conversion->wanted == SYMCACHE_KIND_JSCACHE) {
        return sourcemap_convert(input->data, input->size, input->map,
                                 input->map_size, sink, result, failure);
    }
    if (parser_expand_input(input, failure) != 0) {
        return -1;
    }
    if (slice_choose(&conversion->choice, &input->data, &input->size,
                     failure) != 0) {
        return -1;
    }
    if (conversion->has_wanted &&
        conversion->wanted == SYMCACHE_KIND_BREAKPAD) {
        return parser_write_breakpad(conversion, input, sink, result, failure);
    }
    if (conversion->make != NULL) {
        return conversion->make(input->data, input->size, sink, result,
                                failure);
    }
    maker = input_maker(input->data, input->size,
                        conversion->has_wanted ? &conversion->wanted : NULL);
    if (maker == NULL) {
        return parser_refuse_kind(conversion->wanted, failure);
    }
    rc = maker->read_cfi != NULL
             ? cfi_convert(maker->read_cfi, conversion->is_text, input->data,
                           input->size, sink, result, failure)
             : maker->convert(input->data, input->size, sink, result, failure);
    result->output = maker->output;
    return rc;
}

/* Finds what the conversion uses beside the file. */
static void parser_map_supplement(const struct parser_process_job *job,
                                  struct parser_input *input,
                                  struct supplement *supplement)
{
    const struct conversion *conversion = job->conversion;
    size_t i;

    supplement->is_like_symbolic = conversion->is_like_symbolic;
    supplement->is_strict = conversion->is_strict;
    supplement->wanted_id =
        conversion->check != NULL ? conversion->check->guid : NULL;
    supplement_map(conversion, input->data, input->size, supplement);
    if (job->reads_dwo) {
        supplement_map_dwo(conversion, input->data, input->size, supplement);
    }
    input->beside = supplement->altlink.size + supplement->image.size +
                    TEXT_FACTOR * supplement->symbol_map.size +
                    TEXT_FACTOR * supplement->line_mapping.size;
    for (i = 0; i < supplement->num_split; i++) {
        input->beside += supplement->split[i].size;
    }
}

/* Calls may be inlined so deep that a small stack does not do.  Where that
 * cannot be changed, a file whose are crashes the parser. */
static void parser_want_stack(void)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur < STACK_SIZE) {
        now.rlim_cur = now.rlim_max < STACK_SIZE ? now.rlim_max : STACK_SIZE;
        (void)setrlimit(RLIMIT_STACK, &now);
    }
}

/* Runs in the child.  Writes the result to the pipe; returns the exit code. */
static enum failure_code parser_main(const struct parser_process_job *job,
                                     int pipe_fd)
{
    struct parser_output output = {job->output_fd, UINT64_MAX, false};
    struct parser_output pipe = {pipe_fd, UINT64_MAX, false};
    struct parser_input input = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct debuginfo_result result;
    struct supplement supplement = {0};
    char note[sizeof(result.note)] = "";
    struct symc_sink sink;
    const struct conversion *conversion = job->conversion;
    bool failed;
    size_t scratch, n;

    sink.write = parser_write_all;
    sink.context = &output;
    memset(&result, 0, sizeof(result));
    result.has_file_addresses = conversion->has_file_addresses;
    parser_catch_sigbus(conversion);
    memory_must_suffice(conversion->program, conversion_shown(conversion));
    parser_want_stack();
    failed = parser_map_input(job, &input, &failure) != 0 ||
             parser_map_expanded(&input, &failure) != 0;
    output.left =
        conversion->has_sandbox ? parser_output_limit(&input) : UINT64_MAX;
    output.is_bounded = parser_is_bounded_below(parser_output_limit(&input));
    scratch = failed ? 0 : parser_map_scratch(&input);
    if (!failed) {
        parser_map_supplement(job, &input, &supplement);
    }
    failed = failed ||
             parser_enter_sandbox(conversion, &input, scratch, &failure) != 0;
    if (!failed) { /* a bad map keeps nothing else from being read */
        transform_take(&supplement, note, sizeof(note));
        supplement_set(&supplement);
    }
    if (failed || parser_convert_input(conversion, &input, &sink, &result,
                                       &failure) != 0) {
        dprintf(STDERR_FILENO, "%s: %s: %s\n", conversion->program,
                conversion_shown(conversion), failure.text);
        return failure.code;
    }
    if (note[0] != '\0') {
        n = strlen(result.note);
        snprintf(result.note + n, sizeof(result.note) - n, "%s%s",
                 n > 0 ? "; " : "", note);
    }
    transform_note(&supplement, result.note, sizeof(result.note));
    return parser_write_all(&pipe, &result, sizeof(result)) == 0 ? FAILURE_NONE
                                                                 : FAILURE_IO;
}

static int parser_failed(int status, struct failure *failure)
{
    int signo;

    if (WIFEXITED(status)) {
        failure->code = (enum failure_code)WEXITSTATUS(status);
        return -1;
    }
    signo = WTERMSIG(status);
    switch (signo) {
    case SIGXCPU:
        return failure_set(failure, FAILURE_LIMIT,
                           "takes more time than a file of its size may (%s)",
                           strsignal(signo));
    case SIGKILL: /* most likely the kernel did it, as memory ran out */
    case SIGTERM:
    case SIGHUP:
    case SIGINT:
        return failure_set(failure, FAILURE_TEMPORARY,
                           "was not parsed to its end: somebody killed the "
                           "parser (%s)",
                           strsignal(signo));
    default:
        break;
    }
    return failure_set(failure, FAILURE_DAMAGED, "crashed the parser (%s)",
                       strsignal(signo));
}

static int parser_wait(pid_t pid, const volatile sig_atomic_t *stop,
                       int *status)
{
    while (waitpid(pid, status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
        if (*stop) {
            kill(pid, SIGKILL);
        }
    }
    return 0;
}

/* A parser that a file has taken over may write anything. */
static bool is_result(const struct debuginfo_result *result)
{
    return derived_is_made(result->output) &&
           memchr(result->note, '\0', sizeof(result->note)) != NULL;
}

int parser_process_run(const struct parser_process_job *job,
                       const volatile sig_atomic_t *stop,
                       struct debuginfo_result *result,
                       struct failure *failure)
{
    int fds[2], status;
    pid_t pid, parent;

    if (pipe2(fds, 0) != 0) {
        return failure_set(failure, FAILURE_IO, "pipe: %s", strerror(errno));
    }
    parent = getpid();
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGINT, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        close(fds[0]);
        if (job->conversion->check != NULL) {
            close(job->conversion->check->fd); /* the parent's alone */
        }
        _exit(getppid() == parent ? parser_main(job, fds[1]) : FAILURE_IO);
    }
    close(fds[1]);
    if (pid < 0 || parser_wait(pid, stop, &status) != 0) {
        close(fds[0]);
        return failure_set(failure, FAILURE_IO, "no process: %s",
                           strerror(errno));
    }
    if (status == 0 &&
        (read(fds[0], result, sizeof(*result)) != sizeof(*result) ||
         !is_result(result))) {
        status = FAILURE_IO << 8;
    }
    close(fds[0]);
    return status == 0 ? 0 : parser_failed(status, failure);
}
