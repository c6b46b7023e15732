/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl minidump: the threads of a crashed process.  The dump is walked
 * in a sandbox; names and lines come from a store, from a server, or from a
 * running symbolicated.
 */
#include "symbolicate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "minidump_json.h"
#include "report_names.h"
#include "report_print.h"
#include "reports/minidump/minidump.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/client.h"
#include "symcachectl/options.h"
#include "symcachectl/settings.h"
#include "symcachectl/terminal/printable.h"

#define FRAMES 256  /* of a thread, as Symbolicator answers */

static cJSON *walked; /* the dump without names */
static bool is_json, is_socorro;

/* the walk ----------------------------------------------------------------- */

/* Stacks that the process has walked itself take the place of those that were
 * found, as in Symbolicator's answer. */
static void minidump_take_prewalked(void)
{
    cJSON *thread, *own;

    cJSON_ArrayForEach(thread, cjson_get(walked, "stacktraces"))
    {
        own = cJSON_DetachItemFromObjectCaseSensitive(thread, "prewalked");
        if (own != NULL) {
            cJSON_DeleteItemFromObjectCaseSensitive(thread, "frames");
            cjson_add(thread, "frames", own);
        }
    }
}

static void minidump_tell_left_out(const char *file)
{
    const char *what = printable_field(walked, "left_out");
    char text[96];

    if (strcmp(what, MINIDUMP_CUT_OFF) == 0) {
        (void)command_fail(COMMAND_OK, file,
                           "note: was cut off: stacks, registers and "
                           "modules behind its end are missing");
    } else if (what[0] != '\0') {
        snprintf(text, sizeof(text),
                 "note: has more %s than are read; the others are left out",
                 what);
        (void)command_fail(COMMAND_OK, file, text);
    }
}

/* the answer -------------------------------------------------------------- */

/* Puts what the walk knows of each thread into the answer with its names. */
static cJSON *minidump_merge_answer(const cJSON *answer)
{
    static const char *const head[] = {"timestamp", "system_info", "crashed",
                                       "crash_reason", "assertion"};
    static const char *const thread[] = {"thread_id", "thread_name",
                                         "is_requesting", "registers"};
    cJSON *object = cJSON_Duplicate(answer, true), *stack;
    const cJSON *from = cjson_get(walked, "stacktraces")->child, *value;
    const cJSON *walked_module = cjson_get(walked, "modules")->child;
    cJSON *module;
    size_t i;

    for (i = 0; object != NULL && i < COUNT(head); i++) {
        cjson_add(object, head[i],
                  cJSON_Duplicate(cjson_get(walked, head[i]), true));
    }
    cJSON_ArrayForEach(stack, cjson_get(object, "stacktraces"))
    {
        for (i = 0; from != NULL && i < COUNT(thread); i++) {
            value = cjson_get(from, thread[i]);
            cJSON_DeleteItemFromObject(stack, thread[i]);
            if (value != NULL) {
                cjson_add(stack, thread[i], cJSON_Duplicate(value, true));
            }
        }
        if (!is_json &&
            cJSON_GetArraySize(cjson_get(from, "frames")) > FRAMES) {
            cjson_add(stack, "has_more", cJSON_CreateTrue());
        }
        from = from != NULL ? from->next : NULL;
    }
    cJSON_ArrayForEach(module, cjson_get(object, "modules"))
    {
        value = cjson_get(walked_module, "debug_id");
        if (value != NULL && cjson_get(module, "debug_id") == NULL) {
            cjson_add(module, "debug_id", cJSON_Duplicate(value, true));
        }
        walked_module = walked_module != NULL ? walked_module->next : NULL;
    }
    if (object == NULL) {
        command_no_memory();
    }
    return object;
}

static void minidump_print_answer(const cJSON *answer)
{
    cJSON *object = is_socorro ? socorro_report(walked, answer)
                               : minidump_merge_answer(answer);

    if (is_json || is_socorro) {
        printable_json(stdout, object);
    } else {
        report_print(object);
    }
    cJSON_Delete(object);
}

/* names ------------------------------------------------------------------- */

/* The request for names: registers and addresses of each thread. */
static char *minidump_make_request(void)
{
    cJSON *request = cJSON_CreateObject(), *stacks = cJSON_CreateArray();
    cJSON *stack, *frames;
    const cJSON *thread;

    cJSON_ArrayForEach(thread, cjson_get(walked, "stacktraces"))
    {
        stack = cJSON_CreateObject();
        frames = cJSON_Duplicate(cjson_get(thread, "frames"), true);
        while (!is_socorro && cJSON_GetArraySize(frames) > FRAMES) {
            cJSON_DeleteItemFromArray(frames, cJSON_GetArraySize(frames) - 1);
        }
        cjson_add(stack, "frames", frames);
        cjson_append(stacks, stack);
    }
    cjson_add(request, "stacktraces", stacks);
    cjson_add(request, "modules",
              cJSON_Duplicate(cjson_get(walked, "modules"), true));
    return cjson_finish(request);
}

static int minidump_usage(const char *what, const char *argument)
{
    return command_usage("minidump", what, argument);
}

int minidump_show(struct settings *settings, const char *file)
{
    int code = COMMAND_OK;
    char *text;

    is_json = settings->is_json != 0;
    settings->is_json = 0; /* prints a text made from the answer, not the
                              answer */
    walked = minidump_json(file, settings->root, report_names_here(settings),
                           &code);
    if (walked == NULL) {
        return code;
    }
    if (!is_socorro) {
        minidump_take_prewalked();
    }
    minidump_tell_left_out(file);
    text = minidump_make_request();
    code = report_names(settings, "/symbolicate", file, text,
                        "the dump is walked without symbols, and frames have "
                        "no names",
                        minidump_print_answer);
    free(text);
    cJSON_Delete(walked);
    return code;
}

int minidump_command(int argc, char **argv)
{
    struct settings settings = {.daemon = SETTINGS_SYMBOLICATED};
    const char *url = NULL, *schema = NULL;
    const struct option_spec specs[] = {CLIENT_OPTIONS(settings),
                                        {"--root", NULL, &settings.root},
                                        {"--url", NULL, &url},
                                        {"--schema", NULL, &schema}};

    argc = options_parse("minidump", specs, COUNT(specs), argc, argv);
    if (argc != 1) {
        return argc < 0 ? COMMAND_USAGE
                        : minidump_usage(argc == 0 ? "no FILE"
                                                   : "more than one FILE",
                                         argc == 0 ? NULL : argv[1]);
    }
    if ((settings.root != NULL) + (settings.socket != NULL) + (url != NULL) >
        1) {
        return minidump_usage("more than one of --root, --socket and --url",
                              NULL);
    }
    if (schema != NULL && strcmp(schema, "socorro") != 0) {
        return minidump_usage("no such schema", schema);
    }
    if (url != NULL && strstr(url, "://") == NULL) {
        return minidump_usage("no URL", url);
    }
    settings.socket = url != NULL ? url : settings.socket;
    is_socorro = schema != NULL;
    return minidump_show(&settings, argv[0]);
}
