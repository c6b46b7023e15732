/*
 * Copyright (C) the ngx_symcache authors
 */
#include "native_answer.h"

#include <string.h>

#include "base/thread.h"
#include "symbolicated/api/written_strings.h"
#include "frame_source.h"
#include "module_answer.h"

#define METHOD_DEF 0x06 /* the first byte of a method's token */
#define BLOCK 32        /* frames that are looked up before they are written */

enum frame_status {
    FRAME_SYMBOLICATED,
    FRAME_MISSING_SYMBOL,
    FRAME_UNKNOWN_IMAGE,
    FRAME_MISSING,
    FRAME_MALFORMED
};

/* How frames begin. */
#define BEGIN(status) "{\"status\":\"" status "\",\"original_index\":"
static const char *const answer_frame_begins[] = {
    [FRAME_SYMBOLICATED] = BEGIN("symbolicated"),
    [FRAME_MISSING_SYMBOL] = BEGIN("missing_symbol"),
    [FRAME_UNKNOWN_IMAGE] = BEGIN("unknown_image"),
    [FRAME_MISSING] = BEGIN("missing"),
    [FRAME_MALFORMED] = BEGIN("malformed"),
};

struct native_answer {
    const struct symbolication_config *config;
    const struct symbolicator_request *request;
    const struct symbolicator_result *results;
    struct source_links *links;
    struct json_writer *w;
    struct source_path path;
    struct written_strings files;     /* filename, abs_path */
    struct written_strings functions; /* symbol, function */
    struct written_strings packages;  /* by the index of the module */
    size_t begin_at;            /* the members of the frame that is written, */
    size_t begin_size;          /* which all its functions share */
    struct chain chain;
    struct frame_source source; /* of the function that is written */
    char room[DEMANGLE_ROOM];
};

/* A frame and what it has become. */
struct native_found {
    const struct symbolicator_frame *frame;
    size_t index; /* in its stack, callee first */
    enum frame_status status;
    const struct symc_reader *reader; /* NULL: a frame of .NET */
    uint64_t image_addr;
    uint64_t address;             /* that was looked up, with image_addr */
    uint32_t location;            /* of the SymCache */
    struct ppdbcache_place place; /* of a frame of .NET */
    uint32_t members[FRAME_MEMBERS];
};

/* A member that goes back as it came, if it was there. */
static void pass_given(struct native_answer *answer, const char *name,
                       uint32_t value)
{
    json_put_value(answer->w, name, &answer->request->json, value);
}

static void pass_hex(struct native_answer *answer, const char *name,
                     uint32_t value)
{
    uint64_t number;

    if (value != 0 && schema_hex(&answer->request->json, value, &number)) {
        json_put_hex(answer->w, name, number);
    }
}

static bool find_ip(const struct native_answer *answer,
                    const struct symbolicator_stack *stack, uint32_t arch,
                    uint64_t *ip)
{
    uint32_t i;
    bool is_known;
    const char *name;
    const struct json *json;

    json = &answer->request->json;
    name = call_site_ip_register(arch);
    if (name == NULL || stack->registers == 0) {
        return false;
    }
    is_known = false;
    for (i = stack->registers + 1; i < json->values[stack->registers].end;
         i = json->values[i + 1].end) {
        is_known = (json_is(json, i, name) && schema_hex(json, i + 1, ip)) ||
                   is_known;
    }
    return is_known;
}

static uint32_t native_arch_of(const struct symc_reader *reader)
{
    return le32(reader->data + SYMC_AT_ARCH);
}

/*
 * Where the frame's address is looked up.  Returns false when nothing can be
 * there.
 */
static bool find_address(const struct native_answer *answer,
                         const struct symbolicator_stack *stack,
                         struct native_found *found)
{
    uint32_t arch;
    struct call_site site = {0};

    arch = native_arch_of(found->reader);
    site.address = found->frame->address;
    if (found->frame->rel != SYMBOLICATOR_NONE) {
        site.address += found->image_addr;
    } else if (found->image_addr == 0) {
        return false; /* such a module has no absolute addresses */
    }
    site.index = found->index;
    site.wish = found->frame->wish;
    site.has_wishes = stack->has_wishes;
    site.signal = answer->request->signal;
    site.has_ip = site.index == 0 && site.signal != 0 &&
                  find_ip(answer, stack, arch, &site.ip);
    found->address =
        found->image_addr == 0 ? site.address : call_site_address(&site, arch);
    return found->address >= found->image_addr;
}

/* Looks a frame of .NET up: its function_id is the method's row, its address
 * an IL offset, of both of which 32 bits count. */
static bool find_place(const struct native_answer *answer,
                       const struct ppdbcache_reader *ppdb,
                       struct native_found *found)
{
    uint64_t id;
    uint32_t method, member = found->members[FRAME_FUNCTION_ID];

    if (member == 0 || !schema_hex(&answer->request->json, member, &id)) {
        return false;
    }
    method = (uint32_t)id;
    if (answer->config->symbolicator.tokens && method >> 24 == METHOD_DEF) {
        method &= 0xFFFFFF;
    }
    return ppdbcache_reader_lookup(
        ppdb, method, (uint32_t)found->frame->address, &found->place);
}

/* All of a frame but what is at its address.  Returns whether that is to be
 * looked up. */
static bool prepare_frame(const struct native_answer *answer,
                          const struct symbolicator_stack *stack, size_t index,
                          struct native_found *found)
{
    const struct symbolicator_result *result;
    const struct symbolicator_frame *frame;

    frame = &answer->request->frames[stack->first + index];
    found->frame = frame;
    found->index = index;
    found->status = FRAME_UNKNOWN_IMAGE;
    if (frame->has_more) {
        symbolicator_frame_members(answer->request, frame, found->members);
    } else {
        memset(found->members, 0, sizeof(found->members));
    }
    if (frame->module == SYMBOLICATOR_NONE) {
        return false;
    }
    result = &answer->results[frame->module];
    if (result->status != SYMBOLICATOR_FOUND) {
        found->status = result->status == SYMBOLICATOR_MALFORMED
                            ? FRAME_MALFORMED
                            : FRAME_MISSING;
        return false;
    }
    found->status = FRAME_MISSING_SYMBOL;
    found->reader = result->reader;
    if (result->ppdb != NULL) {
        if (find_place(answer, result->ppdb, found)) {
            found->status = FRAME_SYMBOLICATED;
        }
        return false;
    }
    found->image_addr = answer->request->modules[frame->module].image_addr;
    return find_address(answer, stack, found);
}

/* Looks frames up: count of them, from first on in the order of the answer,
 * which has all. */
static void resolve_frames(const struct native_answer *answer,
                           const struct symbolicator_stack *stack,
                           size_t first, size_t count, size_t all,
                           struct native_found *found)
{
    size_t i, n, index, of[BLOCK];
    struct symc_lookup lookups[BLOCK];

    for (i = n = 0; i < count; i++) {
        index =
            answer->request->is_caller_first ? all - 1 - first - i : first + i;
        if (prepare_frame(answer, stack, index, &found[i])) {
            lookups[n].reader = found[i].reader;
            lookups[n].address = found[i].address - found[i].image_addr;
            of[n++] = i;
        }
    }
    symc_reader_lookup_all(lookups, n);
    for (i = 0; i < n; i++) {
        found[of[i]].location = lookups[i].location;
        if (lookups[i].location != SYMC_NONE) {
            found[of[i]].status = FRAME_SYMBOLICATED;
        }
    }
    chain_prefetch(lookups, n);
}

/* Is there a function at the frame's address?  One of .NET has its names from
 * the client. */
static bool is_resolved(const struct native_found *found)
{
    return found->status == FRAME_SYMBOLICATED && found->reader != NULL;
}

/* The file of a frame's module. */
static void write_package(struct native_answer *answer,
                          const struct native_found *found)
{
    uint32_t package, module = found->frame->module;
    struct written_string *fragment;
    struct symc_string name;

    package = answer->request->modules[module].code_file;
    if (found->reader == NULL || package == 0) {
        pass_given(answer, "package", package);
        return;
    }
    json_write_key(answer->w, "package");
    if (written_strings_find(&answer->packages, found->reader, module,
                             &fragment)) {
        written_string_again(fragment, 0, answer->w);
        return;
    }
    name.data = json_text(&answer->request->json, package);
    name.size = answer->request->json.values[package].size;
    written_string_write(fragment, 0, answer->w, &name);
}

/* The source code of a frame's module; or NULL. */
static const struct sourcecache_reader *
sources_of(const struct native_answer *answer,
           const struct native_found *found)
{
    return found->frame->module == SYMBOLICATOR_NONE
               ? NULL
               : answer->results[found->frame->module].sources;
}

/* The members up to the package, which all functions of a frame share. */
static void write_begin(struct native_answer *answer,
                        const struct native_found *found)
{
    const char *begin = answer_frame_begins[found->status];
    size_t size = strlen(begin);
    const uint32_t *members;
    bool is_absolute;

    members = found->members;
    json_write_begun(answer->w, begin, size);
    answer->begin_at = answer->w->size - size;
    json_write_number(answer->w, found->index);
    pass_given(answer, "platform", members[FRAME_PLATFORM]);
    is_absolute = found->frame->rel == SYMBOLICATOR_NONE ||
                  (is_resolved(found) && found->image_addr != 0);
    if (!is_absolute) {
        pass_given(answer, "addr_mode", members[FRAME_ADDR_MODE]);
    }
    json_put_hex(answer->w, "instruction_addr",
                 is_resolved(found) ? found->address : found->frame->address);
    pass_given(answer, "adjust_instruction_addr", members[FRAME_ADJUST]);
    pass_hex(answer, "function_id", members[FRAME_FUNCTION_ID]);
    if (found->frame->module == SYMBOLICATOR_NONE) {
        pass_given(answer, "package", members[FRAME_PACKAGE]);
    } else {
        write_package(answer, found);
    }
    answer->begin_size = answer->w->size - answer->begin_at;
}

static void write_end(struct native_answer *answer,
                      const struct native_found *found)
{
    uint32_t trust = found->members[FRAME_TRUST];

    if (trust != 0 && !json_is(&answer->request->json, trust, "none")) {
        pass_given(answer, "trust", trust);
    }
    json_write_close(answer->w, '}');
}

/*
 * Where only one of the names was given, and it is a decorated one, its
 * readable form is the function, and a function that was given the symbol.
 */
static void write_names_of_request(struct native_answer *answer,
                                   const uint32_t *m)
{
    uint32_t name;
    struct symc_string given, readable;

    name = m[FRAME_SYMBOL] == 0 ? m[FRAME_FUNCTION] : m[FRAME_SYMBOL];
    if (name != 0 && (m[FRAME_SYMBOL] == 0 || m[FRAME_FUNCTION] == 0)) {
        given.data = json_text(&answer->request->json, name);
        given.size = answer->request->json.values[name].size;
        if (demangle(&given, SYMC_NONE, answer->room, &readable)) {
            pass_given(answer, "symbol", name);
            pass_hex(answer, "sym_addr", m[FRAME_SYM_ADDR]);
            json_put_string(answer->w, "function", readable.data,
                            readable.size);
            return;
        }
    }
    pass_given(answer, "symbol", m[FRAME_SYMBOL]);
    pass_hex(answer, "sym_addr", m[FRAME_SYM_ADDR]);
    pass_given(answer, "function", m[FRAME_FUNCTION]);
}

/* The place of a frame of .NET. */
static void write_place(struct native_answer *answer,
                        const struct ppdbcache_place *place)
{
    struct symc_string name = source_path_name(&place->file);

    json_put_string(answer->w, "filename", name.data, name.size);
    json_put_string(answer->w, "abs_path", place->file.data, place->file.size);
    json_put_number(answer->w, "lineno", place->line);
}

/* A frame as it was given, but for the place of one of .NET. */
static void native_given(struct native_answer *answer,
                         const struct native_found *found)
{
    const uint32_t *m = found->members;

    write_begin(answer, found);
    if (found->status == FRAME_SYMBOLICATED) {
        json_put_text(answer->w, "lang",
                      symc_language_name(found->place.language));
        write_names_of_request(answer, m);
        write_place(answer, &found->place);
    } else {
        pass_given(answer, "lang", m[FRAME_LANG]);
        write_names_of_request(answer, m);
        pass_given(answer, "filename", m[FRAME_FILENAME]);
        pass_given(answer, "abs_path", m[FRAME_ABS_PATH]);
        pass_given(answer, "lineno", m[FRAME_LINENO]);
    }
    if (found->status == FRAME_SYMBOLICATED) {
        frame_source_find(&answer->source, sources_of(answer, found),
                          found->place.file, found->place.line);
        frame_source_follow(&answer->source, answer->links,
                            found->frame->module, found->place.line);
    } else {
        frame_source_find_given(&answer->source, sources_of(answer, found),
                                &answer->request->json, m);
    }
    frame_source_write_given(answer->w, &answer->source,
                             &answer->request->json, m);
    pass_given(answer, "in_app", m[FRAME_IN_APP]);
    pass_given(answer, "vars", m[FRAME_VARS]);
    write_end(answer, found);
}

static void write_symbol(struct native_answer *answer,
                         const struct symc_frame *frame, uint64_t sym_addr,
                         bool is_last)
{
    bool is_known;
    struct written_string *fragment;
    struct symc_string readable;

    is_known = written_strings_find(&answer->functions, answer->chain.reader,
                                    frame->location.function, &fragment);
    json_write_key(answer->w, "symbol");
    if (is_known) {
        written_string_again(fragment, 0, answer->w);
    } else {
        written_string_write(fragment, 0, answer->w, &frame->function.name);
        fragment->at[1] = fragment->at[0];
        fragment->size[1] = fragment->size[0];
    }
    if (is_last) {
        json_put_hex(answer->w, "sym_addr", sym_addr);
    }
    json_write_key(answer->w, "function");
    if (!is_known && demangle(&frame->function.name, frame->function.language,
                              answer->room, &readable)) {
        written_string_write(fragment, 1, answer->w, &readable);
    } else {
        written_string_again(fragment, 1, answer->w);
    }
}

static void native_write_file(struct native_answer *answer,
                              const struct native_found *found, uint32_t file)
{
    struct written_string *fragment;
    struct symc_string name;
    const struct symc_string *path;

    if (written_strings_find(&answer->files, found->reader, file, &fragment)) {
        json_write_key(answer->w, "filename");
        written_string_again(fragment, 0, answer->w);
        json_write_key(answer->w, "abs_path");
        written_string_again(fragment, 1, answer->w);
        return;
    }
    path = source_path(&answer->path, found->reader, file);
    if (path == NULL) {
        answer->w->has_failed = true;
        return;
    }
    if (path->size == 0) {
        fragment->reader = NULL;
        pass_given(answer, "filename", found->members[FRAME_FILENAME]);
        pass_given(answer, "abs_path", found->members[FRAME_ABS_PATH]);
        return;
    }
    name = source_path_name(path);
    json_write_key(answer->w, "filename");
    written_string_write(fragment, 0, answer->w, &name);
    json_write_key(answer->w, "abs_path");
    written_string_write(fragment, 1, answer->w, path);
}

/* The source code at a place of a frame. */
static void write_source(struct native_answer *answer,
                         const struct native_found *found,
                         const struct symc_location *location)
{
    const struct sourcecache_reader *sources = sources_of(answer, found);
    const struct symc_string *path;

    if (sources == NULL &&
        (answer->links == NULL || answer->links->config == NULL ||
         answer->links->config->ndebuginfod == 0)) {
        return;
    }
    path = source_path(&answer->path, found->reader, location->file);
    if (path == NULL) {
        answer->w->has_failed = true;
        return;
    }
    frame_source_find(&answer->source, sources,
                      path->size > 0
                          ? *path
                          : schema_text(&answer->request->json,
                                        found->members[FRAME_ABS_PATH]),
                      location->line);
    if (path->size > 0) {
        frame_source_follow(&answer->source, answer->links,
                            found->frame->module, location->line);
        frame_source_ask(&answer->source, answer->links, answer->request,
                         found->frame->module, *path, location->line);
    }
    frame_source_write(answer->w, &answer->source);
}

/* The function at a level of the chain, after what all share. */
static void native_function(struct native_answer *answer,
                            const struct native_found *found, size_t level)
{
    uint32_t language;
    const struct symc_frame *frame;

    frame = &answer->chain.frames[level];
    language = frame->function.language;
    if (language != 0 && language != SYMC_NONE) {
        json_put_text(answer->w, "lang", symc_language_name(language));
    }
    write_symbol(answer, frame, found->image_addr + frame->function.entry,
                 level + 1 == answer->chain.count &&
                     frame->function.entry != SYMC_NONE);
    native_write_file(answer, found, frame->location.file);
    json_put_number(answer->w, "lineno", frame->location.line);
    write_source(answer, found, &frame->location);
    write_end(answer, found);
}

/* No more is written, because there is no memory or too much already. */
static bool native_is_over(const struct native_answer *answer)
{
    return answer->w->has_failed ||
           answer->w->size > answer->config->limits.answer_size;
}

static void native_write_frame(struct native_answer *answer,
                               const struct native_found *found)
{
    size_t i;

    if (!is_resolved(found)) {
        native_given(answer, found);
        return;
    }
    chain_at(found->reader, found->location, &answer->chain);
    for (i = 0; i < answer->chain.count && !native_is_over(answer); i++) {
        if (i == 0) {
            write_begin(answer, found);
        } else {
            json_write_again(answer->w, answer->begin_at, answer->begin_size);
        }
        native_function(answer, found,
                        answer->request->is_caller_first
                            ? answer->chain.count - 1 - i
                            : i);
    }
}

/* Guesses of a stack scanner that lead nowhere are not answered, nor functions
 * that stand with what was inlined into them already. */
static bool is_dropped(const struct native_found *found)
{
    return (found->frame->trust == API_TRUST_SCAN &&
            (found->status == FRAME_MISSING_SYMBOL ||
             found->status == FRAME_UNKNOWN_IMAGE)) ||
           (found->frame->inlines_previous && is_resolved(found));
}

static bool is_start(struct native_answer *answer,
                     const struct native_found *found)
{
    uint32_t function = found->members[FRAME_FUNCTION];
    const struct symc_string *name;

    if (!is_resolved(found)) {
        return function != 0 &&
               json_is(&answer->request->json, function, "_start");
    }
    chain_at(found->reader, found->location, &answer->chain);
    if (answer->chain.count == 0) {
        return false;
    }
    name = &answer->chain.frames[answer->chain.count - 1].function.name;
    return name->size == 6 && memcmp(name->data, "_start", 6) == 0;
}

/* One frame by its index. */
static void look_at_frame(const struct native_answer *answer,
                          const struct symbolicator_stack *stack, size_t index,
                          struct native_found *found)
{
    resolve_frames(answer, stack,
                   answer->request->is_caller_first ? stack->count - 1 - index
                                                    : index,
                   1, stack->count, found);
}

/* How many frames of a stack are answered: _start has no caller, so any frame
 * that an unwinder found after it is wrong. */
static size_t frames_to_write(struct native_answer *answer,
                              const struct symbolicator_stack *stack)
{
    size_t i = stack->count;
    struct native_found found;

    if (i < 2 || answer->request->frames[stack->first + i - 1].module !=
                     SYMBOLICATOR_NONE) {
        return stack->count;
    }
    for (i = stack->count - 1; i-- > 0;) {
        look_at_frame(answer, stack, i, &found);
        if (!is_dropped(&found)) {
            return is_start(answer, &found) ? stack->count - 1 : stack->count;
        }
    }
    return stack->count;
}

/* Looks some frames up, and then writes them. */
static void write_block(struct native_answer *answer,
                        const struct symbolicator_stack *stack, size_t first,
                        size_t count, size_t all)
{
    size_t i;
    struct native_found found[BLOCK];

    resolve_frames(answer, stack, first, count, all, found);
    for (i = 0; i < count && !native_is_over(answer); i++) {
        if (!is_dropped(&found[i])) {
            native_write_frame(answer, &found[i]);
        }
    }
}

static void native_write_frames(struct native_answer *answer,
                                const struct symbolicator_stack *stack)
{
    size_t i, count;

    count = frames_to_write(answer, stack);
    json_put_open(answer->w, "frames", '[');
    for (i = 0; i < count && !native_is_over(answer); i += BLOCK) {
        write_block(answer, stack, i, count - i < BLOCK ? count - i : BLOCK,
                    count);
    }
    json_write_close(answer->w, ']');
}

static void native_registers(struct native_answer *answer, uint32_t registers)
{
    uint32_t i;
    uint64_t number;
    const struct json *json;

    json = &answer->request->json;
    if (registers == 0 || json->values[registers].size == 0) {
        return;
    }
    json_put_open(answer->w, "registers", '{');
    for (i = registers + 1; i < json->values[registers].end;
         i = json->values[i + 1].end) {
        json_write_name(answer->w, json_text(json, i), json->values[i].size);
        schema_hex(json, i + 1, &number);
        json_write_hex(answer->w, number);
    }
    json_write_close(answer->w, '}');
}

static void native_write_stack(struct native_answer *answer,
                               const struct symbolicator_stack *stack)
{
    json_write_open(answer->w, '{');
    pass_given(answer, "thread_id", stack->thread_id);
    pass_given(answer, "thread_name", stack->thread_name);
    pass_given(answer, "is_requesting", stack->is_requesting);
    native_registers(answer, stack->registers);
    native_write_frames(answer, stack);
    json_write_close(answer->w, '}');
}

static void native_write_all(struct native_answer *answer)
{
    size_t i;

    json_write_open(answer->w, '{');
    json_put_text(answer->w, "status", "completed");
    if (answer->request->has_signal) {
        json_put_number(answer->w, "signal", answer->request->signal);
    }
    report_head_write(answer->w, answer->request, answer->results);
    json_put_open(answer->w, "stacktraces", '[');
    for (i = 0; i < answer->request->nstacks; i++) {
        native_write_stack(answer, &answer->request->stacks[i]);
    }
    json_write_close(answer->w, ']');
    json_put_open(answer->w, "modules", '[');
    for (i = 0; i < answer->request->nmodules; i++) {
        symbolicator_module_write(answer->w, answer->config, answer->request,
                                  i, &answer->results[i], answer->links);
    }
    json_write_close(answer->w, ']');
    json_write_close(answer->w, '}');
}

bool symbolicator_answer(const struct symbolication_config *config,
                         const struct symbolicator_request *request,
                         const struct symbolicator_result *results,
                         struct source_links *links, struct json_writer *w)
{
    static _Thread_local void *kept;
    struct native_answer *answer = thread_keep(&kept, sizeof(*answer));

    if (answer == NULL) {
        w->has_failed = true;
        return true;
    }
    written_strings_begin(&answer->files, request->nframes);
    written_strings_begin(&answer->functions, request->nframes);
    written_strings_begin(&answer->packages, request->nmodules);
    answer->config = config;
    answer->request = request;
    answer->results = results;
    answer->links = links;
    answer->w = w;
    source_links_begin(links);
    native_write_all(answer);
    source_path_free(&answer->path);
    text_lines_free(&answer->source.known);
    return w->size <= config->limits.answer_size;
}
