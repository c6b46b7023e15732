/*
 * Copyright (C) the ngx_symcache authors
 */

#include "verify.h"

#include <stdio.h>
#include <stdlib.h>

#include "format.h"
#include "integrity.h"

/* The results so far for the chain of callers of a location. */
enum color {
    COLOR_NEW = 0,
    COLOR_OPEN, /* on the chain that is being followed */
    COLOR_DONE  /* its chain ends */
};

struct symcache_verify {
    const struct symc_reader *reader;
    struct integrity file;
};

static int violation(const struct symcache_verify *verify, size_t offset,
                     const char *record, uint32_t index, const char *what)
{
    (void)integrity_fails(&verify->file, "offset 0x%zx: %s %u: %s", offset,
                          record, index, what);
    return SYMC_VIOLATED;
}

static int wrong_value(const struct symcache_verify *verify, size_t offset,
                       const char *record, uint32_t index, const char *field)
{
    char what[64];

    snprintf(what, sizeof(what), "%s 0x%x does not exist", field,
             le32(verify->reader->data + offset));
    return violation(verify, offset, record, index, what);
}

static int check_symcache_header(const struct symcache_verify *verify)
{
    const uint8_t *p;

    p = verify->reader->data;
    if (p[SYMC_AT_KIND] > 1) {
        (void)integrity_fails(
            &verify->file,
            "offset 0x%x: header: kind of identity %u is neither 0 nor 1",
            SYMC_AT_KIND, p[SYMC_AT_KIND]);
        return SYMC_VIOLATED;
    }
    if (p[SYMC_AT_VARIABLES] > 1) {
        (void)integrity_fails(
            &verify->file,
            "offset 0x%x: header: %u parts of variables, not 0 or 1",
            SYMC_AT_VARIABLES, p[SYMC_AT_VARIABLES]);
        return SYMC_VIOLATED;
    }
    return integrity_zeros(&verify->file, SYMC_AT_PADDING, SYMC_AT_KIND,
                           "padding of the header") &&
                   integrity_zeros(&verify->file, SYMC_AT_VARIABLES + 1,
                                   SYMC_HEADER, "reserved bytes of the header")
               ? SYMC_SOUND
               : SYMC_VIOLATED;
}

static int check_padding(const struct symcache_verify *verify)
{
    size_t i;
    const struct symc_reader *r = verify->reader;
    const struct {
        size_t begin;
        size_t end;
        const char *what;
    } gaps[] = {
        {r->files + (size_t)r->num_files * r->file_size, r->functions,
         "padding after the files"},
        /* functions and locations fill multiples of 8 */
        {r->ranges + (size_t)r->num_ranges * SYMC_RANGE_SIZE, r->strings,
         "padding after the ranges"},
    };

    for (i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
        if (!integrity_zeros(&verify->file, gaps[i].begin, gaps[i].end,
                             gaps[i].what)) {
            return SYMC_VIOLATED;
        }
    }
    return SYMC_SOUND;
}

static int check_reference(const struct symcache_verify *verify, size_t offset,
                           const char *record, uint32_t index,
                           const char *field)
{
    uint32_t at;
    char what[96];

    at = le32(verify->reader->data + offset);
    if (at == SYMC_NONE || integrity_is_string(&verify->file, at)) {
        return SYMC_SOUND;
    }
    snprintf(what, sizeof(what), "%s: no string begins at 0x%x of the strings",
             field, at);
    return violation(verify, offset, record, index, what);
}

static int check_symcache_files(const struct symcache_verify *verify)
{
    uint32_t i, k;
    size_t offset;
    static const char *const fields[] = {"compilation directory",
                                         "directory",
                                         "name",
                                         "source-server name",
                                         "source-server directory",
                                         "source-server revision"};

    offset = verify->reader->files;
    for (i = 0; i < verify->reader->num_files; i++) {
        for (k = 0; k < verify->reader->file_size / 4; k++, offset += 4) {
            if (check_reference(verify, offset, "file", i, fields[k]) !=
                SYMC_SOUND) {
                return SYMC_VIOLATED;
            }
        }
    }
    return SYMC_SOUND;
}

static int check_functions(const struct symcache_verify *verify)
{
    uint32_t i;
    size_t offset;

    offset = verify->reader->functions;
    for (i = 0; i < verify->reader->num_functions; i++) {
        if (check_reference(verify, offset, "function", i, "name") !=
            SYMC_SOUND) {
            return SYMC_VIOLATED;
        }
        offset += SYMC_FUNCTION_SIZE;
    }
    return SYMC_SOUND;
}

/* Clears *ascends if the location is inlined into itself or a later one. */
static int check_location(const struct symcache_verify *verify, uint32_t index,
                          bool *ascends)
{
    size_t offset;
    const struct symc_reader *r = verify->reader;
    struct symc_location location, caller;

    offset = r->locations + (size_t)index * SYMC_LOCATION_SIZE;
    symc_reader_location(r, index, &location);
    if (symc_location_is_gap(&location)) {
        return SYMC_SOUND;
    }
    if (location.file != SYMC_NONE && location.file >= r->num_files) {
        return wrong_value(verify, offset, "source location", index, "file");
    }
    if (location.function >= r->num_functions) {
        return wrong_value(verify, offset + 8, "source location", index,
                           "function");
    }
    if (location.inlined_into == SYMC_NONE) {
        return SYMC_SOUND;
    }
    if (symc_reader_location(r, location.inlined_into, &caller) != 0) {
        return wrong_value(verify, offset + 12, "source location", index,
                           "calling source location");
    }
    if (symc_location_is_gap(&caller)) {
        return violation(verify, offset + 12, "source location", index,
                         "inlined into a gap");
    }
    *ascends &= location.inlined_into < index;
    return SYMC_SOUND;
}

/* Follows the chain of callers of each location, up to the first location that
 * was visited before.  If that is on the same chain, there is a loop. */
static int check_loops(const struct symcache_verify *verify, uint8_t *colors)
{
    uint32_t i, at;
    const struct symc_reader *r = verify->reader;
    struct symc_location location;

    for (i = 0; i < r->num_locations; i++) {
        for (at = i; at < r->num_locations && colors[at] == COLOR_NEW;
             at = location.inlined_into) {
            colors[at] = COLOR_OPEN;
            symc_reader_location(r, at, &location);
        }
        if (at < r->num_locations && colors[at] == COLOR_OPEN) {
            return violation(
                verify, r->locations + (size_t)at * SYMC_LOCATION_SIZE + 12,
                "source location", at, "inlined into itself, by a loop");
        }
        for (at = i; at < r->num_locations && colors[at] == COLOR_OPEN;
             at = location.inlined_into) {
            colors[at] = COLOR_DONE;
            symc_reader_location(r, at, &location);
        }
    }
    return SYMC_SOUND;
}

/* Callers usually precede what is inlined into them, and then there is no
 * loop. */
static int check_locations(const struct symcache_verify *verify)
{
    bool ascends = true;
    int status;
    uint32_t i;
    uint8_t *colors;

    for (i = 0; i < verify->reader->num_locations; i++) {
        if (check_location(verify, i, &ascends) != SYMC_SOUND) {
            return SYMC_VIOLATED;
        }
    }
    if (ascends) {
        return SYMC_SOUND;
    }
    colors = calloc((size_t)verify->reader->num_locations + 1, 1);
    if (colors == NULL) {
        return SYMC_NOT_VERIFIED;
    }
    status = check_loops(verify, colors);
    free(colors);
    return status;
}

static int check_symcache_ranges(const struct symcache_verify *verify)
{
    uint32_t i, before, start;
    char what[64];

    for (i = 1; i < verify->reader->num_ranges; i++) {
        before = symc_reader_range(verify->reader, i - 1);
        start = symc_reader_range(verify->reader, i);
        if (start <= before) {
            snprintf(what, sizeof(what), "start 0x%x is not above 0x%x", start,
                     before);
            return violation(
                verify, verify->reader->ranges + (size_t)i * SYMC_RANGE_SIZE,
                "range", i, what);
        }
    }
    return SYMC_SOUND;
}

static bool has_srcsrv(const struct symc_reader *r)
{
    uint32_t i;
    const uint8_t *p;

    if (r->version < SYMC_SRCSRV_VERSION) {
        return false;
    }
    p = r->data + r->files;
    for (i = 0; i < r->num_files; i++, p += r->file_size) {
        if (le32(p + 12) != SYMC_NONE) {
            return true;
        }
    }
    return false;
}

enum symc_verify_status symc_verify(struct symc_reader *reader, char *error,
                                    size_t error_size)
{
    size_t i;
    int status;
    struct symcache_verify verify = {
        .reader = reader,
        .file = INTEGRITY_OF(reader, error, error_size),
    };
    static int (*const checks[])(const struct symcache_verify *) = {
        check_symcache_header, check_padding,   check_symcache_files,
        check_functions,       check_locations, check_symcache_ranges};

    status = integrity_strings(&verify.file, reader->version);
    for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (status == SYMC_SOUND) {
            status = checks[i](&verify);
        }
    }
    integrity_end(&verify.file);
    reader->is_verified = status == SYMC_SOUND;
    reader->has_srcsrv = reader->is_verified && has_srcsrv(reader);
    if (status == SYMC_NOT_VERIFIED) {
        snprintf(error, error_size, "no memory");
    }
    return (enum symc_verify_status)status;
}
