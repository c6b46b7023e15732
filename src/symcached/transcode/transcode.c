/*
 * Copyright (C) the ngx_symcache authors
 *
 * The work directory of a run:
 *
 *   work/run/       the process's working directory, empty
 *   work/out/       {out} and _NT_SYMCACHE_PATH
 *   work/symbols/   _NT_SYMBOL_PATH, empty: nothing is to be downloaded there
 *   work/in/in.pdb  {pdb}, if it is not to be seen under its own name
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
#include <sysexits.h>
#include <unistd.h>

#include "child/child.h"
#include "command.h"
#include "symcached/space/space.h"
#include "validate.h"
#include "pdb_name.h"
#include "proto/path.h"

/* bounds of the search for the result */
#define TRANSCODE_DEPTH 8
#define TRANSCODE_ENTRIES 10000

#define TRANSCODE_INPUT "in.pdb"

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
    symcache_key_t key; /* with the name that the transcoder sees */
    struct event_base *base;
    struct child *child;  /* the transcoder, then the check of its output */
    struct event *failed; /* tells of a run that could not be started */
    struct gauge *gauge;  /* while the transcoder runs */
    bool full;            /* there was no room, at its start or later */
    bool tight;           /* at its start, the PDB would have had no room */
    const struct cache_config *cache;
    uint64_t space; /* bytes left when it began */
    struct command command;
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
    gauge_stop(transcode->gauge);
    command_clear(&transcode->command);
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

static void take(struct transcode_found *found, const char *dir,
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
static void walk(struct transcode_found *found, int fd, const char *path,
                 unsigned depth)
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
            take(found, path, entry->d_name, st.st_size);
        } else if (S_ISDIR(st.st_mode) && depth > 0 &&
                   snprintf(below, sizeof(below), "%s/%s", path,
                            entry->d_name) < (int)sizeof(below)) {
            int sub = openat(fd, entry->d_name,
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (sub >= 0) {
                walk(found, sub, below, depth - 1);
            }
        }
    }

    closedir(dir);
}

/* Returns NULL, or what is wrong with the result. */
static const char *find(struct transcode *transcode)
{
    struct transcode_found *found = &transcode->found;
    int fd;

    memset(found, 0, sizeof(*found));
    found->key = &transcode->key;

    fd = open(transcode->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        walk(found, fd, transcode->out, TRANSCODE_DEPTH);
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

/*
 * These signals come from somebody who ends a process for reasons of their own:
 * a service manager, a shell that is closed, the kernel when memory runs out.
 */
static bool is_from_outside(int sig)
{
    return sig == SIGKILL || sig == SIGTERM || sig == SIGHUP || sig == SIGINT;
}

/* Does the command run our converter, perhaps through another program? */
static bool is_ours(char *const *command)
{
    const char *name;
    size_t i;

    for (i = 0; command[i] != NULL; i++) {
        name = strrchr(command[i], '/');
        if (strcmp(name != NULL ? name + 1 : command[i], "pdb2symcache") ==
            0) {
            return true;
        }
    }
    return false;
}

/*
 * Exit codes that say nothing about the file: EX_TEMPFAIL; those of shells for
 * a program that they cannot run (126, 127) or that somebody ended (above 128);
 * that of ssh for its connection (255); and those of our converter for input
 * and output (2) and for a sandbox that cannot be set up (10).
 */
static bool is_code_of_machine(const struct transcode *transcode, int code)
{
    switch (code) {
    case EX_TEMPFAIL:
    case 126:
    case 127:
    case 255:
        return true;
    case 2:
    case 10:
        return is_ours(transcode->transcoder->command);
    default:
        return code > 128 && is_from_outside(code - 128);
    }
}

/*
 * Did the run fail for lack of room?  Either the gauge ended it, or a file grew
 * up to its limit and took most of the space.  Where there was no room even
 * for the PDB, any failure counts, because a program that reaches the limit may
 * report that in its own words.
 */
static bool was_full(const struct transcode *transcode, int status)
{
    return transcode->full || transcode->tight ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ &&
            disk_space_left(transcode->work, transcode->cache) <
                transcode->space / 2);
}

/*
 * Returns true if the process ended well; otherwise the result says how it
 * ended.
 */
static bool judge(struct transcode *transcode,
                  const struct child_result *child,
                  struct transcode_result *result)
{
    int sig, code;

    result->error = transcode->error;

    if (child->status != 0 && was_full(transcode, child->status)) {
        result->system = result->full = true;
        result->error = DISK_SPACE_NONE;
        return false;
    }
    if (child->timed_out) {
        snprintf(transcode->error, sizeof(transcode->error),
                 "took longer than transcode_time (%u s)", transcode->seconds);
        return false;
    }
    if (WIFSIGNALED(child->status)) {
        sig = WTERMSIG(child->status);
        result->system = is_from_outside(sig);
        snprintf(transcode->error, sizeof(transcode->error),
                 "ended by signal %d (%s)%s", sig, strsignal(sig),
                 result->system ? ", which symcached did not send" : "");
        return false;
    }

    code = WEXITSTATUS(child->status);
    if (code != 0) {
        result->system = is_code_of_machine(transcode, code);
        snprintf(transcode->error, sizeof(transcode->error), "exit code %d%s",
                 code, result->system ? ", not the file's fault" : "");
        return false;
    }

    return true;
}

static void finish(struct transcode *transcode,
                   struct transcode_result *result)
{
    transcode->done(transcode->arg, result);
    transcode_free(transcode);
}

/* A file that is not sound is the transcoder's failure on this PDB. */
static void on_validated(void *arg, struct child_result *child)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    transcode->child = NULL;
    result.ms = transcode->ms + child->ms;
    result.tail = child->tail;

    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) {
        result.ok = true;
        result.version = transcode->found.version;
        result.file = transcode->found.file;
    } else if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 1) {
        result.error = "the transcoder left an unsound SymCache";
    } else {
        result.system = true;
        result.error = "the SymCache could not be checked";
    }

    finish(transcode, &result);
}

static void transcode_on_exit(void *arg, struct child_result *child)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    transcode->child = NULL;
    gauge_stop(transcode->gauge);
    transcode->gauge = NULL;
    transcode->ms = result.ms = child->ms;
    result.tail = child->tail;

    if (child->error != 0) {
        result.system = true;
        result.error = transcode->error;
        snprintf(transcode->error, sizeof(transcode->error),
                 "no transcoder: \"%.150s\": %s", transcode->command.program,
                 strerror(child->error));
        finish(transcode, &result);
        return;
    }
    if (!judge(transcode, child, &result)) {
        finish(transcode, &result);
        return;
    }

    result.error = find(transcode);
    if (result.error == NULL) {
        transcode->child =
            validate_start(transcode->base, transcode->found.file,
                           &transcode->key, false, on_validated, transcode);
        if (transcode->child != NULL) {
            return;
        }
        result.system = true;
        snprintf(transcode->error, sizeof(transcode->error), "check: %s",
                 strerror(errno));
        result.error = transcode->error;
    }

    finish(transcode, &result);
}

/* the start ----------------------------------------------------------------
 */

/* Makes a folder of the work directory and writes its path. */
static int transcode_mkdir(const struct transcode *transcode, const char *name,
                           char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", transcode->work, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkdir(path, 0700);
}

/*
 * Clients choose the names of PDBs.  One that means something to a shell, to
 * Windows or in another encoding is never passed on: {pdb} is then a link to
 * the file, with a fixed name in the work directory.
 */
static int rename_input(struct transcode *transcode)
{
    char folder[PATH_MAX], *pdb;

    if (transcode_mkdir(transcode, "in", folder) != 0) {
        return -1;
    }
    if (asprintf(&pdb, "%s/" TRANSCODE_INPUT, folder) < 0) {
        errno = ENOMEM;
        return -1;
    }
    if (link(transcode->pdb, pdb) != 0 && symlink(transcode->pdb, pdb) != 0) {
        free(pdb);
        return -1;
    }

    free(transcode->pdb);
    transcode->pdb = pdb;
    symcache_name_parse(TRANSCODE_INPUT, strlen(TRANSCODE_INPUT),
                        &transcode->key);
    return 0;
}

/* Makes what the work directory has to hold when the process begins. */
static int lay_out(struct transcode *transcode, char symbols[PATH_MAX],
                   char cwd[PATH_MAX])
{
    char out[PATH_MAX];

    if (transcode_mkdir(transcode, "out", out) != 0 ||
        transcode_mkdir(transcode, "symbols", symbols) != 0 ||
        transcode_mkdir(transcode, "run", cwd) != 0) {
        return -1;
    }
    return transcode->transcoder->fixed_input ||
                   !pdb_name_is_plain(transcode->key.name)
               ? rename_input(transcode)
               : 0;
}

static void on_low(void *arg)
{
    struct transcode *transcode = arg;

    if (transcode->child != NULL) {
        transcode->full = true;
        child_kill(transcode->child);
    }
}

/*
 * Limits each file that the transcoder writes to the space that is left at its
 * start.  Several files, or several transcoders at a time, could still take
 * more, so a gauge watches the space, too.  Returns 0, or -1.
 */
static int limit(struct transcode *transcode, struct child_options *options)
{
    uint64_t left = disk_space_left(transcode->work, transcode->cache);
    struct stat st;

    if (left == 0) {
        transcode->full = true;
        snprintf(transcode->error, sizeof(transcode->error), DISK_SPACE_NONE);
        return -1;
    }
    options->file = left < INT64_MAX ? left : 0;
    transcode->space = left;
    transcode->tight =
        stat(transcode->pdb, &st) == 0 && left < (uint64_t)st.st_size;
    transcode->gauge = gauge_start(transcode->base, transcode->work,
                                   transcode->cache, on_low, transcode);
    if (transcode->gauge == NULL) {
        snprintf(transcode->error, sizeof(transcode->error), "out of memory");
        return -1;
    }
    return 0;
}

static int spawn(struct transcode *transcode,
                 const struct limits_config *limits)
{
    char symbols[PATH_MAX], cwd[PATH_MAX];
    struct child_options options = {0};
    struct command *command = &transcode->command;
    struct command_paths paths;

    if (lay_out(transcode, symbols, cwd) != 0) {
        snprintf(transcode->error, sizeof(transcode->error), "work: %s",
                 strerror(errno));
        return -1;
    }

    if (limit(transcode, &options) != 0) {
        return -1;
    }

    paths.pdb = transcode->pdb;
    paths.out = transcode->out;
    paths.symbols = symbols;
    if (command_fill(command, transcode->transcoder, &paths, transcode->error,
                     sizeof(transcode->error)) == 0) {
        options.program = command->program;
        options.argv = command->argv;
        options.env = command->env;
        options.cwd = cwd;
        options.seconds = limits->transcode_time;
#ifndef __SANITIZE_ADDRESS__ /* its shadow would not fit */
        options.memory = limits->transcode_memory;
#endif
        transcode->child = child_start(transcode->base, &options,
                                       transcode_on_exit, transcode);
        if (transcode->child == NULL) {
            snprintf(transcode->error, sizeof(transcode->error),
                     "no transcoder: \"%.150s\": %s", command->program,
                     strerror(errno));
        }
    }

    return transcode->child != NULL ? 0 : -1;
}

static void on_failed(evutil_socket_t fd, short what, void *arg)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    (void)fd;
    (void)what;

    result.system = true;
    result.full = transcode->full;
    result.error = transcode->error;
    result.tail = "";
    transcode->done(transcode->arg, &result);
    transcode_free(transcode);
}

struct transcode *transcode_start(struct event_base *base,
                                  const struct config *config,
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
    transcode->cache = &config->cache;
    symcache_key_copy(&transcode->key, key);
    transcode->seconds = config->limits.transcode_time;
    transcode->done = done;
    transcode->arg = arg;
    transcode->pdb = strdup(pdb);
    transcode->work = strdup(work);
    transcode->failed = evtimer_new(base, on_failed, transcode);
    if (transcode->pdb == NULL || transcode->work == NULL ||
        transcode->failed == NULL ||
        asprintf(&transcode->out, "%s/out", work) < 0) {
        transcode_free(transcode);
        return NULL;
    }

    if (spawn(transcode, &config->limits) != 0) {
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
    const char *tail = result->tail != NULL ? result->tail : "";
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
