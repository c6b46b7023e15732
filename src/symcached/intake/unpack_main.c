/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process that unpacks.  It opens everything first, then enters the
 * sandbox, and only then looks at the first byte; except for the header of a
 * cabinet, which names the file that it goes on in.
 */
#include "intake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "casefold_open.h"
#include "config/config.h"
#include "sandbox/sandbox.h"
#include "unpack_file.h"

#define UNPACK_MEMORY (1024ull * 1024 * 1024) /* beside the mappings */
#define UNPACK_MAP_MAX (1ull << 45)
#define UNPACK_POINTER_MAX 4096

/* Asks the directory something, whatever the answer is.  Listing a large
 * directory may take longer than it is allowed to be silent. */
static void probe_place(int root, const char *place)
{
    char name[NAME_MAX + 1];
    struct stat st;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(place, "/"), place);
    (void)fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW);
    unpack_say(0, 'O', "the directory answers");
}

/* Opens the cabinets that the one in fd goes on in, by the names in their
 * headers.  It was opened by name; parts is all zeroes. */
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

/* Does so for each of the open places that is the first of a set. */
static void find_cabinet_files(struct unpack_job *job,
                               const struct dir_search *search)
{
    const struct dir_places *places = &job->places;
    size_t i;

    for (i = places->first + search->is_flat; i < places->n; i++) {
        if (places->fds[i] >= 0) {
            open_after(&job->parts[i], places->fds[i], search->names[i],
                       search);
        }
    }
}

/* argv is "tree", "beneath" or "flat", the time since which a file that is left
 * there was not changed, the index of index2.txt, root, and the places.  For
 * "flat", the first place is the requested name. */
static int unpack_open(struct unpack_job *job, int argc, char **argv)
{
    char *end;
    struct dir_search search = {
        .names = (const char **)argv + 4,
        .index2 = strtoul(argv[2], NULL, 10),
        .beneath = strcmp(argv[0], "beneath") == 0,
        .any_case = job->formats != 1u << FORMAT_ANY,
        .unchanged = (time_t)strtoll(argv[1], &end, 10),
        .max = job->max,
        .socket = -1,
    };
    int root;

    search.settled = *end == ':' ? (time_t)strtoll(end + 1, NULL, 10) : 0;
    root = open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        /* A directory that is not mounted does not prove that the file is
         * absent. */
        unpack_say(0, 'E', "%s: %s", argv[3], strerror(errno));
        return -1;
    }

    search.root = root;
    search.n = argc - 4 < UNPACK_PLACES ? (size_t)argc - 4 : UNPACK_PLACES;
    probe_place(root, search.names[0]);

    if (strcmp(argv[0], "flat") == 0) {
        search.is_flat = true;
        job->directory =
            pdb_directory_open(root, UNPACK_INDEX_FD, &job->key,
                               search.names[0], unpack_takes_images(job));
        if (job->directory == NULL) {
            unpack_say(0, 'M', "out of memory");
            return -1;
        }
    }
    if (search.unchanged != 0) {
        search.socket =
            search.is_flat ? UNPACK_FLAT_SOCKET_FD : UNPACK_SOCKET_FD;
    }
    dir_places_open(&job->places, &search);
    find_cabinet_files(job, &search);
    if (search.socket >= 0) {
        close(search.socket); /* nothing is said there from the sandbox */
    }
    close(root);
    return 0;
}

/*
 * Maps everything that may have to be checked, because the sandbox forbids it
 * later.  The output is still empty; what is written to it appears in the
 * mapping.
 */
static int unpack_map(struct unpack_job *job)
{
    void *map;

    map = mmap(NULL, (size_t)job->max, PROT_READ, MAP_SHARED | MAP_NORESERVE,
               UNPACK_OUT_FD, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    job->out = map;

    if (!job->received) {
        return 0;
    }

    map = mmap(NULL, (size_t)job->max, PROT_READ, MAP_SHARED | MAP_NORESERVE,
               UNPACK_IN_FD, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    job->in = map;
    return 0;
}

static int enter_sandbox(const struct unpack_job *job)
{
    struct sandbox_limits limits = {2 * job->max + UNPACK_MEMORY, job->max,
                                    sandbox_seconds(2 * job->max)};
    uint64_t index = FLAT_FILES * sizeof(struct pdb_directory_record);
    char error[UNPACK_TEXT];
    size_t i;

    if (limits.file_size < UNPACK_POINTER_MAX) {
        limits.file_size = UNPACK_POINTER_MAX;
    }
    for (i = 0; i < job->places.n; i++) {
        limits.memory += job->places.in_place[i].size;
    }
    if (job->directory != NULL) {
        limits.memory += job->directory->mapped;
        limits.file_size = limits.file_size < index ? index : limits.file_size;
    }

    if (sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        unpack_say(0, 'M', "%s", error);
        return -1;
    }
    return 0;
}

/* places ----------------------------------------------------------------- */

static char unpack_pointer(int fd, char *detail, size_t size)
{
    char text[UNPACK_POINTER_MAX];
    ssize_t n = pread(fd, text, sizeof(text), 0);

    if (n < 0 || write(UNPACK_OUT_FD, text, (size_t)n) != n) {
        snprintf(detail, size, "file.ptr: %s", strerror(errno));
        return n < 0 ? 'E' : 'M';
    }

    snprintf(detail, size, "file.ptr");
    return 'P';
}

/* Copies a file of the directory to the output, which may contain another. */
static char unpack_flat_file(struct unpack_job *job, size_t i, char *detail,
                             size_t size)
{
    if (unpack_empty_out(detail, size) != 0) {
        return 'M';
    }
    if (lseek(job->directory->files[i].fd, 0, SEEK_SET) != 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return 'E';
    }
    job->growing = job->directory->files[i].fd;
    return unpack_file(job, job->growing, detail, size);
}

/* All symbols are better than public ones.  A file that may become readable
 * is better than one that will not. */
static bool better_letter(char letter, char than)
{
    static const char order[] = "NWXBUEMfF";

    return strchr(order, letter) > strchr(order, than);
}

/*
 * Copies the best of the files, and the first among equal ones.  Returns N or
 * the result, and the file's index.
 */
static char flat_best(struct unpack_job *job, size_t *best, char *detail,
                      size_t size)
{
    struct pdb_directory *directory = job->directory;
    char letter = 'N', other;
    size_t i, last = 0;

    for (i = 0; i < directory->nfiles && letter != 'F'; i++) {
        if (!pdb_directory_look(directory, &directory->files[i], &job->key)) {
            continue;
        }
        last = i;
        other = unpack_flat_file(job, i, detail, size);
        if (better_letter(other, letter)) {
            letter = other;
            *best = i;
        }
    }
    if (letter != 'N' && *best != last) {
        letter = unpack_flat_file(job, *best, detail, size);
    }
    return letter;
}

/* The first place stands for all PDBs of the directory.  Returns true if no
 * other place is to be looked at. */
static bool unpack_flat(struct unpack_job *job)
{
    struct pdb_directory *directory = job->directory;
    char detail[UNPACK_TEXT], letter;
    size_t best = 0;

    letter = flat_best(job, &best, detail, sizeof(detail));
    pdb_directory_save(directory, UNPACK_NEW_INDEX_FD);

    if (letter != 'N') {
        unpack_say(0, letter, "%s: %s", directory->files[best].name, detail);
    } else if (directory->more) {
        unpack_say(0, 'A', "%zu are known", directory->nrecords);
    } else if (directory->error[0] != '\0') {
        unpack_say(0, 'E', "%s", directory->error);
    } else if (directory->damaged[0] != '\0') {
        unpack_say(0, 'U', "%s", directory->damaged);
    } else {
        unpack_say(0, 'N', "none of %zu PDBs", directory->total);
    }
    return unpack_is_found(letter) || (letter == 'N' && directory->more);
}

/* Unpacks the files of the places, in their order, up to the first that is
 * right, and says of each what became of it. */
static void unpack_places(struct unpack_job *job)
{
    char detail[UNPACK_TEXT], letter;
    const struct dir_places *places = &job->places;
    const char *why;
    size_t i = places->first;

    if (job->directory != NULL) {
        if (unpack_flat(job)) {
            return;
        }
        i++;
    }

    for (; i < places->n; i++) {
        if (places->fds[i] < 0) {
            letter = dir_places_unopened(places->errors[i], &why);
            unpack_say(i, letter, "%s", why);
            continue;
        }
        if (unpack_empty_out(detail, sizeof(detail)) != 0) {
            unpack_say(i, 'M', "%s", detail);
            return;
        }

        job->growing = job->received ? -1 : places->fds[i];
        job->beside = &job->parts[i];
        letter =
            unpack_here(job, &places->in_place[i], detail, sizeof(detail));
        if (letter == 0) {
            letter =
                places->pointer[i]
                    ? unpack_pointer(places->fds[i], detail, sizeof(detail))
                    : unpack_file(job, places->fds[i], detail, sizeof(detail));
        }
        unpack_say(i, letter, "%s", detail);

        if (strchr("FfKkHhP", letter) != NULL) {
            return;
        }
    }
}

/* id is "<kind>/<id>". */
static bool read_key(symcache_key_t *key, const char *id, const char *name)
{
    size_t len = strcspn(id, "/");
    symcache_kind_e kind;

    if (id[len] == '\0' || !symcache_kind_parse(id, len, &kind) ||
        symcache_name_parse(name, strlen(name), key) != SYMCACHE_OK ||
        symcache_id_parse(id + len + 1, strlen(id + len + 1), key) !=
            SYMCACHE_OK) {
        return false;
    }
    key->kind = (uint8_t)kind;
    return true;
}

/* What is in a packed file is looked for by the key that it has by itself. */
static void want_packed(struct unpack_job *job)
{
    job->is_packed = symcache_kind_is_packed((symcache_kind_e)job->key.kind);
    job->packing =
        job->key.kind == SYMCACHE_KIND_CABINET ? BODY_CABINET : BODY_GZIP;
    job->key.kind = (uint8_t)symcache_key_unpacked(&job->key);
}

int unpack_main(int argc, char **argv)
{
    struct unpack_job job = {0};
    char *end;

    job.formats = argc < 6 ? 0 : config_formats_parse(argv[4]);
    if (job.formats == 0 || (argc > 6 && argc < 11) ||
        !read_key(&job.key, argv[2], argv[5])) {
        fprintf(stderr, SANDBOX_PROGRAM ": --unpack is for symcached itself\n");
        return 2;
    }

    want_packed(&job);
    job.max = strtoull(argv[3], &end, 10);
    job.writer.keep = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    job.writer.lent = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    if (job.max == 0 || job.max > UNPACK_MAP_MAX) {
        job.max = UNPACK_MAP_MAX;
    }
    job.writer.fd = UNPACK_OUT_FD;
    job.writer.max = job.max;

    if (argc == 6) {
        job.received = true;
        job.places.fds[job.places.n++] = UNPACK_IN_FD;
    } else if (unpack_open(&job, argc - 6, argv + 6) != 0) {
        return 0;
    }

    if (unpack_map(&job) != 0) {
        unpack_say(0, 'M', "mmap: %s", strerror(errno));
        return 0;
    }
    job.checksum = getenv(UNPACK_CHECKSUM);
    job.coded = getenv(UNPACK_CODED) != NULL;
    if (enter_sandbox(&job) == 0) {
        unpack_places(&job);
    }
    return 0;
}
