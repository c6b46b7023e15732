/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process that unpacks.  It opens everything first, then enters the
 * sandbox, and only then looks at the first byte; except for the header of a
 * cabinet, which names the file that it goes on in.  A result is a letter that
 * unpack_process.c reads, with its detail.
 */
#include "intake.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cabinet.h"
#include "casefold_open.h"
#include "child/child.h"
#include "config/config.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "dir_places.h"
#include "original_check.h"
#include "sandbox/sandbox.h"
#include "slice.h"

#define UNPACK_OUT_FD CHILD_FD
#define UNPACK_IN_FD (CHILD_FD + 1)
#define UNPACK_INDEX_FD (CHILD_FD + 1)
#define UNPACK_NEW_INDEX_FD (CHILD_FD + 2)
#define UNPACK_SOCKET_FD (CHILD_FD + 1) /* flat: behind the two above */
#define UNPACK_FLAT_SOCKET_FD (CHILD_FD + 3)
#define UNPACK_TEXT 512
#define UNPACK_PDBS (1u << FORMAT_PDB | 1u << FORMAT_PORTABLEPDB)
#define UNPACK_RATIO 6 /* a guess of how much larger a PDB is than packed */
#define UNPACK_MEMORY (1024ull * 1024 * 1024) /* beside the mappings */
#define UNPACK_MAP_MAX (1ull << 45)
#define UNPACK_POINTER_MAX 4096

struct unpack_job {
    symcache_key_t key;
    unsigned formats;       /* that are wanted */
    bool is_packed;         /* wanted as it lies, */
    enum body_kind packing; /* packed so */
    const char *checksum;   /* see original_check.c; or NULL */
    uint64_t max;
    struct limited_writer writer; /* to the output, as it begins */
    const uint8_t *in;  /* a received body, mapped; it may be the PDB */
    const uint8_t *out; /* the output, mapped, if a body is packed */
    bool received;      /* a body was received, and may stay where it is */
    bool coded;         /* with a Content-Encoding */
    int growing; /* a file of a directory, which may be written yet; or -1 */
    struct pdb_directory *directory; /* replaces the first place; or NULL */
    struct dir_places places;
    struct cabinet_parts parts[UNPACK_PLACES]; /* beside the places */
    const struct cabinet_parts
        *beside; /* the file that is unpacked; or NULL */
};

/* one file --------------------------------------------------------------- */

/* Prints a line about a place to the parent, on stderr. */
static void unpack_say(size_t place, char letter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void unpack_say(size_t place, char letter, const char *format, ...)
{
    char text[UNPACK_TEXT], *p;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    for (p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ') {
            *p = ' ';
        }
    }
    fprintf(stderr, "@%zu %c %s\n", place, letter, text);
}

/*
 * Like body_sniff(); but if any file is allowed here, the body counts as
 * neither packed nor any other kind.  A mapping can begin like any text, and a
 * UUID map is one of many kinds of XML, a package of split DWARF is an ELF
 * file; they are checked later.
 */
static enum body_kind sniff_body(const struct unpack_job *unpack,
                                 const uint8_t *head, size_t len,
                                 const char **what)
{
    static const enum original_format texts[] = {
        FORMAT_PROGUARD, FORMAT_UUIDMAP, FORMAT_IL2CPP};
    enum body_kind kind = body_sniff(head, len, what);
    size_t i;

    if (unpack->formats == 1u << FORMAT_ANY) {
        return (enum body_kind)(BODY_ORIGINAL + FORMAT_ANY);
    }
    if (unpack->formats == 1u << FORMAT_DWP &&
        kind == (enum body_kind)(BODY_ORIGINAL + FORMAT_ELF)) {
        return (enum body_kind)(BODY_ORIGINAL + FORMAT_DWP);
    }
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (unpack->formats == 1u << texts[i] && kind == BODY_OTHER &&
            (strcmp(*what, BODY_UNKNOWN) == 0 || texts[i] == FORMAT_UUIDMAP)) {
            return (enum body_kind)(BODY_ORIGINAL + texts[i]);
        }
    }
    return kind;
}

/* Is it of a format that is wanted, or the other kind of PDB? */
static bool is_original(const struct unpack_job *unpack, enum body_kind kind)
{
    unsigned format = kind < BODY_ORIGINAL ? 0 : 1u << (kind - BODY_ORIGINAL);

    return (format & unpack->formats) ||
           ((format & UNPACK_PDBS) && (unpack->formats & UNPACK_PDBS));
}

/* Is it a letter of a file that was found? */
static bool unpack_is_found(char letter)
{
    return letter == 'F' || letter == 'f';
}

/*
 * Windows PDBs and portable ones have the same places, and of each something
 * else is made.  If it is the one with the GUID of the key, this is said.
 */
static char check_identity(const struct unpack_job *unpack, const uint8_t *map,
                           uint64_t size, char *detail, size_t detail_size)
{
    enum original_format format;
    enum body_kind kind;
    unsigned features;
    const char *what;
    char letter;

    kind = sniff_body(unpack, map, size < BODY_HEAD ? (size_t)size : BODY_HEAD,
                      &what);
    if (!is_original(unpack, kind)) {
        snprintf(detail, detail_size, "changed while it was read: %s", what);
        return 'E';
    }
    format = (enum original_format)(kind - BODY_ORIGINAL);
    if (unpack->formats & 1u << format) {
        letter = original_check(&unpack->key, format, unpack->checksum, map,
                                size, &features, detail, detail_size);
        if (letter == 'C' && unpack->growing >= 0 &&
            !dir_places_settled(unpack->growing, size)) {
            snprintf(detail, detail_size, "is cut off in its last line");
            return 'U';
        }
        letter = letter == 'C' ? 'F' : letter;
        if (unpack_is_found(letter)) {
            unpack_say(0, 'S', "%x", features);
        }
        return letter;
    }
    snprintf(detail, detail_size, "%s", what);
    return original_has_guid(&unpack->key, format, map, size) ? 'X' : 'U';
}

static char unpack_finish_file(const struct unpack_job *unpack, int fd,
                               char *detail, size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char letter;

    if (end < 0) {
        snprintf(detail, size, "lseek: %s", strerror(errno));
        return 'M';
    }
    if ((uint64_t)end > unpack->max) {
        snprintf(detail, size, "larger than download_size (%" PRIu64 " bytes)",
                 unpack->max);
        return 'U';
    }

    letter =
        check_identity(unpack, fd == UNPACK_OUT_FD ? unpack->out : unpack->in,
                       (uint64_t)end, detail, size);
    if (unpack_is_found(letter) && fdatasync(fd) != 0 && errno != EINVAL) {
        snprintf(detail, size, "fdatasync: %s", strerror(errno));
        return 'M';
    }
    return letter;
}

/*
 * If only a part of the file was requested, reduces the output to that part
 * and returns true with its letter.  Returns false if the file stays as it is.
 */
static bool narrow_to_slice(const struct unpack_job *unpack, int fd,
                            char *letter, char *detail, size_t size)
{
    struct limited_writer writer = unpack->writer;
    const uint8_t *map = fd == UNPACK_OUT_FD ? unpack->out : unpack->in;
    off_t end = lseek(fd, 0, SEEK_END);
    uint64_t offset, length;
    const char *why;
    enum slice part = end < 0
                          ? SLICE_WHOLE
                          : slice_find(&unpack->key, unpack->formats, map,
                                       (uint64_t)end, &offset, &length, &why);

    if (part == SLICE_NONE) {
        snprintf(detail, size, "%s", why);
        *letter = 'N';
    } else if (part == SLICE_PART &&
               (slice_copy(fd, offset, length, &writer) != 0 ||
                fdatasync(UNPACK_OUT_FD) != 0)) {
        snprintf(detail, size, "the part of it cannot be written: %s",
                 strerror(writer.error != 0 ? writer.error : errno));
        *letter = 'M';
    } else if (part == SLICE_PART &&
               unpack->key.kind != SYMCACHE_KIND_SYMCACHE) {
        snprintf(detail, size, "%" PRIu64 " bytes", length);
    } else if (part == SLICE_PART) {
        *letter = unpack_finish_file(unpack, UNPACK_OUT_FD, detail, size);
    }
    return part != SLICE_WHOLE;
}

/* Checks the file in fd, the output or the received body. */
static char unpack_finish(const struct unpack_job *unpack, int fd,
                          char *detail, size_t size)
{
    char letter = unpack_finish_file(unpack, fd, detail, size);

    if (!unpack_is_found(letter) ||
        narrow_to_slice(unpack, fd, &letter, detail, size) ||
        fd == UNPACK_OUT_FD) {
        return letter;
    }
    return letter == 'F' ? 'K' : 'k';
}

/*
 * Returns the letter of a failure, and reports how many bytes had no room: the
 * size of a plain PDB is known, that of a packed one is guessed.
 */
static char unpacking_failed(const struct unpack_job *unpack,
                             enum body_status status,
                             const struct limited_writer *writer, int fd,
                             bool packed)
{
    uint64_t wanted;
    off_t end;

    if (limited_writer_is_full(writer) && !writer->over &&
        (end = lseek(fd, 0, SEEK_END)) > 0) {
        wanted = (uint64_t)end * (packed ? UNPACK_RATIO : 1);
        if (packed && wanted < 2 * writer->written) {
            wanted = 2 * writer->written;
        }
        unpack_say(0, 'R', "%" PRIu64, wanted);
    }
    if (status == BODY_SYSTEM) {
        return writer->error != 0 || unpack->received ? 'M' : 'E';
    }
    return status == BODY_UNREADABLE ? 'B' : 'U';
}

/* Empties the output.  Returns 0, or -1 with detail. */
static int unpack_empty_out(char *detail, size_t size)
{
    if (lseek(UNPACK_OUT_FD, 0, SEEK_SET) != 0 ||
        ftruncate(UNPACK_OUT_FD, 0) != 0) {
        snprintf(detail, size, "write: %s", strerror(errno));
        return -1;
    }
    return 0;
}

/* Puts the packed body in fd, whose content was found to be right, in the
 * place of that.  Returns the letter, or that of a failure. */
static char keep_packed(const struct unpack_job *unpack, int fd, char letter,
                        char *detail, size_t size)
{
    struct limited_writer writer = unpack->writer;
    enum body_status status;

    if (unpack_empty_out(detail, size) != 0) {
        return 'M';
    }
    status = body_copy(fd, &writer, detail, size);
    if (status != BODY_OK) {
        return unpacking_failed(unpack, status, &writer, fd, false);
    }
    if (fdatasync(UNPACK_OUT_FD) != 0 && errno != EINVAL) {
        snprintf(detail, size, "fdatasync: %s", strerror(errno));
        return 'M';
    }
    snprintf(detail, size, "%" PRIu64 " bytes", writer.written);
    return letter;
}

/* Is the body what is wanted as it lies?  Otherwise detail says why not: a
 * cabinet of a set is of no use without the others, which have other names. */
static bool is_wanted_packed(const struct unpack_job *unpack,
                             enum body_kind kind, int fd, const char *what,
                             char *detail, size_t size)
{
    char next[CABINET_NAME];

    if (kind != unpack->packing) {
        snprintf(detail, size, "%s, which is not packed so", what);
        return false;
    }
    if (kind == BODY_CABINET && cabinet_next(fd, next)) {
        snprintf(detail, size, "a cabinet of several");
        return false;
    }
    return true;
}

/* Unpacks the body in fd to the output, which must be an original file
 * then. */
static char unpack_packed(struct unpack_job *unpack, enum body_kind kind,
                          int fd, const char *what, char *detail, size_t size)
{
    struct limited_writer writer = unpack->writer;
    enum body_status status;
    uint8_t head[BODY_HEAD];
    char letter;
    ssize_t n;

    if (unpack->is_packed &&
        !is_wanted_packed(unpack, kind, fd, what, detail, size)) {
        return 'N';
    }
    status = decompress(kind, fd, unpack->beside, &writer, detail, size);
    if (status != BODY_OK) {
        return unpacking_failed(unpack, status, &writer, fd, true);
    }

    n = pread(UNPACK_OUT_FD, head, sizeof(head), 0);
    if (n < 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return 'M';
    }
    kind = sniff_body(unpack, head, (size_t)n, &what);
    if (!is_original(unpack, kind)) {
        snprintf(detail, size, "%s inside the packed body", what);
        return kind == BODY_OTHER ? 'U' : 'B';
    }
    unpack->growing = -1; /* it was unpacked to its end */

    letter = unpack_finish(unpack, UNPACK_OUT_FD, detail, size);
    return unpack->is_packed && unpack_is_found(letter)
               ? keep_packed(unpack, fd, letter, detail, size)
               : letter;
}

/* A portable PDB inside an image is only used for a PpdbCache: clients do not
 * ask for it as an original. */
static bool unpack_takes_images(const struct unpack_job *unpack)
{
    return unpack->formats == 1u << FORMAT_PORTABLEPDB;
}

/* Takes the portable PDB out of the image in fd, which is mapped already, or
 * is by way of the output. */
static char unpack_image(const struct unpack_job *unpack, int fd, char *detail,
                         size_t size)
{
    struct limited_writer writer = unpack->writer;
    off_t end = lseek(fd, 0, SEEK_END);
    enum body_status status;
    struct failure failure = {0};
    size_t pdb_size;
    uint8_t *pdb;
    int rc;

    if (end < 0) {
        snprintf(detail, size, "lseek: %s", strerror(errno));
        return unpack->received ? 'M' : 'E';
    }
    if (!unpack->received) {
        status = body_copy(fd, &writer, detail, size);
        if (status != BODY_OK) {
            return unpacking_failed(unpack, status, &writer, fd, false);
        }
    }
    if (embedded_pdb_unpack(unpack->received ? unpack->in : unpack->out,
                            (size_t)end, &pdb, &pdb_size, &failure) != 0) {
        snprintf(detail, size, "a PE image: %.400s", failure.text);
        return 'U';
    }
    writer.written = 0;
    rc = unpack_empty_out(detail, size);
    if (rc == 0 && (rc = limited_writer_write(&writer, pdb, pdb_size)) != 0) {
        snprintf(detail, size, "the PDB in it cannot be written: %s",
                 strerror(writer.error));
    }
    free(pdb);
    return rc == 0 ? unpack_finish(unpack, UNPACK_OUT_FD, detail, size) : 'M';
}

/* Unpacks the file in fd, the received body or one of a directory, to the
 * output, which is empty, and checks it. */
static char unpack_file(struct unpack_job *unpack, int fd, char *detail,
                        size_t size)
{
    struct limited_writer writer = unpack->writer;
    enum body_status status;
    uint8_t head[BODY_HEAD];
    const char *what;
    enum body_kind kind;
    char letter = 'F';
    ssize_t n;

    n = pread(fd, head, sizeof(head), 0);
    if (n < 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return unpack->received ? 'M' : 'E';
    }

    kind = unpack->coded ? body_sniff(head, (size_t)n, &what)
                         : sniff_body(unpack, head, (size_t)n, &what);

    if (slice_is_of_sources(&unpack->key, unpack->formats)) {
        return narrow_to_slice(unpack, fd, &letter, detail, size) ? letter
                                                                  : 'U';
    }
    if (unpack->coded && kind >= BODY_OTHER) {
        snprintf(detail, size, "its Content-Encoding is none that is read");
        return 'U';
    }
    if (kind == BODY_ORIGINAL + FORMAT_PE && unpack_takes_images(unpack)) {
        return unpack_image(unpack, fd, detail, size);
    }
    if (kind >= BODY_OTHER && !is_original(unpack, kind)) {
        snprintf(detail, size, "%s", what);
        return kind == BODY_OTHER ? 'U' : 'B';
    }
    if (kind < BODY_ORIGINAL) {
        return unpack_packed(unpack, kind, fd, what, detail, size);
    }
    if (unpack->is_packed) {
        snprintf(detail, size, "%s, which is not packed", what);
        return 'N';
    }
    if (unpack->received) {
        return unpack_finish(unpack, fd, detail, size);
    }

    status = body_copy(fd, &writer, detail, size);
    if (status != BODY_OK) {
        return unpacking_failed(unpack, status, &writer, fd, false);
    }
    return unpack_finish(unpack, UNPACK_OUT_FD, detail, size);
}

/* Checks a plain original where it is.  Returns 0 if it has to be unpacked or
 * copied first, as a module without debug information has to be: it is put
 * aside while other sources are asked; and one of several images. */
static char unpack_here(const struct unpack_job *unpack,
                        const struct in_place *file, char *detail, size_t size)
{
    enum body_kind kind;
    const char *what, *why;
    uint64_t offset, length;
    char letter;

    if (file->map == NULL || unpack->is_packed) {
        return 0;
    }
    kind = body_sniff(file->map,
                      file->size < BODY_HEAD ? file->size : BODY_HEAD, &what);
    if (!is_original(unpack, kind) ||
        slice_find(&unpack->key, unpack->formats, file->map, file->size,
                   &offset, &length, &why) != SLICE_WHOLE) {
        return 0;
    }
    letter = check_identity(unpack, file->map, file->size, detail, size);
    if (letter == 'f' && kind != BODY_ORIGINAL + FORMAT_PDB &&
        !symcache_kind_is_original((symcache_kind_e)unpack->key.kind)) {
        return 0;
    }
    if (!unpack_is_found(letter)) {
        return letter;
    }
    return letter == 'F' ? 'H' : 'h';
}

/* before the sandbox ------------------------------------------------------ */

/* Asks the directory something, whatever the answer is.  Listing a large
 * directory may take longer than it is allowed to be silent. */
static void unpack_probe_place(int root, const char *place)
{
    char name[NAME_MAX + 1];
    struct stat st;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(place, "/"), place);
    (void)fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW);
    unpack_say(0, 'O', "the directory answers");
}

/* Opens the cabinets that the one in fd goes on in, by the names in their
 * headers.  It was opened by name; parts is all zeroes. */
static void unpack_open_after(struct cabinet_parts *parts, int fd,
                              const char *name,
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
static void find_cabinet_files(struct unpack_job *unpack,
                               const struct dir_search *search)
{
    const struct dir_places *places = &unpack->places;
    size_t i;

    for (i = places->first + search->is_flat; i < places->n; i++) {
        if (places->fds[i] >= 0) {
            unpack_open_after(&unpack->parts[i], places->fds[i],
                              search->names[i], search);
        }
    }
}

/* argv is "tree", "beneath" or "flat", the time since which a file that is left
 * there was not changed, the index of index2.txt, root, and the places.  For
 * "flat", the first place is the requested name. */
static int unpack_open(struct unpack_job *unpack, int argc, char **argv)
{
    char *end;
    struct dir_search search = {
        .names = (const char **)argv + 4,
        .index2 = strtoul(argv[2], NULL, 10),
        .beneath = strcmp(argv[0], "beneath") == 0,
        .any_case = unpack->formats != 1u << FORMAT_ANY,
        .unchanged = (time_t)strtoll(argv[1], &end, 10),
        .max = unpack->max,
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
    unpack_probe_place(root, search.names[0]);

    if (strcmp(argv[0], "flat") == 0) {
        search.is_flat = true;
        unpack->directory =
            pdb_directory_open(root, UNPACK_INDEX_FD, &unpack->key,
                               search.names[0], unpack_takes_images(unpack));
        if (unpack->directory == NULL) {
            unpack_say(0, 'M', "out of memory");
            return -1;
        }
    }
    if (search.unchanged != 0) {
        search.socket =
            search.is_flat ? UNPACK_FLAT_SOCKET_FD : UNPACK_SOCKET_FD;
    }
    dir_places_open(&unpack->places, &search);
    find_cabinet_files(unpack, &search);
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
static int unpack_map(struct unpack_job *unpack)
{
    void *map;

    map = mmap(NULL, (size_t)unpack->max, PROT_READ,
               MAP_SHARED | MAP_NORESERVE, UNPACK_OUT_FD, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    unpack->out = map;

    if (!unpack->received) {
        return 0;
    }

    map = mmap(NULL, (size_t)unpack->max, PROT_READ,
               MAP_SHARED | MAP_NORESERVE, UNPACK_IN_FD, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    unpack->in = map;
    return 0;
}

static int unpack_enter_sandbox(const struct unpack_job *unpack)
{
    struct sandbox_limits limits = {2 * unpack->max + UNPACK_MEMORY,
                                    unpack->max,
                                    sandbox_seconds(2 * unpack->max)};
    uint64_t index = FLAT_FILES * sizeof(struct pdb_directory_record);
    char error[UNPACK_TEXT];
    size_t i;

    if (limits.file_size < UNPACK_POINTER_MAX) {
        limits.file_size = UNPACK_POINTER_MAX;
    }
    for (i = 0; i < unpack->places.n; i++) {
        limits.memory += unpack->places.in_place[i].size;
    }
    if (unpack->directory != NULL) {
        limits.memory += unpack->directory->mapped;
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
static char unpack_flat_file(struct unpack_job *unpack, size_t i, char *detail,
                             size_t size)
{
    if (unpack_empty_out(detail, size) != 0) {
        return 'M';
    }
    if (lseek(unpack->directory->files[i].fd, 0, SEEK_SET) != 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return 'E';
    }
    unpack->growing = unpack->directory->files[i].fd;
    return unpack_file(unpack, unpack->growing, detail, size);
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
static char flat_best(struct unpack_job *unpack, size_t *best, char *detail,
                      size_t size)
{
    struct pdb_directory *directory = unpack->directory;
    char letter = 'N', other;
    size_t i, last = 0;

    for (i = 0; i < directory->nfiles && letter != 'F'; i++) {
        if (!pdb_directory_look(directory, &directory->files[i],
                                &unpack->key)) {
            continue;
        }
        last = i;
        other = unpack_flat_file(unpack, i, detail, size);
        if (better_letter(other, letter)) {
            letter = other;
            *best = i;
        }
    }
    if (letter != 'N' && *best != last) {
        letter = unpack_flat_file(unpack, *best, detail, size);
    }
    return letter;
}

/* The first place stands for all PDBs of the directory.  Returns true if no
 * other place is to be looked at. */
static bool unpack_flat(struct unpack_job *unpack)
{
    struct pdb_directory *directory = unpack->directory;
    char detail[UNPACK_TEXT], letter;
    size_t best = 0;

    letter = flat_best(unpack, &best, detail, sizeof(detail));
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
static void unpack_places(struct unpack_job *unpack)
{
    char detail[UNPACK_TEXT], letter;
    const struct dir_places *places = &unpack->places;
    const char *why;
    size_t i = places->first;

    if (unpack->directory != NULL) {
        if (unpack_flat(unpack)) {
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

        unpack->growing = unpack->received ? -1 : places->fds[i];
        unpack->beside = &unpack->parts[i];
        letter =
            unpack_here(unpack, &places->in_place[i], detail, sizeof(detail));
        if (letter == 0) {
            letter =
                places->pointer[i]
                    ? unpack_pointer(places->fds[i], detail, sizeof(detail))
                    : unpack_file(unpack, places->fds[i], detail,
                                  sizeof(detail));
        }
        unpack_say(i, letter, "%s", detail);

        if (strchr("FfKkHhP", letter) != NULL) {
            return;
        }
    }
}

/* id is "<kind>/<id>". */
static bool unpack_read_key(symcache_key_t *key, const char *id,
                            const char *name)
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
static void want_packed(struct unpack_job *unpack)
{
    unpack->is_packed =
        symcache_kind_is_packed((symcache_kind_e)unpack->key.kind);
    unpack->packing =
        unpack->key.kind == SYMCACHE_KIND_CABINET ? BODY_CABINET : BODY_GZIP;
    unpack->key.kind = (uint8_t)symcache_key_unpacked(&unpack->key);
}

int unpack_main(int argc, char **argv)
{
    struct unpack_job unpack = {0};
    char *end;

    unpack.formats = argc < 6 ? 0 : config_formats_parse(argv[4]);
    if (unpack.formats == 0 || (argc > 6 && argc < 11) ||
        !unpack_read_key(&unpack.key, argv[2], argv[5])) {
        fprintf(stderr, SANDBOX_PROGRAM ": --unpack is for symcached itself\n");
        return 2;
    }

    want_packed(&unpack);
    unpack.max = strtoull(argv[3], &end, 10);
    unpack.writer.keep = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    unpack.writer.lent = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    if (unpack.max == 0 || unpack.max > UNPACK_MAP_MAX) {
        unpack.max = UNPACK_MAP_MAX;
    }
    unpack.writer.fd = UNPACK_OUT_FD;
    unpack.writer.max = unpack.max;

    if (argc == 6) {
        unpack.received = true;
        unpack.places.fds[unpack.places.n++] = UNPACK_IN_FD;
    } else if (unpack_open(&unpack, argc - 6, argv + 6) != 0) {
        return 0;
    }

    if (unpack_map(&unpack) != 0) {
        unpack_say(0, 'M', "mmap: %s", strerror(errno));
        return 0;
    }
    unpack.checksum = getenv(UNPACK_CHECKSUM);
    unpack.coded = getenv(UNPACK_CODED) != NULL;
    if (unpack_enter_sandbox(&unpack) == 0) {
        unpack_places(&unpack);
    }
    return 0;
}
