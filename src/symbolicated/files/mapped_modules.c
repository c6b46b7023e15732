/*
 * Copyright (C) the ngx_symcache authors
 */
#include "mapped_modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/fd_close.h"
#include "base/hash_table.h"
#include "base/log.h"
#include "proto/path.h"
#include "sigbus.h"

#define STALE_MAX 1000 /* looked at in one call: a millisecond or so */

/* The one to be evicted is chosen among so many: on the whole the least
 * recently used ones go, without a look at all of them each time. */
#define CHOICE 100

/* Bytes of memory that the machine must have for each mapped file, of which
 * two to four thousand are taken. */
#define FILE_MEMORY 32768

#define GONE_MAX 65536 /* evicted files that are remembered; then all go */
#define MINUTE_MS (60 * 1000)

/* A folder has a file or two; more is not ours to read through. */
#define ENTRIES_MAX 4096

/* Files may be replaced faster than they are opened, but not for ever. */
#define TRIES 5

/* Clocks of file systems tick in milliseconds; a server's may be off. */
#define SETTLED_SECONDS 2

/* A file that was evicted. */
struct mapped_gone {
    dev_t device;
    ino_t inode;
    size_t size;
    uint_least64_t told; /* as in struct module */
};

struct mapped_modules {
    pthread_mutex_t mutex;
    struct module **modules;
    size_t room;
    struct table places; /* of modules, by device and inode */
    struct table gone;   /* the same of files that were evicted */
    size_t max_files;
    uint64_t max_bytes;
    struct mapped_modules_sizes sizes;
    size_t hand;   /* where the next choice begins */
    size_t unseen; /* modules that are still to be looked at for stale ones */
    uint64_t minute;        /* when the one began in which */
    uint64_t returned_then; /* so many had returned before */
    bool has_warned;        /* in this minute */
    atomic_uint generation;
};

struct mapped_modules *mapped_modules_new(void)
{
    struct mapped_modules *mapped = calloc(1, sizeof(*mapped));

    if (mapped != NULL) {
        pthread_mutex_init(&mapped->mutex, NULL);
    }
    return mapped;
}

/* All below: with the mutex held. */

static uint64_t mapped_hash_of(const struct mapped_modules *mapped,
                               dev_t device, ino_t inode)
{
    const uint64_t key[] = {device, inode};

    return table_hash((uintptr_t)mapped, key, sizeof(key));
}

static void mapped_take_out(struct mapped_modules *mapped,
                            struct module *module)
{
    struct module *last = mapped->modules[--mapped->sizes.files];

    table_remove(&mapped->places,
                 mapped_hash_of(mapped, module->device, module->inode),
                 (uintptr_t)module);
    mapped->sizes.bytes -= module->size;
    last->at = module->at;
    mapped->modules[last->at] = last;
    atomic_store(&module->evicted, true);
    atomic_fetch_add(&mapped->generation, 1);
    module_unref(module);
}

static struct mapped_gone *
mapped_find_gone(const struct mapped_modules *mapped, uint64_t hash,
                 const struct module *module)
{
    struct mapped_gone *gone;
    size_t at = 0;

    while ((gone = (struct mapped_gone *)table_next(&mapped->gone, hash,
                                                    &at)) != NULL &&
           (gone->inode != module->inode || gone->device != module->device ||
            gone->size != module->size)) {
    }
    return gone;
}

static void mapped_forget_gone(struct mapped_modules *mapped)
{
    size_t i;

    for (i = 0; i < mapped->gone.num_slots; i++) {
        free((struct mapped_gone *)mapped->gone.slots[i].value);
    }
    table_free(&mapped->gone);
}

/* Without memory, it is not. */
static void mapped_remember_gone(struct mapped_modules *mapped,
                                 const struct module *module)
{
    struct mapped_gone *gone = malloc(sizeof(*gone));

    if (mapped->gone.count >= GONE_MAX) {
        mapped_forget_gone(mapped);
    }
    if (gone == NULL) {
        return;
    }
    *gone = (struct mapped_gone){module->device, module->inode, module->size,
                                 atomic_load(&module->told)};
    if (table_add(&mapped->gone,
                  mapped_hash_of(mapped, module->device, module->inode),
                  (uintptr_t)gone) != 0) {
        free(gone);
    }
}

/* Returns whether the file of the module is one that was evicted: symcached
 * then does not hear of its use again within the hour. */
static bool mapped_take_back(struct mapped_modules *mapped,
                             struct module *module)
{
    uint64_t hash = mapped_hash_of(mapped, module->device, module->inode);
    struct mapped_gone *gone = mapped_find_gone(mapped, hash, module);

    if (gone == NULL) {
        return false;
    }
    atomic_store(&module->told, gone->told);
    table_remove(&mapped->gone, hash, (uintptr_t)gone);
    free(gone);
    return true;
}

static struct module *mapped_choose_unused(struct mapped_modules *mapped,
                                           const struct module *spared)
{
    struct module *module, *oldest = NULL;
    size_t i;

    for (i = 0; i < CHOICE && i < mapped->sizes.files; i++) {
        mapped->hand = (mapped->hand + 1) % mapped->sizes.files;
        module = mapped->modules[mapped->hand];
        if (module != spared &&
            (oldest == NULL ||
             atomic_load(&module->used) < atomic_load(&oldest->used))) {
            oldest = module;
        }
    }
    return oldest;
}

static void evict_modules(struct mapped_modules *mapped,
                          const struct module *spared)
{
    struct module *oldest;

    while (mapped->sizes.files > mapped->max_files ||
           mapped->sizes.bytes > mapped->max_bytes) {
        oldest = mapped_choose_unused(mapped, spared);
        if (oldest == NULL) {
            break;
        }
        mapped_remember_gone(mapped, oldest);
        mapped_take_out(mapped, oldest);
        mapped->sizes.evicted++;
    }
}

/* The module of a file that has this size now, or NULL.  A mapping keeps an
 * inode from becoming another file's; an empty file has none.  Files of two
 * kinds have one inode where equal files were made links of each other. */
static struct module *find_mapped(struct mapped_modules *mapped, dev_t device,
                                  ino_t inode, size_t size,
                                  symcache_kind_e kind)
{
    uint64_t hash = mapped_hash_of(mapped, device, inode);
    struct module *module;
    size_t at = 0;

    while ((module = (struct module *)table_next(&mapped->places, hash,
                                                 &at)) != NULL &&
           (module->inode != inode || module->device != device ||
            module->kind != kind)) {
    }
    if (module != NULL &&
        (module->size != size || (size == 0 && module->sound) ||
         atomic_load(&module->broken))) {
        mapped_take_out(mapped, module);
        module = NULL;
    }
    return module;
}

/* Returns 0, or -1 without memory. */
static int mapped_put_in(struct mapped_modules *mapped, struct module *module)
{
    if (array_need(&mapped->modules, &mapped->room, mapped->sizes.files + 1,
                   sizeof(mapped->modules[0])) != 0 ||
        table_add(&mapped->places,
                  mapped_hash_of(mapped, module->device, module->inode),
                  (uintptr_t)module) != 0) {
        return -1;
    }
    module->at = mapped->sizes.files++;
    mapped->modules[module->at] = module_ref(module);
    mapped->sizes.bytes += module->size;
    mapped->sizes.opened++;
    return 0;
}

/* Counts a file that was evicted and is back.  Returns whether a warning is
 * due: within a minute these were more than a tenth of the files that there is
 * room for. */
static bool mapped_is_thrashing(struct mapped_modules *mapped, uint64_t now)
{
    if (mapped->minute == 0 || now - mapped->minute >= MINUTE_MS) {
        mapped->minute = now;
        mapped->returned_then = mapped->sizes.returned;
        mapped->has_warned = false;
    }
    mapped->sizes.returned++;
    if (mapped->has_warned || mapped->sizes.returned - mapped->returned_then <=
                                  mapped->sizes.files / 10) {
        return false;
    }
    mapped->has_warned = true;
    return true;
}

/* without the mutex ------------------------------------------------------- */

size_t mapped_modules_allowed(void)
{
    unsigned long maps = 65530; /* the kernel's default */
    long pages = sysconf(_SC_PHYS_PAGES);
    uint64_t memory =
        pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");

    if (file != NULL) {
        if (fscanf(file, "%lu", &maps) != 1 || maps < 8) {
            maps = 65530;
        }
        fclose(file);
    }
    maps -= maps / 8; /* threads, heaps, libraries */
    if (maps > memory / FILE_MEMORY) {
        maps = memory / FILE_MEMORY;
    }
    return maps < SIGBUS_MAX ? maps : SIGBUS_MAX;
}

void mapped_modules_limit(struct mapped_modules *mapped, size_t files,
                          uint64_t bytes)
{
    pthread_mutex_lock(&mapped->mutex);
    mapped->max_files = files;
    mapped->max_bytes = bytes;
    evict_modules(mapped, NULL);
    pthread_mutex_unlock(&mapped->mutex);
}

/* The module of an open file if it is mapped, with a reference; or NULL. */
static struct module *mapped_find_file(struct mapped_modules *mapped,
                                       const struct stat *st,
                                       symcache_kind_e kind)
{
    struct module *module;

    pthread_mutex_lock(&mapped->mutex);
    module = find_mapped(mapped, st->st_dev, st->st_ino, (size_t)st->st_size,
                         kind);
    if (module != NULL) {
        module_ref(module);
        atomic_store(&module->used, clock_ms());
    }
    pthread_mutex_unlock(&mapped->mutex);
    return module;
}

/* Takes the reference over.  Returns the module to use, with a reference:
 * another one, if another thread added it first. */
static struct module *add_module(struct mapped_modules *mapped,
                                 struct module *module)
{
    struct mapped_modules_sizes sizes;
    struct module *other;
    bool is_too_small = false;

    pthread_mutex_lock(&mapped->mutex);
    other = find_mapped(mapped, module->device, module->inode, module->size,
                        module->kind);
    if (other != NULL) {
        module_ref(other);
        module_unref(module);
        module = other;
    } else if (mapped_put_in(mapped, module) == 0) {
        is_too_small = mapped_take_back(mapped, module) &&
                       mapped_is_thrashing(mapped, clock_ms());
        evict_modules(mapped, module);
    } else {
        atomic_store(&module->evicted, true);
    }
    sizes = mapped->sizes;
    pthread_mutex_unlock(&mapped->mutex);
    if (is_too_small) {
        log_warn(0,
                 "files that made room for others were needed again within a "
                 "minute, more than a tenth of those that are mapped: "
                 "symbolication.limits.files or limits.files_size is too "
                 "low, files: %zu, bytes: %llu",
                 sizes.files, (unsigned long long)sizes.bytes);
    }
    return module;
}

struct module *mapped_modules_open(struct mapped_modules *mapped, int folder,
                                   int root, const char *path,
                                   symcache_kind_e kind)
{
    int fd = openat(folder, strrchr(path, '/') + 1,
                    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct module *module;
    struct stat st;
    int error;

    if (fd == -1) {
        return NULL;
    }
    errno = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        error = errno != 0 ? errno : EINVAL;
        close(fd);
        errno = error;
        return NULL;
    }
    module = mapped_find_file(mapped, &st, kind);
    if (module != NULL) {
        close(fd);
        return module;
    }
    module = module_open(fd, &st, root, path, kind);
    return module != NULL ? add_module(mapped, module) : NULL;
}

/* the newest file --------------------------------------------------------- */

static bool is_mapped_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
}

/* The path of the best file; false if there is none.  Sets errno on failure.
 */
static bool mapped_best_path(DIR *dir, const symcache_key_t *key,
                             char path[SYMCACHE_PATH_MAX + 1])
{
    const struct derived_type *type =
        derived_type((symcache_kind_e)key->kind);
    symcache_version_t version, best = {0, 0, 0};
    symcache_file_e file;
    struct dirent *entry;
    unsigned n;

    for (n = 0; n < ENTRIES_MAX; n++) {
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            break;
        }
        if (symcache_path_name_parse(entry->d_name, strlen(entry->d_name),
                                     key, &version, &file) &&
            file == SYMCACHE_FILE_PLAIN &&
            symcache_version_serves(&version, &type->newest, &type->oldest) &&
            symcache_version_cmp(&version, &best) > 0) {
            best = version;
        }
    }
    if (errno != 0 || best.major == 0) {
        return false;
    }
    symcache_path_file(path, key, &best, SYMCACHE_FILE_PLAIN);
    return true;
}

static int mapped_folder_state(int fd, struct folder_state *folder)
{
    struct timespec now;
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return -1;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    folder->device = st.st_dev;
    folder->inode = st.st_ino;
    folder->changed = st.st_ctim;
    folder->settled = st.st_ctim.tv_sec + SETTLED_SECONDS < now.tv_sec;
    return 0;
}

/* Returns false if the folder has changed meanwhile. */
static bool mapped_look_once(struct mapped_modules *mapped, int root,
                             bool stays, const symcache_key_t *key,
                             struct module_sight *sight)
{
    char path[SYMCACHE_PATH_MAX + 1];
    DIR *dir = NULL;
    int fd;

    memset(sight, 0, sizeof(*sight));
    symcache_path_dir(path, key);
    fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd != -1 && mapped_folder_state(fd, &sight->folder) == 0) {
        dir = fdopendir(fd);
    }
    if (dir == NULL) {
        sight->error = is_mapped_absence(errno) ? 0 : errno;
        fd_close(fd);
        return true;
    }
    if (mapped_best_path(dir, key, path)) {
        sight->module = mapped_modules_open(mapped, fd, stays ? root : -1,
                                            path, (symcache_kind_e)key->kind);
    }
    sight->error = sight->module == NULL ? errno : 0;
    closedir(dir);
    return sight->error != ENOENT;
}

void mapped_modules_open_newest(struct mapped_modules *mapped, int root,
                                bool stays, const symcache_key_t *key,
                                struct module_sight *sight)
{
    unsigned tries = 0;

    while (!mapped_look_once(mapped, root, stays, key, sight) &&
           ++tries < TRIES) {
        continue;
    }
}

void mapped_modules_remove(struct mapped_modules *mapped,
                           struct module *module)
{
    pthread_mutex_lock(&mapped->mutex);
    if (!atomic_load(&module->evicted)) {
        mapped_take_out(mapped, module);
    }
    pthread_mutex_unlock(&mapped->mutex);
}

void mapped_modules_evict_stale(struct mapped_modules *mapped)
{
    size_t n;

    pthread_mutex_lock(&mapped->mutex);
    for (n = 0; n < STALE_MAX && mapped->unseen > 0; n++) {
        mapped->unseen--;
        if (mapped->unseen < mapped->sizes.files &&
            !module_is_current(mapped->modules[mapped->unseen])) {
            mapped_take_out(mapped, mapped->modules[mapped->unseen]);
        }
    }
    if (mapped->unseen == 0) {
        mapped->unseen = mapped->sizes.files;
    }
    pthread_mutex_unlock(&mapped->mutex);
}

unsigned mapped_modules_generation(struct mapped_modules *mapped)
{
    return atomic_load_explicit(&mapped->generation, memory_order_relaxed);
}

void mapped_modules_sizes(struct mapped_modules *mapped,
                          struct mapped_modules_sizes *sizes)
{
    pthread_mutex_lock(&mapped->mutex);
    *sizes = mapped->sizes;
    pthread_mutex_unlock(&mapped->mutex);
}
