/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is done with names, URLs and texts of scripts: pure functions, by the
 * rules of Symbolicator.
 */
#pragma once

#include "data_url.h"
#include "file_name.h"
#include "frame_function.h"
#include "script_comments.h"
#include "url.h"
