/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "symcachectl/terminal/bar.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "sandbox/sandbox.h"
#include "symbolicated/api/api.h"
#include "symbolicated/files/files.h"
#include "symbolication/symbolication.h"

/* The request is the operator's own, so only what bounds its memory counts. */
static const struct symbolication_config config = {
    .limits = {.body_size = UINT32_MAX,
               .answer_size = 1ull << 30,
               .frames = 10000000,
               .modules = SIGBUS_MAX},
    .mozilla = {.enabled = true, .requests = 1},
    .symbolicator = {.enabled = true,
                     .sources = SYMBOLICATOR_SOURCES_IGNORE,
                     .tokens = true,
                     .jvm = {.enabled = true, .requests = 1},
                     .requests = 1},
};

static const char *reader_find_header(const struct api_request *request,
                                      const char *name)
{
    return strcasecmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static struct bar store_reader_bar; /* of modules that are opened */

int store_reader_enter(const char *root, int *code)
{
    static bool is_inside;
    static int fd = -1;
    struct daemon_sandbox allowed = {.nroots = root != NULL, .spool = -1};
    char error[256];

    *code = COMMAND_OK;
    if (is_inside) {
        return fd;
    }
    bar_init(&store_reader_bar); /* in the sandbox nothing is a terminal */
    if (root != NULL) {
        fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if ((root != NULL && fd == -1) || sigbus_start() != 0) {
        *code = command_fail(COMMAND_IO, root, strerror(errno));
        return -1;
    }
    is_inside = true;
    allowed.roots = &fd;
    if (daemon_sandbox_enter(&allowed, error, sizeof(error)) < 0) {
        fprintf(stderr, "symcachectl: warning: %s; parsing without it\n",
                error);
    }
    linkage_by(linkage_demangle_here); /* a failure harms only this command */
    return fd;
}

void store_reader_tell_cut(void *data, size_t size, atomic_bool *is_cut)
{
    (void)sigbus_add(data, size, is_cut); /* there is room for the first */
}

static struct module *reader_find_mapped(struct mapped_modules *mapped,
                                         int root, struct api_module *wanted)
{
    struct module_sight sight;

    if (root == -1) {
        wanted->state = API_MODULE_MISSING;
        return NULL;
    }
    mapped_modules_open_newest(mapped, root, true, &wanted->key, &sight);
    if (sight.module == NULL) {
        wanted->state =
            sight.error != 0 ? API_MODULE_FAILED : API_MODULE_MISSING;
    } else if (!sight.module->sound) {
        wanted->state = API_MODULE_MALFORMED;
    } else {
        wanted->state = API_MODULE_FOUND;
        wanted->reader = &sight.module->reader;
        wanted->size = sight.module->size;
    }
    return sight.module;
}

/* The files of a call, which are kept until the process ends. */
struct store_reader_found {
    struct mapped_modules *mapped;
    struct module **modules;
    size_t n;
};

/* Finds the modules of the newest round. */
static void reader_find_round(struct store_reader_found *found,
                              const struct api_round *round, int root)
{
    size_t i;

    found->modules =
        realloc(found->modules,
                (found->n + round->nmodules + 1) * sizeof(*found->modules));
    if (found->mapped == NULL) {
        found->mapped = mapped_modules_new();
    }
    if (found->modules == NULL || found->mapped == NULL) {
        command_no_memory();
    }
    for (i = 0; i < round->nmodules; i++) {
        bar_draw(&store_reader_bar, i, round->nmodules, "modules");
        if (round->modules[i].state == API_MODULE_UNKNOWN) {
            found->modules[found->n++] =
                reader_find_mapped(found->mapped, root, &round->modules[i]);
        }
    }
    bar_clear(&store_reader_bar);
}

/* What was read of a file that was cut short meanwhile means nothing. */
static bool reader_is_broken(const struct store_reader_found *found)
{
    size_t i;

    for (i = 0; i < found->n; i++) {
        if (found->modules[i] != NULL &&
            atomic_load(&found->modules[i]->broken)) {
            return true;
        }
    }
    return false;
}

/* A refusal is a sentence, or {"title": SENTENCE}. */
static int reader_print_refusal(const char *name,
                                const struct api_reply *reply)
{
    cJSON *object =
        cJSON_ParseWithLength(reply->body->data, reply->body->size);
    const char *title = printable_field(object, "title");
    char *reason = title[0] != '\0'
                       ? printable(title, strlen(title))
                       : printable(reply->body->data, reply->body->size);

    command_fail(COMMAND_USAGE, name, reason);
    free(reason);
    cJSON_Delete(object);
    return COMMAND_USAGE;
}

const union derived_reader *store_reader_file(int root,
                                              const symcache_key_t *key)
{
    static struct mapped_modules *mapped;
    struct module_sight sight;

    if (mapped == NULL) {
        mapped = mapped_modules_new();
    }
    if (mapped == NULL) {
        command_no_memory();
    }
    mapped_modules_open_newest(mapped, root, true, key, &sight);
    return sight.module != NULL && sight.module->sound ? &sight.module->reader
                                                       : NULL;
}

cJSON *store_reader_answer(const char *root, const char *path,
                           const char *name, char *body, int *code)
{
    struct json json = {0};
    struct json_writer writer = {0};
    struct api_reply reply = {.body = &writer};
    struct api_request request = {.method = API_POST,
                                  .path = path,
                                  .body = body,
                                  .size = strlen(body),
                                  .header = reader_find_header,
                                  .config = &config,
                                  .json = &json};
    static struct store_reader_found found;
    struct api_call *call;
    cJSON *answer = NULL;
    bool broken = false;
    int fd;

    fd = store_reader_enter(root, code);
    if (*code != COMMAND_OK) {
        return NULL;
    }
    call = api_begin(&request, &reply);
    if (call != NULL) {
        do {
            reader_find_round(&found, call->round, fd);
            json_write_reset(&writer);
        } while (call->step(call, &reply) == API_WANTS);
        broken = reader_is_broken(&found);
        call->free(call);
    }
    if (writer.has_failed) {
        command_no_memory();
    }
    if (broken) {
        *code = command_fail(COMMAND_IO, root,
                             "a file was cut short while it was read");
    } else if (reply.status != 200) {
        *code = reader_print_refusal(name, &reply);
    } else {
        answer = cJSON_ParseWithLength(writer.data, writer.size);
        if (answer == NULL) {
            command_no_memory();
        }
    }
    json_free(&json);
    free(writer.data);
    return answer;
}
