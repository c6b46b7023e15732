/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads lines of stack traces of JavaScript, as Chrome, Node and Hermes print
 * them ("    at f (https://x/a.js:1:2)"), and Firefox and Safari
 * ("f@https://x/a.js:1:2").  Bytes in, a structure out, no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jstrace_text {
    const char *data;
    size_t size; /* 0: there is none */
};

struct jstrace_frame {
    bool has_at;  /* as Chrome prints it, with "at" */
    bool is_wasm; /* of a module of WebAssembly */
    size_t begin; /* of function and place in the line */
    size_t end;   /* after it may be " {", of Node */
    struct jstrace_text function;
    struct jstrace_text url; /* or a path */
    struct jstrace_text place; /* with line and column */
    uint32_t line;           /* from 1 */
    uint32_t column;         /* from 1 */
};

/*
 * Reads a line without its end.  Returns false if it is not a frame, or if the
 * frame's place is not in a file: in eval, in native code, or an index of
 * promises.  Offsets of bytecode, which Hermes prints after "address at", and
 * those in a module of WebAssembly become columns.
 */
bool jstrace_read(const char *line, size_t size, struct jstrace_frame *frame);

/* Whether a text has a frame. */
bool jstrace_is_trace(const char *text, size_t size);
