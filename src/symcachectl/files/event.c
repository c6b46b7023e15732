/*
 * Copyright (C) the ngx_symcache authors
 *
 * Events as Sentry exports them, in JSON.
 */
#include "symbolicate.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "report_names.h"
#include "report_print.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

#define NUMBER_LIMIT 9007199254740992.0 /* 2^53 */

static bool is_json;
static size_t nameless; /* frames */

/* Copies a text under another name, unless there is one by that. */
static void event_copy_text(cJSON *to, const cJSON *from, const char *key,
                            const char *as)
{
    const cJSON *value = cjson_get(from, key);

    if (cJSON_IsString(value) && cjson_get(to, as) == NULL) {
        cjson_add_text(to, as, value->valuestring);
    }
}

static void event_copy_texts(cJSON *to, const cJSON *from,
                             const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        event_copy_text(to, from, *keys, *keys);
    }
}

/* A whole number that a double has exactly. */
static bool is_count(const cJSON *value)
{
    return cJSON_IsNumber(value) && value->valuedouble >= 0 &&
           value->valuedouble < NUMBER_LIMIT &&
           floor(value->valuedouble) == value->valuedouble;
}

static void event_copy_number(cJSON *to, const cJSON *from, const char *key)
{
    const cJSON *value = cjson_get(from, key);

    if (is_count(value)) {
        cjson_add_number(to, key, value->valuedouble);
    }
}

/* Reads an address of 64 bits, "0x12" or in decimal digits, or as a number.
 * The whole event is refused for one that is none. */
static bool event_read_address(const cJSON *value, uint64_t *address)
{
    const char *text;
    char *end;
    bool is_hex;

    if (!cJSON_IsString(value)) {
        *address = is_count(value) ? (uint64_t)value->valuedouble : 0;
        return is_count(value);
    }
    text = value->valuestring;
    is_hex = strncmp(text, "0x", 2) == 0;
    text += is_hex ? 2 : 0;
    if (is_hex ? !isxdigit((unsigned char)*text)
               : !isdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    *address = strtoull(text, &end, is_hex ? 16 : 10);
    return *end == '\0' && errno == 0;
}

static bool event_is_address(const cJSON *value)
{
    uint64_t address;

    return event_read_address(value, &address);
}

static void event_copy_address(cJSON *to, const cJSON *from, const char *key)
{
    if (event_is_address(cjson_get(from, key))) {
        event_copy_text(to, from, key, key);
        event_copy_number(to, from, key);
    }
}

/* images ------------------------------------------------------------------ */

/* Images as of today, and of "apple" as Sentry once had them. */
static cJSON *event_read_image(const cJSON *image)
{
    static const char *const keys[] = {"code_id",        "code_file",
                                       "debug_id",       "debug_file",
                                       "debug_checksum", NULL};
    const char *type = printable_field(image, "type");
    cJSON *module = cJSON_CreateObject();

    cjson_add_text(module, "type",
                   strcmp(type, "apple") == 0 ? "macho" : type);
    event_copy_texts(module, image, keys);
    event_copy_text(module, image, "uuid", "debug_id");
    event_copy_text(module, image, "id", "debug_id");
    event_copy_text(module, image, "name", "code_file");
    event_copy_address(module, image, "image_addr");
    event_copy_number(module, image, "image_size");
    return module;
}

/* Is this an image whose frames are found by its address only? */
static bool event_wants_address(const cJSON *image)
{
    static const char *const types[] = {"elf", "macho", "pe", "apple",
                                        "symbolic"};
    const char *type = printable_field(image, "type");
    size_t i = 0;

    while (i < COUNT(types) && strcmp(type, types[i]) != 0) {
        i++;
    }
    return i < COUNT(types) &&
           !event_is_address(cjson_get(image, "image_addr"));
}

static bool event_is_module(const cJSON *image)
{
    return event_is_address(cjson_get(image, "image_addr")) ||
           (printable_field(image, "image_addr")[0] == '\0' &&
            printable_field(image, "debug_id")[0] != '\0');
}

/* *placeless is how many have no address that they need. */
static cJSON *event_read_images(const cJSON *images, size_t *placeless)
{
    cJSON *modules = cJSON_CreateArray();
    const cJSON *image;

    *placeless = 0;

    cJSON_ArrayForEach(image, images)
    {
        *placeless += event_wants_address(image);
        if (event_is_module(image)) {
            cjson_append(modules, event_read_image(image));
        }
    }
    return modules;
}

/* The images that frames can name, and where the first one was loaded that has
 * an address. */
struct event_images {
    int *numbers; /* of their modules, and behind the last that of none */
    size_t count;
    uint64_t lowest;
    bool has_placeless;
    size_t nwrong; /* frames that name no image */
};

/* "rel:3" counts images, of which some are no modules.  What names none of
 * them becomes a number that no module has; so does an address below all
 * modules, as symbolicated would look for it in one without an address. */
static void event_map_mode(cJSON *frame, struct event_images *images)
{
    const char *mode = cJSON_GetStringValue(cjson_get(frame, "addr_mode"));
    const char *number;
    uint64_t n = images->count;
    char text[32];

    if (mode == NULL || strcmp(mode, "abs") == 0) {
        if (!images->has_placeless ||
            !event_read_address(cjson_get(frame, "instruction_addr"), &n) ||
            n >= images->lowest) {
            return;
        }
        n = images->count;
    } else {
        number = mode + (strncmp(mode, "rel:+", 5) == 0 ? 5 : 4);
        if (strncmp(mode, "rel:", 4) != 0 ||
            !decimal_number(number, strlen(number), &n) ||
            n >= images->count) {
            images->nwrong++;
            n = images->count;
        }
    }
    snprintf(text, sizeof(text), "rel:%d", images->numbers[n]);
    cJSON_DeleteItemFromObjectCaseSensitive(frame, "addr_mode");
    cjson_add_text(frame, "addr_mode", text);
}

/* Returns how many frames name no image. */
static size_t event_map_modes(const cJSON *root, const cJSON *list)
{
    struct event_images images = {
        .numbers = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(int)),
        .lowest = UINT64_MAX};
    uint64_t address;
    int module = 0, none = cJSON_GetArraySize(cjson_get(root, "modules"));
    const cJSON *image, *stack;
    cJSON *frame;

    if (images.numbers == NULL) {
        command_no_memory();
    }
    cJSON_ArrayForEach(image, list)
    {
        images.numbers[images.count++] =
            event_is_module(image) ? module++ : none;
        if (!event_read_address(cjson_get(image, "image_addr"), &address) ||
            address == 0) {
            images.has_placeless |= event_is_module(image);
        } else if (address < images.lowest) {
            images.lowest = address;
        }
    }
    images.numbers[images.count] = none;
    cJSON_ArrayForEach(stack, cjson_get(root, "stacktraces"))
    {
        cJSON_ArrayForEach(frame, cjson_get(stack, "frames"))
        {
            event_map_mode(frame, &images);
        }
    }
    free(images.numbers);
    return images.nwrong;
}

/* stacks ------------------------------------------------------------------ */

static cJSON *event_read_frame(const cJSON *frame)
{
    static const char *const keys[] = {"package",  "function", "symbol",
                                       "filename", "abs_path", NULL};
    const cJSON *mode = cjson_get(frame, "addr_mode");
    cJSON *item = cJSON_CreateObject();

    if (mode != NULL && !cJSON_IsNull(mode)) {
        cjson_add_text(item, "addr_mode",
                       cJSON_IsString(mode) ? mode->valuestring : "");
    }
    event_copy_texts(item, frame, keys);
    event_copy_address(item, frame, "instruction_addr");
    event_copy_address(item, frame, "function_id");
    event_copy_address(item, frame, "sym_addr");
    event_copy_number(item, frame, "lineno");
    return item;
}

/* Events have the caller first.  NULL: no frame has an address. */
static cJSON *event_read_frames(const cJSON *stack)
{
    const cJSON *list = cjson_get(stack, "frames");
    cJSON *frames = cJSON_CreateArray();
    const cJSON *frame;

    cJSON_ArrayForEach(frame, list)
    {
        if (event_is_address(cjson_get(frame, "instruction_addr")) &&
            !cJSON_InsertItemInArray(frames, 0, event_read_frame(frame))) {
            command_no_memory();
        }
    }
    if (cJSON_GetArraySize(frames) == 0) {
        cJSON_Delete(frames);
        frames = NULL;
    }
    return frames;
}

static void event_read_registers(cJSON *item, const cJSON *stack)
{
    const cJSON *list = cjson_get(stack, "registers"), *value;
    cJSON *registers = cJSON_CreateObject();

    cJSON_ArrayForEach(value, list)
    {
        if (cJSON_IsString(value) && event_is_address(value)) {
            cjson_add_text(registers, value->string, value->valuestring);
        }
    }
    cjson_add(item, "registers", registers);
}

/* That of an exception is what the event is about. */
static void event_read_stack(cJSON *stacks, const cJSON *thread,
                             bool is_exception)
{
    const cJSON *stack = cjson_get(thread, "raw_stacktrace");
    cJSON *frames, *item;

    stack = cJSON_IsObject(stack) ? stack : cjson_get(thread, "stacktrace");
    frames = event_read_frames(stack);
    if (frames == NULL) {
        return;
    }
    item = cJSON_CreateObject();
    event_copy_number(item, thread, is_exception ? "thread_id" : "id");
    if (cjson_get(item, "id") != NULL) {
        cjson_add(item, "thread_id", cJSON_DetachItemFromObject(item, "id"));
    }
    event_copy_text(item, thread, is_exception ? "type" : "name",
                    "thread_name");
    cjson_add(item, "is_requesting",
              cJSON_CreateBool(is_exception ||
                               cJSON_IsTrue(cjson_get(thread, "crashed"))));
    event_read_registers(item, stack);
    cjson_add(item, "frames", frames);
    cjson_append(stacks, item);
}

/* {"values": [...]}, or the list alone */
static const cJSON *event_values_of(const cJSON *event, const char *key)
{
    const cJSON *member = cjson_get(event, key);

    return cJSON_IsArray(member) ? member : cjson_get(member, "values");
}

static cJSON *event_read_stacks(const cJSON *event)
{
    cJSON *stacks = cJSON_CreateArray();
    const cJSON *item;

    cJSON_ArrayForEach(item, event_values_of(event, "exception"))
    {
        event_read_stack(stacks, item, true);
    }
    cJSON_ArrayForEach(item, event_values_of(event, "threads"))
    {
        event_read_stack(stacks, item, false);
    }
    if (cJSON_GetArraySize(stacks) == 0) {
        event_read_stack(stacks, event, true);
    }
    return stacks;
}

bool event_is_one(const char *text)
{
    cJSON *event = cJSON_Parse(text);
    bool is_one =
        cJSON_IsObject(event) && cjson_get(event, "stacktraces") == NULL &&
        (cJSON_IsArray(event_values_of(event, "exception")) ||
         cJSON_IsArray(event_values_of(event, "threads")) ||
         cJSON_IsArray(cjson_get(cjson_get(event, "debug_meta"), "images")));

    cJSON_Delete(event);
    return is_one;
}

/* the answer -------------------------------------------------------------- */

static void event_count_named(const cJSON *answer)
{
    const cJSON *stack, *frame;

    cJSON_ArrayForEach(stack, cjson_get(answer, "stacktraces"))
    {
        cJSON_ArrayForEach(frame, cjson_get(stack, "frames"))
        {
            nameless += printable_field(frame, "function")[0] == '\0';
        }
    }
}

static void event_print_answer(const cJSON *answer)
{
    event_count_named(answer);
    if (is_json) {
        printable_json(stdout, answer);
    } else {
        report_print_stacks(answer);
    }
}

/* A request for all stacks of an event; NULL after saying what is wrong. */
static char *event_make_request(const char *file, const char *text)
{
    cJSON *event = cJSON_Parse(text), *root = cJSON_CreateObject();
    const cJSON *images = cjson_get(cjson_get(event, "debug_meta"), "images");
    char *request = NULL, reason[128];
    size_t placeless, wrong;

    cjson_add(root, "stacktraces", event_read_stacks(event));
    cjson_add(root, "modules", event_read_images(images, &placeless));
    wrong = event_map_modes(root, images);
    if (placeless > 0) {
        snprintf(reason, sizeof(reason),
                 "images of the event without a valid \"image_addr\": %zu; "
                 "no frame is found in them by its address",
                 placeless);
        (void)command_fail(COMMAND_OK, file, reason);
    }
    if (wrong > 0) {
        snprintf(reason, sizeof(reason),
                 "frames of the event whose \"addr_mode\" names no image: "
                 "%zu; they get no name",
                 wrong);
        (void)command_fail(COMMAND_OK, file, reason);
    }
    if (cJSON_GetArraySize(cjson_get(root, "stacktraces")) == 0) {
        (void)command_fail(COMMAND_FOREIGN, file,
                           "no frame of the event has an address: it is not "
                           "a native one");
    } else if (cJSON_GetArraySize(cjson_get(root, "modules")) == 0) {
        (void)command_fail(COMMAND_FOREIGN, file,
                           "the event has no images of its modules");
    } else {
        request = cjson_print(root);
    }
    cJSON_Delete(event);
    cJSON_Delete(root);
    return request;
}

int event_show(struct settings *settings, const char *file, const char *text)
{
    char *request = event_make_request(file, text);
    int code;

    if (request == NULL) {
        return COMMAND_FOREIGN;
    }
    is_json = settings->is_json != 0;
    settings->is_json = 0; /* the printing function also counts */
    code = report_names(settings, "/symbolicate", file, request,
                        "frames have no names but the event's own",
                        event_print_answer);
    free(request);
    return code == COMMAND_OK && nameless > 0 ? COMMAND_INCOMPLETE : code;
}
