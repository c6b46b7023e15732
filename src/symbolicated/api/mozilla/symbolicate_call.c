/*
 * Copyright (C) the ngx_symcache authors
 *
 * What jobs say is checked in their order, memoryMap before stacks, and the
 * first mistake ends the request.
 */
#include "symbolicate_call.h"

#include <stdlib.h>
#include <string.h>
#include "base/zeroed.h"
#include "symbolicated/api/request_limit.h"

static request_count symbolicate_running;

static void symbolicate_free_call(struct api_call *base)
{
    struct mozilla_call *call = (struct mozilla_call *)base;

    if (call->is_running) {
        request_limit_end(&symbolicate_running, call->body_size);
    }
    source_path_free(&call->path);
    free(call->text);
    free(call->base.first.modules);
    free(call->entries);
    free(call->groups);
    free(call->frames);
    free(call->stacks);
    free(call);
}

/* parsing ----------------------------------------------------------------- */

/* The value of a member, the last if there are several; 0 if there is none. */
static uint32_t request_member(const struct json *json, uint32_t object,
                               const char *name)
{
    uint32_t i, value = object + 1, found = 0;

    for (i = 0; i < json->values[object].size; i++) {
        if (json_is(json, value, name)) {
            found = value + 1;
        }
        value = json->values[value + 1].end;
    }
    return found;
}

static bool symbolicate_is_type(const struct json *json, uint32_t value,
                                enum json_type type)
{
    return json->values[value].type == (uint32_t)type;
}

static bool symbolicate_is_list(const struct json *json, uint32_t value,
                                uint32_t size)
{
    return symbolicate_is_type(json, value, JSON_ARRAY) &&
           json->values[value].size == size;
}

/* What names and ids are made of: bits of the characters of ASCII.  Letters,
 * digits and "_.+{}@<> ~-"; hexadecimal digits. */
static const uint32_t of_names[8] = {0, 0x53FF6801, 0x87FFFFFF, 0x6FFFFFFE};
static const uint32_t of_ids[8] = {0, 0x03FF0000, 0x0000007E, 0x0000007E};

/* A string of these characters only. */
static bool symbolicate_has_only(const char *text, size_t size,
                                 const uint32_t set[8])
{
    size_t i;
    unsigned char c;

    for (i = 0; i < size; i++) {
        c = (unsigned char)text[i];
        if ((set[c / 32] >> c % 32 & 1) == 0) {
            return false;
        }
    }
    return true;
}

/* Eliot lets a text end with a newline; no file has such a name or id. */
static bool request_ends_line(const char *text, size_t size)
{
    return size > 0 && text[size - 1] == '\n';
}

/* Returns NULL, or what is wrong with the entry. */
static const char *symbolicate_read_entry(struct mozilla_call *call,
                                          uint32_t value)
{
    const struct json *json = call->request->json;
    struct mozilla_entry *entry = &call->entries[call->nentries++];
    uint32_t name = value + 1, id = value + 2;
    bool bad_name, bad_id, name_line, id_line;

    if (!symbolicate_is_list(json, value, 2)) {
        return "does not have a debug_filename and debug_id";
    }
    if (!symbolicate_is_type(json, name, JSON_STRING)) {
        return "has an invalid debug_filename";
    }
    entry->name = json_text(json, name);
    entry->name_size = json->values[name].size;
    name_line = request_ends_line(entry->name, entry->name_size);
    bad_name = !symbolicate_has_only(entry->name, entry->name_size - name_line,
                                     of_names);
    if ((bad_name && !call->config->mozilla.lenient) ||
        entry->name_size > API_MODULE_NAME_MAX) {
        return "has an invalid debug_filename";
    }
    if (!symbolicate_is_type(json, id, JSON_STRING)) {
        return "has an invalid debug_id";
    }
    entry->id = json_text(json, id);
    entry->id_size = json->values[id].size;
    id_line = request_ends_line(entry->id, entry->id_size);
    bad_id =
        !symbolicate_has_only(entry->id, entry->id_size - id_line, of_ids);
    if (bad_id && !call->config->mozilla.lenient) {
        return "has an invalid debug_id";
    }
    entry->bad = bad_name || bad_id || name_line || id_line;
    return NULL;
}

static bool symbolicate_read_modules(struct mozilla_call *call,
                                     struct mozilla_job *job, uint32_t list,
                                     struct api_reply *reply)
{
    const struct json *json = call->request->json;
    unsigned j = (unsigned)(job - call->jobs), i;
    const char *wrong;
    uint32_t value;

    if (!symbolicate_is_type(json, list, JSON_ARRAY)) {
        mozilla_error(call->request, reply, 400,
                      "job %u has invalid modules: modules must be a list", j);
        return false;
    }
    job->entry = call->nentries;
    job->entries = json->values[list].size;
    for (i = 0, value = list + 1; i < job->entries; i++) {
        wrong = symbolicate_read_entry(call, value);
        if (wrong != NULL) {
            mozilla_error(call->request, reply, 400,
                          "job %u has invalid modules: module index %u %s", j,
                          i, wrong);
            return false;
        }
        value = json->values[value].end;
    }
    return true;
}

/* An integer from -1 on; true and false are 1 and 0 to Python. */
static bool symbolicate_read_integer(const struct json *json, uint32_t value,
                                     uint64_t *number, bool *minus_one)
{
    *minus_one = false;
    *number = symbolicate_is_type(json, value, JSON_TRUE);
    if (symbolicate_is_type(json, value, JSON_TRUE) ||
        symbolicate_is_type(json, value, JSON_FALSE)) {
        return true;
    }
    switch (json_integer(json, value, number)) {
    case JSON_INTEGER_POSITIVE:
        return true;
    case JSON_INTEGER_NEGATIVE:
        *minus_one = *number == 1;
        return *number <= 1; /* -0 is 0 */
    default:
        return false;
    }
}

/* Does a number stand there that is not a whole one? */
static bool is_request_integer(const struct json *json, uint32_t value)
{
    uint64_t number;

    return symbolicate_is_type(json, value, JSON_TRUE) ||
           symbolicate_is_type(json, value, JSON_FALSE) ||
           json_integer(json, value, &number) != JSON_INTEGER_NONE;
}

/* Returns NULL, or what is wrong with the frame. */
static const char *symbolicate_read_frame(struct mozilla_call *call,
                                          const struct mozilla_job *job,
                                          uint32_t value)
{
    const struct json *json = call->request->json;
    struct mozilla_frame *frame = &call->frames[call->base.nframes++];
    uint64_t index;
    bool minus_one;

    if (!symbolicate_is_list(json, value, 2)) {
        return "is not a list of two items";
    }
    if (!symbolicate_read_integer(json, value + 1, &index, &minus_one) ||
        (!minus_one && index >= job->entries)) {
        return is_request_integer(json, value + 1)
                   ? "has a module_index that isn't in modules"
                   : "has an invalid module_index";
    }
    frame->entry = minus_one ? MOZILLA_NONE : job->entry + (uint32_t)index;
    if (!symbolicate_read_integer(json, value + 2, &frame->offset,
                                  &frame->minus_one)) {
        return "has an invalid module_offset";
    }
    if (!minus_one) {
        call->entries[frame->entry].used = true;
    }
    return NULL;
}

static bool symbolicate_read_stack(struct mozilla_call *call,
                                   const struct mozilla_job *job,
                                   uint32_t value, struct api_reply *reply)
{
    const struct json *json = call->request->json;
    struct mozilla_stack *stack = &call->stacks[call->nstacks++];
    unsigned j = (unsigned)(job - call->jobs), i;
    unsigned s = (unsigned)(stack - call->stacks) - job->stack;
    const char *wrong;

    if (!symbolicate_is_type(json, value, JSON_ARRAY)) {
        mozilla_error(call->request, reply, 400,
                      "job %u has invalid stacks: stack %u is not a list", j,
                      s);
        return false;
    }
    stack->frame = (uint32_t)call->base.nframes;
    stack->n = json->values[value].size;
    for (i = 0, value++; i < stack->n; i++) {
        wrong = symbolicate_read_frame(call, job, value);
        if (wrong != NULL) {
            mozilla_error(call->request, reply, 400,
                          "job %u has invalid stacks: stack %u frame %u %s", j,
                          s, i, wrong);
            return false;
        }
        value = json->values[value].end;
    }
    return true;
}

static bool symbolicate_read_stacks(struct mozilla_call *call,
                                    struct mozilla_job *job, uint32_t list,
                                    struct api_reply *reply)
{
    const struct json *json = call->request->json;
    unsigned j = (unsigned)(job - call->jobs);
    uint32_t i, value;

    if (!symbolicate_is_type(json, list, JSON_ARRAY)) {
        mozilla_error(call->request, reply, 400,
                      "job %u has invalid stacks: stacks must be a list of "
                      "lists",
                      j);
        return false;
    }
    job->stack = call->nstacks;
    job->stacks = json->values[list].size;
    if (job->stacks == 0) {
        mozilla_error(call->request, reply, 400,
                      "job %u has invalid stacks: no stacks specified", j);
        return false;
    }
    for (i = 0, value = list + 1; i < job->stacks; i++) {
        if (!symbolicate_read_stack(call, job, value, reply)) {
            return false;
        }
        value = json->values[value].end;
    }
    return true;
}

static bool symbolicate_read_job(struct mozilla_call *call, uint32_t value,
                                 struct api_reply *reply)
{
    const struct json *json = call->request->json;
    struct mozilla_job *job = &call->jobs[call->njobs++];
    unsigned j = (unsigned)(job - call->jobs);
    uint32_t map = 0, stacks = 0;

    if (!symbolicate_is_type(json, value, JSON_OBJECT)) {
        mozilla_error(call->request, reply, 400, "job %u is invalid", j);
        return false;
    }
    stacks = request_member(json, value, "stacks");
    map = request_member(json, value, "memoryMap");
    if (stacks == 0 || map == 0) {
        mozilla_error(call->request, reply, 400,
                      "job %u is invalid: no %s specified", j,
                      stacks == 0 ? "stacks" : "memoryMap");
        return false;
    }
    return symbolicate_read_modules(call, job, map, reply) &&
           symbolicate_read_stacks(call, job, stacks, reply);
}

/*
 * How many jobs a value has: the characters of a text and the members of an
 * object count, too, though none of them is one; others are one bad job.
 */
static uint32_t count_request_jobs(const struct json *json, uint32_t jobs)
{
    uint32_t size = json->values[jobs].size, n = 0, i;

    if (symbolicate_is_type(json, jobs, JSON_ARRAY) ||
        symbolicate_is_type(json, jobs, JSON_OBJECT)) {
        return size;
    }
    if (!symbolicate_is_type(json, jobs, JSON_STRING)) {
        return 1;
    }
    for (i = 0; i < size; i++) {
        n += ((unsigned char)json_text(json, jobs)[i] & 0xC0) != 0x80;
    }
    return n;
}

static bool symbolicate_read_jobs(struct mozilla_call *call, uint32_t jobs,
                                  struct api_reply *reply)
{
    const struct json *json = call->request->json;
    uint32_t i, value = jobs + 1, n = count_request_jobs(json, jobs);

    if (n > MOZILLA_JOBS_MAX) {
        mozilla_error(call->request, reply, 400,
                      "please limit number of jobs in a single request to <= "
                      "%d",
                      MOZILLA_JOBS_MAX);
        return false;
    }
    if (n > 0 && !symbolicate_is_type(json, jobs, JSON_ARRAY)) {
        mozilla_error(call->request, reply, 400, "job 0 is invalid");
        return false;
    }
    for (i = 0; i < n; i++) {
        if (!symbolicate_read_job(call, value, reply)) {
            return false;
        }
        value = json->values[value].end;
    }
    return true;
}

/* modules ----------------------------------------------------------------- */

static int symbolicate_compare_entries(const void *a, const void *b)
{
    const struct mozilla_entry *x = *(struct mozilla_entry *const *)a;
    const struct mozilla_entry *y = *(struct mozilla_entry *const *)b;
    int rc;

    if (x->name_size != y->name_size) {
        return x->name_size < y->name_size ? -1 : 1;
    }
    if (x->id_size != y->id_size) {
        return x->id_size < y->id_size ? -1 : 1;
    }
    rc = memcmp(x->name, y->name, x->name_size);
    return rc != 0 ? rc : memcmp(x->id, y->id, x->id_size);
}

/* Puts entries that are written alike into one group.  Returns 0, or -1. */
static int symbolicate_make_groups(struct mozilla_call *call)
{
    struct mozilla_entry **sorted =
        zeroed_alloc(call->nentries + 1, sizeof(sorted[0]));
    struct mozilla_group *group = NULL;
    uint32_t i;

    call->groups = zeroed_alloc(call->nentries + 1, sizeof(call->groups[0]));
    if (sorted == NULL || call->groups == NULL) {
        free(sorted);
        return -1;
    }
    for (i = 0; i < call->nentries; i++) {
        sorted[i] = &call->entries[i];
    }
    qsort(sorted, call->nentries, sizeof(sorted[0]),
          symbolicate_compare_entries);
    for (i = 0; i < call->nentries; i++) {
        if (i == 0 ||
            symbolicate_compare_entries(&sorted[i - 1], &sorted[i]) != 0) {
            group = &call->groups[call->ngroups++];
            group->module = group->first = MOZILLA_NONE;
        }
        sorted[i]->group = call->ngroups - 1;
        group->used |= sorted[i]->used && sorted[i]->name_size > 0 &&
                       sorted[i]->id_size > 0;
    }
    free(sorted);
    return 0;
}

/* 32 digits and an age, of which eight digits count; none is age 0. */
static bool symbolicate_read_id(const struct mozilla_entry *entry,
                                symcache_key_t *key)
{
    char age[8 + 1] = "";
    uint32_t n;

    if (entry->id_size < 32 ||
        symcache_guid_parse(entry->id, 32, key->guid) != SYMCACHE_OK) {
        return false;
    }
    n = entry->id_size - 32 < 8 ? entry->id_size - 32 : 8;
    memcpy(age, entry->id + 32, n);
    key->age = (uint32_t)strtoul(age, NULL, 16);
    key->id_type = SYMCACHE_ID_DEBUG;
    return true;
}

static void symbolicate_fill_module(struct api_module *module,
                                    const struct mozilla_entry *entry)
{
    module->name = entry->name;
    module->name_size = entry->name_size;
    if (entry->bad ||
        symcache_name_parse(entry->name, entry->name_size, &module->key) !=
            SYMCACHE_OK ||
        !symbolicate_read_id(entry, &module->key)) {
        module->state = API_MODULE_MISSING;
    }
}

/* Collects the modules to look for.  Returns 0, or -1 without memory. */
static int symbolicate_make_modules(struct mozilla_call *call)
{
    struct mozilla_group *group;
    size_t n = 0;
    uint32_t i;

    for (i = 0; i < call->ngroups; i++) {
        n += call->groups[i].used;
    }
    call->base.first.modules =
        zeroed_alloc(n + 1, sizeof(call->base.first.modules[0]));
    if (call->base.first.modules == NULL) {
        return -1;
    }
    for (i = 0; i < call->nentries; i++) {
        group = &call->groups[call->entries[i].group];
        if (group->first == MOZILLA_NONE) {
            group->first = i;
        }
        if (group->used && group->module == MOZILLA_NONE) {
            group->module = (uint32_t)call->base.first.nmodules;
            symbolicate_fill_module(
                &call->base.first.modules[call->base.first.nmodules++],
                &call->entries[i]);
        }
    }
    return 0;
}

/* beginning --------------------------------------------------------------- */

/* Room for all that the values of the body can be.  Returns 0, or -1. */
static int symbolicate_make_room(struct mozilla_call *call)
{
    size_t count = call->request->json->count;

    call->entries = zeroed_alloc(count / 3 + 1, sizeof(call->entries[0]));
    call->frames = malloc((count / 3 + 1) * sizeof(call->frames[0]));
    call->stacks = malloc((count + 1) * sizeof(call->stacks[0]));
    return call->entries != NULL && call->frames != NULL &&
                   call->stacks != NULL
               ? 0
               : -1;
}

/* A limit that the configuration sets. */
static bool symbolicate_check_limit(struct mozilla_call *call,
                                    struct api_reply *reply, const char *what,
                                    size_t n, unsigned limit)
{
    if (n > limit) {
        mozilla_error(call->request, reply, 400,
                      "please limit number of %s in a single request to <= %u",
                      what, limit);
    }
    return n <= limit;
}

static bool symbolicate_read_body(struct mozilla_call *call,
                                  struct api_reply *reply)
{
    const struct json *json = call->request->json;
    uint32_t jobs = 0;

    if (call->protocol == API_MOZILLA_V5 &&
        symbolicate_is_type(json, 0, JSON_OBJECT)) {
        jobs = request_member(json, 0, "jobs");
    }
    return (jobs != 0 ? symbolicate_read_jobs(call, jobs, reply)
                      : symbolicate_read_job(call, 0, reply)) &&
           symbolicate_check_limit(call, reply, "frames", call->base.nframes,
                                   call->config->limits.frames);
}

/* Parses the JSON of a body.  Returns false when it has answered. */
static bool parse_symbolicate(const struct api_request *request,
                              struct api_reply *reply)
{
    static const char bom[] = "\xEF\xBB\xBF";
    const struct symbolication_limits_config *limits =
        &request->config->limits;
    /* a frame is three values; unknown members are some more */
    size_t most = 1000 + 16 * ((size_t)limits->frames + limits->modules);
    size_t skip =
        request->size >= 3 && memcmp(request->body, bom, 3) == 0 ? 3 : 0;
    struct json_error error = {0};

    request->json->takes_nan = true;
    if (request->size > skip &&
        json_read(request->json, request->body + skip, request->size - skip,
                  most, &error) == request->size - skip) {
        return true;
    }
    if (error.out_of_memory) {
        reply->body->has_failed = true;
    } else if (request->json->count == most) {
        mozilla_error(request, reply, 400,
                      "please limit number of JSON values in a single request "
                      "to <= %zu",
                      most);
    } else {
        mozilla_error(request, reply, 400, "Payload is not valid JSON");
    }
    return false;
}

static bool request_has_debug(const struct api_request *request)
{
    const char *debug = request->header(request, "Debug");

    return debug != NULL && debug[0] != '\0';
}

/* Reads the request.  Returns false when it has answered, or there is no
 * memory. */
static bool read_request(struct mozilla_call *call, struct api_reply *reply)
{
    const struct api_request *request = call->request;

    if (api_is_encoded(request)) {
        mozilla_error(request, reply, 415,
                      "please send JSON without a Content-Encoding");
        return false;
    }
    if (request->size > call->config->limits.body_size) {
        mozilla_error(request, reply, 413,
                      "please send less: the body has more than %llu bytes",
                      (unsigned long long)call->config->limits.body_size);
        return false;
    }
    if (!call->is_running) {
        api_reply_header(reply, "Retry-After", "1");
        mozilla_error(request, reply, 503,
                      "too many requests are running, please try again");
        return false;
    }
    if (!parse_symbolicate(request, reply)) {
        return false;
    }
    /* the Firefox Profiler: a page in a browser, whose requests have jobs;
     * Eliot's own answers have no sizes */
    call->sizes = request->header(request, "Origin") != NULL &&
                  symbolicate_is_type(request->json, 0, JSON_OBJECT) &&
                  request_member(request->json, 0, "jobs") != 0;
    if (symbolicate_make_room(call) != 0) {
        reply->body->has_failed = true;
        return false;
    }
    if (!symbolicate_read_body(call, reply)) {
        return false;
    }
    if (symbolicate_make_groups(call) != 0 ||
        symbolicate_make_modules(call) != 0) {
        reply->body->has_failed = true;
        return false;
    }
    return symbolicate_check_limit(call, reply, "modules",
                                   call->base.first.nmodules,
                                   call->config->limits.modules);
}

struct api_call *mozilla_begin(const struct api_request *request,
                               struct api_reply *reply)
{
    struct mozilla_call *call;

    if (mozilla_service(request, "POST", reply)) {
        return NULL;
    }
    call = zeroed_alloc(1, sizeof(*call));
    if (call == NULL) {
        reply->body->has_failed = true;
        return NULL;
    }
    call->base.round = &call->base.first;
    call->base.step = mozilla_step;
    call->base.free = symbolicate_free_call;
    call->base.wait = (uint64_t)request->config->mozilla.wait * 1000;
    call->config = request->config;
    call->request = request;
    call->protocol = reply->protocol;
    call->debug =
        call->protocol == API_MOZILLA_V5 && request_has_debug(request);
    call->body_size = request->size;
    call->is_running = request_limit_begin(
        &symbolicate_running, request->config->mozilla.requests, request->size,
        request->config->limits.running_size);
    if (!read_request(call, reply)) {
        symbolicate_free_call(&call->base);
        return NULL;
    }
    return &call->base;
}
