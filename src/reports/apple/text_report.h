/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reports as text.
 */
#ifndef REPORTS_APPLE_TEXT_REPORT_H
#define REPORTS_APPLE_TEXT_REPORT_H

#include "apple.h"

/* As apple_read(), of a text in UTF-8 and a report that is empty. */
int apple_text_read(struct apple_report *report, const char *text,
                    size_t size);

#endif
