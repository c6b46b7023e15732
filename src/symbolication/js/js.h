/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is done with names, URLs and texts of scripts: pure functions, by the
 * rules of Symbolicator.
 */
#ifndef SYMBOLICATION_JS_JS_H
#define SYMBOLICATION_JS_JS_H

#include "data_url.h"
#include "file_name.h"
#include "frame_function.h"
#include "script_comments.h"
#include "url.h"

#endif
