/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl minidump: the threads of a crashed process.  The dump is walked
 * in a child process; names and lines come from a store, from a server, or from
 * a running symbolicated.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dump_walk.h"
#include "socorro.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/client.h"
#include "symcachectl/options.h"
#include "symcachectl/settings.h"
#include "symcachectl/store/store_reader.h"
#include "symcachectl/terminal/printable.h"

#define FRAMES 256  /* of a thread, as Symbolicator answers */
#define SECONDS 900 /* that a request may take at symbolicated */

static cJSON *walked; /* what the child said */
static bool is_json, is_socorro;

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void add(cJSON *object, const char *key, cJSON *value)
{
    if (value == NULL || !cJSON_AddItemToObject(object, key, value)) {
        command_no_memory();
    }
}

/* the answer -----------------------------------------------------------------
 */

/* Puts what the walk knows of each thread into the answer with its names. */
static cJSON *merge(const cJSON *answer)
{
    static const char *const head[] = {"timestamp", "system_info", "crashed",
                                       "crash_reason", "assertion"};
    static const char *const thread[] = {"thread_id", "thread_name",
                                         "is_requesting", "registers"};
    cJSON *object = cJSON_Duplicate(answer, true), *stack;
    const cJSON *from = get(walked, "stacktraces")->child, *value;
    const cJSON *walked_module = get(walked, "modules")->child;
    cJSON *module;
    size_t i;

    for (i = 0; object != NULL && i < sizeof(head) / sizeof(head[0]); i++) {
        add(object, head[i], cJSON_Duplicate(get(walked, head[i]), true));
    }
    cJSON_ArrayForEach(stack, get(object, "stacktraces"))
    {
        for (i = 0; from != NULL && i < sizeof(thread) / sizeof(thread[0]);
             i++) {
            value = get(from, thread[i]);
            cJSON_DeleteItemFromObject(stack, thread[i]);
            if (value != NULL) {
                add(stack, thread[i], cJSON_Duplicate(value, true));
            }
        }
        from = from != NULL ? from->next : NULL;
    }
    cJSON_ArrayForEach(module, get(object, "modules"))
    {
        value = get(walked_module, "debug_id");
        if (value != NULL && get(module, "debug_id") == NULL) {
            add(module, "debug_id", cJSON_Duplicate(value, true));
        }
        walked_module = walked_module != NULL ? walked_module->next : NULL;
    }
    if (object == NULL) {
        command_no_memory();
    }
    return object;
}

static const char *last_part(const char *path)
{
    const char *p, *name = path;

    for (p = path; *p != '\0'; p++) {
        name = *p == '/' || *p == '\\' ? p + 1 : name;
    }
    return name;
}

static void print_frame(const cJSON *frame, unsigned number, bool is_inlined)
{
    const char *package = last_part(printable_field(frame, "package"));

    printf("#%-3u ", number);
    printable_put_field(stdout, frame, "instruction_addr");
    if (printable_field(frame, "function")[0] != '\0') {
        fputs(" in ", stdout);
        printable_put_field(stdout, frame, "function");
    }
    if (printable_field(frame, "abs_path")[0] != '\0') {
        fputs(" at ", stdout);
        printable_put_field(stdout, frame, "abs_path");
        printf(":%.0f", printable_number(frame, "lineno"));
    }
    if (package[0] != '\0') {
        fputs(" from ", stdout);
        printable_put(stdout, package);
    }
    fputs(" [", stdout);
    printable_put_field(stdout, frame, "trust");
    puts(is_inlined ? ", inlined]" : "]");
}

static void print_thread(const cJSON *stack)
{
    const cJSON *frame, *next;
    unsigned n = 0;

    printf("\nthread %.0f", printable_number(stack, "thread_id"));
    if (get(stack, "thread_name") != NULL) {
        fputs(" ", stdout);
        printable_put_field(stdout, stack, "thread_name");
    }
    puts(cJSON_IsTrue(get(stack, "is_requesting")) ? ", requesting" : "");
    cJSON_ArrayForEach(frame, get(stack, "frames"))
    {
        next = frame->next;
        print_frame(frame, n++,
                    next != NULL && printable_number(next, "original_index") ==
                                        printable_number(frame,
                                                         "original_index"));
    }
}

static void print_text(const cJSON *object)
{
    const cJSON *stack, *module, *system = get(object, "system_info");
    const char *status;

    printable_put_field(stdout, system, "os_name");
    fputs(" ", stdout);
    printable_put_field(stdout, system, "os_version");
    fputs(", ", stdout);
    printable_put_field(stdout, system, "cpu_arch");
    fputs("\n", stdout);
    if (cJSON_IsTrue(get(object, "crashed"))) {
        printable_put_field(stdout, object, "crash_reason");
        fputs("\n", stdout);
    }
    cJSON_ArrayForEach(stack, get(object, "stacktraces"))
    {
        print_thread(stack);
    }
    fputs("\n", stdout);
    cJSON_ArrayForEach(module, get(object, "modules"))
    {
        status = printable_field(module, "debug_status");
        if (strcmp(status, "found") != 0 && strcmp(status, "unused") != 0) {
            printf("module %s: ", status);
            printable_put_field(stdout, module, "code_file");
            fputs("\n", stdout);
        }
    }
}

static void print_answer(const cJSON *answer)
{
    cJSON *object =
        is_socorro ? socorro_report(walked, answer) : merge(answer);

    if (is_json || is_socorro) {
        printable_json(stdout, object);
    } else {
        print_text(object);
    }
    cJSON_Delete(object);
}

/* names ----------------------------------------------------------------------
 */

/* The request for names: registers and addresses of each thread. */
static char *make_request(void)
{
    cJSON *request = cJSON_CreateObject(), *stacks = cJSON_CreateArray();
    cJSON *stack, *frames;
    const cJSON *thread;
    char *text;

    cJSON_ArrayForEach(thread, get(walked, "stacktraces"))
    {
        stack = cJSON_CreateObject();
        frames = cJSON_Duplicate(get(thread, "frames"), true);
        while (!is_socorro && cJSON_GetArraySize(frames) > FRAMES) {
            cJSON_DeleteItemFromArray(frames, cJSON_GetArraySize(frames) - 1);
        }
        add(stack, "frames", frames);
        cJSON_AddItemToArray(stacks, stack);
    }
    add(request, "stacktraces", stacks);
    add(request, "modules", cJSON_Duplicate(get(walked, "modules"), true));
    text = cJSON_PrintUnformatted(request);
    if (text == NULL) {
        command_no_memory();
    }
    cJSON_Delete(request);
    return text;
}

/* Is there a daemon where one would be? */
static bool is_running(const struct settings *settings)
{
    const char *address = settings_socket(settings);
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    bool is_there;
    int fd;

    if (address == NULL || strncmp(address, "unix:", 5) != 0) {
        return address != NULL;
    }
    if (strlen(address + 5) >= sizeof(where.sun_path)) {
        return false;
    }
    memcpy(where.sun_path, address + 5, strlen(address + 5) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    is_there = fd != -1 &&
               connect(fd, (struct sockaddr *)&where, sizeof(where)) == 0;
    if (fd != -1) {
        close(fd);
    }
    return is_there;
}

static int symbolicate(const struct settings *settings, const char *file)
{
    char *text = make_request();
    int code = COMMAND_OK;
    cJSON *answer;

    if (settings->socket != NULL ||
        (settings->root == NULL && is_running(settings))) {
        code = client_send(settings, "/symbolicate", text, SECONDS,
                           print_answer, NULL);
    } else {
        if (settings->root == NULL) {
            fputs("symcachectl minidump: symbolicated is not reached: the "
                  "dump is walked without symbols, and frames have no names\n",
                  stderr);
        }
        answer = store_reader_answer(settings->root, "/symbolicate", file,
                                     text, &code);
        if (answer != NULL) {
            print_answer(answer);
            code = command_finish(COMMAND_OK);
        }
        cJSON_Delete(answer);
    }
    free(text);
    return code;
}

static int usage(const char *what, const char *argument)
{
    return command_usage("minidump", what, argument);
}

int minidump_command(int argc, char **argv)
{
    struct settings settings = {.daemon = SETTINGS_SYMBOLICATED};
    const char *url = NULL, *schema = NULL;
    const struct option_spec specs[] = {CLIENT_OPTIONS(settings),
                                        {"--root", NULL, &settings.root},
                                        {"--url", NULL, &url},
                                        {"--schema", NULL, &schema}};
    int code = COMMAND_OK;

    argc = options_parse("minidump", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc != 1) {
        return argc < 0 ? COMMAND_USAGE
                        : usage(argc == 0 ? "no FILE" : "more than one FILE",
                                argc == 0 ? NULL : argv[1]);
    }
    if ((settings.root != NULL) + (settings.socket != NULL) + (url != NULL) >
        1) {
        return usage("more than one of --root, --socket and --url", NULL);
    }
    if (schema != NULL && strcmp(schema, "socorro") != 0) {
        return usage("no such schema", schema);
    }
    if (url != NULL && strstr(url, "://") == NULL) {
        return usage("no URL", url);
    }
    settings.socket = url != NULL ? url : settings.socket;
    is_json = settings.is_json != 0;
    is_socorro = schema != NULL;
    settings.is_json = 0; /* what is printed is not what was answered */
    walked = dump_walk(argv[0], settings.root, &code);
    if (walked == NULL) {
        return code;
    }
    code = symbolicate(&settings, argv[0]);
    cJSON_Delete(walked);
    return code;
}
