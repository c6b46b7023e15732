/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a client of Tecken says that it will send, and the pieces of that.
 */
#ifndef SYMCACHED_SERVER_TECKEN_FILES_H
#define SYMCACHED_SERVER_TECKEN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

struct tecken_file {
    const char *path;   /* <name>/<id>/<file>, as the client spells it */
    const char *wrong;  /* why it cannot be sent, or NULL */
    char *there;        /* path of what may be there already; or NULL */
    uint64_t size;
    uint8_t md5[16];
    bool is_there;      /* these bytes are */
};

struct tecken_files {
    struct tecken_file *list;
    size_t n;
    void *json;
};

/*
 * Reads a list of files from the body that nginx has put at a path, or NULL.
 * Returns NULL with a status and what is wrong.
 */
struct tecken_files *tecken_files_read(const struct config *config,
                                       bool only_try, const char *body,
                                       int *status, const char **wrong);
void tecken_files_free(struct tecken_files *files); /* NULL is allowed */

/* Compares them with those that are there, which takes long. */
void tecken_files_compare(struct tecken_files *files);

/* A piece of a file. */
struct tecken_range {
    uint64_t first;
    uint64_t size; /* 0: the client asks how much has come */
    uint64_t total;
};

/* Reads a Content-Range (RFC 9110, 14.4) whose total is known.  Returns what is
 * wrong, or NULL. */
const char *tecken_range_read(const char *text, struct tecken_range *range);

/* Opens the body of a request, which must have as many bytes as the range.
 * Returns its descriptor; or -1 with a status and the reason. */
int tecken_open_body(const struct config *config, const char *path,
                     const struct tecken_range *range, int *status,
                     char *error, size_t size);

/* Copies size bytes from the offset of `in` to a place in another file, on
 * whose file system `keep` bytes stay free, and whose offset is its beginning
 * then.  Returns 0, or an errno. */
int tecken_copy(int in, int out, uint64_t at, uint64_t size, uint64_t keep);

#endif
