/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reports as text.
 */
#pragma once

#include "apple.h"

/* As apple_read(), of a text in UTF-8 and a report that is empty. */
int apple_text_read(struct apple_report *report, const char *text,
                    size_t size);
