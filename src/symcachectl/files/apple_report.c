/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate, with a crash report of Apple's: it is read in a
 * child process, and answered as POST /applecrashreport does.
 */
#include "symbolicate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_child.h"
#include "report_names.h"
#include "report_print.h"
#include "reports/apple/apple.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/store/store_reader.h"
#include "symcachectl/terminal/printable.h"

static cJSON *report; /* the child's report */
static bool is_json;

struct text {
    const char *file;
    const char *data;
    size_t size;
};

/* In the child. */
static int read_in_child(void *arg, FILE *out)
{
    static struct apple_report parsed;
    const struct text *text = arg;
    struct json_writer w = {0};
    int code;

    store_reader_enter(NULL, &code);
    if (code != COMMAND_OK) {
        return code;
    }
    if (apple_read(&parsed, text->data, text->size, SIZE_MAX, ~0u) != 0 ||
        (parsed.num_threads == 0 && parsed.error[0] != '\0')) {
        return command_fail(COMMAND_FOREIGN, text->file, parsed.error);
    }
    if (parsed.num_threads == 0 && parsed.num_images > 0) {
        return command_fail(COMMAND_FOREIGN, text->file,
                            parsed.text != NULL
                                ? "there are images but no threads"
                                : "there are images but no thread of a crash "
                                  "report; spindumps are not supported");
    }
    if (parsed.num_threads == 0) {
        fprintf(stderr, "%s: note: has no thread: was it cut off?\n",
                text->file);
    }
    if (parsed.cut != NULL) {
        fprintf(stderr, "%s: not all %s are read\n", text->file, parsed.cut);
    }
    json_write_open(&w, '{');
    apple_write_json(&parsed, &w);
    json_write_close(&w, '}');
    if (w.has_failed) {
        command_no_memory();
    }
    fwrite(w.data, 1, w.size, out);
    return COMMAND_OK;
}

/* The first processor that a module is known to be for. */
static const char *apple_find_arch(const cJSON *answer)
{
    const cJSON *module;

    cJSON_ArrayForEach(module, cjson_get(answer, "modules"))
    {
        if (strcmp(printable_field(module, "arch"), "unknown") != 0) {
            return printable_field(module, "arch");
        }
    }
    return "unknown";
}

static void apple_print_answer(const cJSON *answer)
{
    cJSON *object = cJSON_CreateObject(), *system;
    const cJSON *member;

    cjson_add(object, "status",
              cJSON_Duplicate(cjson_get(answer, "status"), true));
    cJSON_ArrayForEach(member, cjson_get(report, "report"))
    {
        cjson_add(object, member->string, cJSON_Duplicate(member, true));
    }
    cjson_add(object, "stacktraces",
              cJSON_Duplicate(cjson_get(answer, "stacktraces"), true));
    cjson_add(object, "modules",
              cJSON_Duplicate(cjson_get(answer, "modules"), true));
    system = cJSON_GetObjectItemCaseSensitive(object, "system_info");
    if (cJSON_IsNull(cjson_get(system, "cpu_arch"))) {
        cJSON_ReplaceItemInObjectCaseSensitive(
            system, "cpu_arch", cJSON_CreateString(apple_find_arch(answer)));
    }
    if (is_json) {
        printable_json(stdout, object);
    } else {
        report_print(object);
    }
    cJSON_Delete(object);
}

int apple_report_show(struct settings *settings, const char *file,
                      const char *text, size_t size)
{
    struct text arg = {file, text, size};
    int code = COMMAND_OK;
    char *request;

    is_json = settings->is_json != 0;
    settings->is_json = 0; /* prints a text made from the answer, not the
                              answer */
    report = report_child_read(file, read_in_child, &arg, &code);
    if (report == NULL) {
        return code;
    }
    request = cjson_print(report);
    code = report_names(settings, "/symbolicate", file, request,
                        "frames have no names but the report's own",
                        apple_print_answer);
    free(request);
    cJSON_Delete(report);
    return code;
}
