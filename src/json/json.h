/*
 * Copyright (C) the ngx_symcache authors
 *
 * JSON of requests and answers.  The configuration is read elsewhere
 * (config/json_file.h): it has comments, and its values have lines.
 */
#pragma once

#include "reader.h"
#include "writer.h"
