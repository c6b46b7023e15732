/*
 * Copyright (C) the ngx_symcache authors
 *
 * The work directory of a run:
 *
 *   work/run/       the process's working directory, empty
 *   work/out/       {out} and _NT_SYMCACHE_PATH
 *   work/symbols/   _NT_SYMBOL_PATH, empty: nothing is to be downloaded there
 */
#include "transcode.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "inspect.h"
#include "proto/symcache_path.h"

/* bounds of the search for the result */
#define TRANSCODE_DEPTH 8
#define TRANSCODE_ENTRIES 10000

#define TRANSCODE_PATH "/usr/local/bin:/usr/bin:/bin"

/* what the walk through {out} has seen */
struct transcode_found {
    const symcache_key_t *key;
    unsigned entries;
    unsigned files;
    bool empty;
    symcache_version_t version;
    char file[PATH_MAX];
};

struct transcode {
    const struct transcoder_config *transcoder;
    symcache_key_t key;
    struct event_base *base;
    struct child *child;  /* the transcoder, then the inspection */
    struct event *failed; /* tells of a run that could not be started */
    unsigned seconds;
    transcode_done_fn done;
    void *arg;
    char *pdb;
    char *work;
    char *out;
    unsigned ms; /* of the transcoder */
    struct transcode_found found;
    char error[256];
};

static void transcode_free(struct transcode *transcode)
{
    if (transcode->failed != NULL) {
        event_free(transcode->failed);
    }
    free(transcode->pdb);
    free(transcode->work);
    free(transcode->out);
    free(transcode);
}

/* the result ---------------------------------------------------------------
 */

static bool transcode_name(const char *name, const symcache_key_t *key,
                           symcache_version_t *version)
{
    char lower[NAME_MAX + 1];
    symcache_file_e file;
    size_t len = strlen(name), i;

    if (len >= sizeof(lower)) {
        return false;
    }
    for (i = 0; i < len; i++) {
        lower[i] =
            (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a'
                                                    : name[i]);
    }

    return symcache_path_name_parse(lower, len, key, version, &file) &&
           file == SYMCACHE_FILE_PLAIN;
}

static void transcode_take(struct transcode_found *found, const char *dir,
                           const char *name, off_t size)
{
    symcache_version_t version;

    if (!transcode_name(name, found->key, &version)) {
        return;
    }

    found->files++;
    found->empty = size == 0;
    found->version = version;
    if (snprintf(found->file, sizeof(found->file), "%s/%s", dir, name) >=
        (int)sizeof(found->file)) {
        found->entries = TRANSCODE_ENTRIES;
    }
}

/* Follows no symbolic link.  Takes fd over. */
static void transcode_walk(struct transcode_found *found, int fd,
                           const char *path, unsigned depth)
{
    char below[PATH_MAX];
    struct dirent *entry;
    struct stat st;
    DIR *dir = fdopendir(fd);

    if (dir == NULL) {
        close(fd);
        return;
    }

    while (found->entries < TRANSCODE_ENTRIES &&
           (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0) {
            continue;
        }

        found->entries++;
        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISREG(st.st_mode)) {
            transcode_take(found, path, entry->d_name, st.st_size);
        } else if (S_ISDIR(st.st_mode) && depth > 0 &&
                   snprintf(below, sizeof(below), "%s/%s", path,
                            entry->d_name) < (int)sizeof(below)) {
            int sub = openat(fd, entry->d_name,
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (sub >= 0) {
                transcode_walk(found, sub, below, depth - 1);
            }
        }
    }

    closedir(dir);
}

/* Returns NULL, or what is wrong with the result. */
static const char *transcode_find(struct transcode *transcode)
{
    struct transcode_found *found = &transcode->found;
    int fd;

    memset(found, 0, sizeof(*found));
    found->key = &transcode->key;

    fd = open(transcode->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        transcode_walk(found, fd, transcode->out, TRANSCODE_DEPTH);
    }

    if (found->entries >= TRANSCODE_ENTRIES) {
        return "the transcoder left too many files";
    }
    if (found->files == 0) {
        return "the transcoder succeeded without a SymCache file";
    }
    if (found->files > 1) {
        return "the transcoder left more than one SymCache file";
    }
    return found->empty ? "the transcoder left an empty file" : NULL;
}

/* Says how the process ended, if not well.  Returns true if it did. */
static bool transcode_judge(struct transcode *transcode,
                            const struct child_result *child,
                            struct transcode_result *result)
{
    int sig;

    result->error = transcode->error;

    if (child->timed_out) {
        snprintf(transcode->error, sizeof(transcode->error),
                 "took longer than transcode_time (%u s)", transcode->seconds);
        return false;
    }
    if (WIFSIGNALED(child->status)) {
        sig = WTERMSIG(child->status);
        /* a service manager that stops us tells the transcoder as well */
        result->stopped = sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
        snprintf(transcode->error, sizeof(transcode->error),
                 "ended by signal %d (%s)", sig, strsignal(sig));
        return false;
    }
    if (WEXITSTATUS(child->status) != 0) {
        snprintf(transcode->error, sizeof(transcode->error), "exit code %d",
                 WEXITSTATUS(child->status));
        return false;
    }

    return true;
}

static void transcode_finish(struct transcode *transcode,
                             struct transcode_result *result)
{
    transcode->done(transcode->arg, result);
    transcode_free(transcode);
}

/* A file that is not sound is the transcoder's failure on this PDB. */
static void transcode_on_inspected(void *arg, struct child_result *child)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    transcode->child = NULL;
    result.ms = transcode->ms + child->ms;
    result.stderr_tail = child->tail;

    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) {
        result.ok = true;
        result.version = transcode->found.version;
        result.file = transcode->found.file;
    } else if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 1) {
        result.error = "the transcoder left an unsound SymCache";
    } else {
        result.system = true;
        result.error = "the SymCache could not be inspected";
    }

    transcode_finish(transcode, &result);
}

static void transcode_on_exit(void *arg, struct child_result *child)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    transcode->child = NULL;
    transcode->ms = result.ms = child->ms;
    result.stderr_tail = child->tail;

    if (!transcode_judge(transcode, child, &result)) {
        transcode_finish(transcode, &result);
        return;
    }

    result.error = transcode_find(transcode);
    if (result.error == NULL) {
        transcode->child = inspect_start(
            transcode->base, transcode->found.file, &transcode->key, false,
            transcode_on_inspected, transcode);
        if (transcode->child != NULL) {
            return;
        }
        result.system = true;
        snprintf(transcode->error, sizeof(transcode->error), "inspect: %s",
                 strerror(errno));
        result.error = transcode->error;
    }

    transcode_finish(transcode, &result);
}

/* the start ----------------------------------------------------------------
 */

/* Replaces {pdb} and {out} in one argument.  NULL = out of memory. */
static char *transcode_argument(const struct transcode *transcode,
                                const char *argument)
{
    size_t size = 1, longest, n = 0;
    const char *p, *value;
    char *result;

    longest = strlen(transcode->pdb) > strlen(transcode->out)
                  ? strlen(transcode->pdb)
                  : strlen(transcode->out);
    for (p = argument; *p != '\0'; p++) {
        size += *p == '{' ? longest + 1 : 1;
    }

    result = malloc(size);
    if (result == NULL) {
        return NULL;
    }

    for (p = argument; *p != '\0';) {
        value = strncmp(p, "{pdb}", 5) == 0   ? transcode->pdb
                : strncmp(p, "{out}", 5) == 0 ? transcode->out
                                              : NULL;
        if (value == NULL) {
            result[n++] = *p++;
        } else {
            memcpy(result + n, value, strlen(value));
            n += strlen(value);
            p += 5;
        }
    }

    result[n] = '\0';
    return result;
}

static bool transcode_runs(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

/* Beside symcached itself, for a build tree and for /opt. */
static bool transcode_beside(const char *name, char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash;
    size_t room;

    if (n <= 0) {
        return false;
    }

    path[n] = '\0';
    slash = strrchr(path, '/');
    room = PATH_MAX - (size_t)(slash + 1 - path);
    return snprintf(slash + 1, room, "%s", name) < (int)room &&
           transcode_runs(path);
}

/* A command without a slash is looked for in PATH, then beside symcached. */
static int transcode_program(const char *name, char path[PATH_MAX])
{
    const char *dirs = getenv("PATH"), *end;

    if (strchr(name, '/') != NULL) {
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 : -1;
    }

    for (dirs = dirs == NULL ? TRANSCODE_PATH : dirs; *dirs != '\0';
         dirs = *end == '\0' ? end : end + 1) {
        end = strchrnul(dirs, ':');
        if (end > dirs &&
            snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - dirs), dirs,
                     name) < PATH_MAX &&
            transcode_runs(path)) {
            return 0;
        }
    }

    return transcode_beside(name, path) ? 0 : -1;
}

static void transcode_free_list(char **list)
{
    size_t i;

    for (i = 0; list != NULL && list[i] != NULL; i++) {
        free(list[i]);
    }
    free(list);
}

static char **transcode_argv(const struct transcode *transcode)
{
    char **command = transcode->transcoder->command, **argv;
    size_t n, i;

    for (n = 0; command[n] != NULL; n++) {
        continue;
    }

    argv = calloc(n + 1, sizeof(*argv));
    for (i = 0; argv != NULL && i < n; i++) {
        argv[i] = transcode_argument(transcode, command[i]);
        if (argv[i] == NULL) {
            transcode_free_list(argv);
            argv = NULL;
        }
    }

    return argv;
}

static int transcode_setenv(char **slot, const char *name, const char *value,
                            const char *tail)
{
    if (value == NULL) {
        return 0;
    }
    if (asprintf(slot, "%s=%s%s", name, value, tail) < 0) {
        *slot = NULL;
        return -1;
    }
    return 1;
}

/* Nothing else of our environment, which holds the tokens of sources. */
static char **transcode_env(const struct transcode *transcode)
{
    static const char *const kept[] = {"HOME", "LANG"};
    const char *path = getenv("PATH");
    char **env = calloc(6, sizeof(*env));
    int n = 0, rc;
    size_t i;

    if (env == NULL) {
        return NULL;
    }

    rc = transcode_setenv(&env[n++], "PATH",
                          path == NULL ? TRANSCODE_PATH : path, "");
    if (rc > 0) {
        rc = transcode_setenv(&env[n++], "_NT_SYMCACHE_PATH", transcode->out,
                              "");
    }
    if (rc > 0) {
        rc = transcode_setenv(&env[n++], "_NT_SYMBOL_PATH", transcode->work,
                              "/symbols");
    }
    for (i = 0; rc >= 0 && i < sizeof(kept) / sizeof(kept[0]); i++) {
        rc = transcode_setenv(&env[n], kept[i], getenv(kept[i]), "");
        n += rc > 0;
    }

    if (rc < 0) {
        transcode_free_list(env);
        return NULL;
    }
    return env;
}

static int transcode_mkdirs(const struct transcode *transcode, char *cwd,
                            size_t size)
{
    static const char *const names[] = {"out", "symbols", "run"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (snprintf(cwd, size, "%s/%s", transcode->work, names[i]) >=
            (int)size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (mkdir(cwd, 0700) != 0) {
            return -1;
        }
    }

    return 0; /* cwd is the last one */
}

static int transcode_spawn(struct transcode *transcode,
                           struct event_base *base,
                           const struct limits_config *limits)
{
    const char *name = transcode->transcoder->command[0];
    char **argv = transcode_argv(transcode);
    char **env = transcode_env(transcode);
    struct child_options options = {0};
    char program[PATH_MAX], cwd[PATH_MAX];

    if (argv == NULL || env == NULL) {
        snprintf(transcode->error, sizeof(transcode->error), "out of memory");
    } else if (transcode_program(argv[0], program) != 0) {
        snprintf(transcode->error, sizeof(transcode->error),
                 "\"%s\" not found in PATH", name);
    } else if (transcode_mkdirs(transcode, cwd, sizeof(cwd)) != 0) {
        snprintf(transcode->error, sizeof(transcode->error), "work: %s",
                 strerror(errno));
    } else {
        options.program = program;
        options.argv = argv;
        options.env = env;
        options.cwd = cwd;
        options.seconds = limits->transcode_time;
#ifndef __SANITIZE_ADDRESS__ /* its shadow would not fit */
        options.memory = limits->transcode_memory;
#endif
        transcode->child =
            child_start(base, &options, transcode_on_exit, transcode);
        if (transcode->child == NULL) {
            snprintf(transcode->error, sizeof(transcode->error),
                     "\"%.150s\": %s", program, strerror(errno));
        }
    }

    transcode_free_list(argv);
    transcode_free_list(env);
    return transcode->child != NULL ? 0 : -1;
}

static void transcode_on_failed(evutil_socket_t fd, short what, void *arg)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    (void)fd;
    (void)what;

    result.system = true;
    result.error = transcode->error;
    result.stderr_tail = "";
    transcode->done(transcode->arg, &result);
    transcode_free(transcode);
}

struct transcode *transcode_start(struct event_base *base,
                                  const struct limits_config *limits,
                                  const struct transcoder_config *transcoder,
                                  const symcache_key_t *key, const char *pdb,
                                  const char *work, transcode_done_fn done,
                                  void *arg)
{
    struct transcode *transcode = calloc(1, sizeof(*transcode));
    struct timeval now = {0, 0};

    if (transcode == NULL) {
        return NULL;
    }

    transcode->base = base;
    transcode->transcoder = transcoder;
    symcache_key_copy(&transcode->key, key);
    transcode->seconds = limits->transcode_time;
    transcode->done = done;
    transcode->arg = arg;
    transcode->pdb = strdup(pdb);
    transcode->work = strdup(work);
    transcode->failed = evtimer_new(base, transcode_on_failed, transcode);
    if (transcode->pdb == NULL || transcode->work == NULL ||
        transcode->failed == NULL ||
        asprintf(&transcode->out, "%s/out", work) < 0) {
        transcode_free(transcode);
        return NULL;
    }

    if (transcode_spawn(transcode, base, limits) != 0) {
        evtimer_add(transcode->failed, &now);
    }
    return transcode;
}

void transcode_cancel(struct transcode *transcode)
{
    if (transcode->child != NULL) {
        child_cancel(transcode->child);
    }
    transcode_free(transcode);
}

void transcode_describe(const struct transcode_result *result, char *buf,
                        size_t size)
{
    const char *tail = result->stderr_tail != NULL ? result->stderr_tail : "";
    size_t len = strlen(tail), max = size / 2;

    while (len > 0 && (unsigned char)tail[len - 1] <= ' ') {
        len--;
    }
    if (len > max) {
        tail += len - max;
        len = max;
    }
    snprintf(buf, size, "%.480s%s%.*s",
             result->error != NULL ? result->error : "failed",
             len > 0 ? ": " : "", (int)len, tail);
}
