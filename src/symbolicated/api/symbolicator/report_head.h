/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a crash report tells besides its threads and modules, at the head of the
 * answer.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_REPORT_HEAD_H
#define SYMBOLICATED_API_SYMBOLICATOR_REPORT_HEAD_H

#include "native_answer.h"

/* Writes its members; none, if the request is no crash report. */
void report_head_write(struct json_writer *w,
                       const struct symbolicator_request *request,
                       const struct symbolicator_result *results);

#endif
