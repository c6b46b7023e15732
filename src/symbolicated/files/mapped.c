/*
 * Copyright (C) the ngx_symcache authors
 */
#include "mapped.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/array.h"

#define STALE_MAX 1000 /* looked at in one call: a millisecond or so */

struct mapped {
    pthread_mutex_t mutex;
    struct module **modules;
    size_t room;
    size_t max_files;
    uint64_t max_bytes;
    struct mapped_sizes sizes;
    size_t unseen; /* modules that are still to be looked at for stale ones */
    atomic_uint generation;
};

struct mapped *mapped_new(void)
{
    struct mapped *mapped = calloc(1, sizeof(*mapped));

    if (mapped != NULL) {
        pthread_mutex_init(&mapped->mutex, NULL);
    }
    return mapped;
}

/* All below: with the mutex held. */

static void take_out(struct mapped *mapped, size_t i)
{
    struct module *module = mapped->modules[i];

    mapped->sizes.bytes -= module->size;
    mapped->modules[i] = mapped->modules[--mapped->sizes.files];
    atomic_store(&module->evicted, true);
    atomic_fetch_add(&mapped->generation, 1);
    module_unref(module);
}

static void evict(struct mapped *mapped, const struct module *spared)
{
    size_t i, oldest;

    while (mapped->sizes.files > mapped->max_files ||
           mapped->sizes.bytes > mapped->max_bytes) {
        oldest = SIZE_MAX;
        for (i = 0; i < mapped->sizes.files; i++) {
            if (mapped->modules[i] != spared &&
                (oldest == SIZE_MAX ||
                 atomic_load(&mapped->modules[i]->used) <
                     atomic_load(&mapped->modules[oldest]->used))) {
                oldest = i;
            }
        }
        if (oldest == SIZE_MAX) {
            break;
        }
        take_out(mapped, oldest);
        mapped->sizes.evicted++;
    }
}

static size_t index_of(const struct mapped *mapped, dev_t device, ino_t inode)
{
    size_t i;

    for (i = 0; i < mapped->sizes.files; i++) {
        if (mapped->modules[i]->inode == inode &&
            mapped->modules[i]->device == device) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* The module of a file that has this size now, or NULL. */
static struct module *find(struct mapped *mapped, dev_t device, ino_t inode,
                           size_t size)
{
    size_t i = index_of(mapped, device, inode);
    struct module *module = i != SIZE_MAX ? mapped->modules[i] : NULL;

    if (module != NULL &&
        (module->size != size || atomic_load(&module->broken))) {
        take_out(mapped, i);
        module = NULL;
    }
    return module;
}


void mapped_limit(struct mapped *mapped, size_t files, uint64_t bytes)
{
    pthread_mutex_lock(&mapped->mutex);
    mapped->max_files = files;
    mapped->max_bytes = bytes;
    evict(mapped, NULL);
    pthread_mutex_unlock(&mapped->mutex);
}

struct module *mapped_find(struct mapped *mapped, const struct stat *st)
{
    struct module *module;

    pthread_mutex_lock(&mapped->mutex);
    module = find(mapped, st->st_dev, st->st_ino, (size_t)st->st_size);
    if (module != NULL) {
        module_ref(module);
    }
    pthread_mutex_unlock(&mapped->mutex);
    return module;
}

struct module *mapped_add(struct mapped *mapped, struct module *module)
{
    struct module *other;

    pthread_mutex_lock(&mapped->mutex);
    other = find(mapped, module->device, module->inode, module->size);
    if (other != NULL) {
        module_ref(other);
        module_unref(module);
        module = other;
    } else if (symfile_array_need(&mapped->modules, &mapped->room,
                                  mapped->sizes.files + 1,
                                  sizeof(mapped->modules[0])) == 0) {
        mapped->modules[mapped->sizes.files++] = module_ref(module);
        mapped->sizes.bytes += module->size;
        mapped->sizes.opened++;
        evict(mapped, module);
    }
    pthread_mutex_unlock(&mapped->mutex);
    return module;
}

void mapped_remove(struct mapped *mapped, struct module *module)
{
    size_t i;

    pthread_mutex_lock(&mapped->mutex);
    for (i = 0; i < mapped->sizes.files; i++) {
        if (mapped->modules[i] == module) {
            take_out(mapped, i);
            break;
        }
    }
    pthread_mutex_unlock(&mapped->mutex);
}

void mapped_evict_stale(struct mapped *mapped)
{
    size_t n;

    pthread_mutex_lock(&mapped->mutex);
    for (n = 0; n < STALE_MAX && mapped->unseen > 0; n++) {
        mapped->unseen--;
        if (mapped->unseen < mapped->sizes.files &&
            !module_is_current(mapped->modules[mapped->unseen])) {
            take_out(mapped, mapped->unseen); /* the last one moves here */
        }
    }
    if (mapped->unseen == 0) {
        mapped->unseen = mapped->sizes.files;
    }
    pthread_mutex_unlock(&mapped->mutex);
}

unsigned mapped_generation(struct mapped *mapped)
{
    return atomic_load_explicit(&mapped->generation, memory_order_relaxed);
}

void mapped_sizes(struct mapped *mapped, struct mapped_sizes *sizes)
{
    pthread_mutex_lock(&mapped->mutex);
    *sizes = mapped->sizes;
    pthread_mutex_unlock(&mapped->mutex);
}
