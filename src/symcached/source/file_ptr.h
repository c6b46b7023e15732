/*
 * Copyright (C) the ngx_symcache authors
 *
 * file.ptr: a text next to a file of a symbol store, or in its place, that
 * says where the file is.  Only config_map_location() turns a Windows location
 * into a local one, so that a server cannot name local files by itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The most bytes that a file.ptr may have. */
#define FILE_PTR_MAX 4096

/* As UTF-8, a text in UTF-16 may be half as long again. */
#define FILE_PTR_TEXT (FILE_PTR_MAX / 2 * 3 + 1)

enum file_ptr_kind {
    FILE_PTR_PATH,    /* text is a Windows location or a relative one */
    FILE_PTR_URL,     /* text is an http or https URL */
    FILE_PTR_MESSAGE, /* the server explains that it has none */
    FILE_PTR_BAD      /* text says why it is no file.ptr */
};

/* Reads a file.ptr; text is always set, without control characters. */
enum file_ptr_kind file_ptr_parse(const uint8_t *data, size_t len,
                                  char text[FILE_PTR_TEXT]);
