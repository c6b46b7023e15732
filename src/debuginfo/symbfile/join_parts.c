/*
 * Copyright (C) the ngx_symcache authors
 *
 * A file begins with an absolute address and with no strings, so its records
 * mean the same after those of another one.
 */
#include "symbfile.h"

#include <stdio.h>

#include "reader.h"

/* Reads all files.  With a sink, also writes them, only the first one with its
 * magic and header. */
static int read_all(struct symbfile_reader *reader,
                    const struct symc_sink *sink)
{
    struct symbfile_record record;
    bool is_first = true;
    size_t from, end;
    int rc;

    do {
        rc = symbfile_reader_next(reader, &record);
        if (sink != NULL && (rc == 0 || rc == 2)) { /* the end of a file */
            from = is_first ? 0 : reader->records;
            end = rc == 0 ? reader->size : reader->file_at;
            if (sink->write(sink->context, reader->data + from, end - from) !=
                0) {
                return -2;
            }
            is_first = false;
        }
    } while (rc > 0);
    return rc;
}

int symbfile_join_parts(const uint8_t *data, size_t size,
                        const struct symc_sink *sink, char *error,
                        size_t error_size)
{
    struct symbfile_reader reader;
    int rc;

    symbfile_reader_joined(&reader, data, size);
    rc = read_all(&reader, NULL);
    snprintf(error, error_size, "%s", reader.error);
    symbfile_reader_free(&reader);
    if (rc == 0) {
        symbfile_reader_joined(&reader, data, size);
        rc = read_all(&reader, sink);
        symbfile_reader_free(&reader);
    }
    return rc;
}
