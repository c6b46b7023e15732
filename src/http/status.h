/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

/* The phrase after a status in an answer. */
const char *http_status_text(int status);

#endif
