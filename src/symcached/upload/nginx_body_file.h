/*
 * Copyright (C) the ngx_symcache authors
 *
 * The body of a request, which nginx has put into a file.  nginx names the
 * file in a header, and a client may send that header, too: a configuration of
 * nginx that does not replace it must not let a client choose any file.  So
 * only a file below the folder of the bodies is opened, without symbolic
 * links, and only under a name as nginx makes them, which has nothing but
 * digits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Returns a descriptor to read from; or -1 with a sentence in error, and the
 * status: 400 if the path is wrong, 500 if this machine does not give it. */
int nginx_body_file_open(const char *spool, const char *path, int *status,
                         char *error, size_t size);

/* So long after its last change no request has a body any more.  nginx lets
 * none of them take minutes between two reads. */
#define NGINX_BODY_SECONDS 86400

/* Removes bodies that were not changed since a time: an nginx that is killed,
 * or ended by TERM, leaves those of its requests.  Counts what was removed. */
void nginx_body_files_clean(const char *spool, time_t before, uint64_t *files,
                            uint64_t *bytes);
