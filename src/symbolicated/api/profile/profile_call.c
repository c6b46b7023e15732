/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /profile: a profile comes back with names.  A worker reads and writes
 * it; here only the modules are known that it asks for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "proto/header.h"
#include "reports/crash/crash.h"
#include "reports/profile/profile.h"
#include "symbolicated/api/build_id.h"
#include "symbolicated/api/protocols.h"
#include "symbolicated/api/request_limit.h"

#define CODING_MAX 31

struct profile_call {
    struct api_call base;
    const struct symbolication_config *config;
    struct api_work work;
    char *order; /* work.text */
    struct json json;
    char *question; /* its text */
    struct api_input_file *input_files;
    bool has_asked;
    bool is_incomplete; /* a module could not be fetched, or not in time */
    bool is_running;
    bool is_counted;
};

static request_count profile_running;

static void free_call(struct api_call *base)
{
    struct profile_call *call = (struct profile_call *)base;
    size_t i;

    if (call->is_running) {
        request_limit_end(&profile_running, 0);
    }
    for (i = 0; i < base->first.nmodules; i++) {
        free(base->first.modules[i].hints);
    }
    free(base->first.modules);
    spool_unref(call->work.body);
    free(call->work.said);
    free(call->order);
    free(call->question);
    free(call->input_files);
    json_free(&call->json);
    free(call);
}

static enum api_next refuse_profile(struct api_reply *reply, int status,
                                    const char *error)
{
    reply->status = status;
    reply->type = "application/json";
    api_reply_header(reply, "Cache-Control", "no-store");
    json_write_reset(reply->body);
    json_write_open(reply->body, '{');
    json_put_text(reply->body, "error", error);
    json_write_close(reply->body, '}');
    return API_FINISHED;
}

static enum api_next profile_refuse_later(struct api_reply *reply,
                                          const char *error)
{
    api_reply_header(reply, "Retry-After", "1");
    return refuse_profile(reply, 503, error);
}

/* modules ------------------------------------------------------------------ */

static const char *profile_text_of(const struct profile_call *call,
                                   uint32_t object, const char *name,
                                   size_t *size)
{
    uint32_t value = json_member(&call->json, object, name);

    if (value == 0 || call->json.values[value].type != JSON_STRING) {
        return NULL;
    }
    *size = call->json.values[value].size;
    return json_text(&call->json, value);
}

/* Adds the build id that the debug id was made of: other code ids lead to no
 * debug file. */
static void profile_add_code(struct api_module *module, const char *code,
                             size_t size)
{
    struct api_module made = {0};
    symcache_key_t id;

    if (symcache_build_id_parse(code, size, &id) == SYMCACHE_OK &&
        build_id_module(&made, &id) == 0 &&
        memcmp(made.key.guid, module->key.guid, sizeof(made.key.guid)) == 0) {
        module->hints = made.hints;
    } else {
        free(made.hints);
    }
}

/* The worker's report is only as trustworthy as the profile. */
static void profile_read_module(const struct profile_call *call,
                                uint32_t object, struct api_module *module)
{
    size_t id_size = 0, name_size = 0, code_size = 0;
    const char *id = profile_text_of(call, object, "id", &id_size);
    const char *name = profile_text_of(call, object, "name", &name_size);
    const char *code = profile_text_of(call, object, "code", &code_size);
    symcache_key_t key;

    module->name = name != NULL ? name : SYMCACHE_NAME_NONE;
    module->name_size =
        name != NULL ? name_size : sizeof(SYMCACHE_NAME_NONE) - 1;
    if (id == NULL ||
        symcache_name_parse(module->name, module->name_size, &module->key) !=
            SYMCACHE_OK ||
        symcache_id_parse(id, id_size, &module->key) != SYMCACHE_OK) {
        module->state = API_MODULE_MISSING;
        return;
    }
    key = module->key;
    if (build_id_module(module, &key) != 0) {
        module->state = API_MODULE_FAILED;
        module->is_unseen = true;
        return;
    }
    if (code != NULL && module->hints == NULL) {
        profile_add_code(module, code, code_size);
    }
}

/* Reads the question.  Returns false if it is none. */
static bool profile_read_question(struct profile_call *call)
{
    struct api_round *round = &call->base.first;
    size_t most = 16 + 8 * (size_t)call->config->limits.modules;
    struct json_error error;
    uint32_t list, value, i;

    call->question = call->work.said;
    call->work.said = NULL;
    if (call->question == NULL ||
        json_read(&call->json, call->question, call->work.size, most,
                  &error) != call->work.size) {
        return false;
    }
    list = json_member(&call->json, 0, "modules");
    if (list == 0 || call->json.values[list].type != JSON_ARRAY ||
        call->json.values[list].size > call->config->limits.modules) {
        return false;
    }
    round->modules = calloc(call->json.values[list].size + 1,
                            sizeof(round->modules[0]));
    if (round->modules == NULL) {
        return false;
    }
    for (i = 0, value = list + 1; i < call->json.values[list].size; i++) {
        profile_read_module(call, value, &round->modules[round->nmodules++]);
        value = call->json.values[value].end;
    }
    return true;
}

/* steps -------------------------------------------------------------------- */

/* The worker needs memory for the unpacked body. */
static enum api_next profile_give_room(struct profile_call *call,
                                       struct api_reply *reply)
{
    struct spool *body = call->work.body;

    free(call->work.said);
    call->work.said = NULL;
    call->work.ninput_files = 0;
    if (!call->is_counted &&
        spool_count(body, call->config->limits.crash_size) != 0) {
        return profile_refuse_later(reply, "there is no room for the profile");
    }
    call->is_counted = true;
    return API_WORKS;
}

static enum api_next profile_answer_question(struct profile_call *call,
                                             struct api_reply *reply)
{
    const struct api_round *round = &call->base.first;
    const struct api_module *module;
    size_t i;

    if (!call->has_asked) {
        if (call->work.said != NULL &&
            strcmp(call->work.said, CRASH_ROOM) == 0) {
            return profile_give_room(call, reply);
        }
        call->has_asked = true;
        return profile_read_question(call)
                   ? API_WANTS
                   : refuse_profile(reply, 500, "internal error");
    }
    free(call->input_files);
    call->input_files =
        calloc(round->nmodules + 1, sizeof(call->input_files[0]));
    if (call->input_files == NULL) {
        return profile_refuse_later(reply, "out of memory");
    }
    for (i = 0; i < round->nmodules; i++) {
        module = &round->modules[i];
        if (module->state >= API_MODULE_FAILED && module->is_unseen) {
            return profile_refuse_later(reply,
                                        "there are no descriptors, or no "
                                        "memory, to look for modules");
        }
        call->is_incomplete |= module->state >= API_MODULE_FAILED;
        call->input_files[i].index = (uint32_t)i;
        call->input_files[i].state = module->state == API_MODULE_FOUND
                                         ? CRASH_FILE_FOUND
                                         : CRASH_FILE_MISSING;
        call->input_files[i].module =
            module->state == API_MODULE_FOUND ? module : NULL;
    }
    call->work.input_files = call->input_files;
    call->work.ninput_files = round->nmodules;
    return API_WORKS;
}

/* As it was sent: its packing is a part of it. */
static enum api_next answer_profile(struct profile_call *call,
                                    struct api_reply *reply)
{
    char *p = json_write_need(reply->body, call->work.size);

    if (p != NULL && call->work.size > 0) {
        memcpy(p, call->work.said, call->work.size);
        reply->body->size += call->work.size;
    }
    reply->status = 200;
    reply->type = "application/octet-stream";
    api_reply_header(reply, "Cache-Control", "no-store");
    if (call->is_incomplete) {
        api_reply_header(reply, SYMCACHE_HEADER_REASON, "incomplete");
    }
    return API_FINISHED;
}

static enum api_next profile_answer_refused(struct profile_call *call,
                                            struct api_reply *reply)
{
    static const int statuses[] = {
        [PROFILE_BAD] = 400, [PROFILE_LARGE] = 413, [PROFILE_CODING] = 415};
    uint32_t why = call->work.detail;

    return refuse_profile(
        reply,
        why >= PROFILE_BAD && why <= PROFILE_CODING ? statuses[why] : 500,
        call->work.said != NULL ? call->work.said : "");
}

static enum api_next profile_step(struct api_call *base,
                                  struct api_reply *reply)
{
    struct profile_call *call = (struct profile_call *)base;

    switch (call->work.news) {
    case API_WORK_WANTS:
        return profile_answer_question(call, reply);
    case API_WORK_ENDED:
        return answer_profile(call, reply);
    case API_WORK_REFUSED:
        return profile_answer_refused(call, reply);
    case API_WORK_LATE:
        return profile_refuse_later(reply, "the profile took too long");
    case API_WORK_UNABLE:
        return profile_refuse_later(reply, "no worker is available");
    case API_WORK_NONE:
        return API_WORKS;
    default:
        return refuse_profile(reply, 500, "internal error");
    }
}

/* beginning ---------------------------------------------------------------- */

static int profile_write_order(struct profile_call *call, const char *coding)
{
    const struct symbolication_limits_config *limits = &call->config->limits;

    if (asprintf(&call->order, "coding %s\nunpacked %llu\nanswer %llu",
                 coding != NULL ? coding : "identity",
                 (unsigned long long)limits->crash_size,
                 (unsigned long long)limits->answer_size) < 0) {
        call->order = NULL;
        return -1;
    }
    call->work.text = call->order;
    call->work.most = limits->answer_size;
    return 0;
}

struct api_call *profile_begin(const struct api_request *request,
                               struct api_reply *reply)
{
    const struct profile_config *config = &request->config->profile;
    const char *coding = request->header(request, "Content-Encoding");
    const char *type = request->header(request, "Content-Type");
    struct profile_call *call;

    if (request->method != API_POST) {
        api_reply_header(reply, "Allow", "POST");
        refuse_profile(reply, 405, "send a POST request");
        return NULL;
    }
    if (type != NULL && strncasecmp(type, "multipart/", 10) == 0) {
        refuse_profile(reply, 415,
                       "the body is a form; send the profile itself, as curl "
                       "--data-binary does");
        return NULL;
    }
    if (request->spool == NULL ||
        request->size > request->config->limits.crash_size) {
        refuse_profile(reply, request->size > 0 ? 413 : 503,
                       "the profile is larger than "
                       "\"symbolication.limits.crash_size\"");
        return NULL;
    }
    if (coding != NULL && strlen(coding) > CODING_MAX) {
        coding = "other";
    }
    call = calloc(1, sizeof(*call));
    if (call == NULL) {
        reply->body->has_failed = true;
        return NULL;
    }
    call->config = request->config;
    call->base.round = &call->base.first;
    call->base.step = profile_step;
    call->base.free = free_call;
    call->base.wait = (uint64_t)config->wait * 1000;
    call->base.work = &call->work;
    call->work.kind = PROFILE_WORK;
    call->work.limit = request->config->limits.modules;
    call->work.body = spool_ref(request->spool);
    call->is_running =
        request_limit_begin(&profile_running, config->requests, 0, SIZE_MAX);
    if (!call->is_running) {
        profile_refuse_later(reply, "too many requests are running");
    } else if (profile_write_order(call, coding) != 0) {
        reply->body->has_failed = true;
    } else {
        return &call->base;
    }
    free_call(&call->base);
    return NULL;
}

bool profile_owns(const struct symbolication_config *config, const char *path)
{
    return config->profile.enabled && strcmp(path, "/profile") == 0;
}
