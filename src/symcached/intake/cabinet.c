/*
 * Copyright (C) the ngx_symcache authors
 *
 * libmspack asks for files by their names.  Here these are the numbers of the
 * descriptors that are open.
 */
#include "cabinet.h"

#include <errno.h>
#include <mspack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/le.h"
#include "proto/key.h"

#define CABINET_MAGIC "MSCF\0\0\0" /* and a NUL */
#define CABINET_HEADER 36
#define CABINET_RESERVE 4 /* sizes of reserved areas, behind the header */
#define CABINET_HAS_PREVIOUS 0x0001u
#define CABINET_HAS_NEXT 0x0002u
#define CABINET_HAS_RESERVE 0x0004u

#define CABINET_SPANS "of a cabinet that spans several files"

struct cabinet {
    struct mspack_system system; /* first: libmspack passes it back */
    struct limited_writer *writer;
    size_t n;
    int fds[1 + CABINET_PARTS];
    char names[1 + CABINET_PARTS][12]; /* of the same, for libmspack */
};

struct cabinet_header {
    unsigned folders, files, flags, set, index;
};

/* A file that libmspack has opened.  writer is NULL for the input. */
struct cabinet_file {
    int in;
    off_t offset;
    struct limited_writer *writer;
};

static struct mspack_file *cabinet_open(struct mspack_system *self,
                                        const char *name, int mode)
{
    struct cabinet *cabinet = (struct cabinet *)self;
    struct cabinet_file *file = calloc(1, sizeof(*file));

    if (file == NULL) {
        return NULL;
    }

    if (mode == MSPACK_SYS_OPEN_READ) {
        file->in = (int)strtol(name, NULL, 10);
    } else {
        file->writer = cabinet->writer;
    }
    return (struct mspack_file *)file;
}

static void cabinet_close(struct mspack_file *handle)
{
    free(handle);
}

static int cabinet_read(struct mspack_file *handle, void *buf, int len)
{
    struct cabinet_file *file = (struct cabinet_file *)handle;
    int done = 0;
    ssize_t n;

    if (file->writer != NULL || len < 0) {
        return -1;
    }

    while (done < len) {
        n = pread(file->in, (char *)buf + done, (size_t)(len - done),
                  file->offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        done += (int)n;
        file->offset += n;
    }

    return done;
}

static int cabinet_write(struct mspack_file *handle, void *buf, int len)
{
    struct cabinet_file *file = (struct cabinet_file *)handle;

    if (file->writer == NULL || len < 0 ||
        limited_writer_write(file->writer, buf, (size_t)len) != 0) {
        return -1;
    }
    return len;
}

static int mspack_seek(struct mspack_file *handle, off_t offset, int mode)
{
    struct cabinet_file *file = (struct cabinet_file *)handle;
    off_t base = 0;

    if (file->writer != NULL) {
        return -1;
    }
    if (mode == MSPACK_SYS_SEEK_CUR) {
        base = file->offset;
    } else if (mode == MSPACK_SYS_SEEK_END) {
        base = lseek(file->in, 0, SEEK_END);
    }
    if (base < 0 || __builtin_add_overflow(base, offset, &base) || base < 0) {
        return -1;
    }

    file->offset = base;
    return 0;
}

static off_t mspack_tell(struct mspack_file *handle)
{
    struct cabinet_file *file = (struct cabinet_file *)handle;

    return file->writer != NULL ? (off_t)file->writer->written : file->offset;
}

static void mspack_message(struct mspack_file *file, const char *format, ...)
{
}

static void *mspack_alloc(struct mspack_system *self, size_t bytes)
{
    return malloc(bytes);
}

static void mspack_release(void *p)
{
    free(p);
}

static void mspack_copy(void *from, void *to, size_t bytes)
{
    memcpy(to, from, bytes);
}

static bool cabinet_read_header(int in, struct cabinet_header *header)
{
    uint8_t p[CABINET_HEADER];

    if (pread(in, p, sizeof(p), 0) != (ssize_t)sizeof(p) ||
        memcmp(p, CABINET_MAGIC, sizeof(CABINET_MAGIC)) != 0) {
        return false;
    }
    *header = (struct cabinet_header){le16(p + 26), le16(p + 28), le16(p + 30),
                                      le16(p + 32), le16(p + 34)};
    return true;
}

/* Copies a name of a file, without a folder, from the len bytes at p. */
static bool copy_name(char name[CABINET_NAME], const char *p, size_t len)
{
    size_t n = strnlen(p, len);
    symcache_key_t key;

    if (n == len || n >= CABINET_NAME ||
        symcache_name_parse(p, n, &key) != SYMCACHE_OK) {
        return false;
    }
    memcpy(name, p, n + 1);
    return true;
}

bool cabinet_next(int in, char name[CABINET_NAME])
{
    struct cabinet_header header;
    char names[3 * CABINET_NAME]; /* cabinet and disk before it, and it */
    uint8_t reserve[CABINET_RESERVE];
    off_t at = CABINET_HEADER;
    const char *p = names, *end;
    unsigned before;
    ssize_t n;

    if (!cabinet_read_header(in, &header) ||
        !(header.flags & CABINET_HAS_NEXT)) {
        return false;
    }
    if (header.flags & CABINET_HAS_RESERVE) {
        if (pread(in, reserve, sizeof(reserve), at) != CABINET_RESERVE) {
            return false;
        }
        at += CABINET_RESERVE + (off_t)le16(reserve);
    }

    n = pread(in, names, sizeof(names), at);
    if (n <= 0) {
        return false;
    }
    end = names + n;
    for (before = header.flags & CABINET_HAS_PREVIOUS ? 2 : 0; before > 0;
         before--) {
        p += strnlen(p, (size_t)(end - p));
        if (p++ == end) {
            return false;
        }
    }
    return copy_name(name, p, (size_t)(end - p));
}

/* The first cabinet of a set, or the only one.  Refuses what would cost
 * libmspack much time or memory. */
static enum body_status check_first(int in, struct cabinet_header *header,
                                    char *error, size_t size)
{
    if (!cabinet_read_header(in, header)) {
        snprintf(error, size, "truncated cabinet");
        return BODY_BAD;
    }
    if (header->folders != 1 || header->files != 1) {
        snprintf(error, size, "cabinet with %u folders and %u files",
                 header->folders, header->files);
        return BODY_UNREADABLE;
    }
    if (header->flags & CABINET_HAS_PREVIOUS) {
        snprintf(error, size, "a later part " CABINET_SPANS
                 ", without its first");
        return BODY_UNREADABLE;
    }
    return BODY_OK;
}

/* Writes why the cabinet with that header is not the i-th one after the first
 * one.  Returns false if it is. */
static bool is_other(const struct cabinet_header *header,
                     const struct cabinet_header *first, size_t i, char *why,
                     size_t size)
{
    unsigned index = (unsigned)(first->index + i) & 0xffff;

    if (header->folders != 1 || header->files != 1) {
        snprintf(why, size, "has %u folders and %u files", header->folders,
                 header->files);
    } else if (header->set != first->set) {
        snprintf(why, size, "belongs to another set");
    } else if (header->index != index) {
        snprintf(why, size, "has number %u in its set instead of %u",
                 header->index, index);
    } else if (!(header->flags & CABINET_HAS_PREVIOUS)) {
        snprintf(why, size, "is the first of its set");
    } else {
        return false;
    }
    return true;
}

/* The last part that was found is not the last one of the set. */
static enum body_status check_last_cabinet(const struct cabinet_parts *parts,
                                           const struct cabinet *cabinet,
                                           char *error, size_t size)
{
    char name[CABINET_NAME];
    size_t n = cabinet->n;

    if (n > CABINET_PARTS) {
        snprintf(error, size, "a cabinet in more than %d files",
                 1 + CABINET_PARTS);
    } else if (!cabinet_next(cabinet->fds[n - 1], name)) {
        snprintf(error, size, "part %zu " CABINET_SPANS
                 ", the next of which has no valid name", n);
    } else if (parts == NULL || parts->missing == NULL) {
        snprintf(error, size, "part %zu " CABINET_SPANS, n);
    } else {
        snprintf(error, size, "part %zu of the cabinet, %s: %s", n + 1, name,
                 parts->missing);
        return parts->failed ? BODY_SYSTEM : BODY_BAD;
    }
    return BODY_UNREADABLE;
}

/* Adds the cabinets of a set.  libmspack does not check that they are of one
 * set and in its order. */
static enum body_status add_parts(struct cabinet *cabinet, int in,
                                  const struct cabinet_parts *parts,
                                  char *error, size_t size)
{
    struct cabinet_header first, header;
    enum body_status status = check_first(in, &first, error, size);
    char name[CABINET_NAME] = "", why[64];
    size_t i, n = parts != NULL ? parts->n : 0;

    if (status != BODY_OK) {
        return status;
    }

    cabinet->fds[cabinet->n++] = in;
    header = first;
    for (i = 0; i < n && header.flags & CABINET_HAS_NEXT; i++) {
        if (!cabinet_read_header(parts->fds[i], &header)) {
            snprintf(why, sizeof(why), "is not a cabinet");
        } else if (!is_other(&header, &first, i + 1, why, sizeof(why))) {
            cabinet->fds[cabinet->n++] = parts->fds[i];
            continue;
        }
        (void)cabinet_next(cabinet->fds[i], name);
        snprintf(error, size, "part %zu of the cabinet, %s: %s", i + 2, name,
                 why);
        return BODY_BAD;
    }

    return header.flags & CABINET_HAS_NEXT
               ? check_last_cabinet(parts, cabinet, error, size)
               : BODY_OK;
}

static const char *mspack_reason(int code)
{
    switch (code) {
    case MSPACK_ERR_READ:
        return "truncated";
    case MSPACK_ERR_SIGNATURE:
    case MSPACK_ERR_DATAFORMAT:
        return "damaged structure";
    case MSPACK_ERR_CHECKSUM:
        return "wrong checksum";
    case MSPACK_ERR_DECRUNCH:
        return "damaged compressed data";
    case MSPACK_ERR_NOMEMORY:
        return "out of memory";
    default:
        return "cannot be unpacked";
    }
}

static enum body_status fail_cabinet(int code,
                                     const struct limited_writer *writer,
                                     char *error, size_t size)
{
    if (writer->error != 0) {
        limited_writer_reason(writer, error, size);
        return writer->error == EFBIG ? BODY_BAD : BODY_SYSTEM;
    }
    snprintf(error, size, "cabinet: %s", mspack_reason(code));
    return BODY_BAD;
}

/* Opens all cabinets, and joins those after the first one to it, which is
 * returned.  Returns NULL with *code. */
static struct mscabd_cabinet *join_cabinets(struct mscab_decompressor *mscab,
                                            const struct cabinet *cabinet,
                                            int *code)
{
    struct mscabd_cabinet *first = NULL, *last = NULL, *cab;
    size_t i;

    *code = MSPACK_ERR_OK;
    for (i = 0; i < cabinet->n; i++, last = cab) {
        cab = mscab->open(mscab, cabinet->names[i]);
        if (cab == NULL) {
            *code = mscab->last_error(mscab);
            break;
        }
        if (first == NULL) {
            first = cab;
        } else if ((*code = mscab->append(mscab, last, cab)) !=
                   MSPACK_ERR_OK) {
            mscab->close(mscab, cab);
            break;
        }
    }

    if (first != NULL && *code != MSPACK_ERR_OK) {
        mscab->close(mscab, first);
        return NULL;
    }
    return first;
}

static enum body_status extract_cabinet(struct mscab_decompressor *mscab,
                                        struct mscabd_cabinet *cab,
                                        struct limited_writer *writer,
                                        char *error, size_t size)
{
    struct mscabd_file *file = cab->files;

    if (file == NULL || file->next != NULL || file->folder == NULL) {
        return fail_cabinet(MSPACK_ERR_DATAFORMAT, writer, error, size);
    }
    if (file->length > writer->max) {
        writer->error = EFBIG;
        return fail_cabinet(MSPACK_ERR_OK, writer, error, size);
    }
    if (mscab->extract(mscab, file, "out") != MSPACK_ERR_OK) {
        return fail_cabinet(mscab->last_error(mscab), writer, error, size);
    }
    if (writer->written != file->length) {
        return fail_cabinet(MSPACK_ERR_READ, writer, error, size);
    }

    return BODY_OK;
}

enum body_status cabinet_unpack(int in, const struct cabinet_parts *parts,
                                struct limited_writer *writer, char *error,
                                size_t size)
{
    struct cabinet cabinet = {{cabinet_open, cabinet_close, cabinet_read,
                               cabinet_write, mspack_seek, mspack_tell,
                               mspack_message, mspack_alloc, mspack_release,
                               mspack_copy, NULL},
                              .writer = writer};
    enum body_status status = add_parts(&cabinet, in, parts, error, size);
    struct mscab_decompressor *mscab;
    struct mscabd_cabinet *cab;
    size_t i;
    int code;

    if (status != BODY_OK) {
        return status;
    }
    for (i = 0; i < cabinet.n; i++) {
        snprintf(cabinet.names[i], sizeof(cabinet.names[i]), "%d",
                 cabinet.fds[i]);
    }

    mscab = mspack_create_cab_decompressor(&cabinet.system);
    if (mscab == NULL) {
        writer->error = ENOMEM;
        return fail_cabinet(MSPACK_ERR_NOMEMORY, writer, error, size);
    }

    cab = join_cabinets(mscab, &cabinet, &code);
    if (cab == NULL) {
        status = fail_cabinet(code, writer, error, size);
    } else {
        status = extract_cabinet(mscab, cab, writer, error, size);
        mscab->close(mscab, cab);
    }

    mspack_destroy_cab_decompressor(mscab);
    return status;
}
