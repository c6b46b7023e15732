/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbolicate_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "symbolicated/api/written_strings.h"

/* A thread's buffers for an answer. */
struct mozilla_memory {
    struct chain chain;     /* of the newest frame */
    struct written_strings paths; /* that stand in the answer */
};

/* answers ------------------------------------------------------------------ */

static const struct api_module *
answer_find_module(const struct mozilla_call *call,
                   const struct mozilla_frame *frame)
{
    const struct mozilla_group *group;

    if (frame->entry == MOZILLA_NONE) {
        return NULL;
    }
    group = &call->groups[call->entries[frame->entry].group];
    return group->module != MOZILLA_NONE
               ? &call->base.round->modules[group->module]
               : NULL;
}

/* Frames that are looked up together. */
#define ANSWER_BLOCK 64

/* Looks n frames up: where their modules have them, or SYMC_NONE. */
static void answer_resolve_frames(const struct mozilla_call *call,
                                  const struct mozilla_frame *frames, size_t n,
                                  uint32_t locations[ANSWER_BLOCK])
{
    struct symc_lookup lookups[ANSWER_BLOCK];
    const struct api_module *module;
    size_t i, found = 0, of[ANSWER_BLOCK];

    for (i = 0; i < n; i++) {
        locations[i] = SYMC_NONE;
        module = answer_find_module(call, &frames[i]);
        if (module != NULL && module->state == API_MODULE_FOUND &&
            !frames[i].minus_one) {
            lookups[found].reader = &module->reader->symcache;
            lookups[found].address = frames[i].offset;
            of[found++] = i;
        }
    }
    symc_reader_lookup_all(lookups, found);
    chain_prefetch(lookups, found);
    for (i = 0; i < found; i++) {
        locations[of[i]] = lookups[i].location;
    }
}

/* The chain of a frame at its location, until the next one of this thread. */
static const struct chain *answer_find_chain(const struct mozilla_call *call,
                                             const struct mozilla_frame *frame,
                                             uint32_t location)
{
    struct chain *chain = &call->memory->chain;

    chain->count = 0;
    if (location != SYMC_NONE) {
        chain_at(&answer_find_module(call, frame)->reader->symcache, location,
                 chain);
    }
    return chain;
}

static void answer_offset(struct json_writer *answer,
                          const struct mozilla_frame *frame)
{
    if (frame->minus_one) {
        json_write_text(answer, "-0x1");
    } else {
        json_write_hex(answer, frame->offset);
    }
}

/* Returns false if there is no path to write. */
static bool answer_file(struct mozilla_call *call, struct json_writer *answer,
                        const struct symc_reader *reader, uint32_t file)
{
    struct written_string *fragment;
    const struct symc_string *path;

    if (written_strings_find(&call->memory->paths, reader, file, &fragment)) {
        json_write_key(answer, "file");
        written_string_again(fragment, 0, answer);
        return true;
    }
    path = source_path(&call->path, reader, file);
    if (path == NULL || path->size == 0) {
        answer->has_failed = answer->has_failed || path == NULL;
        fragment->reader = NULL;
        return false;
    }
    json_write_key(answer, "file");
    written_string_write(fragment, 0, answer, path);
    return true;
}

/* file and line of one level of a chain */
static void answer_place(struct mozilla_call *call, struct json_writer *answer,
                         const struct chain *chain,
                         const struct symc_frame *level)
{
    if (answer_file(call, answer, chain->reader, level->location.file) &&
        level->location.line != 0) {
        json_put_number(answer, "line", level->location.line);
    }
}

/* Returns the name of a function as dump_syms would have written it, until the
 * next call in this thread.  Names that only Microsoft's linkers know stay as
 * they are, because Eliot has them so. */
static struct symc_string answer_function_name(const struct symc_frame *level)
{
    static _Thread_local char room[LINKAGE_READABLE_MAX];
    const struct symc_string *name = &level->function.name;
    struct symc_string readable = {room, 0};

    return linkage_sniff(name, level->function.language) &&
                   linkage_ask(name, level->function.language, room,
                               &readable.size)
               ? readable
               : *name;
}

static void answer_function(struct json_writer *answer,
                            const struct symc_frame *level)
{
    struct symc_string name = answer_function_name(level);

    json_put_string(answer, "function", name.data, name.size);
}

static void answer_inlines(struct mozilla_call *call,
                           struct json_writer *answer,
                           const struct chain *chain)
{
    size_t i;

    json_put_open(answer, "inlines", '[');
    for (i = 0; i + 1 < chain->count; i++) {
        json_write_open(answer, '{');
        answer_function(answer, &chain->frames[i]);
        answer_place(call, answer, chain, &chain->frames[i]);
        json_write_close(answer, '}');
    }
    json_write_close(answer, ']');
}

static void answer_chain(struct mozilla_call *call, struct json_writer *answer,
                         const struct mozilla_frame *frame,
                         const struct chain *chain)
{
    const struct symc_frame *outer = &chain->frames[chain->count - 1];
    uint32_t entry = chain_entry(chain), size;

    answer_function(answer, outer);
    json_put_hex(answer, "function_offset",
                 entry <= frame->offset ? frame->offset - entry : 0);
    if (call->sizes) {
        size = chain_function_size(chain);
        if (size != 0) {
            json_put_hex(answer, "function_size", size);
        }
    }
    answer_place(call, answer, chain, outer);
    if (chain->count > 1) {
        answer_inlines(call, answer, chain);
    }
}

/* The name that is shown for the module of a frame. */
static struct symc_string answer_module_name(const struct mozilla_call *call,
                                             const struct mozilla_frame *frame)
{
    static const char unknown[] = "<unknown>";
    const struct mozilla_entry *entry;

    if (frame->entry == MOZILLA_NONE ||
        call->entries[frame->entry].name_size == 0) {
        return (struct symc_string){unknown, sizeof(unknown) - 1};
    }
    entry = &call->entries[frame->entry];
    return (struct symc_string){entry->name, entry->name_size};
}

/* The name of the module of a frame, and the member after it up to its colon:
 * all frames of an entry have the same. */
static void answer_module(struct mozilla_call *call,
                          struct json_writer *answer,
                          const struct mozilla_frame *frame)
{
    struct mozilla_entry *entry =
        frame->entry != MOZILLA_NONE ? &call->entries[frame->entry] : NULL;
    struct symc_string name;
    size_t at;

    if (entry != NULL && entry->size > 0) {
        json_write_begun_again(answer, entry->at, entry->size);
        return;
    }
    name = answer_module_name(call, frame);
    at = answer->size + 2; /* after the comma and the blank */
    json_put_string(answer, "module", name.data, name.size);
    json_write_key(answer, "module_offset");
    if (entry != NULL && !answer->has_failed) {
        entry->at = at;
        entry->size = answer->size - at;
    }
}

static void answer_frame(struct mozilla_call *call, struct json_writer *answer,
                         const struct mozilla_frame *frame, uint32_t location,
                         uint32_t index)
{
    static const char begin[] = "{\"frame\": ";
    const struct chain *chain = answer_find_chain(call, frame, location);

    json_write_begun(answer, begin, sizeof(begin) - 1);
    json_write_number(answer, index);
    answer_module(call, answer, frame);
    answer_offset(answer, frame);
    if (chain->count > 0) {
        answer_chain(call, answer, frame, chain);
    }
    json_write_close(answer, '}');
}

/* Puts n texts together in call->text.  NULL without memory. */
static const char *answer_join_parts(struct mozilla_call *call,
                                     const struct symc_string *parts,
                                     size_t count, size_t *size)
{
    size_t i, n = 0;
    char *text;

    for (i = 0, *size = 0; i < count; i++) {
        *size += parts[i].size;
    }
    if (*size > call->room) {
        text = realloc(call->text, 2 * *size);
        if (text == NULL) {
            return NULL;
        }
        call->text = text;
        call->room = 2 * *size;
    }
    for (i = 0; i < count; i++) {
        if (parts[i].size > 0) {
            memcpy(call->text + n, parts[i].data, parts[i].size);
            n += parts[i].size;
        }
    }
    return call->text;
}

void mozilla_write_name(struct mozilla_call *call, struct json_writer *answer,
                        const struct mozilla_entry *entry)
{
    const struct symc_string parts[3] = {{entry->name, entry->name_size},
                                         {"/", 1},
                                         {entry->id, entry->id_size}};
    size_t size;
    const char *text = answer_join_parts(call, parts, 3, &size);

    if (text == NULL) {
        answer->has_failed = true;
    } else {
        json_write_name(answer, text, size);
    }
}

/* "FUNCTION (in MODULE)", the form of v4. */
static void answer_text(struct mozilla_call *call, struct json_writer *answer,
                        const struct mozilla_frame *frame, uint32_t location)
{
    const struct chain *chain = answer_find_chain(call, frame, location);
    struct symc_string name = answer_module_name(call, frame);
    struct symc_string parts[4] = {{NULL, 0}, {" (in ", 5}, name, {")", 1}};
    char offset[32];
    const char *text;
    size_t size;

    if (chain->count > 0) {
        parts[0] = answer_function_name(&chain->frames[chain->count - 1]);
    } else {
        snprintf(offset, sizeof(offset),
                 frame->minus_one ? "-0x1" : "0x%llx",
                 (unsigned long long)frame->offset);
        parts[0] = (struct symc_string){offset, strlen(offset)};
    }
    text = answer_join_parts(call, parts, 4, &size);
    if (text == NULL) {
        answer->has_failed = true;
    } else {
        json_write_string(answer, text, size);
    }
}

/* Returns false if the answer becomes too long. */
static bool answer_stack(struct mozilla_call *call, struct json_writer *answer,
                         const struct mozilla_stack *stack)
{
    const struct mozilla_frame *frames = &call->frames[stack->frame];
    uint32_t i, locations[ANSWER_BLOCK];

    json_write_open(answer, '[');
    for (i = 0; i < stack->n; i++) {
        if (i % ANSWER_BLOCK == 0) {
            answer_resolve_frames(call, &frames[i],
                                  stack->n - i < ANSWER_BLOCK ? stack->n - i
                                                              : ANSWER_BLOCK,
                                  locations);
        }
        if (call->protocol == API_MOZILLA_V4) {
            answer_text(call, answer, &frames[i], locations[i % ANSWER_BLOCK]);
        } else {
            answer_frame(call, answer, &frames[i], locations[i % ANSWER_BLOCK],
                         i);
        }
        if (answer->size > call->config->limits.answer_size) {
            return false;
        }
    }
    json_write_close(answer, ']');
    return true;
}

static bool answer_stacks(struct mozilla_call *call,
                          struct json_writer *answer,
                          const struct mozilla_job *job)
{
    uint32_t s;

    json_write_open(answer, '[');
    for (s = 0; s < job->stacks; s++) {
        if (!answer_stack(call, answer, &call->stacks[job->stack + s])) {
            return false;
        }
    }
    json_write_close(answer, ']');
    return true;
}

/* true, false or null: found, not found, not looked for. */
static void answer_found(const struct mozilla_call *call,
                         struct json_writer *answer,
                         const struct mozilla_entry *entry)
{
    uint32_t module = call->groups[entry->group].module;

    if (module == MOZILLA_NONE) {
        json_write_raw(answer, "null", 4);
    } else {
        json_write_bool(answer, call->base.round->modules[module].state ==
                                    API_MODULE_FOUND);
    }
}

static void answer_found_modules(struct mozilla_call *call,
                                 struct json_writer *answer,
                                 const struct mozilla_job *job)
{
    uint32_t i, number = (uint32_t)(job - call->jobs) + 1;
    const struct mozilla_entry *entry;
    struct mozilla_group *group;

    json_write_open(answer, '{');
    for (i = 0; i < job->entries; i++) {
        entry = &call->entries[job->entry + i];
        group = &call->groups[entry->group];
        if (group->told != number) {
            group->told = number;
            group->jobs++;
            mozilla_write_name(call, answer, entry);
            answer_found(call, answer, entry);
        }
    }
    json_write_close(answer, '}');
}

static bool answer_v5(struct mozilla_call *call, struct json_writer *answer)
{
    uint32_t j;

    written_strings_begin(&call->memory->paths, call->base.nframes);
    json_write_open(answer, '{');
    json_put_open(answer, "results", '[');
    for (j = 0; j < call->njobs; j++) {
        json_write_open(answer, '{');
        json_write_key(answer, "stacks");
        if (!answer_stacks(call, answer, &call->jobs[j])) {
            return false;
        }
        json_write_key(answer, "found_modules");
        answer_found_modules(call, answer, &call->jobs[j]);
        json_write_close(answer, '}');
    }
    json_write_close(answer, ']');
    if (call->debug) {
        mozilla_write_debug(call, answer);
    }
    json_write_close(answer, '}');
    return true;
}

static bool answer_v4(struct mozilla_call *call, struct json_writer *answer)
{
    uint32_t i;

    json_write_open(answer, '{');
    json_write_key(answer, "symbolicatedStacks");
    if (!answer_stacks(call, answer, &call->jobs[0])) {
        return false;
    }
    json_put_open(answer, "knownModules", '[');
    for (i = 0; i < call->nentries; i++) {
        answer_found(call, answer, &call->entries[i]);
    }
    json_write_close(answer, ']');
    json_write_close(answer, '}');
    return true;
}

static bool answer_has_failed(const struct mozilla_call *call)
{
    enum api_module_state state;
    size_t i;

    for (i = 0; i < call->base.round->nmodules; i++) {
        state = call->base.round->modules[i].state;
        if (state == API_MODULE_FAILED || state == API_MODULE_LATE) {
            return true;
        }
    }
    return false;
}

enum api_next mozilla_step(struct api_call *base, struct api_reply *reply)
{
    struct mozilla_call *call = (struct mozilla_call *)base;
    const struct symbolication_config *config = call->config;
    static _Thread_local void *kept;
    struct json_writer *answer = reply->body;
    uint32_t i;

    call->memory = thread_keep(&kept, sizeof(*call->memory));
    if (call->memory == NULL) {
        answer->has_failed = true;
        return API_FINISHED;
    }
    mozilla_service(call->request, "POST", reply);
    if (config->mozilla.on_failure == MOZILLA_ON_FAILURE_503 &&
        answer_has_failed(call)) {
        api_reply_header(reply, "Retry-After", "5");
        mozilla_error(call->request, reply, 503,
                      "symbols could not be fetched, please try again");
        return API_FINISHED;
    }
    for (i = 0; i < call->ngroups; i++) {
        call->groups[i].told = call->groups[i].jobs = 0;
    }
    for (i = 0; i < call->nentries; i++) {
        call->entries[i].size = 0; /* a step may be taken again */
    }
    reply->status = 200;
    reply->type = "application/json";
    answer->is_python = true;
    if (!(call->protocol == API_MOZILLA_V4 ? answer_v4(call, answer)
                                           : answer_v5(call, answer)) ||
        answer->size > config->limits.answer_size) {
        json_write_reset(answer);
        mozilla_error(call->request, reply, 400,
                      "please ask for less: the answer has more than %llu "
                      "bytes",
                      (unsigned long long)config->limits.answer_size);
    }
    call->path.reader = NULL; /* the next answer may be of other files */
    return API_FINISHED;
}
