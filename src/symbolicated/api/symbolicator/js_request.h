/*
 * Copyright (C) the ngx_symcache authors
 *
 * The body of POST /symbolicate-js.
 */
#pragma once

#include "base/hash_table.h"
#include "derived/symcache/symcache.h"
#include "json/json.h"
#include "proto/key.h"

/* Members that a frame may have, in the order in which answers have them. */
enum js_frame_member {
    JS_PLATFORM,
    JS_FUNCTION,
    JS_FILENAME,
    JS_MODULE,
    JS_ABS_PATH,
    JS_LINENO,
    JS_COLNO,
    JS_PRE_CONTEXT,
    JS_CONTEXT_LINE,
    JS_POST_CONTEXT,
    JS_DATA,
    JS_FRAME_MEMBERS
};

#define JS_DEBUG_ID (SYMCACHE_DEBUG_TEXT_MAX + 1)

struct js_frame {
    uint32_t members[JS_FRAME_MEMBERS]; /* values, or 0 */
    struct symc_string abs_path;        /* without "async " */
    uint32_t line, column;              /* from 1 */
    size_t script;
};

struct js_stack {
    size_t first; /* of its frames, in the order of the request */
    size_t count;
};

/* A script that frames are in. */
struct js_script {
    struct symc_string abs_path;
    char debug_id[JS_DEBUG_ID]; /* as Sentry writes it; "": none is known */
};

struct js_request {
    struct json json;
    /* texts; data is NULL: there is none */
    struct symc_string source, token, cookies, release, dist;
    uint32_t origins; /* of which files may be fetched; 0: all */
    uint32_t headers; /* that are sent for these, an object; 0: none */
    bool has_scraping;
    bool wants_context;
    bool is_caller_first;
    struct js_stack *stacks;
    size_t nstacks;
    struct js_frame *frames; /* of all stacks */
    size_t nframes;
    struct js_script *scripts;
    size_t nscripts;
    struct table paths; /* of scripts: their numbers + 1 */
};

/*
 * Reads a body, whose text is changed and used until js_request_free().
 * Returns 0, or the status of the answer with a sentence in error: 400 if the
 * body is not JSON, 422 if it has another shape or too many parts, 500 without
 * memory.  The caller must free the request in either case.
 */
int js_request_read(struct js_request *request, char *body, size_t size,
                    size_t most_frames, size_t most_scripts, char *error,
                    size_t error_size);
void js_request_free(struct js_request *request);

/* Writes a text as a member; nothing if its data is NULL. */
static inline void js_member_write(struct json_writer *w, const char *name,
                                   struct symc_string text)
{
    if (text.data != NULL) {
        json_put_string(w, name, text.data, text.size);
    }
}
