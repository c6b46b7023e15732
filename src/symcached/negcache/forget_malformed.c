/*
 * Copyright (C) the ngx_symcache authors
 *
 * Starting the child process, and what the child process does.
 */
#include "forget_malformed.h"

#include <dirent.h>
#include <errno.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "negcache.h"
#include "child/child.h"
#include "base/duration.h"
#include "base/fd_close.h"
#include "proto/path.h"
#include "symcached/store/store.h"

#define FORGET_SECONDS 3600 /* limit for the walk */

struct forget_malformed {
    struct child *child;
    forget_done_fn done;
    void *arg;
};

const char *forget_parse(const char *query, time_t *since)
{
    const char *wrong = "malformed_since= must be Unix seconds, or a duration "
                        "such as 2h, and not to come";
    const struct evkeyval *pair;
    struct evkeyvalq pairs;

    if (query == NULL || evhttp_parse_query_str(query, &pairs) != 0) {
        return wrong;
    }
    pair = TAILQ_FIRST(&pairs);
    if (pair != NULL && TAILQ_NEXT(pair, next) == NULL &&
        strcmp(pair->key, "malformed_since") == 0 &&
        duration_parse_since(pair->value, since)) {
        wrong = NULL;
    }
    evhttp_clear_headers(&pairs);
    return wrong;
}

static void on_walked(void *arg, struct child_result *result)
{
    struct forget_malformed *forget = arg;
    char *tail = result->tail;
    unsigned long n = strtoul(tail, &tail, 10);
    bool ok = result->error == 0 && WIFEXITED(result->status) &&
              WEXITSTATUS(result->status) == 0;

    tail[strcspn(tail, "\n")] = '\0';
    forget->done(forget->arg, n,
                 ok               ? NULL
                 : tail[0] == ' ' ? tail + 1
                                  : "the process that walks it ended early");
    free(forget);
}

struct forget_malformed *forget_malformed_start(struct event_base *base,
                                                const char *root, time_t since,
                                                forget_done_fn done, void *arg)
{
    char text[24];
    const char *argv[] = {"symcached", "--forget", root, text, NULL};
    static char *env[] = {NULL};
    struct child_options options = {.program = "/proc/self/exe",
                                    .argv = (char *const *)argv,
                                    .env = env,
                                    .seconds = FORGET_SECONDS};
    struct forget_malformed *forget = calloc(1, sizeof(*forget));

    if (forget == NULL) {
        return NULL;
    }
    snprintf(text, sizeof(text), "%lld", (long long)since);
    forget->done = done;
    forget->arg = arg;
    forget->child = child_start(base, &options, on_walked, forget);
    if (forget->child == NULL) {
        free(forget);
        return NULL;
    }
    return forget;
}

void forget_malformed_cancel(struct forget_malformed *forget)
{
    child_cancel(forget->child);
    free(forget);
}

/* the walk ---------------------------------------------------------------- */

struct forget_malformed_walk {
    time_t since;
    unsigned long n;
    int errnum; /* of the last folder or entry that could not be handled */
};

static void look_at_entry(struct forget_malformed_walk *walk, int dir,
                          const char *name, symcache_key_t *key)
{
    symcache_version_t version;
    struct negcache_entry entry;
    symcache_file_e file;

    if (!symcache_path_entry_parse(name, strlen(name), key, &version, &file) ||
        !symcache_key_supported(key) || file != SYMCACHE_FILE_ABSENT ||
        !negcache_read(dir, name, &entry) ||
        entry.reason != NEGCACHE_MALFORMED || entry.since < walk->since) {
        return;
    }
    if (unlinkat(dir, name, 0) == 0) {
        walk->n++;
    } else if (errno != ENOENT) {
        walk->errnum = errno;
    }
}

/* The levels are: folders of names, folders of ids, files. */
static void descend_folder(struct forget_malformed_walk *walk, int at,
                           const char *path, symcache_key_t *key, int depth)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd != -1 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    const char *name;

    if (dir == NULL) {
        walk->errnum = errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                           ? walk->errnum
                           : errno;
        fd_close(fd);
        return;
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        name = entry->d_name;
        if (depth == 2) {
            look_at_entry(walk, fd, name, key);
        } else if (depth == 0
                       ? symcache_name_parse(name, strlen(name), key) ==
                             SYMCACHE_OK
                       : symcache_path_id_parse(name, strlen(name), key)) {
            descend_folder(walk, fd, name, key, depth + 1);
        }
    }
    walk->errnum = errno != 0 ? errno : walk->errnum;
    closedir(dir);
}

int forget_main(int argc, char **argv)
{
    symcache_key_t key;
    struct forget_malformed_walk walk = {0};
    int root;

    if (argc != 4) {
        fputs("symcached: --forget is for symcached itself\n", stderr);
        return 2;
    }
    (void)setpriority(PRIO_PROCESS, 0, 10);
    walk.since = (time_t)strtoll(argv[3], NULL, 10);

    /* Unlike the folders below it, the root may be a symbolic link. */
    root = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root != -1) {
        descend_folder(&walk, root, ".", &key, 0);
    } else if (errno != ENOENT) {
        walk.errnum = errno;
    }
    if (store_tell_forgotten(argv[2]) != 0) {
        walk.errnum = errno;
    }
    if (walk.errnum != 0) {
        printf("%lu not all of it: %s\n", walk.n, strerror(walk.errnum));
        return 1;
    }
    printf("%lu\n", walk.n);
    return 0;
}
