/*
 * Copyright (C) the ngx_symcache authors
 */
#include "validate.h"

#include <fcntl.h>
#include "base/fd_close.h"

#define VALIDATE_WAIT 300 /* seconds on the wall clock */

struct child *validate_start(struct event_base *base, const char *file,
                             const symcache_key_t *key, const char *origin,
                             child_done_fn done, void *arg)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    const char *kind = symcache_kind_text((symcache_kind_e)key->kind);
    const char *argv[] = {SANDBOX_PROGRAM, "--validate", id, kind,
                          origin,          NULL};
    static char *env[] = {NULL};
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct child_options options = {
        .argv = (char *const *)argv,
        .env = env,
        .fds = &fd,
        .nfds = 1,
        .seconds = VALIDATE_WAIT,
    };
    struct child *child;

    if (fd < 0) {
        return NULL;
    }

    symcache_id_print(id, key);
    child = child_start(base, &options, done, arg);
    fd_close(fd);
    return child;
}
