/*
 * Copyright (C) the ngx_symcache authors
 *
 * The header of an upload that labels it.
 */
#pragma once

#include "base/build_list.h"

#define UPLOAD_LABELS_LINE (64 + 3 * (3 * BUILD_LABEL_MAX + 16))

/* Writes the header of product, branch and build, of which each can be NULL;
 * "" if there is none.  Returns NULL, or what is wrong with them. */
const char *upload_labels_print(char line[UPLOAD_LABELS_LINE],
                                const char *const texts[3]);
