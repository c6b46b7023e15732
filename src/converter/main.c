/*
 * Copyright (C) the ngx_symcache authors
 *
 * pdb2symcache: converts a PDB or Breakpad text into an open SymCache ("SYMC",
 * version 9).  It is a plain command that follows the helper's rules for
 * transcoders.
 *
 * The exit codes are those of enum failure_code; --help lists them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "parser.h"
#include "proto/key.h"
#include "proto/path.h"

#define VERSION "9.0.0"

static const char help[] =
    "usage: pdb2symcache FILE [-o OUT]    writes OUT (\"-\": standard "
    "output), or\n"
    "                                     <pdb>-v" VERSION
    ".symcache in this folder\n"
    "       pdb2symcache -pdb FILE        writes under $_NT_SYMCACHE_PATH:\n"
    "                                     <pdb>/<GUIDAGE>/<pdb>-v" VERSION
    ".symcache\n"
    "  --no-sandbox   parse without seccomp and Landlock\n"
    "  -V, --version  print the version of the format\n"
    "  -h, --help     print this\n"
    "FILE is a PDB or a Breakpad file (.sym).\n"
    "exit codes: 0 done, 1 usage, 2 input or output, 3 neither of these, 4 "
    "portable\n"
    "  PDB, 5 PDB 2.0, 6 compressed container (MSFZ), 7 no symbols (a "
    "compiler's or\n"
    "  type server's PDB), 8 damaged, 9 over a limit of memory, time or "
    "size,\n"
    "  10 no sandbox, 11 truncated, 75 killed from outside\n";

struct options {
    const char *pdb;
    const char *output;
    const char *root;
    int has_sandbox;
    char beside[SYMCACHE_PATH_MAX + 1];  /* the output if none is given */
};

static volatile sig_atomic_t stop;

static void on_signal(int signo)
{
    stop = signo;
}

static void catch_signals(void)
{
    size_t i;
    struct sigaction action;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

static int usage(const char *what)
{
    fprintf(stderr, "pdb2symcache: %s\n%s", what, help);
    return FAILURE_USAGE;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* Returns -1 if there is something to convert, or else the exit code. */
static int parse_options(int argc, char **argv, struct options *o)
{
    int i;

    memset(o, 0, sizeof(*o));
    o->has_sandbox = 1;
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-pdb") == 0 && i + 1 < argc) {
            o->pdb = argv[++i];
        } else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            o->output = argv[++i];
        } else if (strcmp(argv[i], "--no-sandbox") == 0) {
            o->has_sandbox = 0;
        } else if (strcmp(argv[i], "-h") == 0 ||
                   strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        } else if (strcmp(argv[i], "-V") == 0 ||
                   strcmp(argv[i], "--version") == 0) {
            puts("pdb2symcache " VERSION);
            return 0;
        } else if (argv[i][0] != '-' && o->pdb == NULL) {
            o->pdb = argv[i];
            snprintf(o->beside, sizeof(o->beside), "%s-v" VERSION ".symcache",
                     base_name(o->pdb));
        } else {
            return usage("unknown option, one without its value, or a second "
                         "FILE");
        }
    }
    o->root = getenv("_NT_SYMCACHE_PATH");
    if (o->pdb == NULL) {
        return usage("no FILE");
    }
    if (o->output == NULL && o->beside[0] != '\0') {
        o->output = o->beside;
    }
    if (o->output == NULL && (o->root == NULL || *o->root == '\0')) {
        return usage("neither -o nor _NT_SYMCACHE_PATH is set");
    }
    return -1;
}

/* Makes the path under the root at which WPA and the helper look for the file,
 * and its folders. */
static int make_path(const struct options *o, const struct debuginfo_result *r,
                     char *path, size_t size, struct failure *failure)
{
    int n;
    const char *name;
    char directory[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key;

    name = base_name(o->pdb);
    if (symcache_name_parse(name, strlen(name), &key) != SYMCACHE_OK) {
        return failure_set(failure, FAILURE_IO,
                           "output: \"%s\" is no name for a PDB", name);
    }
    memcpy(key.guid, r->guid, sizeof(key.guid));
    key.age = r->age;
    symcache_path_dir(directory, &key);
    n = snprintf(path, size, "%s/%s/%s-v" VERSION ".symcache", o->root,
                 directory, name);
    if (n < 0 || (size_t)n >= size) {
        return failure_set(failure, FAILURE_IO, "output: name too long");
    }
    return output_make_directories(path, failure);
}

static int convert(const struct options *o, struct output *output,
                   struct parser_job *job, struct failure *failure)
{
    char made[PATH_MAX];
    const char *path;
    struct debuginfo_result result;

    if (output_open(output, o->output, o->root, failure) != 0) {
        return -1;
    }
    job->output_fd = output->fd;
    if (parser_run(job, &stop, &result, failure) != 0) {
        return -1;
    }
    if (result.note[0] != '\0') {
        fprintf(stderr, "pdb2symcache: %s: note: %s\n", o->pdb, result.note);
    }
    path = o->output;
    if (path == NULL) {
        path = made;
        if (make_path(o, &result, made, sizeof(made), failure) != 0) {
            return -1;
        }
    }
    return output_publish(output, path, failure);
}

int main(int argc, char **argv)
{
    int rc;
    struct options o;
    struct output output = {-1, 0, ""};
    struct parser_job job;
    struct failure failure = {FAILURE_NONE, ""};

    rc = parse_options(argc, argv, &o);
    if (rc >= 0) {
        return rc;
    }
    catch_signals();
    job.input = o.pdb;
    job.has_sandbox = o.has_sandbox;
    job.input_fd = open(o.pdb, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (job.input_fd < 0) {
        failure_set(&failure, FAILURE_IO, "cannot be opened: %s",
                    strerror(errno));
    } else {
        convert(&o, &output, &job, &failure);
    }
    output_close(&output);
    if (stop != 0) {
        signal(stop, SIG_DFL);
        raise(stop);
    }
    if (failure.text[0] != '\0') {
        fprintf(stderr, "pdb2symcache: %s: %s\n", o.pdb, failure.text);
    }
    return failure.code;
}
