/*
 * Copyright (C) the ngx_symcache authors
 *
 * Profiles: which addresses of which modules have no names in one, and the same
 * profile with names.  All else of it stays as it is, to the byte.  Formats:
 *
 *   pprof     profile.proto of https://github.com/google/pprof
 *   OTLP      opentelemetry/proto/profiles/v1development of version 1.11 of
 *             https://github.com/open-telemetry/opentelemetry-proto
 *   perf      the text of perf script
 *   Firefox   the JSON of the Firefox Profiler, in its processed form
 *
 * Bytes in, bytes out; nothing is opened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "derived/symcache/symcache.h"
#include "symbolication/symbolication.h"

#define PROFILE_ERROR 160

enum profile_format {
    PROFILE_PPROF,
    PROFILE_OTLP,
    PROFILE_PERF,
    PROFILE_FIREFOX
};

/* A module that has an id. */
struct profile_module {
    char *id;   /* as keys have it: "buildid-...", "hash-...", a debug id */
    char *name; /* of its debug file; NULL: not known */
    char *code; /* a build id besides, in hexadecimal digits; or NULL */
    bool is_wanted; /* there are places */
};

/* The mapping of a place reaches all code: it is an address in the module. */
#define PROFILE_REACHES UINT64_MAX

/* A place in the profile that wants names. */
struct profile_place {
    uint32_t module;
    uint64_t address; /* in the module, as its SymCache has it; */
    uint64_t reach;   /* or in its file, if the module's code ends after this
                         address; so 0: in the file */
    uint32_t first;   /* in frames: numbers in threes, of name, file and line,
                         the outermost first */
    uint32_t count;   /* functions; 0: none is known */
};

struct profile {
    enum profile_format format;
    const uint8_t *data; /* unpacked, and somebody else's */
    size_t size;
    struct profile_module *modules;
    size_t nmodules;
    size_t modules_room;
    struct profile_place *places; /* in the order of the profile */
    size_t nplaces;
    size_t places_room;
    struct table ids; /* of modules: places + 1 */
    uint32_t *frames;
    size_t nframes;
    size_t frames_room;
    struct resolver *resolver; /* its names are those of frames; NULL before
                                  profile_find_names() */
    bool is_without_memory;
};

/* What is written. */
struct profile_output {
    char *data; /* to be freed */
    size_t size;
    size_t room;
    size_t most; /* bytes; 0: as many as there is memory for */
    bool has_failed; /* it has more, or there is no memory */
};

/* Is it what perf record writes?  Only perf can read its samples. */
bool profile_is_of_perf_record(const void *data, size_t size);

#define PROFILE_OF_PERF_RECORD                                                \
    "is a file of perf record: give the text of \"(perf buildid-list; perf "  \
    "script --show-mmap-events)\""

/*
 * Reads a profile, which must stay.  Returns false with a sentence; to be freed
 * in any case.  All zero before.
 */
bool profile_read(struct profile *profile, const void *data, size_t size,
                  char error[PROFILE_ERROR]);

/*
 * Finds the names of all places.  reader_of returns the verified SymCache of a
 * module, or NULL: there is none.  Returns 0, or -1 without memory.
 */
int profile_find_names(struct profile *profile,
                       const struct symc_reader *(*reader_of)(void *arg,
                                                              uint32_t module),
                       void *arg);

/* Writes it with the names that were found. */
void profile_write(const struct profile *profile,
                   struct profile_output *output);

/* Adds bytes, unless it has failed. */
void profile_put(struct profile_output *out, const void *data, size_t size);

void profile_free(struct profile *profile);

/*
 * What symbolicated and its workers agree on about profiles.
 *
 * The order's text has lines as that of a crash report
 * (reports/crash/crash.h), of which "coding" and "unpacked" count, and
 * "answer N": a result of more bytes is refused, unless it is packed by gzip.
 * A worker asks once, with
 *
 *   {"modules": [{"id": ID, "name": NAME, "code": BUILD ID}, ...]}
 *
 * where name and code may be absent, and is given SymCaches by the indexes of
 * modules.  Its result is the profile with names, packed as it was.
 */

#define PROFILE_WORK 16 /* the kind of such a body */

/* Why there is no result; the text is a sentence. */
enum profile_refusal { PROFILE_BAD = 1, PROFILE_LARGE, PROFILE_CODING };
