/*
 * Copyright (C) the ngx_symcache authors
 *
 * The body of a request of Symbolicator's protocol, POST /symbolicate: its
 * stacks and modules, and which module owns which frame.
 */
#pragma once

#include "json/json.h"
#include "proto/key.h"
#include "schema.h"
#include "symbolication/symbolication.h"

#define SYMBOLICATOR_NONE UINT32_MAX /* index of no module */

#define SYMBOLICATOR_SCOPE_MAX 200

/* Members that a frame may have, in the order in which answers have them. */
enum symbolicator_frame_member {
    FRAME_PLATFORM,
    FRAME_ADDR_MODE,
    FRAME_INSTRUCTION_ADDR,
    FRAME_ADJUST,
    FRAME_FUNCTION_ID,
    FRAME_PACKAGE,
    FRAME_LANG,
    FRAME_SYMBOL,
    FRAME_SYM_ADDR,
    FRAME_FUNCTION,
    FRAME_FILENAME,
    FRAME_ABS_PATH,
    FRAME_LINENO,
    FRAME_PRE_CONTEXT,
    FRAME_CONTEXT_LINE,
    FRAME_POST_CONTEXT,
    FRAME_SOURCE_LINK,
    FRAME_IN_APP,
    FRAME_VARS,
    FRAME_TRUST,
    FRAME_INLINES_PREVIOUS, /* is in no answer */
    FRAME_MEMBERS
};

struct symbolicator_frame {
    uint64_t address; /* as given */
    uint32_t value;   /* the JSON of the frame */
    uint32_t module;  /* that owns the address, or SYMBOLICATOR_NONE */
    uint32_t rel;     /* the module that addr_mode names; or NONE: absolute,
                       * which need not exist */
    uint8_t wish;     /* enum call_site_wish */
    uint8_t trust;    /* enum api_trust */
    bool has_more;    /* members beside the address */
    bool inlines_previous; /* of a crash report, whose frame before it was
                            * inlined into this one */
};

struct symbolicator_stack {
    size_t first; /* of its frames, which go from the innermost outwards */
    size_t count;
    bool has_wishes;      /* a frame says whether it is to be adjusted */
    uint32_t thread_id;   /* values, or 0: absent; here and below */
    uint32_t thread_name; /* string */
    uint32_t is_requesting;
    uint32_t registers;
};

struct symbolicator_module {
    uint32_t type; /* strings */
    uint32_t code_id;
    uint32_t code_file;
    uint32_t debug_id;
    uint32_t debug_file;
    uint32_t debug_checksum;
    uint32_t unwind_status; /* of a crash report; else 0 */
    uint32_t lookup_file;   /* the same: in place of the debug file; or 0 */
    uint64_t image_addr;
    uint64_t image_size;
    bool has_size;
    bool has_debug_id; /* one that is valid */
    bool has_pdb20_id; /* one of a PDB 2.0: signature and age; such files are
                        * not read */
    bool is_used;      /* owns a frame */
    bool has_more;     /* owns one that has_more */
    bool is_dotnet;    /* has methods and IL offsets, and no addresses */
    uint8_t guid[16];
    uint32_t age;
    uint32_t signature;
};

struct symbolicator_request {
    struct json json;
    struct symbolicator_stack *stacks;
    size_t nstacks;
    struct symbolicator_frame *frames; /* of all stacks */
    size_t nframes;
    size_t room;
    struct symbolicator_module *modules;
    size_t nmodules;
    size_t nused;                  /* of these */
    uint32_t sources;              /* list */
    const struct client_list *own; /* the same, as it was read; or NULL */
    uint32_t report;   /* members of the answer to a crash report; or 0 */
    uint32_t left_out; /* of the same: a word; or 0 */
    char scope[SYMBOLICATOR_SCOPE_MAX + 1]; /* of the query, as sent */
    uint32_t signal;
    bool has_signal;
    bool is_caller_first; /* frames come and go outermost first */
    bool has_candidates;  /* they are wanted */
    bool wants_context;   /* lines of source code */
};

struct symbolicator_limits {
    size_t frames;
    size_t modules;    /* that frames use */
    bool takes_report; /* it is of a worker (reports/crash/crash.h) */
};

/*
 * Reads a body, whose text is changed and used until symbolicator_free().
 * Returns 0, or the status of the answer with a sentence in error: 400 if the
 * body is not JSON, 422 if it has another shape or too many parts, 500 without
 * memory.  The caller must free the request in either case.
 */
int symbolicator_parse(struct symbolicator_request *request, char *body,
                       size_t size, const struct symbolicator_limits *limits,
                       char *error, size_t error_size);
void symbolicator_free(struct symbolicator_request *request);

/* The values of a frame's members; 0: absent or null. */
void symbolicator_frame_members(const struct symbolicator_request *request,
                                const struct symbolicator_frame *frame,
                                uint32_t members[FRAME_MEMBERS]);
