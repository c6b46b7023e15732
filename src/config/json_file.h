/*
 * Copyright (C) the ngx_symcache authors
 *
 * A JSON file with comments.  The line of each value is kept, so that an error
 * can name its line and its path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cjson/cJSON.h>

struct json_file {
    char *name;
    char *text; /* with blanks instead of comments */
    cJSON *root;
    struct json_place *places; /* one for each value */
    size_t nplaces;
    uint64_t fingerprint; /* of the bytes of the file */
};

/*
 * Reads one JSON value with slash-slash and slash-star comments from a file of
 * at most 1 MiB.  Returns 0, or -1 with "file:line: reason" in error.
 */
int json_file_read(const char *name, struct json_file *json, char *error,
                   size_t size);

/* The fingerprint of the bytes that the file has now, 0 if it cannot be read.
 * Only regular files are read again: of others it is the former one. */
uint64_t json_file_look(const char *name, uint64_t former);

void json_file_free(struct json_file *json);

/* Writes "file:line: path.to.key: reason" for a value of the file. */
void json_file_error(const struct json_file *json, const cJSON *item,
                     const char *reason, char *error, size_t size);
