/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate: addresses of one module, a request of one of
 * symbolicated's protocols, or a stack trace of .NET from a file, is answered
 * by a running symbolicated or, with --root, from the files of a store; one of
 * JavaScript from source maps.
 */
#include "symbolicate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addresses.h"
#include "base/array.h"
#include "base/fd_close.h"
#include "reports/apple/apple.h"
#include "reports/jstrace/jstrace.h"
#include "symbolication/jvm/jvm.h"
#include "event_download.h"
#include "input.h"
#include "json/json.h"
#include "symcachectl/cjson.h"
#include "symcachectl/helper/json_request.h"
#include "symcachectl/helper/temporary_daemons.h"
#include "symcachectl/command.h"
#include "symcachectl/operands.h"
#include "symcachectl/terminal/printable.h"
#include "symcachectl/store/store_reader.h"
#include "dotnet_trace.h"
#include "script_ids.h"

#define REQUEST_MAX (55u << 20) /* as symbolicated's own default */
#define FILE_MAX ((size_t)1 << 30) /* a profile, as an unpacked one */
#define PIECE ((size_t)1 << 20)

/* printing ---------------------------------------------------------------- */

static void symbolicate_print_place(const cJSON *frame, const char *file,
                                    const char *line, const char *after)
{
    printable_put_field(stdout, frame, "function");
    fputs(" at ", stdout);
    if (printable_field(frame, file)[0] != '\0') {
        printable_put_field(stdout, frame, file);
    } else {
        putchar('?');
    }
    printf(":%.0f%s\n", printable_number(frame, line), after);
}

/* Frames of Symbolicator's protocol: of those with the same index, all but
 * the last were inlined. */
static void symbolicate_print_stack(const cJSON *stack)
{
    const cJSON *frame, *next;
    double index, last = -1;

    cJSON_ArrayForEach(frame, cjson_get(stack, "frames"))
    {
        index = printable_number(frame, "original_index");
        if (index != last) {
            printable_put_field(stdout, frame, "instruction_addr");
            putchar('\n');
        }
        last = index;
        fputs("    ", stdout);
        if (strcmp(printable_field(frame, "status"), "symbolicated") != 0) {
            printable_put_field(stdout, frame, "status");
            putchar('\n');
            continue;
        }
        next = frame->next;
        symbolicate_print_place(
            frame, "abs_path", "lineno",
            next != NULL && printable_number(next, "original_index") == index
                ? " (inlined)"
                : "");
        printable_put_code(stdout, frame);
    }
}

static void symbolicate_print_modules(const cJSON *modules)
{
    const cJSON *module;
    const char *status;

    cJSON_ArrayForEach(module, modules)
    {
        status = printable_field(module, "debug_status");
        if (strcmp(status, "found") != 0 && strcmp(status, "unused") != 0) {
            fputs("module ", stdout);
            printable_put_field(stdout, module,
                                *printable_field(module, "debug_file") != '\0'
                                    ? "debug_file"
                                    : "code_file");
            fputs(": ", stdout);
            printable_put(stdout, status);
            putchar('\n');
        }
    }
}

/* A frame of Mozilla's protocol, with what was inlined into it. */
static void symbolicate_print_frame(const cJSON *frame)
{
    const cJSON *inlined;

    printable_put_field(stdout, frame, "module");
    putchar(' ');
    printable_put_field(stdout, frame, "module_offset");
    putchar('\n');
    cJSON_ArrayForEach(inlined, cjson_get(frame, "inlines"))
    {
        fputs("    ", stdout);
        symbolicate_print_place(inlined, "file", "line", " (inlined)");
    }
    fputs("    ", stdout);
    if (cJSON_IsString(cjson_get(frame, "function"))) {
        symbolicate_print_place(frame, "file", "line", "");
    } else {
        puts("not found");
    }
}

static void symbolicate_print_answer(const cJSON *answer)
{
    const cJSON *result, *stack, *frame;

    cJSON_ArrayForEach(stack, cjson_get(answer, "stacktraces"))
    {
        symbolicate_print_stack(stack);
    }
    symbolicate_print_modules(cjson_get(answer, "modules"));
    cJSON_ArrayForEach(result, cjson_get(answer, "results"))
    {
        cJSON_ArrayForEach(stack, cjson_get(result, "stacks"))
        {
            cJSON_ArrayForEach(frame, stack)
            {
                symbolicate_print_frame(frame);
            }
        }
    }
}

static struct trace trace; /* of --images */

/* Whether all was found that was asked for, or some of it, or nothing. */
static int symbolicate_judge_answer(const cJSON *answer)
{
    const cJSON *result, *stack, *frame;
    size_t named = 0, frames = 0;

    cJSON_ArrayForEach(stack, cjson_get(answer, "stacktraces"))
    {
        cJSON_ArrayForEach(frame, cjson_get(stack, "frames"))
        {
            frames++;
            named +=
                strcmp(printable_field(frame, "status"), "symbolicated") == 0;
        }
    }
    cJSON_ArrayForEach(result, cjson_get(answer, "results"))
    {
        cJSON_ArrayForEach(stack, cjson_get(result, "stacks"))
        {
            cJSON_ArrayForEach(frame, stack)
            {
                frames++;
                named += cJSON_IsString(cjson_get(frame, "function")) != 0;
            }
        }
    }
    if (named == frames) {
        return COMMAND_OK;
    }
    return named == 0 ? COMMAND_NOT_FOUND : COMMAND_INCOMPLETE;
}

/* requests ---------------------------------------------------------------- */

/* A request for addresses of one module, which are relative to its image. */
static char *symbolicate_ask_addresses(const struct identity *identity,
                                       int count, char **addresses)
{
    char text[64];
    const char *code_id;
    uint64_t address;
    int i;
    cJSON *root = cJSON_CreateObject(), *frame, *module;
    cJSON *stacks = cjson_add_list(root, "stacktraces");
    cJSON *frames = cjson_add_list(cjson_append_object(stacks), "frames");

    /* ELF and Mach-O are also found by their build id, in sources that know
     * nothing else of them */
    code_id = identity->code_id;
    if (strncmp(code_id, "buildid-", 8) == 0) {
        code_id += 8;
    }
    module = cjson_append_object(cjson_add_list(root, "modules"));
    cjson_add_text(module, "type", *code_id != '\0' ? "elf" : "pe");
    if (*code_id != '\0') {
        cjson_add_text(module, "code_id", code_id);
    }
    cjson_add_text(module, "debug_file", identity->name);
    cjson_add_text(module, "debug_id", identity->id);
    for (i = 0; i < count; i++) {
        addresses_parse(addresses[i], strlen(addresses[i]), &address);
        snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
        frame = cjson_append_object(frames);
        cjson_add_text(frame, "instruction_addr", text);
        cjson_add_text(frame, "addr_mode", "rel:0");
    }
    return cjson_finish(root);
}

static bool symbolicate_is_dump(const char *text, size_t size)
{
    return size >= 4 &&
           (memcmp(text, "MDMP", 4) == 0 || memcmp(text, "PMDM", 4) == 0);
}

/* Reads all but a minidump, which may have all memory of a process.  Returns
 * the bytes that were read: of a file that is too large more than FILE_MAX. */
static size_t symbolicate_read_all(FILE *f, char **text)
{
    size_t room = 0, n = 0, read;

    do {
        if (array_need(text, &room, n + PIECE + 1, 1) != 0) {
            command_no_memory();
        }
        read = fread(*text + n, 1, n == 0 ? 4 : PIECE, f);
        n += read;
    } while (read > 0 && n <= FILE_MAX && !symbolicate_is_dump(*text, n));
    return n;
}

/* The whole file, or standard input, with a NUL after its *size bytes; NULL
 * after printing what is wrong. */
static char *symbolicate_read_request(const char *file, size_t *size)
{
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    char *text = NULL, *wide;
    size_t n;

    if (f == NULL) {
        command_fail(COMMAND_IO, file, strerror(errno));
        return NULL;
    }
    n = symbolicate_read_all(f, &text);
    if (ferror(f) || n > FILE_MAX) {
        command_fail(COMMAND_IO, file,
                     n > FILE_MAX ? "larger than 1 GiB" : strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[n] = '\0';
        *size = n;
        wide = text;
        text = input_as_utf8(wide, size);
        if (text != NULL) {
            free(wide);
        } else {
            text = wide;
        }
    }
    if (f != stdin) {
        fclose(f);
    }
    return text;
}

/* The protocol whose members a request has; NULL: none. */
static const char *symbolicate_path(const char *text)
{
    cJSON *request = cJSON_Parse(text);
    const char *path = NULL;

    if (cjson_get(request, "jobs") != NULL ||
        cjson_get(request, "memoryMap") != NULL) {
        path = "/symbolicate/v5";
    } else if (cjson_get(request, "stacktraces") != NULL) {
        path = "/symbolicate";
    }
    cJSON_Delete(request);
    return path;
}

static int symbolicate_usage(const char *what, const char *argument)
{
    return command_usage("symbolicate", what, argument);
}

static void symbolicate_print_trace(const cJSON *answer)
{
    trace_print(&trace, answer);
}

static int symbolicate_answer_file(const struct settings *settings,
                                   const char *path, const char *name,
                                   char *text)
{
    cJSON *object;
    int code;
    void (*print)(const cJSON *) = trace.text != NULL
                                       ? symbolicate_print_trace
                                       : symbolicate_print_answer;

    if (settings->root == NULL) {
        return json_request_post(settings, path, text, print,
                                 symbolicate_judge_answer);
    }
    object = store_reader_answer(settings->root, path, name, text, &code);
    if (object == NULL) {
        return code;
    }
    if (settings->is_json) {
        printable_json(stdout, object);
    } else {
        print(object);
    }
    code = symbolicate_judge_answer(object);
    cJSON_Delete(object);
    return command_finish(code);
}

/* The options for a trace; NULL: none. */
struct symbolicate_hints {
    const char *images; /* of .NET */
    struct script_options scripts;
    const char *uuid;   /* of a mapping of the JVM */
};

/* Prints the frames of a file that is a crash report, or a profile with names,
 * and sets *code.  Returns false if it is none. */
static bool symbolicate_show_report(struct settings *settings,
                                    const char *file,
                                    const struct symbolicate_hints *hints,
                                    char *text, size_t size, int *code)
{
    if (symbolicate_is_dump(text, size)) {
        *code = minidump_show(settings, file);
        return true;
    }
    if (apple_is_report(text, size)) {
        *code = apple_report_show(settings, file, text, size);
        return true;
    }
    if (profile_is_one(text, size)) {
        *code = profile_show(settings, file, text, size);
        return true;
    }
    if (size > REQUEST_MAX) {
        *code = command_fail(COMMAND_IO, file, "larger than 55 MiB");
        return true;
    }
    if (symbolicate_path(text) != NULL) {
        return false;
    }
    if (event_is_one(text)) {
        *code = event_show(settings, file, text);
        return true;
    }
    if (jvm_is_trace(text, size)) {
        *code =
            jvm_trace_request_show(settings, hints->uuid, file, text, size);
        return true;
    }
    if (jstrace_is_trace(text, size)) {
        *code = script_trace_show(settings, &hints->scripts, text, size);
        return true;
    }
    return false;
}

/* Says why a text is nothing that has frames.  JSON that is cut or damaged has
 * lost what it would be recognized by.  The text is changed. */
static int symbolicate_refuse(const char *file, char *text, size_t size)
{
    struct json json = {0};
    struct json_error error;
    char reason[128];
    int code;

    if (size == 0) {
        return command_fail(COMMAND_USAGE, file, "is empty");
    }
    if (text[strspn(text, " \t\r\n")] == '{' &&
        json_read(&json, text, size, size, &error) == 0 &&
        !error.out_of_memory) {
        snprintf(reason, sizeof(reason),
                 "its JSON is damaged: %s at line %u column %zu", error.reason,
                 error.line, error.column);
        code = command_fail(COMMAND_USAGE, file, reason);
    } else {
        code = command_fail(COMMAND_USAGE, file,
                            "not a request (\"stacktraces\", \"jobs\" or "
                            "\"memoryMap\"), crash report, minidump, profile "
                            "or trace of JavaScript or the JVM, or event of "
                            "Sentry; a trace of .NET needs --images");
    }
    json_free(&json);
    return code;
}

/* A request for the frames of a text; or the text's own, for which path is set
 * to that of its protocol.  Returns NULL after printing what is wrong, or what
 * a crash report has. */
static char *symbolicate_ask_file(struct settings *settings, const char *file,
                                  const struct symbolicate_hints *hints,
                                  const char **path, int *code)
{
    size_t size;
    char *text = symbolicate_read_request(file, &size);

    *code = COMMAND_IO;
    if (text == NULL) {
        return NULL;
    }
    if (hints->images == NULL &&
        symbolicate_show_report(settings, file, hints, text, size, code)) {
        free(text);
        return NULL;
    }
    if (hints->images != NULL) {
        trace_read(&trace, text);
        return trace_request(&trace, hints->images);
    }
    *path = symbolicate_path(text);
    if (*path == NULL) {
        *code = symbolicate_refuse(file, text, size);
        free(text);
        return NULL;
    }
    return text;
}

static char *symbolicate_ask_module(int argc, char **argv, int *code)
{
    struct identity identity;
    uint64_t address;
    int i;

    *code = COMMAND_USAGE;
    if (operands_original("symbolicate", 1, argv, &identity) != 0) {
        return NULL;
    }
    if (identity.key.id_type != SYMCACHE_ID_DEBUG) {
        symbolicate_usage("not PDB/GUIDAGE, nor a file with a debug id",
                          argv[0]);
        return NULL;
    }
    for (i = 1; i < argc; i++) {
        if (addresses_parse(argv[i], strlen(argv[i]), &address) != 0) {
            symbolicate_usage("no address", argv[i]);
            return NULL;
        }
    }
    return symbolicate_ask_addresses(&identity, argc - 1, argv + 1);
}

/* An event by its id becomes a file, whose descriptor is never closed. Returns
 * NULL with *code set. */
static char *symbolicate_fetch_event(const struct sentry_event *event,
                                     int argc, char **argv, int *code)
{
    static char path[40];
    FILE *file;

    if (event->url == NULL || event->org == NULL || event->project == NULL ||
        argc > 1) {
        *code = symbolicate_usage(
            argc > 1 ? "more than one EVENT"
                     : "an EVENT needs --url, --org and --project",
            NULL);
        return NULL;
    }
    file = event_download(event, argv[0], code);
    if (file == NULL) {
        return NULL;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
    return path;
}

/* Where names come from. */
static int symbolicate_choose_place(struct settings *settings, const char *url,
                                    const char *symbols)
{
    if ((settings->root != NULL) + (settings->socket != NULL) + (url != NULL) +
            (symbols != NULL) >
        1) {
        return symbolicate_usage(
            "more than one of --root, --socket, --symbols and --url", NULL);
    }
    settings->socket = url != NULL ? url : settings->socket;
    return symbols != NULL ? temporary_daemons_start(symbols, settings)
                           : COMMAND_OK;
}

/* Prints what the operands come to. */
static int symbolicate_show_addresses(struct settings *settings,
                                      const struct symbolicate_hints *hints,
                                      int argc, char **argv)
{
    const char *path = "/symbolicate";
    int code;
    char *text = argc == 1 ? symbolicate_ask_file(settings, argv[0], hints,
                                                  &path, &code)
                           : symbolicate_ask_module(argc, argv, &code);

    if (text != NULL) {
        code = symbolicate_answer_file(settings, path, argv[0], text);
    }
    free(text);
    free(trace.text);
    trace_free(&trace);
    return code;
}

static int symbolicate_check_folders(const struct symbolicate_hints *hints,
                                     bool asks_server)
{
    const char *maps = hints->scripts.maps;
    int folder;

    if (hints->images != NULL && access(hints->images, F_OK) != 0) {
        return command_fail(COMMAND_IO, hints->images, strerror(errno));
    }
    if (maps == NULL) {
        return COMMAND_OK;
    }
    if (asks_server) {
        return symbolicate_usage("both --maps and a server", NULL);
    }
    folder = open(maps, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || faccessat(folder, ".", X_OK, AT_EACCESS) != 0) {
        (void)command_fail(COMMAND_IO, maps, strerror(errno));
        fd_close(folder);
        return COMMAND_IO;
    }
    close(folder);
    return COMMAND_OK;
}

int symbolicate_command(int argc, char **argv)
{
    struct settings settings = {.daemon = SETTINGS_SYMBOLICATED};
    struct symbolicate_hints hints = {0};
    struct sentry_event event = {0};
    const char *url = NULL, *mapping = NULL, *symbols = NULL;
    const struct option_spec specs[] = {
        CLIENT_OPTIONS(settings),
        {"--root", NULL, &settings.root},
        {"--url", NULL, &url},
        {"--symbols", NULL, &symbols},
        {"--maps", NULL, &hints.scripts.maps},
        {"--release", NULL, &hints.scripts.release},
        {"--dist", NULL, &hints.scripts.dist},
        {"--debug-id", NULL, &hints.scripts.debug_id},
        {"--why", &hints.scripts.why, NULL},
        {"--images", NULL, &hints.images},
        {"--mapping", NULL, &mapping},
        {"--org", NULL, &event.org},
        {"--project", NULL, &event.project},
        {"--token", NULL, &event.token}};
    int code;

    argc = options_parse("symbolicate", specs, COUNT(specs), argc, argv);
    if (argc < 1) {
        return argc < 0 ? COMMAND_USAGE
                        : symbolicate_usage("no REQUEST", NULL);
    }
    if (url != NULL && strstr(url, "://") == NULL) {
        return symbolicate_usage("no URL", url);
    }
    if (event.org != NULL || event.project != NULL) {
        event.url = url;
        url = NULL; /* names come from elsewhere */
        argv[0] = symbolicate_fetch_event(&event, argc, argv, &code);
        if (argv[0] == NULL) {
            return code;
        }
    }
    if (!script_ids_are_valid(hints.scripts.debug_id)) {
        return symbolicate_usage("--debug-id is [NAME=]ID, with commas between",
                                 hints.scripts.debug_id);
    }
    code = symbolicate_check_folders(&hints,
                                     url != NULL || settings.socket != NULL);
    if (code == COMMAND_OK) {
        code = symbolicate_choose_place(&settings, url, symbols);
    }
    if (code != COMMAND_OK) {
        return code;
    }
    if (mapping != NULL && strlen(mapping) == JVM_UUID &&
        jvm_trace_is_uuid(mapping) && access(mapping, F_OK) != 0) {
        hints.uuid = mapping;
    } else if (mapping != NULL) {
        return argc == 1 ? retrace_show(mapping, argv[0])
                         : symbolicate_usage("more than one TRACE", argv[1]);
    }
    if ((hints.images != NULL || hints.uuid != NULL) && argc > 1) {
        return symbolicate_usage("more than one TRACE", argv[1]);
    }
    return symbolicate_show_addresses(&settings, &hints, argc, argv);
}
