/*
 * Copyright (C) the ngx_symcache authors
 *
 * A request of Mozilla's protocol, as Eliot speaks it: POST /symbolicate/v4
 * and v5.
 *
 *   v5   {"jobs": [JOB...]} or a JOB, v4 a JOB;
 *   JOB  {"memoryMap": [[NAME, ID]...], "stacks": [[[INDEX, OFFSET]...]...]}
 */
#pragma once

#include "symbolicated/api/protocols.h"
#include "symbolication/symbolication.h"

#define MOZILLA_JOBS_MAX 10
#define MOZILLA_NONE UINT32_MAX

/* An entry of a memoryMap. */
struct mozilla_entry {
    const char *name; /* in the body */
    const char *id;
    uint32_t name_size;
    uint32_t id_size;
    uint32_t group; /* of those that are written alike */
    bool used;      /* by a frame */
    bool bad;       /* lenient: no module has such a name or id */
    size_t at;      /* where a frame of it stands in the answer, see */
    size_t size;    /* write_module(); 0: there is none yet */
};

/* Entries that are written alike: one module. */
struct mozilla_group {
    uint32_t module; /* of the call, or MOZILLA_NONE: nothing is looked for */
    uint32_t first;  /* entry of the group */
    bool used;
    uint32_t told; /* the last job whose found_modules has it, from 1 */
    uint32_t jobs; /* that have it */
};

struct mozilla_frame {
    uint64_t offset;
    uint32_t entry; /* or MOZILLA_NONE: index -1 */
    bool minus_one; /* that is the offset */
};

struct mozilla_stack {
    uint32_t frame; /* the first */
    uint32_t n;
};

struct mozilla_job {
    uint32_t entry; /* the first ones */
    uint32_t entries;
    uint32_t stack;
    uint32_t stacks;
};

struct mozilla_call {
    struct api_call base;
    const struct symbolication_config *config;
    const struct api_request *request; /* its json only while parsing */
    enum api_protocol protocol;
    size_t body_size;
    bool is_running; /* it counts as such */
    bool debug;
    bool sizes; /* of functions are told */
    struct mozilla_job jobs[MOZILLA_JOBS_MAX];
    uint32_t njobs;
    uint32_t nentries;
    uint32_t ngroups;
    uint32_t nstacks;
    struct mozilla_entry *entries;
    struct mozilla_group *groups;
    struct mozilla_frame *frames;
    struct mozilla_stack *stacks;
    struct source_path path;
    char *text; /* that was put together, in room bytes */
    size_t room;
    struct mozilla_memory *memory; /* of the thread that writes the answer */
};

/* api_call.step() of both versions. */
enum api_next mozilla_step(struct api_call *base, struct api_reply *reply);

/* After the results of v5: what a request with the header Debug gets. */
void mozilla_write_debug(struct mozilla_call *call, struct json_writer *w);

/* NAME/ID as the name of a member. */
void mozilla_write_name(struct mozilla_call *call, struct json_writer *w,
                        const struct mozilla_entry *entry);
