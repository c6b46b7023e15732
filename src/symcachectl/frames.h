/*
 * Copyright (C) the ngx_symcache authors
 *
 * Frames of one address as text or JSON.
 */
#ifndef SYMCACHECTL_FRAMES_H
#define SYMCACHECTL_FRAMES_H

#include "output.h"
#include "symbolication/symbolication.h"
#include "symcache/symcache.h"

/*
 * At most max frames, one a line behind the indent ("function at file:line",
 * and "(inlined)" unless it is the outermost); the first line has no indent.
 * "?" stands for what is not known.  Returns 0, or -1 without memory.
 */
int frames_print(struct output *output, struct symfile_frames *frames,
                 struct source_path *path, const char *indent, uint32_t max);

/* All frames as a JSON array.  Returns 0, or -1 without memory. */
int frames_print_json(struct output *output, struct symfile_frames *frames,
                      struct source_path *path);

#endif
