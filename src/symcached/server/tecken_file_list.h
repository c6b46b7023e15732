/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a client of Tecken says that it will send.
 */
#pragma once

#include <openssl/evp.h>
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

    /* of the first file of a place: what is there */
    bool is_read;
    uint64_t read_size;
    uint8_t sum[EVP_MAX_MD_SIZE];
};

struct tecken_files {
    struct tecken_file *list;
    size_t n;
    void *json;
    char too_large[120]; /* of a file that is */
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
