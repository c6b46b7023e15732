/*
 * Copyright (C) the ngx_symcache authors
 *
 * Frames of one address as text or JSON.
 */
#ifndef SYMCACHECTL_FRAMES_H
#define SYMCACHECTL_FRAMES_H

#include "output.h"
#include "symcache/symcache.h"

/* Holds the path of the last file: neighbours in a list of addresses tend to
 * share it.  All zero at first. */
struct frames_path {
    char *data;
    size_t room;
    struct symfile_string path;
    uint32_t file; /* index + 1, or 0 */
};

/* The path of a file; no bytes when it has none, NULL without memory. */
const struct symfile_string *frames_path(const struct symfile_reader *reader,
                                         uint32_t file,
                                         struct frames_path *path);

/*
 * At most max frames, one a line behind the indent ("function at file:line",
 * and "(inlined)" unless it is the outermost); the first line has no indent.
 * "?" stands for what is not known.  Returns 0, or -1 without memory.
 */
int frames_print(struct output *output, struct symfile_frames *frames,
                 struct frames_path *path, const char *indent, uint32_t max);

/* All frames as a JSON array.  Returns 0, or -1 without memory. */
int frames_print_json(struct output *output, struct symfile_frames *frames,
                      struct frames_path *path);

#endif
