/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unpack_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debuginfo/portablepdb/portablepdb.h"
#include "original_check.h"
#include "slice.h"

#define UNPACK_PDBS (1u << FORMAT_PDB | 1u << FORMAT_PORTABLEPDB)
#define UNPACK_RATIO 6 /* a guess of how much larger a PDB is than packed */

void unpack_say(size_t place, char letter, const char *format, ...)
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
static enum body_kind sniff_body(const struct unpack_job *job,
                                 const uint8_t *head, size_t len,
                                 const char **what)
{
    static const enum original_format texts[] = {
        FORMAT_PROGUARD, FORMAT_UUIDMAP, FORMAT_IL2CPP};
    enum body_kind kind = body_sniff(head, len, what);
    size_t i;

    if (job->formats == 1u << FORMAT_ANY) {
        return (enum body_kind)(BODY_ORIGINAL + FORMAT_ANY);
    }
    if (job->formats == 1u << FORMAT_DWP &&
        kind == (enum body_kind)(BODY_ORIGINAL + FORMAT_ELF)) {
        return (enum body_kind)(BODY_ORIGINAL + FORMAT_DWP);
    }
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (job->formats == 1u << texts[i] && kind == BODY_OTHER &&
            (strcmp(*what, BODY_UNKNOWN) == 0 || texts[i] == FORMAT_UUIDMAP)) {
            return (enum body_kind)(BODY_ORIGINAL + texts[i]);
        }
    }
    return kind;
}

/* Is it of a format that is wanted, or the other kind of PDB? */
static bool is_original(const struct unpack_job *job, enum body_kind kind)
{
    unsigned format = kind < BODY_ORIGINAL ? 0 : 1u << (kind - BODY_ORIGINAL);

    return (format & job->formats) ||
           ((format & UNPACK_PDBS) && (job->formats & UNPACK_PDBS));
}

bool unpack_is_found(char letter)
{
    return letter == 'F' || letter == 'f';
}

/*
 * Windows PDBs and portable ones have the same places, and of each something
 * else is made.  If it is the one with the GUID of the key, this is said.
 */
static char check_identity(const struct unpack_job *job, const uint8_t *map,
                           uint64_t size, char *detail, size_t detail_size)
{
    enum original_format format;
    enum body_kind kind;
    unsigned features;
    const char *what;
    char letter;

    kind = sniff_body(job, map, size < BODY_HEAD ? (size_t)size : BODY_HEAD,
                      &what);
    if (!is_original(job, kind)) {
        snprintf(detail, detail_size, "changed while it was read: %s", what);
        return 'E';
    }
    format = (enum original_format)(kind - BODY_ORIGINAL);
    if (job->formats & 1u << format) {
        letter = original_check(&job->key, format, job->checksum, map, size,
                                &features, detail, detail_size);
        if (letter == 'C' && job->growing >= 0 &&
            !dir_places_settled(job->growing, size)) {
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
    return original_has_guid(&job->key, format, map, size) ? 'X' : 'U';
}

static char finish_file(const struct unpack_job *job, int fd, char *detail,
                        size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char letter;

    if (end < 0) {
        snprintf(detail, size, "lseek: %s", strerror(errno));
        return 'M';
    }
    if ((uint64_t)end > job->max) {
        snprintf(detail, size, "larger than download_size (%" PRIu64 " bytes)",
                 job->max);
        return 'U';
    }

    letter = check_identity(job, fd == UNPACK_OUT_FD ? job->out : job->in,
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
static bool narrow_to_slice(const struct unpack_job *job, int fd, char *letter,
                            char *detail, size_t size)
{
    struct limited_writer writer = job->writer;
    const uint8_t *map = fd == UNPACK_OUT_FD ? job->out : job->in;
    off_t end = lseek(fd, 0, SEEK_END);
    uint64_t offset, length;
    const char *why;
    enum slice part = end < 0
                          ? SLICE_WHOLE
                          : slice_find(&job->key, job->formats, map,
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
    } else if (part == SLICE_PART && job->key.kind != SYMCACHE_KIND_SYMCACHE) {
        snprintf(detail, size, "%" PRIu64 " bytes", length);
    } else if (part == SLICE_PART) {
        *letter = finish_file(job, UNPACK_OUT_FD, detail, size);
    }
    return part != SLICE_WHOLE;
}

/* Checks the file in fd, the output or the received body. */
static char finish(const struct unpack_job *job, int fd, char *detail,
                   size_t size)
{
    char letter = finish_file(job, fd, detail, size);

    if (!unpack_is_found(letter) ||
        narrow_to_slice(job, fd, &letter, detail, size) ||
        fd == UNPACK_OUT_FD) {
        return letter;
    }
    return letter == 'F' ? 'K' : 'k';
}

/*
 * Returns the letter of a failure, and reports how many bytes had no room: the
 * size of a plain PDB is known, that of a packed one is guessed.
 */
static char unpacking_failed(const struct unpack_job *job,
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
        return writer->error != 0 || job->received ? 'M' : 'E';
    }
    return status == BODY_UNREADABLE ? 'B' : 'U';
}

int unpack_empty_out(char *detail, size_t size)
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
static char keep_packed(const struct unpack_job *job, int fd, char letter,
                        char *detail, size_t size)
{
    struct limited_writer writer = job->writer;
    enum body_status status;

    if (unpack_empty_out(detail, size) != 0) {
        return 'M';
    }
    status = body_copy(fd, &writer, detail, size);
    if (status != BODY_OK) {
        return unpacking_failed(job, status, &writer, fd, false);
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
static bool is_wanted_packed(const struct unpack_job *job, enum body_kind kind,
                             int fd, const char *what, char *detail,
                             size_t size)
{
    char next[CABINET_NAME];

    if (kind != job->packing) {
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
static char unpack_packed(struct unpack_job *job, enum body_kind kind, int fd,
                          const char *what, char *detail, size_t size)
{
    struct limited_writer writer = job->writer;
    enum body_status status;
    uint8_t head[BODY_HEAD];
    char letter;
    ssize_t n;

    if (job->is_packed &&
        !is_wanted_packed(job, kind, fd, what, detail, size)) {
        return 'N';
    }
    status = decompress(kind, fd, job->beside, &writer, detail, size);
    if (status != BODY_OK) {
        return unpacking_failed(job, status, &writer, fd, true);
    }

    n = pread(UNPACK_OUT_FD, head, sizeof(head), 0);
    if (n < 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return 'M';
    }
    kind = sniff_body(job, head, (size_t)n, &what);
    if (!is_original(job, kind)) {
        snprintf(detail, size, "%s inside the packed body", what);
        return kind == BODY_OTHER ? 'U' : 'B';
    }
    job->growing = -1; /* it was unpacked to its end */

    letter = finish(job, UNPACK_OUT_FD, detail, size);
    return job->is_packed && unpack_is_found(letter)
               ? keep_packed(job, fd, letter, detail, size)
               : letter;
}

bool unpack_takes_images(const struct unpack_job *job)
{
    return job->formats == 1u << FORMAT_PORTABLEPDB;
}

/* Takes the portable PDB out of the image in fd, which is mapped already, or
 * is by way of the output. */
static char unpack_image(const struct unpack_job *job, int fd, char *detail,
                         size_t size)
{
    struct limited_writer writer = job->writer;
    off_t end = lseek(fd, 0, SEEK_END);
    enum body_status status;
    struct failure failure = {0};
    size_t pdb_size;
    uint8_t *pdb;
    int rc;

    if (end < 0) {
        snprintf(detail, size, "lseek: %s", strerror(errno));
        return job->received ? 'M' : 'E';
    }
    if (!job->received) {
        status = body_copy(fd, &writer, detail, size);
        if (status != BODY_OK) {
            return unpacking_failed(job, status, &writer, fd, false);
        }
    }
    if (embedded_pdb_unpack(job->received ? job->in : job->out, (size_t)end,
                            &pdb, &pdb_size, &failure) != 0) {
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
    return rc == 0 ? finish(job, UNPACK_OUT_FD, detail, size) : 'M';
}

char unpack_file(struct unpack_job *job, int fd, char *detail, size_t size)
{
    struct limited_writer writer = job->writer;
    enum body_status status;
    uint8_t head[BODY_HEAD];
    const char *what;
    enum body_kind kind;
    char letter = 'F';
    ssize_t n;

    n = pread(fd, head, sizeof(head), 0);
    if (n < 0) {
        snprintf(detail, size, "read: %s", strerror(errno));
        return job->received ? 'M' : 'E';
    }

    kind = job->coded ? body_sniff(head, (size_t)n, &what)
                      : sniff_body(job, head, (size_t)n, &what);

    if (slice_is_of_sources(&job->key, job->formats)) {
        return narrow_to_slice(job, fd, &letter, detail, size) ? letter : 'U';
    }
    if (job->coded && kind >= BODY_OTHER) {
        snprintf(detail, size, "its Content-Encoding is none that is read");
        return 'U';
    }
    if (kind == BODY_ORIGINAL + FORMAT_PE && unpack_takes_images(job)) {
        return unpack_image(job, fd, detail, size);
    }
    if (kind >= BODY_OTHER && !is_original(job, kind)) {
        snprintf(detail, size, "%s", what);
        return kind == BODY_OTHER ? 'U' : 'B';
    }
    if (kind < BODY_ORIGINAL) {
        return unpack_packed(job, kind, fd, what, detail, size);
    }
    if (job->is_packed) {
        snprintf(detail, size, "%s, which is not packed", what);
        return 'N';
    }
    if (job->received) {
        return finish(job, fd, detail, size);
    }

    status = body_copy(fd, &writer, detail, size);
    if (status != BODY_OK) {
        return unpacking_failed(job, status, &writer, fd, false);
    }
    return finish(job, UNPACK_OUT_FD, detail, size);
}

char unpack_here(const struct unpack_job *job, const struct in_place *file,
                 char *detail, size_t size)
{
    enum body_kind kind;
    const char *what, *why;
    uint64_t offset, length;
    char letter;

    if (file->map == NULL || job->is_packed) {
        return 0;
    }
    kind = body_sniff(file->map,
                      file->size < BODY_HEAD ? file->size : BODY_HEAD, &what);
    if (!is_original(job, kind) ||
        slice_find(&job->key, job->formats, file->map, file->size, &offset,
                   &length, &why) != SLICE_WHOLE) {
        return 0;
    }
    letter = check_identity(job, file->map, file->size, detail, size);
    if (letter == 'f' && kind != BODY_ORIGINAL + FORMAT_PDB &&
        !symcache_kind_is_original((symcache_kind_e)job->key.kind)) {
        return 0;
    }
    if (!unpack_is_found(letter)) {
        return letter;
    }
    return letter == 'F' ? 'H' : 'h';
}
