/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef BASE_HTTP_STATUS_H
#define BASE_HTTP_STATUS_H

/* The phrase after a status in an answer; "<unknown status code>": it has none
 * here. */
const char *http_status_text(int status);

#endif
