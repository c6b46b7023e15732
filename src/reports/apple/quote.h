/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reports whose lines a mail or a ticket has quoted or indented.
 */
#pragma once

#include "apple.h"

/* What stands in front of each line of a report, which may be nothing; its
 * data is NULL: the text is no report. */
struct apple_text find_quote(const char *text, size_t size);

/* Cuts off as much of the quote as the line begins with. */
void cut_quote(struct apple_text *line, struct apple_text quote);
