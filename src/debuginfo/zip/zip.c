/*
 * Copyright (C) the ngx_symcache authors
 */
#include "zip.h"

#include <minizip/unzip.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK 65536

/* minizip before 1.2.13 leaves a size of zip64 as it is in the directory. */
#define SIZE_IN_ZIP64 0xffffffffu

#define FLAG_ENCRYPTED 1u
#define METHOD_STORED 0
#define METHOD_DEFLATED 8
#define MADE_BY_UNIX 3

struct zip {
    const uint8_t *data;
    size_t size;
    size_t at;
    unzFile file;
    uint64_t count;
    uint64_t left; /* bytes of the member that were not unpacked yet */
    bool begun;    /* a member was read */
};

/* the archive as a stream ------------------------------------------------ */

static voidpf on_open(voidpf opaque, const void *name, int mode)
{
    return opaque;
}

static uLong on_read(voidpf opaque, voidpf stream, void *buf, uLong size)
{
    struct zip *zip = opaque;
    size_t n = zip->size - zip->at < size ? zip->size - zip->at : size;

    memcpy(buf, zip->data + zip->at, n);
    zip->at += n;
    return n;
}

static uLong on_write(voidpf opaque, voidpf stream, const void *buf,
                      uLong size)
{
    return 0;
}

static ZPOS64_T on_tell(voidpf opaque, voidpf stream)
{
    return ((struct zip *)opaque)->at;
}

static long on_seek(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    struct zip *zip = opaque;
    size_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                  : origin == ZLIB_FILEFUNC_SEEK_CUR ? zip->at
                                                     : zip->size;

    if (offset > zip->size - from) {
        return -1;
    }
    zip->at = from + (size_t)offset;
    return 0;
}

static int on_close(voidpf opaque, voidpf stream)
{
    return 0;
}

/* the archive ------------------------------------------------------------ */

struct zip *zip_open(const uint8_t *data, size_t size)
{
    zlib_filefunc64_def calls = {.zopen64_file = on_open,
                                 .zread_file = on_read,
                                 .zwrite_file = on_write,
                                 .ztell64_file = on_tell,
                                 .zseek64_file = on_seek,
                                 .zclose_file = on_close,
                                 .zerror_file = on_close};
    struct zip *zip = calloc(1, sizeof(*zip));
    unz_global_info64 info;

    if (zip == NULL) {
        return NULL;
    }
    zip->data = data;
    zip->size = size;
    calls.opaque = zip;
    zip->file = unzOpen2_64("", &calls);
    if (zip->file == NULL || unzGetGlobalInfo64(zip->file, &info) != UNZ_OK) {
        zip_close(zip);
        return NULL;
    }
    zip->count = info.number_entry;
    if (zip->count == 0) {
        zip_close(zip);
        return NULL;
    }
    return zip;
}

void zip_close(struct zip *zip)
{
    if (zip->file != NULL) {
        unzClose(zip->file);
    }
    free(zip);
}

uint64_t zip_count(const struct zip *zip)
{
    return zip->count;
}

/* Symbolic links and devices exist where the archive was made under Unix, which
 * then has the mode in the upper half of the attributes. */
static bool is_special(const unz_file_info64 *info)
{
    unsigned mode = (unsigned)(info->external_fa >> 16) & S_IFMT;

    return info->version >> 8 == MADE_BY_UNIX && mode != 0 &&
           mode != S_IFREG && mode != S_IFDIR;
}

int zip_next(struct zip *zip, struct zip_member *member)
{
    unz_file_info64 info;
    int rc = zip->begun ? unzGoToNextFile(zip->file)
                        : unzGoToFirstFile(zip->file);

    zip->begun = true;
    if (rc == UNZ_END_OF_LIST_OF_FILE || zip->count == 0) {
        return 0;
    }
    memset(member, 0, sizeof(*member));
    if (rc != UNZ_OK ||
        unzGetCurrentFileInfo64(zip->file, &info, member->name,
                                sizeof(member->name), NULL, 0, NULL,
                                0) != UNZ_OK) {
        return -1;
    }
    member->name[sizeof(member->name) - 1] = '\0';
    member->size = info.uncompressed_size;
    member->packed = info.compressed_size;
    zip->left = member->size;
    if (info.size_filename != strlen(member->name)) {
        member->refuse = "has a name that is too long, or with a NUL in it";
    } else if (info.uncompressed_size == SIZE_IN_ZIP64 ||
               info.compressed_size == SIZE_IN_ZIP64) {
        member->refuse = "has its size in a field of zip64, which the "
                         "installed minizip does not read";
    } else if (info.flag & FLAG_ENCRYPTED) {
        member->refuse = "is encrypted";
    } else if (is_special(&info)) {
        member->refuse = "is a symbolic link or another special file";
    } else if (info.compression_method != METHOD_STORED &&
               info.compression_method != METHOD_DEFLATED) {
        member->refuse = "is packed by another method than deflate";
    }
    return 1;
}

void zip_rewind(struct zip *zip)
{
    zip->begun = false;
}

void zip_tell(struct zip *zip, uint64_t place[2])
{
    unz64_file_pos pos = {0};

    (void)unzGetFilePos64(zip->file, &pos);
    place[0] = pos.pos_in_zip_directory;
    place[1] = pos.num_of_file;
}

int zip_seek(struct zip *zip, const uint64_t place[2])
{
    unz64_file_pos pos = {.pos_in_zip_directory = place[0],
                          .num_of_file = place[1]};

    zip->begun = true;
    return unzGoToFilePos64(zip->file, &pos) == UNZ_OK ? 0 : -1;
}

/* unpacking -------------------------------------------------------------- */

static int fail_zip(char *error, size_t size, const char *reason)
{
    snprintf(error, size, "%s", reason);
    return -1;
}

/* minizip returns what it has, so a piece may need several calls.  Returns its
 * size, or an error, which is negative. */
static int read_piece(unzFile file, uint8_t *buf)
{
    int len = 0, n = 1;

    while (len < CHUNK && n > 0) {
        n = unzReadCurrentFile(file, buf + len, (unsigned)(CHUNK - len));
        len += n > 0 ? n : 0;
    }
    return n < 0 ? n : len;
}

int zip_unpack(struct zip *zip, zip_take_fn take, void *arg, char *error,
               size_t error_size)
{
    uint8_t *buf = malloc(CHUNK);
    uint64_t left = zip->left;
    int n, rc = 0;

    if (buf == NULL) {
        return fail_zip(error, error_size, "out of memory");
    }
    if (unzOpenCurrentFile(zip->file) != UNZ_OK) {
        free(buf);
        return fail_zip(error, error_size,
                        "damaged: its header is not that of the directory");
    }
    do {
        n = read_piece(zip->file, buf);
        left -= n > 0 ? (uint64_t)n : 0;
        if (n > 0 || (n == 0 && left == zip->left)) {
            rc = take(arg, buf, (size_t)n) == 0 ? 0 : -2;
        }
    } while (n == CHUNK && rc == 0);
    /* which is where the checksum is compared, if all of it was read */
    if (unzCloseCurrentFile(zip->file) == UNZ_CRCERROR && rc == 0) {
        rc = fail_zip(error, error_size, "damaged: the checksum is wrong");
    }
    if (rc != -2 && (n < 0 || (rc == 0 && left != 0))) {
        rc = fail_zip(error, error_size, "damaged");
    }
    free(buf);
    return rc;
}
