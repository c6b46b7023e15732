/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is done with names, URLs and texts of scripts: pure functions.
 */
#ifndef SYMBOLICATION_JS_JS_H
#define SYMBOLICATION_JS_JS_H

#include "reference.h"

#endif
