/*
 * Copyright (C) the ngx_symcache authors
 */
#include "minidump_json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_print.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

struct socorro_report {
    const cJSON *walked;
    const cJSON *modules; /* of the walk */
    int digits;           /* of an address */
};

static void socorro_add_text(cJSON *object, const char *key, const char *text)
{
    cjson_add(object, key,
              text != NULL && text[0] != '\0' ? cJSON_CreateString(text)
                                              : cJSON_CreateNull());
}

static void socorro_add_copy(cJSON *object, const char *key,
                             const cJSON *value)
{
    cjson_add(object, key,
              value != NULL ? cJSON_Duplicate(value, true)
                            : cJSON_CreateNull());
}

static uint64_t socorro_hex_field(const cJSON *object, const char *key)
{
    return strtoull(printable_field(object, key), NULL, 16);
}

static void socorro_add_address(const struct socorro_report *socorro,
                                cJSON *object, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%0*llx", socorro->digits,
             (unsigned long long)value);
    socorro_add_text(object, key, text);
}

/* Members that minidump-stackwalk has, and we do not know. */
static void socorro_add_nulls(cJSON *object, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        cjson_add(object, *keys, cJSON_CreateNull());
    }
}

/* A function, its file and its line, of a frame with names or NULL. */
static void socorro_add_place(cJSON *object, const cJSON *named)
{
    bool has_line = named != NULL && printable_number(named, "lineno") > 0;

    socorro_add_text(object, "function", printable_field(named, "function"));
    socorro_add_text(object, "file", printable_field(named, "abs_path"));
    cjson_add(object, "line",
              has_line ? cJSON_CreateNumber(printable_number(named, "lineno"))
                       : cJSON_CreateNull());
}

/* Moves *named on to the last frame with an index, and returns the list of the
 * others, which were inlined into it. */
static cJSON *socorro_take_inlines(const cJSON **named, int index)
{
    cJSON *list = NULL, *object;

    while ((*named)->next != NULL &&
           printable_number((*named)->next, "original_index") == index) {
        list = list != NULL ? list : cJSON_CreateArray();
        object = cJSON_CreateObject();
        socorro_add_place(object, *named);
        cjson_append(list, object);
        *named = (*named)->next;
    }
    return list != NULL ? list : cJSON_CreateNull();
}

static cJSON *socorro_describe_frame(const struct socorro_report *socorro,
                                     const cJSON *frame, int index,
                                     const cJSON **next)
{
    cJSON *object = cJSON_CreateObject(), *inlines = NULL;
    const cJSON *named = NULL, *module = NULL;
    const char *trust = printable_field(frame, "trust");
    uint64_t lookup = socorro_hex_field(frame, "lookup");
    bool has_name;

    if (*next != NULL && printable_number(*next, "original_index") == index) {
        inlines = socorro_take_inlines(next, index);
        named = *next;
        *next = named->next;
    }
    if (cjson_get(frame, "module") != NULL) {
        module = cJSON_GetArrayItem(socorro->modules,
                                    (int)printable_number(frame, "module"));
    }
    has_name = printable_field(named, "function")[0] != '\0';
    cjson_add_number(object, "frame", index);
    socorro_add_text(object, "module",
                     report_last_part(printable_field(module, "code_file")));
    socorro_add_place(object, named);
    socorro_add_address(socorro, object, "offset", lookup);
    cjson_add(object, "inlines",
              inlines != NULL ? inlines : cJSON_CreateNull());
    if (module != NULL) {
        socorro_add_address(socorro, object, "module_offset",
                            lookup - socorro_hex_field(module, "image_addr"));
    } else {
        socorro_add_text(object, "module_offset", NULL);
    }
    if (has_name && socorro_hex_field(named, "sym_addr") != 0) {
        socorro_add_address(socorro, object, "function_offset",
                            lookup - socorro_hex_field(named, "sym_addr"));
    } else {
        socorro_add_text(object, "function_offset", NULL);
    }
    cjson_add(object, "missing_symbols", cJSON_CreateBool(!has_name));
    socorro_add_copy(object, "unloaded_modules", cjson_get(frame, "unloaded"));
    socorro_add_text(object, "trust",
                     strcmp(trust, "fp") == 0 ? "frame_pointer" : trust);
    return object;
}

static cJSON *socorro_describe_thread(const struct socorro_report *socorro,
                                      const cJSON *thread, const cJSON *named)
{
    cJSON *object = cJSON_CreateObject(), *frames = cJSON_CreateArray();
    const cJSON *frame, *next = cjson_get(named, "frames");
    int n = 0;

    next = next != NULL ? next->child : NULL;
    cJSON_ArrayForEach(frame, cjson_get(thread, "frames"))
    {
        cjson_append(frames,
                     socorro_describe_frame(socorro, frame, n++, &next));
    }
    cjson_add_number(object, "frame_count", n);
    socorro_add_copy(object, "thread_name", cjson_get(thread, "thread_name"));
    socorro_add_copy(object, "thread_id", cjson_get(thread, "thread_id"));
    socorro_add_copy(object, "last_error_value",
                     cjson_get(thread, "last_error"));
    cjson_add(object, "frames", frames);
    return object;
}

/* A debug id as Breakpad writes it: without "-", the age at the end. */
static void socorro_add_debug_id(cJSON *object, const char *id)
{
    char text[48];
    size_t n = 0, dashes = 0;

    for (; *id != '\0' && n < sizeof(text) - 2; id++) {
        dashes += *id == '-';
        if (*id != '-') {
            text[n++] = *id >= 'a' && *id <= 'f' && dashes < 5
                            ? (char)(*id - 'a' + 'A')
                            : *id;
        }
    }
    if (n == 32 || n == 8) { /* no age */
        text[n++] = '0';
    }
    text[n] = '\0';
    cjson_add_text(object, "debug_id",
                   n > 0 ? text : "000000000000000000000000000000000");
}

/* has_frames: so symbols were looked for */
static cJSON *socorro_describe_module(const struct socorro_report *socorro,
                                      const cJSON *module, bool has_frames,
                                      const cJSON *named)
{
    static const char *const unknown[] = {"cert_subject", "symbol_url", NULL};
    cJSON *object = cJSON_CreateObject();
    const char *status = printable_field(named, "debug_status");
    uint64_t base = socorro_hex_field(module, "image_addr");

    socorro_add_address(socorro, object, "base_addr", base);
    socorro_add_address(socorro, object, "end_addr",
                        base +
                            (uint64_t)printable_number(module, "image_size"));
    cjson_add(object, "filename",
              cJSON_CreateString(
                  report_last_part(printable_field(module, "code_file"))));
    cjson_add(object, "debug_file",
              cJSON_CreateString(
                  report_last_part(printable_field(module, "debug_file"))));
    socorro_add_debug_id(object, printable_field(module, "debug_id"));
    cjson_add_text(object, "code_id", printable_field(module, "code_id"));
    socorro_add_copy(object, "version", cjson_get(module, "version"));
    cjson_add(object, "loaded_symbols",
              cJSON_CreateBool(strcmp(status, "found") == 0));
    cjson_add(object, "missing_symbols",
              cJSON_CreateBool(strcmp(status, "found") != 0 &&
                               (strcmp(status, "unused") != 0 || has_frames)));
    cjson_add(object, "corrupt_symbols",
              cJSON_CreateBool(strcmp(status, "malformed") == 0));
    socorro_add_nulls(object, unknown);
    return object;
}

static cJSON *socorro_make_system_info(const cJSON *walked)
{
    static const char *const socorro_words[][2] = {
        {"Windows", "Windows NT"}, {"macOS", "Mac OS X"}, {"x86_64", "amd64"}};
    const cJSON *system = cjson_get(walked, "system_info");
    const char *os = printable_field(system, "os_name");
    const char *arch = printable_field(system, "cpu_arch");
    const char *build = printable_field(system, "os_build");
    cJSON *object = cJSON_CreateObject();
    char version[1024];
    size_t i;

    for (i = 0; i < 3; i++) {
        os = strcmp(os, socorro_words[i][0]) == 0 ? socorro_words[i][1] : os;
        arch = strcmp(arch, socorro_words[i][0]) == 0 ? socorro_words[i][1]
                                                      : arch;
    }
    if (os[0] == '\0') {
        os = printable_field(cjson_get(walked, "socorro"), "os");
    }
    snprintf(version, sizeof(version), "%s%s%s",
             printable_field(system, "os_version"), build[0] != '\0' ? " " : "",
             build);
    socorro_add_text(object, "os", os);
    socorro_add_text(object, "os_ver", version);
    socorro_add_text(object, "cpu_arch", arch);
    socorro_add_copy(object, "cpu_info",
                     cjson_get(cjson_get(walked, "socorro"), "cpu_info"));
    socorro_add_copy(object, "cpu_count",
                     cjson_get(cjson_get(walked, "socorro"), "cpu_count"));
    cjson_add(object, "cpu_microcode_version", cJSON_CreateNull());
    return object;
}

static cJSON *socorro_describe_crash(const struct socorro_report *socorro,
                                     const cJSON *more)
{
    static const char *const unknown[] = {
        "adjusted_address",           "instruction",       "memory_accesses",
        "instruction_pointer_update", "possible_bit_flips", NULL};
    cJSON *object = cJSON_CreateObject();

    socorro_add_copy(object, "type", cjson_get(more, "reason"));
    if (cjson_get(more, "address") != NULL) {
        socorro_add_address(socorro, object, "address",
                            socorro_hex_field(more, "address"));
    } else {
        socorro_add_text(object, "address", NULL);
    }
    socorro_add_copy(object, "crashing_thread",
                     cjson_get(more, "crashing_thread"));
    socorro_add_text(object, "assertion", NULL);
    cjson_add(object, "crash_inconsistencies",
              cjson_get(more, "reason") != NULL ? cJSON_CreateArray()
                                                : cJSON_CreateNull());
    socorro_add_nulls(object, unknown);
    return object;
}

static cJSON *socorro_describe_unloaded(const struct socorro_report *socorro,
                                        const cJSON *list)
{
    cJSON *array = cJSON_CreateArray(), *object;
    const cJSON *module;
    uint64_t base;

    cJSON_ArrayForEach(module, list)
    {
        object = cJSON_CreateObject();
        base = socorro_hex_field(module, "image_addr");
        socorro_add_address(socorro, object, "base_addr", base);
        socorro_add_address(
            socorro, object, "end_addr",
            base + (uint64_t)printable_number(module, "image_size"));
        socorro_add_text(object, "filename",
                         printable_field(module, "code_file"));
        socorro_add_copy(object, "code_id", cjson_get(module, "code_id"));
        cjson_add(object, "cert_subject", cJSON_CreateNull());
        cjson_append(array, object);
    }
    return array;
}

/* The thread that crashed once more, with the registers of its first frame. */
static void socorro_add_crashing_thread(const struct socorro_report *socorro,
                                        cJSON *object, const cJSON *threads,
                                        int index)
{
    cJSON *thread = cJSON_Duplicate(cJSON_GetArrayItem(threads, index), true);
    cJSON *frames = cJSON_GetObjectItemCaseSensitive(thread, "frames");
    cJSON *registers = cJSON_CreateObject();
    const cJSON *from = cjson_get(
        cJSON_GetArrayItem(cjson_get(socorro->walked, "stacktraces"), index),
        "registers");
    const cJSON *value;

    if (frames == NULL || frames->child == NULL) {
        cJSON_Delete(thread);
        cJSON_Delete(registers);
        return;
    }
    cJSON_ArrayForEach(value, from)
    {
        socorro_add_address(socorro, registers, value->string,
                            socorro_hex_field(from, value->string));
    }
    cjson_add(frames->child, "registers", registers);
    cjson_add_number(thread, "threads_index", index);
    cjson_add(object, "crashing_thread", thread);
}

struct described {
    double number;
    cJSON *object;
    bool has_frames;
};

/* Marks the modules, of which there are n, that frames are in. */
static void find_frames(const struct socorro_report *socorro,
                        struct described *list, size_t n)
{
    const cJSON *thread, *frame;
    double module;

    cJSON_ArrayForEach(thread, cjson_get(socorro->walked, "stacktraces"))
    {
        cJSON_ArrayForEach(frame, cjson_get(thread, "frames"))
        {
            module = printable_number(frame, "module");
            if (cjson_get(frame, "module") != NULL && module >= 0 &&
                module < (double)n) {
                list[(size_t)module].has_frames = true;
            }
        }
    }
}

static int socorro_compare_numbers(const void *a, const void *b)
{
    const struct described *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* Modules as the dump lists them. */
static cJSON *socorro_describe_modules(const struct socorro_report *socorro,
                                       const cJSON *answer)
{
    const cJSON *module, *named = cjson_get(answer, "modules");
    const cJSON *overlapping =
        cjson_get(cjson_get(socorro->walked, "socorro"), "overlapping");
    cJSON *array = cJSON_CreateArray();
    size_t i, n = (size_t)cJSON_GetArraySize(socorro->modules);
    struct described *list =
        calloc(n + (size_t)cJSON_GetArraySize(overlapping) + 1,
               sizeof(list[0]));

    if (list == NULL) {
        command_no_memory();
    }
    find_frames(socorro, list, n);
    n = 0;
    named = named != NULL ? named->child : NULL;
    cJSON_ArrayForEach(module, socorro->modules)
    {
        list[n].number = printable_number(module, "number");
        list[n].object = socorro_describe_module(socorro, module,
                                                 list[n].has_frames, named);
        n++;
        named = named != NULL ? named->next : NULL;
    }
    cJSON_ArrayForEach(module, overlapping)
    {
        list[n].number = printable_number(module, "number");
        list[n++].object =
            socorro_describe_module(socorro, module, false, NULL);
    }
    qsort(list, n, sizeof(list[0]), socorro_compare_numbers);
    for (i = 0; i < n; i++) {
        cjson_append(array, list[i].object);
    }
    free(list);
    return array;
}

cJSON *socorro_report(const cJSON *walked, const cJSON *answer)
{
    static const char *const unknown[] = {
        "handles",       "linux_memory_map_count", "lsb_release",
        "mac_boot_args", "mac_crash_info",         "proc_limits",
        "soft_errors",   NULL};
    const cJSON *more = cjson_get(walked, "socorro"), *from, *named;
    struct socorro_report socorro = {walked, cjson_get(walked, "modules"),
                                     printable_number(more, "word") == 4 ? 8
                                                                         : 16};
    cJSON *object = cJSON_CreateObject(), *threads = cJSON_CreateArray();

    socorro_add_text(object, "status", "OK");
    cjson_add(object, "system_info", socorro_make_system_info(walked));
    cjson_add(object, "crash_info", socorro_describe_crash(&socorro, more));
    named = cjson_get(answer, "stacktraces");
    named = named != NULL ? named->child : NULL;
    cJSON_ArrayForEach(from, cjson_get(walked, "stacktraces"))
    {
        cjson_append(threads, socorro_describe_thread(&socorro, from, named));
        named = named != NULL ? named->next : NULL;
    }
    cjson_add_number(object, "main_module", 0);
    cjson_add(object, "modules", socorro_describe_modules(&socorro, answer));
    cjson_add(object, "modules_contains_cert_info", cJSON_CreateFalse());
    socorro_add_copy(object, "pid", cjson_get(more, "pid"));
    socorro_add_copy(object, "process_uptime", cjson_get(more, "uptime"));
    cjson_add_number(object, "thread_count", cJSON_GetArraySize(threads));
    cjson_add(object, "threads", threads);
    cjson_add(
        object, "unloaded_modules",
        socorro_describe_unloaded(&socorro, cjson_get(more, "unloaded")));
    socorro_add_nulls(object, unknown);
    if (cjson_get(more, "crashing_thread") != NULL) {
        socorro_add_crashing_thread(
            &socorro, object, threads,
            (int)printable_number(more, "crashing_thread"));
    }
    return object;
}
