/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolize/v1: addresses of many files, which are read, searched for and
 * answered some files at a time (docs/symbolize.md).  For this folder only.
 */
#pragma once

#include "symbolicated/api/body_input.h"
#include "symbolicated/api/api.h"
#include "symbolication/symbolication.h"

/* Limits of one step: its files are mapped together, and the thread serves no
 * other call meanwhile. */
#define SYMBOLIZE_FILES 1024
#define SYMBOLIZE_PAIRS 65536

/* Of one question. */
#define SYMBOLIZE_ADDRESSES_MAX RESOLVER_ADDRESSES_MAX
#define SYMBOLIZE_QUESTION_MAX (512 * 1024) /* bytes */

/* A part of the answer is full with so many bytes, or so many pairs. */
#define SYMBOLIZE_PART 65536
#define SYMBOLIZE_PART_PAIRS 8192

#define SYMBOLIZE_NONE UINT32_MAX

/* Seconds after which a client may ask again: a file is being made; something
 * has failed. */
#define SYMBOLIZE_SOON 5
#define SYMBOLIZE_LATER 60

/* Numbers of the field "state" in messages. */
enum symbolize_state {
    SYMBOLIZE_FOUND,
    SYMBOLIZE_MISSING,
    SYMBOLIZE_MALFORMED,
    SYMBOLIZE_FAILED,
    SYMBOLIZE_REFUSED
};

/* A line or message: a file and addresses of it. */
struct symbolize_question {
    const char *error; /* static: it is refused; or NULL */
    uint32_t module;   /* in the round */
    uint32_t file;     /* its text, in texts */
    uint32_t file_size;
    uint32_t first; /* in addresses */
    uint32_t count;
};

struct symbolize_counts {
    uint64_t questions;
    uint64_t pairs;
    uint64_t found; /* pairs that have a function */
    uint64_t missing; /* questions whose file is not there */
    uint64_t refused;
};

struct symbolize_call {
    struct api_call base;
    const struct symbolication_config *config;
    struct json *json;
    size_t body_size;
    bool is_running;
    bool is_in_messages;
    enum api_packing packing;
    struct input input;
    const char *error; /* static: what ends the answer; or NULL */

    /* the round */
    struct table modules; /* places + 1 */
    struct symbolize_question questions[SYMBOLIZE_FILES];
    size_t nquestions;
    uint64_t *addresses;
    size_t naddresses;
    size_t addresses_room;
    char *texts;
    size_t texts_size;
    size_t texts_room;

    /* the part */
    size_t parts; /* that had gone out when it was begun */
    size_t at;    /* its first question, and the one after it */
    size_t next;
    struct symbolize_counts before; /* of the parts that have gone out */
    struct symbolize_counts counts; /* and with this one */
    bool is_last;
    struct json_writer written;

    struct resolver resolver;
};

/* Reads one question into the next place.  Returns false if there is none, or
 * with call->input.error. */
bool symbolize_read_line(struct symbolize_call *call);
bool symbolize_read_message(struct symbolize_call *call);

/* Room for a question's addresses, which call->naddresses counts as they come;
 * NULL without memory. */
uint64_t *symbolize_need_addresses(struct symbolize_call *call, size_t n);

/* The result of a question, and when to ask again; 0: the result is final. */
enum symbolize_state symbolize_state(const struct symbolize_call *call,
                                     const struct symbolize_question *question,
                                     unsigned *retry_after);

/* Write strings that are new, a question's answer, the end of the answer. */
struct symbolize_writer {
    const char *type;
    void (*strings)(struct json_writer *w, const struct name_table *names);
    void (*answer)(struct json_writer *w, struct symbolize_call *call,
                   const struct symbolize_question *question);
    void (*end)(struct json_writer *w, const struct symbolize_call *call);
};

extern const struct symbolize_writer symbolize_lines, symbolize_messages;

/* Appends bytes. */
void symbolize_put(struct json_writer *w, const void *data, size_t size);
