/*
 * Copyright (C) the ngx_symcache authors
 */
#include "outdated_objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>
#include "base/digest.h"
#include "base/log.h"
#include "base/task.h"
#include "proto/path.h"
#include "call.h"
#include "tier.h"

#define FOLDER ".discarded"
#define LOOK_MAX 1000     /* notes that are read at a time, */
#define LOOK_SECONDS 3600 /* and how often */

struct discarded {
    symcache_key_t key;
    symcache_version_t version;
};

/* What a thread reads. */
struct outdated_objects_look {
    struct tiers *tiers;
    struct config *config; /* reference */
    struct discarded list[LOOK_MAX];
    size_t *ends; /* of each store's, in the list */
};

/* Writes the path of the note into path, and its text into text. */
static void print_outdated_note(char path[PATH_MAX],
                                char text[SYMCACHE_PATH_MAX + 2],
                                const char *root, const symcache_key_t *key,
                                const symcache_version_t *version)
{
    size_t n = symcache_path_file(text, key, version, SYMCACHE_FILE_PLAIN);
    struct digest *digest = digest_new();
    char hex[DIGEST_HEX + 1] = "";

    digest_add(digest, text, n);
    if (digest != NULL) {
        digest_hex(digest, hex);
    }
    digest_free(digest);
    memcpy(text + n, "\n", 2);
    snprintf(path, PATH_MAX, "%.1024s/" FOLDER "/%s", root, hex);
}

/* Opens a new file in the folder of notes, which is made for it. */
static int open_outdated_note(const char *tmp)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(tmp, flags, 0644);
    char folder[PATH_MAX];

    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(tmp, '/') - tmp),
             tmp);
    return mkdir(folder, 0755) == 0 || errno == EEXIST ? open(tmp, flags, 0644)
                                                       : -1;
}

/* Returns 0, or -1 with errno. */
static int note_outdated(const char *root, const symcache_key_t *key,
                         const symcache_version_t *version)
{
    char path[PATH_MAX], text[SYMCACHE_PATH_MAX + 2], tmp[PATH_MAX];
    bool written;
    int fd;

    print_outdated_note(path, text, root, key, version);
    snprintf(tmp, sizeof(tmp), "%.1024s/" FOLDER "/.new", root);
    fd = open_outdated_note(tmp);
    if (fd < 0) {
        return -1;
    }
    errno = ENOSPC; /* where less is written */
    written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return written && rename(tmp, path) == 0 ? 0 : -1;
}

bool outdated_object_is_noted(const char *root, const symcache_key_t *key,
                              const symcache_version_t *version)
{
    char path[PATH_MAX], text[SYMCACHE_PATH_MAX + 2];

    print_outdated_note(path, text, root, key, version);
    return access(path, F_OK) == 0;
}

void outdated_object_drop(const char *root, const symcache_key_t *key,
                          const symcache_version_t *version)
{
    char path[PATH_MAX], text[SYMCACHE_PATH_MAX + 2];

    print_outdated_note(path, text, root, key, version);
    (void)unlink(path);
}

/* Returns false if the file is not a note, or is too old to matter. */
static bool read_outdated_note(int dir, const char *name, struct discarded *to,
                               unsigned seconds)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[SYMCACHE_PATH_MAX + 2];
    symcache_file_e file;
    struct stat st;
    ssize_t n = -1;

    if (fd >= 0) {
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            (seconds == 0 || time(NULL) - st.st_mtime <= (time_t)seconds)) {
            n = read(fd, text, sizeof(text));
        }
        close(fd);
    }
    return n > 0 && text[n - 1] == '\n' &&
           symcache_path_file_parse(text, (size_t)n - 1, &to->key,
                                    &to->version, &file) &&
           file == SYMCACHE_FILE_PLAIN;
}

/*
 * Reads at most max notes of a store into list that are not older than so many
 * seconds; 0 is any age.  Older notes and files that are not notes are
 * removed.  Returns the number.
 */
static size_t read_outdated_notes(const char *root, struct discarded *list,
                                  size_t max, unsigned seconds)
{
    char path[PATH_MAX];
    struct dirent *entry;
    size_t n = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "%.1024s/" FOLDER, root);
    dir = opendir(path);
    if (dir == NULL) {
        return 0;
    }
    while (n < max && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (read_outdated_note(dirfd(dir), entry->d_name, &list[n], seconds)) {
            n++;
        } else {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
    return n;
}

/* the tier ---------------------------------------------------------------- */

bool tiers_discarded(const struct store_config *store,
                     const symcache_key_t *key,
                     const symcache_version_t *version)
{
    return store->tier != NULL &&
           outdated_object_is_noted(store->root, key, version);
}

void tiers_discard(struct tiers *tiers, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version)
{
    char text[SYMCACHE_KEY_TEXT_MAX + 1];

    if (store->tier == NULL) {
        return;
    }
    if (note_outdated(store->root, key, version) != 0) {
        symcache_key_print(text, key);
        log_crit(errno,
                 "tier %s: store=%s key=%s: it cannot be noted that the tier "
                 "has a former file",
                 store->tier->name, store->name, text);
    }
    tier_puts_remove(tiers, store, key, version);
}

static void look_for_outdated_notes(void *arg)
{
    struct outdated_objects_look *look = arg;
    const struct config *config = look->config;
    const struct store_config *store;
    size_t i, n = 0;

    for (i = 0; i < config->nstores; i++) {
        store = &config->stores[i];
        if (store->tier != NULL) {
            /* what cannot be written stays until nobody has the file */
            n += read_outdated_notes(
                store->root, look->list + n, LOOK_MAX - n,
                store->tier->read_only ? config->cache.max_unused_for : 0);
        }
        look->ends[i] = n;
    }
}

/* Removes the objects that were not removed or replaced since their notes were
 * read. */
static void outdated_resume_removal(struct tiers *tiers,
                                    const struct store_config *store,
                                    const struct discarded *found)
{
    if (!tier_puts_has(tiers, store, &found->key, &found->version) &&
        outdated_object_is_noted(store->root, &found->key, &found->version)) {
        tier_puts_remove(tiers, store, &found->key, &found->version);
    }
}

static void outdated_on_done(void *arg, bool late)
{
    struct timeval pause = {.tv_sec = LOOK_SECONDS};
    struct outdated_objects_look *look = arg;
    struct tiers *tiers = look->tiers;
    size_t i, n = 0;

    tiers->looking = NULL;
    if (look->config != tiers->config) {
        pause.tv_sec = 0;
        evtimer_add(tiers->look, &pause);
        return;
    }
    for (i = 0; i < look->config->nstores; i++) {
        for (; n < look->ends[i]; n++) {
            outdated_resume_removal(tiers, &look->config->stores[i],
                                    &look->list[n]);
        }
    }
    evtimer_add(tiers->look, &pause);
}

static void outdated_on_drop(void *arg)
{
    struct outdated_objects_look *look = arg;

    config_unref(look->config);
    free(look->ends);
    free(look);
}

void outdated_objects_look(evutil_socket_t fd, short events, void *arg)
{
    static const struct task_calls calls = {
        look_for_outdated_notes, outdated_on_done, outdated_on_drop};
    struct tiers *tiers = arg;
    struct outdated_objects_look *look;

    if (tiers->looking != NULL || tiers->stopping ||
        tiers->config->ntiers == 0) {
        return;
    }
    look = calloc(1, sizeof(*look));
    if (look == NULL) {
        return;
    }
    look->tiers = tiers;
    look->config = config_ref(tiers->config);
    look->ends = calloc(tiers->config->nstores + 1, sizeof(*look->ends));
    if (look->ends == NULL) {
        outdated_on_drop(look);
        return;
    }
    tiers->looking = task_start(tiers->base, 0, &calls, look);
}
