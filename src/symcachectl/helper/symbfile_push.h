/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sends symbfiles to a server that takes Elastic's: ours or Elastic's own.
 */
#pragma once

/* 22 characters of base64url, and a NUL. */
#define SYMBFILE_ID_SIZE 23

struct symbfile_push {
    const char *url;     /* of the server, without /api/... */
    const char *api_key; /* "id:secret", its base64, "$VARIABLE", "@FILE"; or
                          * NULL */
    unsigned parts;      /* in which a file is sent */
    char file_id[SYMBFILE_ID_SIZE]; /* of the executable */
};

/*
 * Computes the id that the profiler gives an executable: of its first and last
 * 4096 bytes and its size.  Returns an exit code after printing what is wrong.
 */
int symbfile_id(const char *path, char id[SYMBFILE_ID_SIZE]);

/* Sends files with ranges and with return pads; pads may be NULL.  Returns an
 * exit code after printing what is wrong. */
int symbfile_push(const struct symbfile_push *push, const char *ranges,
                  const char *pads);
