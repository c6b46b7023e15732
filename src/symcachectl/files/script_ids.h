/*
 * Copyright (C) the ngx_symcache authors
 *
 * The debug ids of scripts in an option: "[NAME=]ID[,[NAME=]ID...]".
 */
#pragma once

#include <stdbool.h>

#include "derived/symcache/symcache.h"
#include "reports/jstrace/jstrace.h"

/* Whether ids are spelt well; NULL is. */
bool script_ids_are_valid(const char *ids);

/* The debug id of the script of a frame, or one without a text. */
struct symc_string script_ids_find(const char *ids,
                                   const struct jstrace_frame *of);
