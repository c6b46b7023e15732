/*
 * Copyright (C) the ngx_symcache authors
 *
 * The text of perf script.  A frame without a name is "ADDRESS [unknown]
 * (PATH)".  Its address is one of the process, or one in the file: perf has
 * both, by version and field.  Where a path is mapped stands in lines of
 * --show-mmap-events, and its build id there (perf record --buildid-mmap) or in
 * lines of perf buildid-list, which go before.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "formats.h"
#include "mappings.h"

static const char unknown[] = "[unknown] (";

struct perf_line {
    const char *data;
    size_t size;
    const char *next; /* after its end */
};

/* A line of perf buildid-list. */
struct perf_build_id {
    struct symc_string path, id;
};

struct perf_text {
    struct profile_mappings mappings;
    struct perf_build_id *ids;
    size_t nids;
    size_t ids_room;
    struct table paths; /* of ids: places + 1 */
    uint32_t process;
};

/* A frame without a name. */
struct perf_frame {
    uint64_t address;
    uint64_t reach; /* of the address: see struct profile_place; 0 of what perf
                       prints of code that is mapped */
    const char *name;  /* "[unknown]" */
    struct symc_string path;
};

static bool perf_next_line(const struct profile *profile, const char **at,
                           struct perf_line *line)
{
    const char *end = (const char *)profile->data + profile->size, *p;

    if (*at == end) {
        return false;
    }
    p = memchr(*at, '\n', (size_t)(end - *at));
    line->data = *at;
    line->size = (size_t)((p != NULL ? p : end) - *at);
    line->next = *at = p != NULL ? p + 1 : end;
    if (line->size > 0 && line->data[line->size - 1] == '\r') {
        line->size--; /* a system of Windows had the text */
    }
    return true;
}

/* Reads hexadecimal digits; returns what follows, or NULL. */
static const char *perf_hex(const char *p, const char *end, uint64_t *value)
{
    const char *begin = p;

    while (p < end && p - begin < 17 && hex_digit(*p) >= 0) {
        p++;
    }
    return p - begin < 17 && hex_number(begin, (size_t)(p - begin), value)
               ? p
               : NULL;
}

/* The same of decimal ones; what follows is p itself if there are none. */
static const char *perf_decimal(const char *p, const char *end,
                                uint32_t *value)
{
    for (*value = 0; p < end && *p >= '0' && *p <= '9'; p++) {
        *value = *value * 10 + (uint32_t)(*p - '0');
    }
    return p;
}

static const char *perf_find_in_line(const char *p, const char *end,
                                     const char *text)
{
    return p != NULL ? memmem(p, (size_t)(end - p), text, strlen(text)) : NULL;
}

static const char *perf_read_after(const char *p, const char *end,
                                   const char *text, uint64_t *value)
{
    p = perf_find_in_line(p, end, text);
    return p != NULL ? perf_hex(p + strlen(text), end, value) : NULL;
}

static uint64_t perf_hash_path(const struct perf_text *text,
                               struct symc_string path)
{
    return table_hash((uintptr_t)text, path.data, path.size);
}

/* The id of a path by perf buildid-list, or NULL. */
static const struct symc_string *perf_id_of(const struct perf_text *text,
                                            struct symc_string path)
{
    const uint64_t hash = perf_hash_path(text, path);
    const struct perf_build_id *id;
    uintptr_t place;
    size_t at = 0;

    while ((place = table_next(&text->paths, hash, &at)) != 0) {
        id = &text->ids[place - 1];
        if (id->path.size == path.size &&
            memcmp(id->path.data, path.data, path.size) == 0) {
            return &id->id;
        }
    }
    return NULL;
}

static uint32_t perf_module_of(struct profile *profile,
                               const struct perf_text *text,
                               struct symc_string path, struct symc_string id)
{
    const struct symc_string *known =
        id.size == 0 ? perf_id_of(text, path) : NULL;

    if (known != NULL) {
        id = *known;
    }
    return profile_is_hex(&id, 2, 64)
               ? profile_add_module(profile, "buildid-", &id, NULL, NULL)
               : PROFILE_NONE;
}

/* "PERF_RECORD_MMAP2 1/1: [0x1000(0x2000) @ 0x3000 <BUILD ID>]: r-xp PATH";
 * or "@ 0x3000 fd:01 12 0]", or of PERF_RECORD_MMAP "@ 0x3000]". */
static void perf_read_mapping(struct profile *profile, struct perf_text *text,
                              const struct perf_line *line, const char *p)
{
    const char *end = line->data + line->size, *close;
    struct profile_mapping mapping = {.module = PROFILE_NONE};
    struct symc_string id = {"", 0};
    uint64_t size = 0;

    p = perf_find_in_line(p, end, " ");
    if (p != NULL) {
        (void)perf_decimal(p + 1, end, &mapping.process);
    }
    p = perf_read_after(p, end, "[0x", &mapping.start);
    p = perf_read_after(p, end, "(0x", &size);
    p = perf_read_after(p, end, "@ ",
                        &mapping.offset); /* "0", or that of "0x" */
    if (p != NULL && p < end && *p == 'x') {
        p = perf_hex(p + 1, end, &mapping.offset);
    }
    close = perf_find_in_line(p, end, "]: ");
    if (close == NULL) {
        return;
    }
    p = perf_find_in_line(p, close, "<");
    if (p != NULL) {
        id.data = p + 1;
        p = memchr(id.data, '>', (size_t)(close - id.data));
        id.size = p != NULL ? (size_t)(p - id.data) : 0;
    }
    p = perf_find_in_line(close + 3, end, " ");
    if (p == NULL) {
        return;
    }
    mapping.path = (struct symc_string){p + 1, (size_t)(end - p - 1)};
    mapping.limit = mapping.start + size;
    mapping.module = perf_module_of(profile, text, mapping.path, id);
    if (profile_mappings_add(&text->mappings, &mapping) != 0) {
        profile->is_without_memory = true;
    }
}

/* "BUILDID PATH" of perf buildid-list, which puts blanks behind one that is
 * shorter than a SHA-1; the first of a path counts.  Returns whether it is
 * such a line. */
static bool perf_read_id(struct profile *profile, struct perf_text *text,
                         const struct perf_line *line)
{
    const char *end = line->data + line->size;
    const char *p = memchr(line->data, ' ', line->size);
    struct symc_string path,
        id = {line->data, p != NULL ? (size_t)(p - line->data) : 0};

    if (!profile_is_hex(&id, 8, 32)) {
        return false;
    }
    while (p < end && *p == ' ') {
        p++;
    }
    if (p == end || *p != '/') {
        return false;
    }
    path = (struct symc_string){p, (size_t)(end - p)};
    if (perf_id_of(text, path) != NULL) {
        return true;
    }
    if (array_need(&text->ids, &text->ids_room, text->nids + 1,
                   sizeof(text->ids[0])) != 0 ||
        table_add(&text->paths, perf_hash_path(text, path), text->nids + 1) !=
            0) {
        profile->is_without_memory = true;
        return true;
    }
    text->ids[text->nids++] = (struct perf_build_id){path, id};
    return true;
}

/* Does a processor "[001]" or a time "1.5:" follow? */
static bool perf_is_before_time(const char *p, const char *end)
{
    const char *digits;
    bool is_processor;
    uint32_t value;

    for (; p < end && *p == ' '; p++) {
    }
    is_processor = p < end && *p == '[';
    digits = p + is_processor;
    p = perf_decimal(digits, end, &value);
    return p > digits && p < end && *p == (is_processor ? ']' : '.');
}

/* The head of a sample has its process, or a thread of it, before processor
 * and time: "app 12/13 [001] 1.5: cycles:".  Names of threads may have numbers
 * before it; where perf printed neither, it is the first number. */
static void perf_read_head(struct perf_text *text,
                           const struct perf_line *line)
{
    const char *p = line->data, *end = p + line->size, *behind;
    uint32_t process;
    bool has_first = false;

    while ((p = perf_find_in_line(p, end, " ")) != NULL && ++p < end) {
        behind = perf_decimal(p, end, &process);
        if (behind == p || behind == end ||
            (*behind != ' ' && *behind != '/')) {
            continue;
        }
        if (!has_first) {
            text->process = process;
            has_first = true;
        }
        behind = memchr(behind, ' ', (size_t)(end - behind));
        if (behind != NULL && perf_is_before_time(behind, end)) {
            text->process = process;
            return;
        }
    }
}

/* Frames are indented, or stand behind the head of their sample, and then end
 * with a file in parentheses.  Other texts can have parentheses, too. */
static bool perf_is_like_frame(const struct perf_line *line)
{
    const char *end = line->data + line->size;

    return line->size > 2 &&
           (line->data[0] == '\t' ||
            (end[-1] == ')' &&
             perf_find_in_line(line->data, end, " (") != NULL &&
             (line->data[0] == ' ' ||
              perf_find_in_line(line->data, end, ": ") != NULL)));
}

static bool perf_read_frame(const struct perf_line *line,
                            struct perf_frame *frame)
{
    const char *end = line->data + line->size, *p;
    uint64_t offset;

    frame->name = perf_find_in_line(line->data, end, unknown);
    if (frame->name == NULL || end[-1] != ')') {
        return false;
    }
    for (p = frame->name; p > line->data && p[-1] == ' '; p--) {
    }
    for (; p > line->data && p[-1] != ' ' && p[-1] != '\t'; p--) {
    }
    frame->path.data = frame->name + sizeof(unknown) - 1;
    frame->path.size = (size_t)(end - 1 - frame->path.data);
    p = perf_hex(p, end, &frame->address);
    if (p == NULL || *p != ' ') {
        return false;
    }
    /* with the field dsoff, the offset in the file stands after the path */
    for (p = end - 1; p > frame->path.data && *p != '+'; p--) {
    }
    if (*p == '+' && perf_read_after(p, end, "+0x", &offset) == end - 1) {
        frame->path.size = (size_t)(p - frame->path.data);
    }
    return true;
}

/* Returns the module of a frame, and sets its address there. */
static uint32_t perf_place_frame(struct profile *profile,
                                 const struct perf_text *text,
                                 struct perf_frame *frame)
{
    uint32_t module = profile_mappings_module(&text->mappings, frame->path);
    const struct profile_mapping *mapping;

    if (module == PROFILE_NONE) {
        module = perf_module_of(profile, text, frame->path,
                                (struct symc_string){"", 0});
    }
    if (module == PROFILE_NONE) {
        return PROFILE_NONE; /* as "//anon", which is mapped most often */
    }
    mapping = profile_mappings_find(&text->mappings, frame->path,
                                    text->process, frame->address);
    if (mapping != NULL) {
        frame->address = profile_relative(&text->mappings, mapping,
                                          frame->address, &frame->reach);
        return mapping->module;
    }
    frame->reach = 0;
    return module;
}

/* Takes a line.  Returns the module of its frame if that wants a name. */
static uint32_t perf_take_line(struct profile *profile, struct perf_text *text,
                               const struct perf_line *line,
                               struct perf_frame *frame)
{
    const char *p;

    if (line->size == 0 || perf_read_id(profile, text, line)) {
        return PROFILE_NONE;
    }
    p = perf_find_in_line(line->data, line->data + line->size,
                          "PERF_RECORD_MMAP");
    if (p != NULL) {
        perf_read_mapping(profile, text, line, p);
        return PROFILE_NONE;
    }
    if (line->data[0] != ' ' && line->data[0] != '\t') {
        perf_read_head(text, line);
    }
    return perf_read_frame(line, frame)
               ? perf_place_frame(profile, text, frame)
               : PROFILE_NONE;
}

static void perf_free_text(struct perf_text *text)
{
    profile_mappings_free(&text->mappings);
    free(text->ids);
    table_free(&text->paths);
}

bool perf_read(struct profile *profile, char error[PROFILE_ERROR])
{
    const char *at = (const char *)profile->data;
    bool has_frames = false;
    uint32_t module;
    struct perf_text text = {0};
    struct perf_frame frame;
    struct perf_line line;

    while (perf_next_line(profile, &at, &line)) {
        has_frames = has_frames || perf_is_like_frame(&line);
        module = perf_take_line(profile, &text, &line, &frame);
        if (module != PROFILE_NONE) {
            profile_add_place(profile, module, frame.address, frame.reach);
        }
    }
    perf_free_text(&text);
    return has_frames ||
           profile_fail(error, "this text has no frames of perf script");
}

/* A line for each function, the innermost first, as perf has them. */
static void perf_put_frame(const struct profile *profile,
                           const struct perf_line *line,
                           const struct perf_frame *frame,
                           const struct profile_place *place,
                           struct profile_output *out)
{
    const char *behind = frame->name + sizeof(unknown) - 3;
    bool has_lines = line->data[0] == '\t' || line->data[0] == ' ';
    const uint32_t *number = profile->frames + place->first;
    struct symc_string name;
    uint32_t i;

    for (i = place->count; has_lines && i > 1; i--) {
        name = profile_name(profile, number[3 * (i - 1)]);
        profile_put(out, line->data, (size_t)(frame->name - line->data));
        profile_put(out, name.data, name.size);
        profile_put(out, " (inlined)\n", 11);
    }
    name = profile_name(profile, number[0]);
    profile_put(out, line->data, (size_t)(frame->name - line->data));
    profile_put(out, name.data, name.size);
    profile_put(out, behind, (size_t)(line->next - behind));
}

void perf_write(const struct profile *profile, struct profile_output *out)
{
    struct profile again = {.data = profile->data, .size = profile->size};
    const char *at = (const char *)profile->data;
    const struct profile_place *place = profile->places;
    struct perf_text text = {0};
    struct perf_frame frame;
    struct perf_line line;

    while (perf_next_line(profile, &at, &line)) {
        if (perf_take_line(&again, &text, &line, &frame) == PROFILE_NONE) {
            profile_put(out, line.data, (size_t)(line.next - line.data));
        } else if (place++->count == 0) {
            profile_put(out, line.data, (size_t)(line.next - line.data));
        } else {
            perf_put_frame(profile, &line, &frame, place - 1, out);
        }
    }
    out->has_failed |= again.is_without_memory;
    profile_free(&again);
    perf_free_text(&text);
}
