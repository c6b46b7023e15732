/*
 * Copyright (C) the ngx_symcache authors
 *
 * The work directory of a run:
 *
 *   work/run/       the process's working directory, empty
 *   work/out/       {out} and _NT_SYMCACHE_PATH
 *   work/symbols/   _NT_SYMBOL_PATH, empty: nothing is to be downloaded there
 *   work/in/in.pdb  {pdb}, if it is not to be seen under its own name; or
 *                   work/in/<its name>, if it does not lie under that
 *   work/tmp/       /tmp of a confined process
 *
 * Our own converter leaves nothing but its output, so for it work/ itself is
 * the first three.
 */
#include "transcode.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/event.h"
#include "base/fd_close.h"
#include "base/fd_readable.h"
#include "child/child.h"
#include "confine.h"
#include "exit_status.h"
#include "output_folder.h"
#include "symcached/space/space.h"
#include "pdb_name.h"

#define USAGE_MS 250    /* pause between two looks at what a run has written */
#define SETTLE_SECONDS 3 /* for processes that were killed */

/* What a transcoder may map, in sizes of its PDB: that, and the file without a
 * name that pdb2symcache has for data in between. */
#define MAPPED_FACTOR 9

#define TRANSCODE_INPUT "in.pdb"

struct transcode {
    const struct transcoder_config *transcoder;
    symcache_key_t key; /* with the name that the transcoder sees */
    struct event_base *base;
    struct child *child;  /* the transcoder, then the check of its output */
    struct event *failed; /* tells of a run that could not be started */
    struct space_monitor *monitor; /* while the transcoder runs */
    struct event *usage;  /* of the disk, by a confined one; or NULL */
    struct event *settle; /* while its last processes end; or NULL */
    int processes;        /* of these the pidfd, or -1 */
    bool over;            /* it took more than its part of the disk */
    bool full;            /* there was no room, at its start or later */
    bool tight;           /* at its start, the PDB would have had no room */
    bool lacks_inodes;    /* at its start, almost none was left */
    bool is_bounded;      /* symcached itself has a lower limit of file sizes */
    const struct cache_config *cache;
    uint64_t space; /* bytes left when it began */
    struct command command;
    struct confine confine;
    struct converter_check_channel proof; /* by which our converter says what
                                   it has checked */
    pid_t pid; /* of the transcoder */
    struct child_result ended; /* of the transcoder */
    transcode_done_fn done;
    void *arg;
    char *pdb;
    char *seconds[SECONDS]; /* or NULL */
    char *work;
    char *out;
    struct output output;
    char tail[CHILD_TAIL + 1];
    char error[256];
};

static void transcode_free(struct transcode *transcode)
{
    struct event *events[] = {transcode->failed, transcode->usage,
                              transcode->settle};
    size_t i;

    for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        event_drop(events[i]);
    }
    fd_close(transcode->processes);
    converter_check_close(&transcode->proof);
    space_monitor_stop(transcode->monitor);
    command_clear(&transcode->command);
    confine_clear(&transcode->confine);
    free(transcode->pdb);
    for (i = 0; i < SECONDS; i++) {
        free(transcode->seconds[i]);
    }
    free(transcode->work);
    free(transcode->out);
    free(transcode);
}

bool transcode_is_ours(const struct transcoder_config *transcoder)
{
    return transcoder != NULL && transcoder->command != NULL &&
           transcoder->profile == PROFILE_NONE &&
           command_is_ours(transcoder->command);
}

bool transcode_proves(const struct transcoder_config *transcoder)
{
    return transcode_is_ours(transcoder) &&
           command_begins_ours(transcoder->command);
}

/* the result -------------------------------------------------------------- */

/* Did the run fail for lack of room?  Either the monitor ended it, or a file
 * grew up to its limit and took most of the space.  Where there was no room
 * even for the PDB, or where almost no inodes were left, any failure counts,
 * because a program that finds no room may report that in its own words. */
static bool was_full(const struct transcode *transcode, int status)
{
    return transcode->full || transcode->tight || transcode->lacks_inodes ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ &&
            disk_space_left(transcode->work, transcode->cache) <
                transcode->space / 2);
}

/* Did a file become larger than it may, or all of them together? */
static bool has_written_too_much(struct transcode *transcode,
                                 const struct child_result *child,
                                 struct transcode_result *result)
{
    if (transcode->is_bounded && exit_status_is_by(child->status, SIGXFSZ)) {
        result->system = true;
        snprintf(transcode->error, sizeof(transcode->error),
                 "wrote a larger file than symcached may (RLIMIT_FSIZE)");
        return true;
    }
    if (transcode->over || (transcode->confine.nfds > 0 &&
                            WIFSIGNALED(child->status) &&
                            WTERMSIG(child->status) == SIGXFSZ)) {
        snprintf(transcode->error, sizeof(transcode->error),
                 "took more of the disk than its part (%llu bytes)",
                 (unsigned long long)transcode->transcoder->disk);
        return true;
    }
    return false;
}

/*
 * Returns true if the process ended well; otherwise the result says how it
 * ended.
 */
static bool judge_end(struct transcode *transcode,
                      const struct child_result *child,
                      struct transcode_result *result)
{
    int sig, code;

    result->error = transcode->error;

    if (child->status != 0 && was_full(transcode, child->status)) {
        result->system = result->full = true;
        result->error = !transcode->full && transcode->lacks_inodes
                            ? DISK_SPACE_NO_INODES
                            : DISK_SPACE_NONE;
        return false;
    }
    if (has_written_too_much(transcode, child, result)) {
        return false;
    }
    if (child->timed_out) {
        snprintf(transcode->error, sizeof(transcode->error),
                 "took longer than transcode_time (%u s)",
                 transcode->transcoder->time);
        return false;
    }
    if (WIFEXITED(child->status) && !confine_ran(&transcode->confine)) {
        result->system = true;
        snprintf(transcode->error, sizeof(transcode->error),
                 "profile \"%s\" is not to be had here",
                 config_profile_name(transcode->transcoder->profile));
        return false;
    }
    /* of a parser that takes too long, our converter tells by its exit code;
     * so the limit was one that is not for the PDB: of its check, or around
     * symcached itself */
    if (WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGXCPU &&
        transcode_is_ours(transcode->transcoder)) {
        result->system = true;
        snprintf(transcode->error, sizeof(transcode->error),
                 "took too much of the processor, not for parsing");
        return false;
    }
    if (WIFSIGNALED(child->status)) {
        sig = WTERMSIG(child->status);
        result->system = exit_status_is_from_outside(sig);
        snprintf(transcode->error, sizeof(transcode->error),
                 "ended by signal %d (%s)%s", sig, strsignal(sig),
                 result->system ? ", which symcached did not send" : "");
        return false;
    }

    code = WEXITSTATUS(child->status);
    if (code != 0) {
        result->system = exit_status_is_of_machine(
            code, command_is_ours(transcode->transcoder->command));
        snprintf(transcode->error, sizeof(transcode->error), "exit code %d%s",
                 code, result->system ? ", not the file's fault" : "");
        return false;
    }

    return true;
}

static void finish_transcode(struct transcode *transcode,
                             struct transcode_result *result)
{
    transcode->done(transcode->arg, result);
    transcode_free(transcode);
}

static void transcode_take_file(const struct transcode *transcode,
                                struct transcode_result *result)
{
    result->ok = true;
    result->version = transcode->output.version;
    result->file = transcode->output.file;
}

/* A file that is not sound is the transcoder's failure on this PDB. */
static void transcode_on_validated(void *arg, struct child_result *child)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    transcode->child = NULL;
    result.ms = transcode->ended.ms + child->ms;
    result.tail = child->tail;

    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) {
        transcode_take_file(transcode, &result);
        result.tail = transcode->ended.tail;
    } else if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 1) {
        result.error = "the transcoder left an unsound file";
    } else {
        result.system = true;
        result.error = "what the transcoder made could not be checked";
    }

    finish_transcode(transcode, &result);
}

/* All of the transcoder's processes have ended. */
static void transcode_conclude(struct transcode *transcode)
{
    struct transcode_result result = {0};

    result.ms = transcode->ended.ms;
    result.tail = transcode->ended.tail;
    if (!judge_end(transcode, &transcode->ended, &result)) {
        finish_transcode(transcode, &result);
        return;
    }

    output_folder_look(&transcode->output, transcode->out, &transcode->key);
    result.error = output_folder_judge(&transcode->output, &result.system);
    result.proof = converter_check_read(&transcode->proof, transcode->pid);
    if (result.error == NULL && result.proof != PROOF_NONE) {
        transcode_take_file(transcode, &result);
    } else if (result.error == NULL) {
        confine_take(&transcode->confine, transcode->output.file);
        transcode->child = validate_start(
            transcode->base, transcode->output.file, &transcode->key,
            transcode_is_ours(transcode->transcoder) ? VALIDATE_OURS : NULL,
            transcode_on_validated, transcode);
        if (transcode->child != NULL) {
            return;
        }
        result.system = true;
        snprintf(transcode->error, sizeof(transcode->error), "check: %s",
                 strerror(errno));
        result.error = transcode->error;
    }

    finish_transcode(transcode, &result);
}

static void on_settled(evutil_socket_t fd, short what, void *arg)
{
    struct timeval limit = {SETTLE_SECONDS, 0};
    struct transcode *transcode = arg;

    if ((what & EV_READ) && !fd_is_readable(fd) &&
        event_add(transcode->settle, &limit) == 0) {
        return;
    }
    transcode_conclude(transcode);
}

/*
 * bwrap ends a moment before the other processes of its namespace, which the
 * kernel kills then: until that has happened, one could still write to the
 * result.
 */
static void transcode_settle(struct transcode *transcode)
{
    struct timeval limit = {SETTLE_SECONDS, 0};

    transcode->processes = confine_processes(&transcode->confine);
    if (transcode->processes >= 0) {
        transcode->settle = event_new(transcode->base, transcode->processes,
                                      EV_READ, on_settled, transcode);
    }
    if (transcode->settle == NULL ||
        event_add(transcode->settle, &limit) != 0) {
        transcode_conclude(transcode);
    }
}

static void transcode_on_exit(void *arg, struct child_result *child)
{
    struct transcode *transcode = arg;
    struct transcode_result result = {0};

    transcode->child = NULL;
    space_monitor_stop(transcode->monitor);
    transcode->monitor = NULL;
    if (transcode->usage != NULL) {
        event_del(transcode->usage);
    }

    if (child->error != 0) {
        result.system = true;
        result.ms = child->ms;
        result.tail = child->tail;
        result.error = transcode->error;
        snprintf(transcode->error, sizeof(transcode->error),
                 "no transcoder: \"%.150s\": %s", transcode->command.program,
                 strerror(child->error));
        finish_transcode(transcode, &result);
        return;
    }

    transcode->ended = *child;
    transcode->ended.tail = memcpy(transcode->tail, child->tail,
                                   child->tail_len + 1);
    if (transcode->confine.nfds == 0) {
        transcode_conclude(transcode);
        return;
    }
    transcode->ended.status = confine_status(child->status);
    transcode_settle(transcode);
}

/* the start --------------------------------------------------------------- */

/* Makes a folder of the work directory and writes its path. */
static int transcode_mkdir(const struct transcode *transcode, const char *name,
                           char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", transcode->work, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkdir(path, 0700) == 0 ? confine_give(&transcode->confine, path)
                                  : -1;
}

/*
 * Clients choose the names of PDBs.  One that means something to a shell, to
 * Windows or in another encoding is only passed on to our own converter, which
 * writes it into Breakpad's text.
 */
static bool is_passed_on(const struct transcode *transcode)
{
    return !transcode->transcoder->fixed_input &&
           (pdb_name_is_plain(transcode->key.name) ||
            transcode_proves(transcode->transcoder));
}

static void use_fixed_name(symcache_key_t *key)
{
    uint8_t kind = key->kind; /* a new name resets both */
    uint8_t id_type = key->id_type;

    symcache_name_parse(TRANSCODE_INPUT, strlen(TRANSCODE_INPUT), key);
    key->kind = kind;
    key->id_type = id_type;
}

/* Makes {pdb} a link in the work directory, for an original that does not lie
 * under the name of its key, or whose name is not passed on. */
static int rename_input(struct transcode *transcode)
{
    char folder[PATH_MAX], *pdb;

    if (transcode_mkdir(transcode, "in", folder) != 0) {
        return -1;
    }
    if (!is_passed_on(transcode)) {
        use_fixed_name(&transcode->key);
    }
    if (asprintf(&pdb, "%s/%s", folder, transcode->key.name) < 0) {
        errno = ENOMEM;
        return -1;
    }
    /* a hard one changes the ctime, with which the file's digest holds */
    if ((transcode_is_ours(transcode->transcoder) ||
         link(transcode->pdb, pdb) != 0) &&
        symlink(transcode->pdb, pdb) != 0) {
        free(pdb);
        return -1;
    }

    free(transcode->pdb);
    transcode->pdb = pdb;
    return 0;
}

bool transcode_takes_path(const struct transcoder_config *transcoder,
                          const char *path, const char *name)
{
    return !transcoder->fixed_input && pdb_name_is_plain(name) &&
           strcmp(strrchr(path, '/') + 1, name) == 0;
}

/* Fills the work directory before the process begins. */
static int transcode_lay_out(struct transcode *transcode,
                             char symbols[PATH_MAX], char cwd[PATH_MAX],
                             char tmp[PATH_MAX])
{
    char out[PATH_MAX];

    if (transcode_is_ours(transcode->transcoder)) {
        snprintf(symbols, PATH_MAX, "%s", transcode->work);
        snprintf(cwd, PATH_MAX, "%s", transcode->work);
    } else if (transcode_mkdir(transcode, "out", out) != 0 ||
               transcode_mkdir(transcode, "symbols", symbols) != 0 ||
               transcode_mkdir(transcode, "run", cwd) != 0 ||
               (transcode->confine.nfds > 0 &&
                transcode_mkdir(transcode, "tmp", tmp) != 0)) {
        return -1;
    }
    return transcode_takes_path(transcode->transcoder, transcode->pdb,
                                transcode->key.name)
               ? 0
               : rename_input(transcode);
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
 * more, so a monitor watches the space, too.  Returns 0, or -1.
 */
static int limit(struct transcode *transcode, struct child_options *options)
{
    uint64_t left = disk_space_left(transcode->work, transcode->cache);
    struct rlimit own;
    struct stat st;

    if (left == 0) {
        transcode->full = true;
        snprintf(transcode->error, sizeof(transcode->error), DISK_SPACE_NONE);
        return -1;
    }
    options->file = left < INT64_MAX ? left : 0;
    if (transcode->confine.nfds > 0 && transcode->transcoder->disk < left) {
        options->file = transcode->transcoder->disk;
    }
    transcode->is_bounded =
        getrlimit(RLIMIT_FSIZE, &own) == 0 &&
        own.rlim_max < (options->file != 0 ? options->file : RLIM_INFINITY);
    transcode->space = left;
    transcode->lacks_inodes = disk_space_has_few_inodes(transcode->work);
    if (stat(transcode->pdb, &st) == 0) {
        transcode->tight = left < (uint64_t)st.st_size;
        options->mapped = MAPPED_FACTOR * (uint64_t)st.st_size;
    }
    transcode->monitor = space_monitor_start(
        transcode->base, transcode->work, transcode->cache, on_low, transcode);
    if (transcode->monitor == NULL) {
        snprintf(transcode->error, sizeof(transcode->error), "out of memory");
        return -1;
    }
    return 0;
}

/* Checks the files that a confined transcoder has written so far. */
static void on_usage(evutil_socket_t fd, short what, void *arg)
{
    struct transcode *transcode = arg;

    output_folder_look(&transcode->output, transcode->work, &transcode->key);
    if (transcode->child != NULL &&
        (transcode->output.bytes > transcode->transcoder->disk ||
         output_folder_is_endless(&transcode->output))) {
        transcode->over = true;
        event_del(transcode->usage);
        child_kill(transcode->child);
    }
}

static int watch_usage(struct transcode *transcode)
{
    struct timeval every = {0, USAGE_MS * 1000};

    if (transcode->confine.nfds == 0) {
        return 0;
    }
    transcode->usage = event_new(transcode->base, -1, EV_PERSIST, on_usage,
                                 transcode);
    if (transcode->usage == NULL ||
        event_add(transcode->usage, &every) != 0) {
        snprintf(transcode->error, sizeof(transcode->error), "out of memory");
        return -1;
    }
    return 0;
}

/* Has our converter check its output.  Writes the setting for its environment
 * to text and returns it; or NULL, if another transcoder runs. */
static const char *ask_proof(struct transcode *transcode,
                             struct child_options *options,
                             char text[PROOF_TEXT])
{
    if (!transcode_proves(transcode->transcoder) ||
        converter_check_ask(&transcode->proof, &transcode->key, text) != 0) {
        return NULL;
    }
    options->fds = &transcode->proof.theirs;
    options->nfds = 1;
    return text;
}

static int transcode_spawn(struct transcode *transcode)
{
    char symbols[PATH_MAX], cwd[PATH_MAX], tmp[PATH_MAX] = "";
    char check[PROOF_TEXT];
    struct child_options options = {0};
    struct command *command = &transcode->command;
    struct command_paths paths;

    if (confine_begin(&transcode->confine, transcode->transcoder,
                      transcode->error, sizeof(transcode->error)) != 0) {
        return -1;
    }
    if (transcode_lay_out(transcode, symbols, cwd, tmp) != 0) {
        snprintf(transcode->error, sizeof(transcode->error), "work: %s",
                 strerror(errno));
        return -1;
    }

    if (limit(transcode, &options) != 0 || watch_usage(transcode) != 0) {
        return -1;
    }

    paths.pdb = transcode->pdb;
    paths.seconds = transcode->seconds;
    paths.out = transcode->out;
    paths.symbols = symbols;
    paths.cwd = cwd;
    paths.tmp = tmp;
    paths.check = ask_proof(transcode, &options, check);
    paths.has_file_addresses = transcode->key.id_type == SYMCACHE_ID_HASH;
    if (command_fill(command, transcode->transcoder, &paths, transcode->error,
                     sizeof(transcode->error)) == 0 &&
        confine_command(&transcode->confine, command, transcode->transcoder,
                        &paths, transcode->error,
                        sizeof(transcode->error)) == 0) {
        options.program = command->program;
        options.argv = command->argv;
        options.env = command->env;
        options.cwd = cwd;
        options.is_near = transcode_is_ours(transcode->transcoder) &&
                          strchr(command->argv[0], '/') == NULL;
        if (transcode->confine.nfds > 0) {
            options.fds = transcode->confine.fds;
            options.nfds = transcode->confine.nfds;
        }
        options.seconds = transcode->transcoder->time;
#ifndef __SANITIZE_ADDRESS__ /* its shadow would not fit */
        options.memory = transcode->transcoder->memory;
#endif
        transcode->child = child_start(transcode->base, &options,
                                       transcode_on_exit, transcode);
        converter_check_close_theirs(&transcode->proof);
        if (transcode->child != NULL) {
            transcode->pid = child_pid(transcode->child);
        } else {
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
                                  char *const seconds[SECONDS],
                                  const char *work, transcode_done_fn done,
                                  void *arg)
{
    struct transcode *transcode = calloc(1, sizeof(*transcode));
    struct timeval now = {0, 0};
    bool is_copied = true;
    size_t i;

    if (transcode == NULL) {
        return NULL;
    }

    transcode->base = base;
    transcode->transcoder = transcoder;
    transcode->cache = &config->cache;
    symcache_key_copy(&transcode->key, key);
    transcode->processes = -1;
    transcode->proof = (struct converter_check_channel){-1, -1};
    transcode->done = done;
    transcode->arg = arg;
    transcode->pdb = strdup(pdb);
    for (i = 0; i < SECONDS; i++) {
        transcode->seconds[i] = seconds[i] != NULL ? strdup(seconds[i]) : NULL;
        is_copied =
            is_copied && (seconds[i] == NULL || transcode->seconds[i] != NULL);
    }
    transcode->work = strdup(work);
    transcode->failed = evtimer_new(base, on_failed, transcode);
    if (transcode->pdb == NULL || transcode->work == NULL || !is_copied ||
        transcode->failed == NULL ||
        asprintf(&transcode->out, "%s%s", work,
                 transcode_is_ours(transcoder) ? "" : "/out") < 0) {
        transcode_free(transcode);
        return NULL;
    }

    if (transcode_spawn(transcode) != 0) {
        evtimer_add(transcode->failed, &now);
    }
    return transcode;
}

void transcode_cancel(struct transcode *transcode)
{
    child_cancel(transcode->child);
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
