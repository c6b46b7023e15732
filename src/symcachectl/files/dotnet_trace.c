/*
 * Copyright (C) the ngx_symcache authors
 */
#include "dotnet_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addresses.h"
#include "base/array.h"
#include "symcachectl/cjson.h"
#include "symcachectl/command.h"
#include "examine.h"
#include "identity.h"
#include "symcachectl/terminal/printable.h"

#define BEFORE "in " /* after a blank, and before the name of the assembly */
#define TOKEN ":token "

/* Adds an assembly unless it is there.  Returns its index. */
static uint32_t dotnet_add_module(struct trace *trace, const char *name,
                                  size_t size)
{
    size_t i;

    for (i = 0; i < trace->num_modules; i++) {
        if (strlen(trace->modules[i]) == size &&
            memcmp(trace->modules[i], name, size) == 0) {
            return (uint32_t)i;
        }
    }
    if (array_need(&trace->modules, &trace->module_room,
                   trace->num_modules + 1, sizeof(*trace->modules)) != 0) {
        command_no_memory();
    }
    trace->modules[i] = strndup(name, size);
    if (trace->modules[i] == NULL) {
        command_no_memory();
    }
    trace->num_modules++;
    return (uint32_t)i;
}

/* Finds the last "in " of a line that is before a place in it, not farther
 * than a name is long. */
static const char *find_before(const char *line, const char *place)
{
    const char *p;

    for (p = place - (sizeof(BEFORE) - 1);
         p > line && place - p <= SYMCACHE_NAME_MAX + 3; p--) {
        if (memcmp(p, BEFORE, sizeof(BEFORE) - 1) == 0 && p[-1] == ' ') {
            return p;
        }
    }
    return NULL;
}

/* Reads the frame whose token begins at a place of a line, if it is one. */
static void dotnet_read_frame(struct trace *trace, const char *line,
                              const char *token)
{
    uint64_t address;
    struct trace_frame *frame;
    const char *begin = find_before(line, token), *name, *end;

    if (begin == NULL) {
        return;
    }
    name = begin + sizeof(BEFORE) - 1;
    end = token + sizeof(TOKEN) - 1;
    end += strspn(end, "0123456789abcdefABCDEFxX+");
    if (name == token ||
        addresses_parse_method(token + sizeof(TOKEN) - 1,
                               (size_t)(end - token) - sizeof(TOKEN) + 1,
                               &address) != 0) {
        return;
    }
    if (array_need(&trace->frames, &trace->room, trace->num_frames + 1,
                   sizeof(*trace->frames)) != 0) {
        command_no_memory();
    }
    frame = &trace->frames[trace->num_frames++];
    frame->begin = (size_t)(begin - trace->text);
    frame->end = (size_t)(end - trace->text);
    frame->module = dotnet_add_module(trace, name, (size_t)(token - name));
    frame->method = (uint32_t)(address >> 32);
    frame->il = (uint32_t)address;
}

void trace_read(struct trace *trace, char *text)
{
    size_t size;
    const char *line, *p;

    trace->text = text;
    for (line = text; *line != '\0'; line += size + (line[size] == '\n')) {
        size = strcspn(line, "\n");
        p = memmem(line, size, TOKEN, sizeof(TOKEN) - 1);
        if (p != NULL) {
            dotnet_read_frame(trace, line, p);
        }
    }
}

void trace_free(struct trace *trace)
{
    size_t i;

    for (i = 0; i < trace->num_modules; i++) {
        free(trace->modules[i]);
    }
    free(trace->modules);
    free(trace->frames);
    memset(trace, 0, sizeof(*trace));
}

/* assemblies -------------------------------------------------------------- */

/* Opens the file of an assembly.  Its name comes from the text, and is never
 * more than a name.  Returns -1 with errno. */
static int dotnet_open_assembly(const char *images, const char *name)
{
    int folder, fd;
    struct stat st;
    const char *slash = strrchr(images, '/');

    if (stat(images, &st) != 0) {
        return -1;
    }
    if (strchr(name, '/') != NULL) {
        errno = ENOENT;
        return -1;
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOENT;
        return strcmp(slash != NULL ? slash + 1 : images, name) == 0
                   ? open(images, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                   : -1;
    }
    folder = open(images, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder == -1) {
        return -1;
    }
    fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    close(folder);
    return fd;
}

/* Finds out which portable PDB belongs to an assembly, and its stamp.  Returns
 * false after printing what is wrong. */
static bool dotnet_identify_image(const char *images, const char *name,
                                  struct identity *identity, uint32_t *stamp)
{
    const char *wrong;
    struct examine_result result;
    int fd = dotnet_open_assembly(images, name);

    if (fd == -1) {
        command_fail(COMMAND_IO, name, strerror(errno));
        return false;
    }
    examine_file(fd, &result);
    close(fd);
    *stamp = result.stamp;
    wrong = result.is_portable
                ? identity_set(identity, result.name, result.name_size,
                               result.guid, result.age)
            : result.error[0] != '\0'
                ? result.error
                : "is not an assembly with a portable PDB";
    if (wrong != NULL) {
        command_fail(COMMAND_NOT_FOUND, name, wrong);
    }
    return wrong == NULL;
}

/* the request ------------------------------------------------------------- */

/* The age of its debug id is the stamp, by which the layout "unified" has the
 * file. */
static cJSON *dotnet_module(const struct identity *identity, uint32_t stamp)
{
    cJSON *module = cJSON_CreateObject();
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    snprintf(id, sizeof(id), "%.32s%x", identity->id, stamp);

    cjson_add_text(module, "type", "pe_dotnet");
    cjson_add_text(module, "debug_file", identity->name);
    cjson_add_text(module, "debug_id", id);
    return module;
}

/* An assembly of which nothing is known is one that no file can be of. */
static cJSON *no_module(void)
{
    cJSON *module = cJSON_CreateObject();

    cjson_add_text(module, "type", "pe_dotnet");
    return module;
}

char *trace_request(const struct trace *trace, const char *images)
{
    size_t i;
    char text[32];
    struct identity identity;
    uint32_t stamp;
    cJSON *root = cJSON_CreateObject(), *modules, *frame;
    cJSON *stacks = cjson_add_list(root, "stacktraces");
    cJSON *frames = cjson_add_list(cjson_append_object(stacks), "frames");

    modules = cjson_add_list(root, "modules");
    for (i = 0; i < trace->num_modules; i++) {
        cjson_append(modules, dotnet_identify_image(images, trace->modules[i],
                                                    &identity, &stamp)
                                  ? dotnet_module(&identity, stamp)
                                  : no_module());
    }
    for (i = 0; i < trace->num_frames; i++) {
        frame = cjson_append_object(frames);
        snprintf(text, sizeof(text), "rel:%u", trace->frames[i].module);
        cjson_add_text(frame, "addr_mode", text);
        cjson_add_number(frame, "function_id", trace->frames[i].method);
        cjson_add_number(frame, "instruction_addr", trace->frames[i].il);
    }
    return cjson_finish(root);
}

/* the answer -------------------------------------------------------------- */

void trace_print(const struct trace *trace, const cJSON *answer)
{
    size_t i = 0, at = 0;
    const cJSON *frame,
        *stacks = cJSON_GetObjectItemCaseSensitive(answer, "stacktraces");

    cJSON_ArrayForEach(frame, cJSON_GetObjectItemCaseSensitive(
                                  cJSON_GetArrayItem(stacks, 0), "frames"))
    {
        if (i == trace->num_frames) {
            break;
        }
        if (strcmp(printable_field(frame, "status"), "symbolicated") == 0) {
            printable_put_lines(stdout, trace->text + at,
                                trace->frames[i].begin - at);
            fputs(BEFORE, stdout);
            printable_put_field(stdout, frame, "abs_path");
            printf(":line %.0f", printable_number(frame, "lineno"));
            at = trace->frames[i].end;
        }
        i++;
    }
    printable_put_lines(stdout, trace->text + at, strlen(trace->text + at));
}
