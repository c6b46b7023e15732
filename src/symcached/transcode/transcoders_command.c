/*
 * Copyright (C) the ngx_symcache authors
 *
 * Each transcoder is tried in a process of its own: so the kernel counts what
 * it takes, and the process may become another user.
 */

#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/workdir.h"
#include "child/child.h"
#include "command_line.h"
#include "good_pdb.h"
#include "transcode.h"

static const char transcoders_usage[] =
    "usage: symcached --transcoders [--init] [-c FILE] [NAME]\n";

struct transcoder_trial {
    const struct config *config;
    const struct store_config *store;
    const struct transcoder_config *transcoder;
    struct event_base *base;
    bool ok;
};

static const char *trial_name(const struct transcoder_config *transcoder)
{
    const char *slash = strrchr(transcoder->command[0], '/');

    return slash != NULL ? slash + 1 : transcoder->command[0];
}

static void transcoders_print_name(const struct transcoder_trial *trial)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_version_print(version, &trial->transcoder->version);
    printf("%s, %s, %s, profile %s: ", trial->store->name, version,
           trial_name(trial->transcoder),
           config_profile_name(trial->transcoder->profile));
}

static int print_trial_failure(const char *what, const char *reason)
{
    printf("failed: %s: %s\n", what, reason);
    return 1;
}

/* Becomes the owner of the store, as whom symcached runs.  Returns 0 or 1. */
static int transcoder_drop_root(const struct transcoder_trial *trial)
{
    struct stat st;

    if (geteuid() != 0) {
        return 0;
    }
    if (stat(trial->store->root, &st) != 0) {
        return print_trial_failure(trial->store->root, strerror(errno));
    }
    if (st.st_uid == 0) {
        return 0;
    }
    if (setgroups(0, NULL) != 0 || setgid(st.st_gid) != 0 ||
        setuid(st.st_uid) != 0) {
        return print_trial_failure("the owner of the store", strerror(errno));
    }
    return 0;
}

static void transcoder_on_done(void *arg,
                               const struct transcode_result *result)
{
    struct transcoder_trial *trial = arg;
    char version[SYMCACHE_VERSION_TEXT_MAX + 1], why[1024];
    struct rusage took;
    struct stat st = {0};

    trial->ok = result->ok;
    if (result->ok) {
        (void)stat(result->file, &st);
        (void)getrusage(RUSAGE_CHILDREN, &took);
        symcache_version_print(version, &result->version);
        printf("%s, %lld bytes; %.2f s, largest process %ld MB\n", version,
               (long long)st.st_size, result->ms / 1000.0,
               took.ru_maxrss / 1024);
        if (symcache_version_cmp(&result->version,
                                 &trial->transcoder->version) != 0) {
            printf("failed: it makes %s, so that has to be its \"version\" in "
                   "the configuration\n",
                   version);
            trial->ok = false;
        }
    } else {
        transcode_describe(result, why, sizeof(why));
        printf("failed: %s\n", why);
    }
    event_base_loopbreak(trial->base);
}

static int convert_trial(struct transcoder_trial *trial)
{
    static char *const none[SECONDS];
    char pdb[PATH_MAX], work[WORKDIR_PATH_MAX];
    struct workdir *workdir;
    symcache_key_t key;

    if (!good_pdb_find(trial->transcoder->makes, &key, pdb)) {
        return pdb[0] != '\0' ? print_trial_failure(pdb, "not found")
                              : print_trial_failure(
                                    trial_name(trial->transcoder),
                                    "no good file of this kind comes with "
                                    "symcached, so it cannot be tried");
    }
    workdir = workdir_open(trial->store->root);
    if (workdir == NULL || workdir_make(workdir, work) != 0) {
        return print_trial_failure(trial->store->root, strerror(errno));
    }
    trial->base = event_base_new();
    if (trial->base == NULL ||
        transcode_start(trial->base, trial->config, trial->transcoder, &key,
                        pdb, none, work, transcoder_on_done, trial) == NULL) {
        workdir_close(workdir);
        return print_trial_failure(trial_name(trial->transcoder),
                                   "out of memory");
    }
    event_base_dispatch(trial->base);
    workdir_close(workdir);
    return trial->ok ? 0 : 1;
}

/* Runs the program with the argument --init.  Returns only if it cannot. */
static int init_trial(const struct transcoder_trial *trial)
{
    const struct command_paths paths = {"", NULL, "", "", "", "", NULL, false};
    struct command command = {0};
    char error[256], *argv[] = {NULL, "--init", NULL};

    if (command_fill(&command, trial->transcoder, &paths, error,
                     sizeof(error)) != 0) {
        return print_trial_failure(trial_name(trial->transcoder), error);
    }
    argv[0] = command.program;
    execve(command.program, argv, command.env);
    return print_trial_failure(command.program, strerror(errno));
}

/* Returns 0, or 1 if it failed. */
static int try_one(struct transcoder_trial *trial, bool is_transcoder_init)
{
    int status = 1;
    pid_t pid;

    transcoders_print_name(trial);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        status = transcoder_drop_root(trial);
        if (status == 0) {
            status =
                is_transcoder_init ? init_trial(trial) : convert_trial(trial);
        }
        fflush(stdout);
        _exit(status);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return print_trial_failure("fork", strerror(errno));
    }
    return status == 0 ? 0 : 1;
}

static int try_all(const struct config *config, const char *name,
                   bool is_transcoder_init)
{
    struct transcoder_trial trial = {.config = config};
    unsigned n = 0;
    size_t i, j;
    int rc = 0;

    for (i = 0; i < config->nstores; i++) {
        trial.store = &config->stores[i];
        for (j = 0; j < trial.store->ntranscoders; j++) {
            trial.transcoder = &trial.store->transcoders[j];
            if (trial.transcoder->command != NULL &&
                !trial.transcoder->is_implied &&
                (name == NULL ||
                 strcmp(name, trial_name(trial.transcoder)) == 0)) {
                n++;
                rc |= try_one(&trial, is_transcoder_init);
            }
        }
    }
    if (n == 0) {
        fprintf(stderr, "symcached: no transcoder%s%s\n",
                name != NULL ? " is called " : "", name != NULL ? name : "");
    }
    return n == 0 ? 1 : rc;
}

int transcoders_command(int argc, char **argv,
                        const struct source_type *const *types,
                        const char *default_config)
{
    static const struct option options[] = {
        {"transcoders", no_argument, NULL, 't'},
        {"init", no_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    const char *file = default_config;
    bool is_transcoder_init = false;
    struct config *config;
    char error[1024];
    int c, rc;

    while ((c = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
        if (c == 'h') {
            fputs(transcoders_usage, stdout);
            return 0;
        }
        if (c == 'i') {
            is_transcoder_init = true;
        } else if (c == 'c') {
            file = optarg;
        } else if (c != 't') {
            fputs(transcoders_usage, stderr);
            return 2;
        }
    }
    if (argc - optind > 1 || (is_transcoder_init && argc == optind)) {
        fputs(transcoders_usage, stderr);
        return 2;
    }
    if (config_read(file, types, &config, error, sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        return 1;
    }
    if (sandbox_program_open(error, sizeof(error)) != 0) {
        fprintf(stderr, "symcached: %s\n", error);
        rc = 1;
    } else {
        rc = try_all(config, argv[optind], is_transcoder_init);
    }
    config_unref(config);
    return rc;
}
