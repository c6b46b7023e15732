/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "sigbus.h"

struct module *module_ref(struct module *module)
{
    atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
    return module;
}

void module_unref(struct module *module)
{
    if (module == NULL || atomic_fetch_sub(&module->refs, 1) > 1) {
        return;
    }
    if (module->data != NULL) {
        if (module->sigbus != -1) {
            sigbus_remove(module->sigbus);
        }
        munmap(module->data, module->size);
    }
    close(module->fd);
    free(module);
}

/* Returns 0, or -1 with errno. */
static int map(struct module *module)
{
    module->data =
        mmap(NULL, module->size, PROT_READ, MAP_PRIVATE, module->fd, 0);
    if (module->data == MAP_FAILED) {
        module->data = NULL;
        return -1;
    }
    module->sigbus = sigbus_add(module->data, module->size, &module->broken);
    errno = EMFILE;
    return module->sigbus != -1 ? 0 : -1;
}

static bool verify(struct module *module, char *error, size_t size)
{
    const struct derived_type *type = derived_type(module->kind);

    return type->open(&module->reader, module->data, module->size, error,
                      size) == SYMFILE_OPENED &&
           type->verify(&module->reader, error, size) == SYMFILE_SOUND;
}

static void read_source(struct module *module)
{
    ssize_t n = fgetxattr(module->fd, SYMCACHE_PROVENANCE_ATTRIBUTE,
                          module->source, sizeof(module->source) - 1);

    module->source[n > 0 ? n : 0] = '\0';
    module->source[strcspn(module->source, " ")] = '\0';
}

struct module *module_open(int fd, const struct stat *st, const char *name,
                           symcache_kind_e kind)
{
    struct module *module = calloc(1, sizeof(*module));
    char error[256] = "the file is empty";
    int saved;

    if (module == NULL) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    atomic_init(&module->refs, 1);
    atomic_init(&module->used, clock_ms());
    module->fd = fd;
    module->kind = kind;
    module->sigbus = -1;
    module->device = st->st_dev;
    module->inode = st->st_ino;
    module->size = (size_t)st->st_size;

    if (module->size > 0 && map(module) != 0) {
        saved = errno;
        module_unref(module);
        errno = saved;
        return NULL;
    }
    read_source(module);
    module->sound =
        module->size > 0 && verify(module, error, sizeof(error)) &&
        !atomic_load(&module->broken);
    if (!module->sound) {
        log_error(0, "module file=%s cannot be used: %s", name, error);
    }
    return module;
}

bool module_is_current(const struct module *module)
{
    struct stat st;

    return !atomic_load_explicit(&module->broken, memory_order_relaxed) &&
           fstat(module->fd, &st) == 0 && st.st_nlink > 0 &&
           (size_t)st.st_size == module->size;
}
