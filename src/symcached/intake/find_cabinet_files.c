/*
 * Copyright (C) the ngx_symcache authors
 */
#include "find_cabinet_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "casefold_open.h"

/* Opens what follows the cabinet in fd, which was opened by that name. */
static void open_after(struct cabinet_parts *parts, int fd, const char *name,
                       const struct dir_search *search)
{
    const char *slash = strrchr(name, '/');
    char next[CABINET_NAME], path[PATH_MAX];

    if (name[0] == '*') {
        return; /* the path of its folder is not known */
    }
    while (parts->n < CABINET_PARTS && cabinet_next(fd, next)) {
        snprintf(path, sizeof(path), "%.*s%s",
                 slash == NULL ? 0 : (int)(slash + 1 - name), name, next);
        fd = casefold_open(search->root, path, search->beneath,
                           search->any_case);
        if (fd < 0) {
            parts->failed = dir_places_unopened(errno, &parts->missing) == 'E';
            return;
        }
        parts->fds[parts->n++] = fd;
    }
}

void find_cabinet_files(struct cabinet_parts parts[UNPACK_PLACES],
                        const struct dir_places *places,
                        const struct dir_search *search)
{
    size_t i;

    for (i = places->first + search->is_flat; i < places->n; i++) {
        if (places->fds[i] >= 0) {
            open_after(&parts[i], places->fds[i], search->names[i], search);
        }
    }
}
