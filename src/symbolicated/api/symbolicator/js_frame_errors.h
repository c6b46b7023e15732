/*
 * Copyright (C) the ngx_symcache authors
 *
 * Why a frame of a script has no original, or another one than expected: what
 * was asked for its files, and what was answered.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JS_FRAME_ERRORS_H
#define SYMBOLICATED_API_SYMBOLICATOR_JS_FRAME_ERRORS_H

#include "js_frames.h"

/* Writes the member "why" of a frame. */
void js_frame_errors_write(struct json_writer *w,
                           const struct js_place *place);

#endif
