/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pdb_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd_write.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "in_place.h"

#define FLAT_SETTLED 2 /* seconds until a file is believed to be complete */

/* The findings of earlier lookups, in order. */
struct flat_index {
    struct pdb_directory_record *records;
    size_t n;
};

static int pdb_compare_records(const void *a, const void *b)
{
    const struct pdb_directory_record *x = a, *y = b;

    if (x->dev != y->dev) {
        return x->dev < y->dev ? -1 : 1;
    }
    return x->ino == y->ino ? 0 : x->ino < y->ino ? -1 : 1;
}

/* An index that cannot be read is treated as an empty one. */
static int load_records(struct flat_index *index, int fd)
{
    size_t size = FLAT_FILES * sizeof(index->records[0]);
    ssize_t n;

    index->records = malloc(size);
    if (index->records == NULL) {
        return -1;
    }
    n = pread(fd, index->records, size, 0);
    index->n = n > 0 ? (size_t)n / sizeof(index->records[0]) : 0;
    qsort(index->records, index->n, sizeof(index->records[0]),
          pdb_compare_records);
    return 0;
}

static void describe_pdb(struct pdb_directory_record *record,
                         const struct stat *st)
{
    memset(record, 0, sizeof(*record));
    record->dev = st->st_dev;
    record->ino = st->st_ino;
    record->size = (uint64_t)st->st_size;
    record->seconds = st->st_ctim.tv_sec;
    record->nanoseconds = st->st_ctim.tv_nsec;
}

static const struct pdb_directory_record *
find_record(const struct flat_index *index,
            const struct pdb_directory_record *file)
{
    const struct pdb_directory_record *known = bsearch(
        file, index->records, index->n, sizeof(*file), pdb_compare_records);

    return known != NULL && known->size == file->size &&
                   known->seconds == file->seconds &&
                   known->nanoseconds == file->nanoseconds
               ? known
               : NULL;
}

/* The age of a portable PDB is only a mark, which some clients do not know. */
static bool is_pdb_of(const struct pdb_directory_record *record,
                      const symcache_key_t *key)
{
    return record->sound != 0 &&
           (record->age == key->age || record->age == PORTABLEPDB_AGE) &&
           memcmp(record->guid, key->guid, sizeof(key->guid)) == 0;
}

static void fail_directory(struct pdb_directory *directory, const char *name,
                           int error)
{
    snprintf(directory->error, sizeof(directory->error), "%s: %s", name,
             strerror(error));
}

/* Opens and maps a file.  After the sandbox is entered, neither is
 * possible. */
static bool add_pdb(struct pdb_directory *directory, int root,
                    const char *name, const struct pdb_directory_record *known)
{
    struct pdb_directory_file *file = &directory->files[directory->nfiles];
    struct stat st;
    void *map;

    file->fd =
        openat(root, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &st) != 0) {
        /* A file may vanish at any time. */
        if (errno == EMFILE && directory->nfiles > 0) {
            directory->more = true;
        } else if (errno != ENOENT) {
            fail_directory(directory, name, errno);
        }
        return false;
    }

    map = mmap(NULL, st.st_size > 0 ? (size_t)st.st_size : 1, PROT_READ,
               MAP_SHARED | MAP_NORESERVE, file->fd, 0);
    if (map == MAP_FAILED) {
        fail_directory(directory, name, errno);
        close(file->fd);
        return false;
    }

    describe_pdb(&file->record, &st);
    file->known = known != NULL;
    file->map = map;
    snprintf(file->name, sizeof(file->name), "%s", name);
    directory->mapped += (uint64_t)st.st_size;
    directory->nfiles++;
    return true;
}

/* When several files have the identity, the one with the requested name is
 * taken, and not the one that the directory happens to list first. */
static void pdb_directory_put_first(struct pdb_directory *directory)
{
    struct pdb_directory_file *first = &directory->files[directory->nnamed++];
    struct pdb_directory_file *last = &directory->files[directory->nfiles - 1];
    struct pdb_directory_file file = *last;

    *last = *first;
    *first = file;
}

static bool is_image(const char *end)
{
    return strcasecmp(end, ".dll") == 0 || strcasecmp(end, ".exe") == 0;
}

static void flat_entry(struct pdb_directory *directory, int root,
                       const char *name, const struct flat_index *index,
                       const symcache_key_t *key, const char *asked)
{
    bool named = strcasecmp(name, asked) == 0;
    const struct pdb_directory_record *known;
    struct pdb_directory_record record;
    size_t len = strlen(name);
    struct stat st;

    if (len < 4 || (strcasecmp(name + len - 4, ".pdb") != 0 &&
                    (!directory->images || !is_image(name + len - 4)))) {
        return;
    }
    if (fstatat(root, name, &st, 0) != 0) {
        /* It may have vanished.  If its name is still there, it is a link. */
        if (errno != ENOENT) {
            fail_directory(directory, name, errno);
        } else if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            snprintf(directory->error, sizeof(directory->error),
                     "%s: a symbolic link leads nowhere", name);
        }
        return;
    }
    if (!S_ISREG(st.st_mode) || in_place_is_void(&st)) {
        return;
    }
    if (directory->total == FLAT_FILES) {
        snprintf(directory->error, sizeof(directory->error),
                 "more than %d PDBs", FLAT_FILES);
        return;
    }
    directory->total++;

    describe_pdb(&record, &st);
    known = find_record(index, &record);
    if (known != NULL && named && known->sound == 0) {
        known = NULL; /* What is wrong with it is to be reported. */
    }
    if (known != NULL) {
        directory->records[directory->nrecords++] = *known;
    }
    if (known != NULL && !is_pdb_of(known, key)) {
        return;
    }
    if (directory->nfiles >=
        FLAT_BATCH + (size_t)(named && directory->nnamed == 0)) {
        directory->more = true;
        return;
    }
    if (add_pdb(directory, root, name, known) && named) {
        pdb_directory_put_first(directory);
    }
}

struct pdb_directory *pdb_directory_open(int root, int index_fd,
                                         const symcache_key_t *key,
                                         const char *asked, bool images)
{
    struct pdb_directory *directory = calloc(1, sizeof(*directory));
    struct flat_index index;
    struct dirent *entry;
    DIR *dir;
    int fd;

    if (directory == NULL || load_records(&index, index_fd) != 0) {
        free(directory);
        return NULL;
    }
    directory->images = images;
    directory->records = malloc(FLAT_FILES * sizeof(directory->records[0]));
    if (directory->records == NULL) {
        free(index.records);
        free(directory);
        return NULL;
    }

    fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        fail_directory(directory, ".", errno);
    } else {
        while ((errno = 0, entry = readdir(dir)) != NULL) {
            flat_entry(directory, root, entry->d_name, &index, key, asked);
        }
        if (errno != 0) {
            fail_directory(directory, ".", errno);
        }
        closedir(dir);
    }

    free(index.records);
    return directory;
}

/* Returns false with a sentence in error if the file has none. */
static bool pdb_directory_read_identity(struct pdb_directory_file *file,
                                        char *error, size_t size)
{
    struct pdb_directory_record *record = &file->record;
    struct portablepdb_identity portable;
    struct pdb_identity identity;
    struct pe_code image;

    if (pe_sniff(file->map, (size_t)record->size)) {
        if (!embedded_pdb_sniff(file->map, (size_t)record->size) ||
            pe_code_read(file->map, (size_t)record->size, &image, error,
                         size) != 0 ||
            !image.debug_id.is_known) {
            snprintf(error, size, "no portable PDB in it");
            return false;
        }
        record->age = PORTABLEPDB_AGE;
        memcpy(record->guid, image.debug_id.guid, sizeof(record->guid));
        return true;
    }
    if (portablepdb_sniff(file->map, (size_t)record->size)) {
        if (portablepdb_identity_read(file->map, (size_t)record->size,
                                      &portable, error, size) != 0) {
            return false;
        }
        record->age = PORTABLEPDB_AGE;
        memcpy(record->guid, portable.guid, sizeof(portable.guid));
        return true;
    }
    if (pdb_identity_read(file->map, (size_t)record->size, &identity, error,
                          size) != 0) {
        return false;
    }
    record->age = identity.age;
    memcpy(record->guid, identity.guid, sizeof(identity.guid));
    return true;
}

bool pdb_directory_look(struct pdb_directory *directory,
                        struct pdb_directory_file *file,
                        const symcache_key_t *key)
{
    char error[160];

    if (file->known) {
        return true;
    }

    if (pdb_directory_read_identity(file, error, sizeof(error))) {
        file->record.sound = 1;
    } else if (file < directory->files + directory->nnamed) {
        /* This may be the requested PDB while it is being copied. */
        snprintf(directory->damaged, sizeof(directory->damaged), "%s: %s",
                 file->name, error);
    }
    /* A file that has just changed may still be written to. */
    if (directory->nrecords < FLAT_FILES &&
        (file->record.sound != 0 ||
         file->record.seconds + FLAT_SETTLED < time(NULL))) {
        directory->records[directory->nrecords++] = file->record;
    }
    return is_pdb_of(&file->record, key);
}

void pdb_directory_save(const struct pdb_directory *directory, int index)
{
    (void)fd_write(index, directory->records,
                   directory->nrecords * sizeof(directory->records[0]));
}
