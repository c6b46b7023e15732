/*
 * Copyright (C) the ngx_symcache authors
 */
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/digest_attribute.h"
#include "base/log.h"
#include "proto/properties.h"
#include "sigbus.h"

#define UNUSED_MS (60 * 1000)

#define PLACES_VALUES 1024 /* of 2,048 bytes */

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
    json_free(&module->places);
    free(module->places_text);
    free(module->properties);
    free(module);
}

/* Returns 0, or -1 with errno. */
static int map_module(struct module *module, int fd)
{
    module->data = mmap(NULL, module->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (module->data == MAP_FAILED) {
        module->data = NULL;
        return -1;
    }
    module->sigbus = sigbus_add(module->data, module->size, &module->broken);
    errno = EMFILE;
    return module->sigbus != -1 ? 0 : -1;
}

static enum symc_verify_status verify_module(struct module *module,
                                             char *error, size_t size)
{
    const struct derived_type *type = derived_type(module->kind);

    return type->open(&module->reader, module->data, module->size, error,
                      size) == SYMC_OPENED
               ? type->verify(&module->reader, error, size)
               : SYMC_VIOLATED;
}

/* Is the module's file made of one whose name ends with ".pdb"? */
static bool is_of_pdb(const struct module *module)
{
    return strstr(module->path, ".pdb/") != NULL;
}

/* Returns the size of an attribute, 0: there is none of use, or -1 with errno:
 * it cannot be read now. */
static ssize_t read_module_attribute(int fd, const char *name, char *value,
                                     size_t size)
{
    ssize_t n = fgetxattr(fd, name, value, size);

    return n == -1 && (errno == ENODATA || errno == ENOTSUP || errno == ERANGE)
               ? 0
               : n;
}

/* A PDB has debug information also if it has public symbols only, as
 * Symbolicator counts; a program and Breakpad's text have symbols without
 * it. */
static bool read_provenance(struct module *module, int fd)
{
    char extent[12] = "";
    ssize_t n =
        read_module_attribute(fd, SYMCACHE_PROVENANCE_ATTRIBUTE,
                              module->source, sizeof(module->source) - 1);

    if (n == -1) {
        return false;
    }
    module->source[n] = '\0';
    if (sscanf(module->source, "%*s %11s %*d %x", extent, &module->features) ==
            2 &&
        (module->features & ~SYMCACHE_HAS_LINKS) != 0 &&
        strcmp(extent, "publics") == 0 && is_of_pdb(module)) {
        module->features |= SYMCACHE_HAS_DEBUG;
    }
    module->source[strcspn(module->source, " ")] = '\0';
    return true;
}

/* The attempts, as symcached noted them. */
static bool module_read_places(struct module *module, int fd)
{
    char *text = malloc(SYMCACHE_PLACES_MAX);
    struct json_error error;
    ssize_t n;

    n = text != NULL ? read_module_attribute(fd, SYMCACHE_PLACES_ATTRIBUTE,
                                             text, SYMCACHE_PLACES_MAX)
                     : -1;
    module->places_text = text;
    if (n <= 0 || json_read(&module->places, text, (size_t)n, PLACES_VALUES,
                            &error) == 0) {
        return n != -1;
    }
    module->places_list = json_member(&module->places, 0, "attempts");
    if (module->places.values[module->places_list].type != JSON_ARRAY) {
        module->places_list = 0;
    }
    return true;
}

/* Further data on a file at a URL. */
static bool read_properties(struct module *module, int fd)
{
    char text[SYMCACHE_PROPERTIES_MAX + 1];
    ssize_t n = read_module_attribute(fd, SYMCACHE_PROPERTIES_ATTRIBUTE, text,
                                      SYMCACHE_PROPERTIES_MAX);

    if (n > 0) {
        text[n] = '\0';
        module->properties = strdup(text);
    }
    if (n != 0 && module->properties == NULL) {
        return false;
    }
    module->has_digest = digest_of_file(fd, module->digest);
    return true;
}

struct module *module_open(int fd, const struct stat *st, int root,
                           const char *path, symcache_kind_e kind)
{
    size_t size = strlen(path) + 1;
    struct module *module = calloc(1, sizeof(*module) + size);
    char error[256] = "the file is empty";
    enum symc_verify_status status = SYMC_VIOLATED;
    int saved;

    if (module == NULL) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    atomic_init(&module->refs, 1);
    atomic_init(&module->used, clock_ms());
    module->root = root;
    memcpy(module->path, path, size);
    module->kind = kind;
    module->sigbus = -1;
    module->device = st->st_dev;
    module->inode = st->st_ino;
    module->size = (size_t)st->st_size;

    if ((module->size > 0 && map_module(module, fd) != 0) ||
        !read_provenance(module, fd) || !module_read_places(module, fd) ||
        (kind == SYMCACHE_KIND_SOURCE && !read_properties(module, fd))) {
        saved = errno;
        close(fd);
        module_unref(module);
        errno = saved;
        return NULL;
    }
    close(fd); /* the mapping stays */
    if (module->size > 0 || kind == SYMCACHE_KIND_SOURCE) {
        status = verify_module(module, error, sizeof(error));
    }
    if (status == SYMC_NOT_VERIFIED) {
        module_unref(module);
        errno = ENOMEM;
        return NULL;
    }
    module->sound = status == SYMC_SOUND && !atomic_load(&module->broken);
    if (!module->sound) {
        log_error(0, "module file=%s cannot be used: %s", path, error);
    }
    return module;
}

bool module_is_current(const struct module *module)
{
    struct stat st;

    if (atomic_load_explicit(&module->broken, memory_order_relaxed)) {
        return false;
    }
    if (module->root == -1) {
        return clock_ms() - atomic_load(&module->used) < UNUSED_MS;
    }
    return fstatat(module->root, module->path, &st, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           st.st_ino == module->inode && st.st_dev == module->device &&
           (size_t)st.st_size == module->size;
}
