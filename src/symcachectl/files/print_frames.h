/*
 * Copyright (C) the ngx_symcache authors
 *
 * Prints the frames of one address as text or JSON.
 */
#ifndef SYMCACHECTL_FILES_PRINT_FRAMES_H
#define SYMCACHECTL_FILES_PRINT_FRAMES_H

#include "symcachectl/terminal/output.h"
#include "symbolication/symbolication.h"
#include "derived/symcache/symcache.h"

/*
 * Prints at most max frames, one in each line: "function at file:line", with
 * "(inlined)" unless it is the outermost one.  All lines but the first begin
 * with the indent.  "?" stands for what is unknown.  Returns 0, or -1 without
 * memory.
 */
int frames_print(struct output *output, struct symc_frames *frames,
                 struct source_path *path, const char *indent, uint32_t max);

/* Prints all frames as a JSON array.  Returns 0, or -1 without memory. */
int frames_print_json(struct output *output, struct symc_frames *frames,
                      struct source_path *path);

#endif
