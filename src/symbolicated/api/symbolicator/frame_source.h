/*
 * Copyright (C) the ngx_symcache authors
 *
 * The source code of a frame: members pre_context, context_line, post_context
 * and source_link.
 */
#pragma once

#include "proto/url.h"
#include "native_request.h"
#include "source_links.h"

struct frame_source {
    struct text_lines known; /* of all frames */
    bool is_known; /* the module's sources have the file, or a link to it */
    bool has_text; /* it has the file itself */
    bool has_lines;
    struct source_context context;
    size_t link_size; /* 0: there is none, or none that is a URL */
    char link[SYMCACHE_URL_MAX + 1];
};

/* Looks up a path and a line, from 1.  Without sources (NULL) or a path
 * nothing is known. */
void frame_source_find(struct frame_source *found,
                       const struct sourcecache_reader *sources,
                       struct symc_string path, uint32_t line);

/* The same of the path and the line that a frame came with. */
void frame_source_find_given(struct frame_source *found,
                             const struct sourcecache_reader *sources,
                             const struct json *json,
                             const uint32_t members[FRAME_MEMBERS]);

/* Takes the lines of a linked file, if there are none and it is there; to be
 * called only for a path that debug information names. */
void frame_source_follow(struct frame_source *found,
                         struct source_links *links, size_t module,
                         uint32_t line);

/* The same of a file that a server of debuginfod has by this path. */
void frame_source_ask(struct frame_source *found, struct source_links *links,
                      const struct symbolicator_request *request,
                      size_t module, struct symc_string path, uint32_t line);

/* Writes lines of which there are more than before the line itself. */
void frame_source_write_lines(struct json_writer *w,
                              const struct source_context *context);

/* Writes those that a frame came with, values or 0.  An empty list is not
 * told. */
void frame_source_pass_lines(struct json_writer *w, const struct json *json,
                             uint32_t before, uint32_t line, uint32_t after);

/* Writes what is known. */
void frame_source_write(struct json_writer *w,
                        const struct frame_source *found);

/* The same of a frame that is answered as it came: what is not known stays as
 * it was given. */
void frame_source_write_given(struct json_writer *w,
                              const struct frame_source *found,
                              const struct json *json,
                              const uint32_t members[FRAME_MEMBERS]);
