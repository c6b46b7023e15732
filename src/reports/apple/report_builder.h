/*
 * Copyright (C) the ngx_symcache authors
 *
 * Adds what was read to a report, within its limits: what is too much is left
 * out, and noted.  Those that return a bool return false without memory.
 */
#pragma once

#include "apple.h"

extern const char apple_no_memory[];

bool apple_add_thread(struct apple_report *report,
                      const struct apple_thread *thread);

/* Of the last thread. */
bool apple_add_frame(struct apple_report *report,
                     const struct apple_frame *frame);

bool apple_add_image(struct apple_report *report,
                     const struct apple_image *image);

/* Of two with the same name, the second counts. */
void apple_add_register(struct apple_report *report,
                        const struct apple_register *found);

/* A line of the application's message. */
bool apple_add_information(struct apple_report *report,
                           struct apple_text line);

/* When all is read. */
void apple_sort_registers(struct apple_report *report);
