/*
 * Copyright (C) the ngx_symcache authors
 */
#include "report_print.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symcachectl/cjson.h"
#include "symcachectl/terminal/printable.h"

const char *report_last_part(const char *path)
{
    const char *p, *name = path;

    for (p = path; *p != '\0'; p++) {
        name = *p == '/' || *p == '\\' ? p + 1 : name;
    }
    return name;
}

static void print_frame(const cJSON *frame, unsigned number, bool is_inlined)
{
    const char *package = report_last_part(printable_field(frame, "package")),
               *file;
    const char *trust = printable_field(frame, "trust");

    printf("#%-3u ", number);
    printable_put_field(stdout, frame, "instruction_addr");
    if (printable_field(frame, "function")[0] != '\0') {
        fputs(" in ", stdout);
        printable_put_field(stdout, frame, "function");
    }
    file = printable_field(frame, "abs_path")[0] != '\0' ? "abs_path"
                                                         : "filename";
    if (printable_field(frame, file)[0] != '\0') {
        fputs(" at ", stdout);
        printable_put_field(stdout, frame, file);
        printf(":%.0f", printable_number(frame, "lineno"));
    }
    if (package[0] != '\0') {
        fputs(" from ", stdout);
        printable_put(stdout, package);
    }
    if (trust[0] != '\0' || is_inlined) {
        fputs(" [", stdout);
        printable_put(stdout, trust);
        fputs(trust[0] != '\0' && is_inlined ? ", " : "", stdout);
        fputs(is_inlined ? "inlined]" : "]", stdout);
    }
    putchar('\n');
    printable_put_code(stdout, frame);
}

static void print_thread(const cJSON *stack)
{
    const cJSON *frame, *next;
    unsigned n = 0;

    fputs("\n", stdout);
    if (cjson_get(stack, "thread_id") != NULL) {
        printf("thread %.0f", printable_number(stack, "thread_id"));
    }
    if (cjson_get(stack, "thread_name") != NULL) {
        fputs(cjson_get(stack, "thread_id") != NULL ? " " : "", stdout);
        printable_put_field(stdout, stack, "thread_name");
    }
    if (cjson_get(stack, "thread_id") == NULL &&
        cjson_get(stack, "thread_name") == NULL) {
        fputs("thread", stdout);
    }
    puts(cJSON_IsTrue(cjson_get(stack, "is_requesting")) ? ", requesting"
                                                         : "");
    cJSON_ArrayForEach(frame, cjson_get(stack, "frames"))
    {
        next = frame->next;
        print_frame(frame, n++,
                    next != NULL &&
                        printable_number(next, "original_index") ==
                            printable_number(frame, "original_index"));
    }
    if (cJSON_IsTrue(cjson_get(stack, "has_more"))) {
        puts("     more frames are left out");
    }
}

static void print_lines(const char *text)
{
    char *line;
    size_t n;

    for (; *text != '\0'; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        line = printable(text, n);
        puts(line);
        free(line);
    }
}

/* As "symcachectl why" takes it. */
static void print_module_id(const cJSON *module)
{
    const char *file = printable_field(module, "debug_file");

    if (printable_field(module, "debug_id")[0] == '\0') {
        return;
    }
    file = file[0] != '\0' ? file : printable_field(module, "code_file");
    fputs(" (", stdout);
    printable_put(stdout, report_last_part(file));
    fputs(" ", stdout);
    printable_put_field(stdout, module, "debug_id");
    fputs(")", stdout);
}

void report_print_stacks(const cJSON *object)
{
    const cJSON *stack, *module;
    const char *status;

    cJSON_ArrayForEach(stack, cjson_get(object, "stacktraces"))
    {
        print_thread(stack);
    }
    fputs("\n", stdout);
    cJSON_ArrayForEach(module, cjson_get(object, "modules"))
    {
        status = printable_field(module, "debug_status");
        if (strcmp(status, "found") != 0 && strcmp(status, "unused") != 0) {
            printf("module %s: ", status);
            printable_put_field(stdout, module, "code_file");
            print_module_id(module);
            fputs("\n", stdout);
        }
    }
}

void report_print(const cJSON *object)
{
    const cJSON *system = cjson_get(object, "system_info");

    printable_put_field(stdout, system, "os_name");
    if (printable_field(system, "os_version")[0] != '\0') {
        fputs(" ", stdout);
        printable_put_field(stdout, system, "os_version");
    }
    fputs(", ", stdout);
    printable_put_field(stdout, system, "cpu_arch");
    fputs("\n", stdout);
    if (cJSON_IsTrue(cjson_get(object, "crashed"))) {
        printable_put_field(stdout, object, "crash_reason");
        fputs("\n", stdout);
    }
    if (printable_field(object, "crash_details")[0] != '\0') {
        print_lines(printable_field(object, "crash_details"));
    }
    report_print_stacks(object);
}
