/*
 * Copyright (C) the ngx_symcache authors
 *
 * The command becomes
 *
 *   [setpriv --reuid=...] bwrap ... -- prlimit --nproc=... COMMAND
 *
 * setpriv comes first, as another user must make the namespaces for that user
 * to have no rights outside; and prlimit last, as the limit is then one of the
 * namespace and counts nobody else's processes.
 */
#include "confine.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program_path.h"
#include "child/child.h"
#include "sandbox/sandbox.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define DEFAULT_USER "nobody"

#define STATUS_MAX 512 /* bytes; bwrap writes two short lines */

/* The paths of the system that a program needs, if they exist. */
static const char *const confine_system_paths[] = {"/usr",
                                                   "/bin",
                                                   "/sbin",
                                                   "/lib",
                                                   "/lib32",
                                                   "/lib64",
                                                   "/libx32",
                                                   "/etc/alternatives",
                                                   "/etc/fonts",
                                                   "/etc/group",
                                                   "/etc/ld.so.cache",
                                                   "/etc/localtime",
                                                   "/etc/nsswitch.conf",
                                                   "/etc/passwd",
                                                   NULL};

static const char *const network_paths[] = {
    "/etc/gai.conf",    "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf",
    "/etc/services",    "/etc/ssl/certs", NULL};

/* the user -------------------------------------------------------------- */

static int confine_find_user(struct confine *confine, const char *name,
                             char *error, size_t size)
{
    const struct passwd *user;

    if (geteuid() != 0) {
        return 0;
    }
    name = name != NULL ? name : DEFAULT_USER;
    user = getpwnam(name);
    if (user == NULL || user->pw_uid == 0) {
        snprintf(error, size,
                 "no transcoder: it is not run as root, and there is no user "
                 "\"%.100s\"",
                 name);
        return -1;
    }
    confine->is_other = true;
    confine->uid = user->pw_uid;
    confine->gid = user->pw_gid;
    return 0;
}

int confine_give(const struct confine *confine, const char *path)
{
    return confine->is_other ? lchown(path, confine->uid, confine->gid) : 0;
}

void confine_take(const struct confine *confine, const char *path)
{
    if (confine->is_other && lchown(path, geteuid(), getegid()) != 0) {
        return; /* it vanished, which its reader will notice */
    }
}

/* the command ----------------------------------------------------------- */

struct confine_arguments {
    char **list; /* NULL-terminated */
    size_t n;
    bool failed; /* out of memory */
};

static void confine_add_argument(struct confine_arguments *arguments,
                                 const char *text)
{
    char **list = realloc(arguments->list, (arguments->n + 2) * sizeof(*list));

    if (list != NULL) {
        arguments->list = list;
        list[arguments->n] = strdup(text);
        list[arguments->n + 1] = NULL;
    }
    if (list == NULL || list[arguments->n++] == NULL) {
        arguments->failed = true;
    }
}

/* Adds arguments up to a NULL. */
static void confine_add_arguments(struct confine_arguments *arguments, ...)
{
    const char *text;
    va_list args;

    va_start(args, arguments);
    while ((text = va_arg(args, const char *)) != NULL) {
        confine_add_argument(arguments, text);
    }
    va_end(args);
}

static void confine_add_number(struct confine_arguments *arguments,
                               const char *option, unsigned n)
{
    char text[64];

    snprintf(text, sizeof(text), "%s%u", option, n);
    confine_add_argument(arguments, text);
}

/* Shows each path where it is there, for reading. */
static void confine_add_paths(struct confine_arguments *arguments,
                              const char *const *paths)
{
    for (; *paths != NULL; paths++) {
        confine_add_arguments(arguments, "--ro-bind-try", *paths, *paths,
                              NULL);
    }
}

static bool confine_is_of_system(const char *path)
{
    static const char *const folders[] = {"/usr/", "/bin/", "/sbin/"};
    size_t i;

    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void confine_add_namespaces(struct confine_arguments *arguments,
                                   const struct transcoder_config *transcoder)
{
    confine_add_arguments(arguments, "--unshare-user", "--unshare-pid",
                          "--unshare-ipc", "--unshare-uts",
                          "--unshare-cgroup-try", "--die-with-parent",
                          "--new-session", NULL);
    if (!transcoder->network) {
        confine_add_argument(arguments, "--unshare-net");
    }
}

/* Only the work folder is writable, because its disk is watched: the file
 * systems that bwrap makes in memory become read-only. */
static void confine_add_files(struct confine_arguments *arguments,
                              const struct command *command,
                              const struct transcoder_config *transcoder,
                              const struct command_paths *paths)
{
    char *const *path;

    confine_add_arguments(arguments, "--proc", "/proc", NULL);
    if (transcoder->profile == PROFILE_STRICT) {
        /* bwrap's own process has no filter, and its memory could be written
         * to.  Not so for wine: with a part hidden there can be no other /proc
         * inside. */
        confine_add_arguments(arguments, "--tmpfs", "/proc/1", "--remount-ro",
                              "/proc/1", NULL);
    }
    confine_add_arguments(arguments, "--dev", "/dev", "--bind", paths->tmp,
                          "/dev/shm", "--bind", paths->tmp, "/tmp", NULL);
    confine_add_paths(arguments, confine_system_paths);
    if (transcoder->network) {
        confine_add_paths(arguments, network_paths);
    }
    if (!confine_is_of_system(command->program)) {
        confine_add_arguments(arguments, "--ro-bind", command->program,
                              command->program, NULL);
    }
    for (path = transcoder->read; path != NULL && *path != NULL; path++) {
        confine_add_arguments(arguments, "--ro-bind", *path, *path, NULL);
    }
    if (paths->seconds[SECOND_FILE] != NULL) {
        confine_add_arguments(arguments, "--ro-bind",
                              paths->seconds[SECOND_FILE],
                              paths->seconds[SECOND_FILE], NULL);
    }
    confine_add_arguments(arguments, "--ro-bind", paths->pdb, paths->pdb,
                          "--bind", paths->out, paths->out, "--ro-bind",
                          paths->symbols, paths->symbols, "--bind", paths->cwd,
                          paths->cwd, "--chdir", paths->cwd, "--remount-ro",
                          "/dev", "--remount-ro", "/", NULL);
}

/* More than symcached itself was allowed to is refused to prlimit. */
static unsigned confine_most_tasks(void)
{
    struct rlimit own;

    return getrlimit(RLIMIT_NPROC, &own) == 0 && own.rlim_max < CONFINE_TASKS
               ? (unsigned)own.rlim_max
               : CONFINE_TASKS;
}

int confine_command(const struct confine *confine, struct command *command,
                    const struct transcoder_config *transcoder,
                    const struct command_paths *paths, char *error,
                    size_t size)
{
    char bwrap[PATH_MAX], prlimit[PATH_MAX], first[PATH_MAX];
    struct confine_arguments arguments = {0};
    size_t i;

    if (confine->nfds == 0) {
        return 0;
    }
    if (program_path_find("bwrap", bwrap, error, size) != 0 ||
        program_path_find("prlimit", prlimit, error, size) != 0 ||
        (confine->is_other &&
         program_path_find("setpriv", first, error, size) != 0)) {
        return -1;
    }

    if (confine->is_other) {
        confine_add_argument(&arguments, first);
        confine_add_number(&arguments, "--reuid=", confine->uid);
        confine_add_number(&arguments, "--regid=", confine->gid);
        confine_add_argument(&arguments, "--clear-groups");
    } else {
        memcpy(first, bwrap, sizeof(first));
    }
    confine_add_argument(&arguments, bwrap);
    confine_add_namespaces(&arguments, transcoder);
    confine_add_files(&arguments, command, transcoder, paths);
    confine_add_argument(&arguments, "--json-status-fd");
    confine_add_number(&arguments, "", CHILD_FD);
    if (confine->nfds > 1) {
        confine_add_argument(&arguments, "--seccomp");
        confine_add_number(&arguments, "", CHILD_FD + 1);
    }
    confine_add_arguments(&arguments, "--", prlimit, NULL);
    confine_add_number(&arguments, "--nproc=", confine_most_tasks());
    confine_add_arguments(&arguments, "--", command->program, NULL);
    for (i = 1; command->argv[i] != NULL; i++) {
        confine_add_argument(&arguments, command->argv[i]);
    }

    command_replace(command, first, arguments.list);
    if (arguments.failed) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    return 0;
}

/* the run --------------------------------------------------------------- */

int confine_begin(struct confine *confine,
                  const struct transcoder_config *transcoder, char *error,
                  size_t size)
{
    if (transcoder->profile == PROFILE_NONE) {
        return 0;
    }
    if (confine_find_user(confine, transcoder->user, error, size) != 0) {
        return -1;
    }

    confine->fds[0] = memfd_create("status", MFD_CLOEXEC);
    if (confine->fds[0] >= 0) {
        confine->nfds = 1;
        if (transcoder->profile == PROFILE_WINE) {
            return 0;
        }
        confine->fds[1] = sandbox_bwrap_filter(transcoder->network);
        if (confine->fds[1] >= 0) {
            confine->nfds = 2;
            return 0;
        }
    }
    snprintf(error, size, "no transcoder: its profile: %s", strerror(errno));
    return -1;
}

void confine_clear(struct confine *confine)
{
    while (confine->nfds > 0) {
        close(confine->fds[--confine->nfds]);
    }
}

/* Returns the number of a member of what bwrap has written, or -1. */
static long confine_read_status(const struct confine *confine,
                                const char *name)
{
    char text[STATUS_MAX + 1];
    const char *member;
    ssize_t n;

    if (confine->nfds == 0) {
        return -1;
    }
    n = pread(confine->fds[0], text, STATUS_MAX, 0);
    text[n > 0 ? n : 0] = '\0';
    member = strstr(text, name);
    return member != NULL ? strtol(member + strlen(name), NULL, 10) : -1;
}

bool confine_ran(const struct confine *confine)
{
    return confine->nfds == 0 ||
           confine_read_status(confine, "\"exit-code\":") >= 0;
}

int confine_status(int wait_status)
{
    int sig = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) - 128 : 0;

    return sig > 0 && sig < NSIG ? sig : wait_status;
}

int confine_processes(const struct confine *confine)
{
    long pid = confine_read_status(confine, "\"child-pid\":");

    return pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
}
