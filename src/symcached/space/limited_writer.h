/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes unpacked bytes to a descriptor, with a limit.  The limit is a number
 * of bytes and not a ratio, because honest cabinets of mostly empty PDBs
 * exceed any ratio.  The free space of the file system is checked again and
 * again, because other programs write there as well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limited_writer {
    int fd;
    uint64_t max;
    uint64_t keep; /* bytes that stay free on the file system */
    uint64_t lent; /* bytes, by total_lend(); 0 = no limit */
    uint64_t written;
    uint64_t space; /* bytes that may be written before the next check */
    bool over;     /* more than was lent would have been written */
    int error;     /* errno of the first failure; EFBIG = over max, and
                      EOVERFLOW = more than the kernel lets us write */
};

/* Returns 0, or -1 with writer->error set. */
int limited_writer_write(struct limited_writer *writer, const void *data,
                         size_t len);

/*
 * Copies at most len bytes from the offset of `in`, by the kernel.  Where file
 * systems share blocks between files, this writes none.  Returns the number of
 * bytes, or 0 if the kernel does not do it or there is nothing to be copied.
 * Then what is left is to be read and written, which tells of all errors.
 */
size_t limited_writer_copy(struct limited_writer *writer, int in, size_t len);

/* Did it fail because the file system has no room, or no more was lent? */
bool limited_writer_is_full(const struct limited_writer *writer);

/* Writes a sentence that explains writer->error. */
void limited_writer_reason(const struct limited_writer *writer, char *text,
                           size_t size);
