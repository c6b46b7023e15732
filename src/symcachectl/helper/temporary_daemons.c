/*
 * Copyright (C) the ngx_symcache authors
 */
#include "temporary_daemons.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon_exec.h"
#include "base/array.h"
#include "base/fd_close.h"
#include "symcachectl/command.h"

#define START_TRIES 1000 /* of 10 ms */

/* Shorter than the path of a socket with the longest name below. */
#define DIR_MAX 80

/* The layouts of symbolicli, and the names that they have here. */
static const char *const daemon_layouts[][2] = {
    {"native", "native"},
    {"symstore", "symstore"},
    {"symstore_index2", "two_tier"},
    {"ssqp", "ssqp"},
    {"debuginfod", "debuginfod"},
    {"unified", "unified"},
    {"slashsymbols", "slashsymbols"}};

/* Other kinds have inputs of their own. */
static const char *const daemon_formats[] = {"pdb", "breakpad", "pe",
                                             "elf", "macho",    "wasm"};

struct temporary_daemons {
    char dir[DIR_MAX];
    char folder[PATH_MAX];
    const char *layout;
    pid_t pids[2];
};

/* Signals end the command, but not before what it has made is removed. */
static const int daemon_signals[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t daemon_stopped;
static volatile sig_atomic_t command_pid; /* the process that goes on, or 0 */

static void daemons_on_signal(int signo)
{
    int saved = errno;

    daemon_stopped = 1;
    if (command_pid > 0) {
        (void)kill((pid_t)command_pid, SIGTERM);
    }
    errno = saved;
}

/* What nohup ignores stays so. */
static void daemons_handle_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, old;
    size_t i;

    for (i = 0; i < COUNT(daemon_signals); i++) {
        if (sigaction(daemon_signals[i], NULL, &old) == 0 &&
            old.sa_handler != SIG_IGN) {
            (void)sigaction(daemon_signals[i], &action, NULL);
        }
    }
}

/* Forks a process that signals end.  They wait meanwhile: daemons_on_signal()
 * would swallow one there. */
static pid_t fork_plain(void)
{
    sigset_t set, old;
    pid_t pid;
    size_t i;

    sigemptyset(&set);
    for (i = 0; i < COUNT(daemon_signals); i++) {
        sigaddset(&set, daemon_signals[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, &old);
    pid = fork();
    if (pid == 0) {
        daemons_handle_signals(SIG_DFL);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}

/* Splits "LAYOUT:FOLDER"; an unknown word belongs to the path. */
static int daemons_read_symbols(struct temporary_daemons *daemons,
                                const char *symbols)
{
    const char *colon = strchr(symbols, ':');
    struct stat st;
    size_t i;

    daemons->layout = "unified";
    for (i = 0; colon != NULL && i < COUNT(daemon_layouts); i++) {
        if (strlen(daemon_layouts[i][0]) == (size_t)(colon - symbols) &&
            strncmp(symbols, daemon_layouts[i][0],
                    (size_t)(colon - symbols)) == 0) {
            daemons->layout = daemon_layouts[i][1];
            symbols = colon + 1;
            break;
        }
    }
    if (realpath(symbols, daemons->folder) == NULL ||
        stat(daemons->folder, &st) != 0) {
        return command_fail(COMMAND_IO, symbols, strerror(errno));
    }
    return S_ISDIR(st.st_mode)
               ? COMMAND_OK
               : command_fail(COMMAND_IO, symbols, "not a folder");
}

static void add_path(cJSON *object, const char *key, const char *before,
                     const struct temporary_daemons *daemons,
                     const char *below)
{
    char text[DIR_MAX + 32];

    snprintf(text, sizeof(text), "%s%s/%s", before, daemons->dir, below);
    cJSON_AddStringToObject(object, key, text);
}

/* The configuration of both. */
static char *daemons_print_config(const struct temporary_daemons *daemons)
{
    static const char *const command[] = {"pdb2symcache", "-pdb", "{pdb}"};
    static const char *const sources[] = {"symbols"};
    cJSON *root = cJSON_CreateObject();
    cJSON *source = cJSON_AddObjectToObject(
        cJSON_AddObjectToObject(root, "sources"), "symbols");
    cJSON *store = cJSON_AddObjectToObject(
        cJSON_AddObjectToObject(root, "stores"), "symbols");
    cJSON *transcoder = cJSON_CreateObject();
    char *text;

    add_path(root, "listen", "unix:", daemons, "h");
    add_path(root, "downloads", "", daemons, "downloads");
    add_path(cJSON_AddObjectToObject(root, "symbolication"), "listen",
             "unix:", daemons, "s");
    cJSON_AddStringToObject(source, "type", "filesystem");
    cJSON_AddStringToObject(source, "layout", daemons->layout);
    cJSON_AddStringToObject(source, "path", daemons->folder);
    add_path(store, "root", "", daemons, "store");
    cJSON_AddItemToObject(store, "sources",
                          cJSON_CreateStringArray(sources, COUNT(sources)));
    cJSON_AddStringToObject(transcoder, "version", "9.0.0");
    cJSON_AddItemToObject(
        transcoder, "inputs",
        cJSON_CreateStringArray(daemon_formats, COUNT(daemon_formats)));
    cJSON_AddItemToObject(transcoder, "command",
                          cJSON_CreateStringArray(command, COUNT(command)));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(store, "transcoders"),
                         transcoder);
    text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text == NULL) {
        command_no_memory();
    }
    return text;
}

static int daemons_write_config(const struct temporary_daemons *daemons,
                                char path[PATH_MAX])
{
    char *text = daemons_print_config(daemons);
    FILE *file;
    int rc = -1;

    snprintf(path, PATH_MAX, "%s/config.json", daemons->dir);
    file = fopen(path, "we");
    if (file != NULL) {
        rc = fputs(text, file) < 0 ? -1 : 0;
        rc = fclose(file) != 0 ? -1 : rc;
    }
    free(text);
    return rc;
}

static pid_t start_daemon(const struct temporary_daemons *daemons,
                          const char *daemon, const char *config)
{
    const char *const args[] = {daemon, "-c", config, NULL};
    char log[PATH_MAX];
    pid_t pid = fork_plain();
    int fd;

    if (pid != 0) {
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)setpgid(0, 0); /* a signal of the terminal is for the command */
    snprintf(log, sizeof(log), "%s/%s.log", daemons->dir, daemon);
    fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    (void)dup2(fd, STDERR_FILENO);
    (void)dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO);
    _exit(daemon_exec(args));
}

static bool accepts_connection(const struct temporary_daemons *daemons,
                               const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there;

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", daemons->dir,
             name);
    is_there = fd >= 0 &&
               connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    fd_close(fd);
    return is_there;
}

/* Prints the last line of a log that ended early. */
static int fail_start(const struct temporary_daemons *daemons,
                      const char *daemon)
{
    char path[PATH_MAX], line[1024], last[1024] = "does not start";
    FILE *log;

    snprintf(path, sizeof(path), "%s/%s.log", daemons->dir, daemon);
    log = fopen(path, "re");
    while (log != NULL && fgets(line, sizeof(line), log) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        memcpy(last, line, sizeof(last));
    }
    if (log != NULL) {
        fclose(log);
    }
    return command_fail(COMMAND_IO, daemon, last);
}

static int await_daemon(struct temporary_daemons *daemons, size_t which,
                        const char *daemon, const char *name)
{
    static const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int i, status;

    for (i = 0; i < START_TRIES; i++) {
        if (daemon_stopped) {
            return COMMAND_INTERRUPTED;
        }
        if (accepts_connection(daemons, name)) {
            return COMMAND_OK;
        }
        if (daemons->pids[which] < 0 ||
            waitpid(daemons->pids[which], &status, WNOHANG) != 0) {
            daemons->pids[which] = -1;
            break;
        }
        nanosleep(&pause, NULL);
    }
    return fail_start(daemons, daemon);
}

/* Signals may come while one waits. */
static int daemons_wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)remove(path);
    return 0;
}

static void stop_daemons(const struct temporary_daemons *daemons)
{
    size_t i;

    for (i = COUNT(daemons->pids); i > 0; i--) {
        if (daemons->pids[i - 1] > 0) {
            kill(daemons->pids[i - 1], SIGTERM);
            (void)daemons_wait_for(daemons->pids[i - 1]);
        }
    }
    (void)nftw(daemons->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int start_all(struct temporary_daemons *daemons)
{
    static const char *const programs[] = {"symcached", "symbolicated"};
    static const char *const sockets[] = {"h", "s"};
    char config[PATH_MAX];
    size_t i;
    int code = COMMAND_OK;

    if (daemons_write_config(daemons, config) != 0) {
        return command_fail(COMMAND_IO, daemons->dir, strerror(errno));
    }
    for (i = 0; i < COUNT(programs) && code == COMMAND_OK; i++) {
        daemons->pids[i] = start_daemon(daemons, programs[i], config);
        code = await_daemon(daemons, i, programs[i], sockets[i]);
    }
    return code;
}

int temporary_daemons_start(const char *symbols, struct settings *settings)
{
    static struct temporary_daemons daemons;
    static char address[DIR_MAX + 16];
    const char *tmp = getenv("TMPDIR");
    int code = daemons_read_symbols(&daemons, symbols), status = 0;
    pid_t pid;

    if (code != COMMAND_OK) {
        return code;
    }
    if (snprintf(daemons.dir, sizeof(daemons.dir), "%s/symbolicate-XXXXXX",
                 tmp != NULL && tmp[0] == '/' ? tmp : "/tmp") >=
        (int)sizeof(daemons.dir)) {
        return command_fail(COMMAND_IO, tmp, "TMPDIR is too long a path");
    }
    daemons_handle_signals(daemons_on_signal);
    if (mkdtemp(daemons.dir) == NULL) {
        return command_fail(COMMAND_IO, daemons.dir, strerror(errno));
    }
    code = start_all(&daemons);
    fflush(stdout);
    pid = code == COMMAND_OK ? fork_plain() : -1;
    if (pid == 0) {
        snprintf(address, sizeof(address), "unix:%s/s", daemons.dir);
        settings->socket = address;
        return COMMAND_OK;
    }
    command_pid = pid;
    if (daemon_stopped) {
        daemons_on_signal(SIGTERM);
    }
    if (pid > 0) {
        status = daemons_wait_for(pid);
    }
    stop_daemons(&daemons);
    if (pid > 0) {
        code = WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_INTERRUPTED;
    }
    exit(code == COMMAND_OK && pid < 0 ? COMMAND_IO : code);
}
