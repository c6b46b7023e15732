/*
 * Copyright (C) the ngx_symcache authors
 *
 * What can be told of files that a search has found, until it is freed.
 */
#include "search.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "search_state.h"

bool search_is_broken(struct search *search)
{
    struct seek *seek;
    bool broken = false;
    size_t i;

    for (i = 0; i < search->round->nmodules; i++) {
        seek = &search->seeks[i];
        if (seek->module != NULL &&
            atomic_load_explicit(&seek->module->broken,
                                 memory_order_relaxed) &&
            seek->wanted->state == API_MODULE_FOUND) {
            module_unref(seek->module);
            seek->module = NULL;
            seek->wanted->reader = NULL;
            seek->wanted->state = API_MODULE_UNKNOWN;
            broken = true;
        }
    }
    return broken;
}

static const struct module *found_module_file(const struct api_module *module)
{
    return (const struct module *)((const char *)module->reader -
                                   offsetof(struct module, reader));
}

void search_module_inode(const struct api_module *module, dev_t *device,
                         ino_t *inode)
{
    *device = found_module_file(module)->device;
    *inode = found_module_file(module)->inode;
}

int search_open(const struct search *search, const struct api_module *module)
{
    const struct module *file = found_module_file(module);
    struct stat st;
    int fd, root, error = 0;

    while (search != NULL &&
           (module < search->round->modules ||
            module >= search->round->modules + search->round->nmodules)) {
        search = search->before;
    }
    if (search == NULL) {
        return -1;
    }
    root = file->root;
    if (root == -1 && search->tenant != NULL) {
        root =
            search
                ->roots[search->seeks[module - search->round->modules].store];
    }
    fd = openat(root, file->path,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd != -1 && fstat(fd, &st) != 0) {
        error = errno;
    } else if (fd != -1 &&
               (st.st_ino != file->inode || st.st_dev != file->device ||
                (size_t)st.st_size != file->size)) {
        error = ESTALE;
    }
    if (error != 0) {
        close(fd);
        fd = -1;
        errno = error;
    }
    if (fd == -1) {
        log_warn(errno, "module file=%s cannot be given to a worker",
                 file->path);
    }
    return fd;
}
