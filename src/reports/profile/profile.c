/*
 * Copyright (C) the ngx_symcache authors
 */
#include "profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "formats.h"

bool profile_fail(char error[PROFILE_ERROR], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, PROFILE_ERROR, format, args);
    va_end(args);
    return false;
}

bool profile_is_hex(const struct symc_string *text, size_t min, size_t max)
{
    size_t i;

    for (i = 0; i < text->size; i++) {
        if (hex_digit(text->data[i]) < 0) {
            return false;
        }
    }
    return text->size % 2 == 0 && text->size >= 2 * min &&
           text->size <= 2 * max;
}

/* A copy, or NULL of what is absent or has a NUL. */
static char *copy_text(struct profile *profile, const char *prefix,
                       const struct symc_string *text)
{
    size_t n = strlen(prefix);
    char *to;

    if (text == NULL || text->size == 0 ||
        memchr(text->data, '\0', text->size) != NULL) {
        return NULL;
    }
    to = malloc(n + text->size + 1);
    if (to == NULL) {
        profile->is_without_memory = true;
        return NULL;
    }
    memcpy(to, prefix, n);
    memcpy(to + n, text->data, text->size);
    to[n + text->size] = '\0';
    return to;
}

static bool profile_is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void free_module(struct profile_module *module)
{
    free(module->id);
    free(module->name);
    free(module->code);
}

uint32_t profile_add_module(struct profile *profile, const char *prefix,
                            const struct symc_string *id,
                            const struct symc_string *name,
                            const struct symc_string *code)
{
    struct profile_module module = {.id = copy_text(profile, prefix, id),
                                    .name = copy_text(profile, "", name),
                                    .code = copy_text(profile, "", code)};
    uintptr_t place;
    size_t at = 0;
    uint64_t hash;

    if (module.id == NULL || profile->is_without_memory) {
        free_module(&module);
        return PROFILE_NONE;
    }
    hash = table_hash_text(&profile->ids, module.id);
    while ((place = table_next(&profile->ids, hash, &at)) != 0) {
        if (profile_is_same(profile->modules[place - 1].id, module.id) &&
            profile_is_same(profile->modules[place - 1].name, module.name)) {
            free_module(&module);
            return (uint32_t)place - 1;
        }
    }
    if (array_need(&profile->modules, &profile->modules_room,
                   profile->nmodules + 1, sizeof(module)) != 0 ||
        table_add(&profile->ids, hash, profile->nmodules + 1) != 0) {
        profile->is_without_memory = true;
        free_module(&module);
        return PROFILE_NONE;
    }
    profile->modules[profile->nmodules] = module;
    return (uint32_t)profile->nmodules++;
}

void profile_add_place(struct profile *profile, uint32_t module,
                       uint64_t address, uint64_t reach)
{
    if (array_need(&profile->places, &profile->places_room,
                   profile->nplaces + 1, sizeof(profile->places[0])) != 0) {
        profile->is_without_memory = true;
        return;
    }
    profile->places[profile->nplaces++] = (struct profile_place){
        .module = module, .address = address, .reach = reach};
    if (module != PROFILE_NONE) {
        profile->modules[module].is_wanted = true;
    }
}

struct symc_string profile_name(const struct profile *profile,
                                uint32_t number)
{
    return name_table_at(&profile->resolver->names, number);
}

void profile_put(struct profile_output *out, const void *data, size_t size)
{
    if (out->has_failed || (out->most > 0 && size > out->most - out->size) ||
        array_need(&out->data, &out->room, out->size + size, 1) != 0) {
        out->has_failed = true;
    } else if (size > 0) {
        memcpy(out->data + out->size, data, size);
        out->size += size;
    }
}

/* Text has no control characters but those of lines; messages begin with a
 * tag. */
static bool is_text(const uint8_t *data, size_t size)
{
    size_t i;

    for (i = 0; i < size && i < 512; i++) {
        if (data[i] < ' ' && data[i] != '\n' && data[i] != '\t' &&
            data[i] != '\r') {
            return false;
        }
    }
    return size > 0;
}

bool profile_is_of_perf_record(const void *data, size_t size)
{
    static const char magic[] = "PERFILE2";

    return size >= sizeof(magic) - 1 &&
           memcmp(data, magic, sizeof(magic) - 1) == 0;
}

bool profile_read(struct profile *profile, const void *data, size_t size,
                  char error[PROFILE_ERROR])
{
    bool is_read;

    profile->data = data;
    profile->size = size;
    if (size == 0) {
        return profile_fail(error, "the profile is empty");
    }
    if (profile_is_of_perf_record(data, size)) {
        return profile_fail(error, "this " PROFILE_OF_PERF_RECORD);
    }
    if (!is_text(data, size)) {
        profile->format = PROFILE_PPROF;
        is_read = pprof_read(profile, error);
    } else if (profile->data[0] == '{') {
        profile->format = PROFILE_FIREFOX;
        is_read = firefox_read(profile, error);
    } else {
        profile->format = PROFILE_PERF;
        is_read = perf_read(profile, error);
    }
    if (profile->is_without_memory) {
        return profile_fail(error, "out of memory");
    }
    return is_read;
}

/* Finds the names of some places of a module. */
static void find_names(struct profile *profile,
                       const struct symc_reader *reader,
                       const uint32_t *places, uint32_t count)
{
    struct resolver *resolver = profile->resolver;
    uint64_t addresses[RESOLVER_ADDRESSES_MAX];
    struct symc_segments segments;
    struct profile_place *place;
    uint32_t i;

    symc_segments_read(&segments, reader);
    for (i = 0; i < count; i++) {
        place = &profile->places[places[i]];
        addresses[i] = place->reach < symc_segments_end(&segments)
                           ? symc_segments_address(&segments, place->address)
                           : place->address;
    }
    resolver_run(resolver, reader, addresses, count);
    if (array_need(&profile->frames, &profile->frames_room,
                   profile->nframes + resolver->nframes,
                   sizeof(profile->frames[0])) != 0) {
        profile->is_without_memory = true;
        return;
    }
    for (i = 0; i < count; i++) {
        place = &profile->places[places[i]];
        place->first = (uint32_t)profile->nframes + resolver->places[i].first;
        place->count = resolver->places[i].count;
    }
    if (resolver->nframes > 0) {
        memcpy(profile->frames + profile->nframes, resolver->frames,
               resolver->nframes * sizeof(profile->frames[0]));
        profile->nframes += resolver->nframes;
    }
}

/* The places of each module together; begins has where those of each begin,
 * and is one longer than the modules.  Returns NULL without memory. */
static uint32_t *sort_places(const struct profile *profile, size_t *begins)
{
    uint32_t *sorted = malloc((profile->nplaces + 1) * sizeof(sorted[0]));
    size_t i, n;

    if (sorted == NULL) {
        return NULL;
    }
    for (i = 0; i < profile->nplaces; i++) {
        if (profile->places[i].module != PROFILE_NONE) {
            begins[profile->places[i].module + 1]++;
        }
    }
    for (i = 0; i < profile->nmodules; i++) {
        begins[i + 1] += begins[i];
    }
    for (i = profile->nplaces; i > 0; i--) {
        n = profile->places[i - 1].module;
        if (n != PROFILE_NONE) {
            sorted[--begins[n + 1]] = (uint32_t)i - 1;
        }
    }
    memmove(begins, begins + 1, profile->nmodules * sizeof(begins[0]));
    return sorted;
}

int profile_find_names(struct profile *profile,
                       const struct symc_reader *(*reader_of)(void *arg,
                                                              uint32_t module),
                       void *arg)
{
    size_t *begins = calloc(profile->nmodules + 2, sizeof(begins[0])), at, n;
    size_t total = 0, i;
    uint32_t *sorted =
        begins != NULL ? sort_places(profile, begins) : NULL;
    const struct symc_reader *reader;

    profile->resolver = calloc(1, sizeof(*profile->resolver));
    if (sorted == NULL || profile->resolver == NULL) {
        profile->is_without_memory = true;
    } else {
        name_table_begin(&profile->resolver->names);
        for (i = 0; i < profile->nplaces; i++) {
            total += profile->places[i].module != PROFILE_NONE;
        }
        begins[profile->nmodules] = total;
    }
    for (i = 0; !profile->is_without_memory && i < profile->nmodules; i++) {
        reader = begins[i] < begins[i + 1] ? reader_of(arg, (uint32_t)i) : NULL;
        for (at = begins[i]; reader != NULL && at < begins[i + 1]; at += n) {
            n = begins[i + 1] - at < RESOLVER_ADDRESSES_MAX
                    ? begins[i + 1] - at
                    : RESOLVER_ADDRESSES_MAX;
            find_names(profile, reader, sorted + at, (uint32_t)n);
        }
    }
    free(sorted);
    free(begins);
    return profile->is_without_memory || profile->resolver->names.has_failed
               ? -1
               : 0;
}

void profile_write(const struct profile *profile, struct profile_output *out)
{
    switch (profile->format) {
    case PROFILE_PPROF:
    case PROFILE_OTLP:
        pprof_write(profile, out);
        break;
    case PROFILE_PERF:
        perf_write(profile, out);
        break;
    case PROFILE_FIREFOX:
        firefox_write(profile, out);
        break;
    }
}

void profile_free(struct profile *profile)
{
    size_t i;

    for (i = 0; i < profile->nmodules; i++) {
        free_module(&profile->modules[i]);
    }
    free(profile->modules);
    free(profile->places);
    table_free(&profile->ids);
    free(profile->frames);
    if (profile->resolver != NULL) {
        resolver_free(profile->resolver);
        free(profile->resolver);
    }
}
