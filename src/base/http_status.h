/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

/* The phrase after a status in an answer; "<unknown status code>": it has none
 * here. */
const char *http_status_text(int status);
