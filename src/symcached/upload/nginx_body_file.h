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
#ifndef SYMCACHED_UPLOAD_NGINX_BODY_FILE_H
#define SYMCACHED_UPLOAD_NGINX_BODY_FILE_H

#include <stddef.h>

/* Returns a descriptor to read from; or -1 with a sentence in error, and the
 * status: 400 if the path is wrong, 500 if this machine does not give it. */
int nginx_body_file_open(const char *spool, const char *path, int *status,
                         char *error, size_t size);

#endif
