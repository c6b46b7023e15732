/*
 * Copyright (C) the ngx_symcache authors
 *
 * libmspack asks for files by their names.  It gets the two descriptors that
 * are open, whatever it asks for.
 */
#include "cabinet.h"

#include <errno.h>
#include <inttypes.h>
#include <mspack.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CABINET_HEADER 36
#define CABINET_SPANS 0x0003u /* has a previous or next cabinet */

struct cabinet {
    struct mspack_system system; /* first: libmspack passes it back */
    int in;
    struct limited_writer *writer;
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

    (void)name;

    if (file == NULL) {
        return NULL;
    }

    file->in = cabinet->in;
    if (mode != MSPACK_SYS_OPEN_READ) {
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

static int seek(struct mspack_file *handle, off_t offset, int mode)
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

static off_t tell(struct mspack_file *handle)
{
    struct cabinet_file *file = (struct cabinet_file *)handle;

    return file->writer != NULL ? (off_t)file->writer->written : file->offset;
}

static void message(struct mspack_file *file, const char *format, ...)
{
    (void)file;
    (void)format;
}

static void *alloc(struct mspack_system *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void release(void *p)
{
    free(p);
}

static void copy(void *from, void *to, size_t bytes)
{
    memcpy(to, from, bytes);
}

static unsigned u16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

/* Refuses what would cost libmspack much time or memory, by the header
 * alone.  Returns as cabinet_unpack(). */
static int check_header(int in, char *error, size_t size)
{
    uint8_t header[CABINET_HEADER];

    if (pread(in, header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        snprintf(error, size, "truncated cabinet");
        return -1;
    }
    if (u16(header + 26) != 1 || u16(header + 28) != 1) {
        snprintf(error, size, "cabinet with %u folders and %u files",
                 u16(header + 26), u16(header + 28));
        return 1;
    }
    if ((u16(header + 30) & CABINET_SPANS) != 0) {
        snprintf(error, size, "a part of a cabinet that spans several files");
        return 1;
    }

    return 0;
}

static const char *reason(int code)
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

static int fail(int code, const struct limited_writer *writer, char *error,
                size_t size)
{
    if (writer->error != 0) {
        limited_writer_reason(writer, error, size);
    } else {
        snprintf(error, size, "cabinet: %s", reason(code));
    }
    return -1;
}

static int cabinet_extract(struct mscab_decompressor *mscab,
                           struct mscabd_cabinet *cab,
                           struct limited_writer *writer, char *error,
                           size_t size)
{
    struct mscabd_file *file = cab->files;

    if (file == NULL || file->next != NULL || file->folder == NULL ||
        cab->prevname != NULL || cab->nextname != NULL) {
        return fail(MSPACK_ERR_DATAFORMAT, writer, error, size);
    }
    if (file->length > writer->max) {
        writer->error = EFBIG;
        return fail(MSPACK_ERR_OK, writer, error, size);
    }
    if (mscab->extract(mscab, file, "out") != MSPACK_ERR_OK) {
        return fail(mscab->last_error(mscab), writer, error, size);
    }
    if (writer->written != file->length) {
        return fail(MSPACK_ERR_READ, writer, error, size);
    }

    return 0;
}

int cabinet_unpack(int in, struct limited_writer *writer, char *error,
                   size_t size)
{
    struct cabinet cabinet = {{cabinet_open, cabinet_close, cabinet_read,
                               cabinet_write, seek, tell, message, alloc,
                               release, copy, NULL},
                              in,
                              writer};
    struct mscab_decompressor *mscab;
    struct mscabd_cabinet *cab;
    int rc;

    rc = check_header(in, error, size);
    if (rc != 0) {
        return rc;
    }

    mscab = mspack_create_cab_decompressor(&cabinet.system);
    if (mscab == NULL) {
        writer->error = ENOMEM;
        return fail(MSPACK_ERR_NOMEMORY, writer, error, size);
    }

    cab = mscab->open(mscab, "in");
    if (cab == NULL) {
        rc = fail(mscab->last_error(mscab), writer, error, size);
    } else {
        rc = cabinet_extract(mscab, cab, writer, error, size);
        mscab->close(mscab, cab);
    }

    mspack_destroy_cab_decompressor(mscab);
    return rc;
}
