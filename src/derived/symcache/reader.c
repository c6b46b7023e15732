/*
 * Copyright (C) the ngx_symcache authors
 */

#include "reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "format.h"

#define SEARCHES 16 /* that run at the same time */

static enum symfile_open_status check_magic(const uint8_t *data, size_t size,
                                            char *error, size_t error_size)
{
    uint32_t version;

    if (size < SYMFILE_AT_GUID) {
        snprintf(error, error_size, "not a SymCache: %zu bytes", size);
        return SYMFILE_FOREIGN;
    }
    if (memcmp(data, "CMYS", 4) == 0) {
        snprintf(error, error_size,
                 "a SymCache of a big-endian machine, which nobody reads "
                 "here");
        return SYMFILE_FOREIGN;
    }
    if (memcmp(data, "SYMC", 4) != 0) {
        snprintf(error, error_size,
                 "not a SymCache: begins with %02x %02x %02x %02x, not with "
                 "\"SYMC\"",
                 data[0], data[1], data[2], data[3]);
        return SYMFILE_FOREIGN;
    }
    version = symfile_load(data + SYMFILE_AT_VERSION);
    if (version < SYMFILE_OLDEST_VERSION || version > SYMFILE_VERSION) {
        snprintf(error, error_size,
                 "a SymCache of version %u; %d to %d can be read", version,
                 SYMFILE_OLDEST_VERSION, SYMFILE_VERSION);
        return SYMFILE_FOREIGN;
    }
    if (size < SYMFILE_HEADER) {
        snprintf(error, error_size,
                 "truncated: %zu bytes, the header alone has %d", size,
                 SYMFILE_HEADER);
        return SYMFILE_DAMAGED;
    }
    return SYMFILE_OPENED;
}

/* Computes where each part begins.  An empty part has a place, too: behind the
 * padding of the part before it. */
static int place_parts(struct symfile_reader *r, char *error,
                       size_t error_size)
{
    size_t i;
    uint64_t begin, end;
    const struct {
        const char *what;
        uint32_t count;
        uint32_t size;
        size_t *begin;
    } parts[] = {
        {"files", r->num_files, r->file_size, &r->files},
        {"functions", r->num_functions, SYMFILE_FUNCTION_SIZE, &r->functions},
        {"source locations", r->num_locations, SYMFILE_LOCATION_SIZE,
         &r->locations},
        {"ranges", r->num_ranges, SYMFILE_RANGE_SIZE, &r->ranges},
        {"bytes of strings", r->string_bytes, 1, &r->strings},
    };

    /* counts have 32 bits and records are small: 64 bits cannot overflow */
    end = SYMFILE_HEADER;
    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        begin = (end + 7) & ~(uint64_t)7;
        end = begin + (uint64_t)parts[i].count * parts[i].size;
        if (end > r->size) {
            snprintf(error, error_size,
                     "truncated: %u %s at 0x%llx would end at 0x%llx, the "
                     "file ends at 0x%zx",
                     parts[i].count, parts[i].what, (unsigned long long)begin,
                     (unsigned long long)end, r->size);
            return -1;
        }
        *parts[i].begin = (size_t)begin;
    }
    return 0;
}

enum symfile_open_status symfile_reader_open(struct symfile_reader *reader,
                                             const void *data, size_t size,
                                             char *error, size_t error_size)
{
    const uint8_t *p;
    struct symfile_reader r;
    enum symfile_open_status status;

    p = data;
    status = check_magic(p, size, error, error_size);
    if (status != SYMFILE_OPENED) {
        return status;
    }
    memset(&r, 0, sizeof(r));
    r.data = p;
    r.size = size;
    r.version = symfile_load(p + SYMFILE_AT_VERSION);
    r.file_size = r.version >= SYMFILE_SRCSRV_VERSION ? SYMFILE_FILE_SIZE
                                                      : SYMFILE_FILE_SIZE_V8;
    r.num_files = symfile_load(p + SYMFILE_AT_FILES);
    r.num_functions = symfile_load(p + SYMFILE_AT_FUNCTIONS);
    r.num_locations = symfile_load(p + SYMFILE_AT_LOCATIONS);
    r.num_ranges = symfile_load(p + SYMFILE_AT_RANGES);
    r.string_bytes = symfile_load(p + SYMFILE_AT_STRINGS);
    if (r.num_ranges > r.num_locations) {
        snprintf(error, error_size,
                 "offset 0x%x: %u ranges, but only %u source locations",
                 SYMFILE_AT_RANGES, r.num_ranges, r.num_locations);
        return SYMFILE_DAMAGED;
    }
    if (place_parts(&r, error, error_size) != 0) {
        return SYMFILE_DAMAGED;
    }
    *reader = r;
    return SYMFILE_OPENED;
}

struct symfile_string symfile_reader_string(const struct symfile_reader *r,
                                            uint32_t offset)
{
    struct symfile_string string;

    (r->is_verified ? symfile_string_find : symfile_string_read)(
        r->data + r->strings, r->string_bytes, offset, r->version, &string);
    return string;
}

int symfile_reader_file(const struct symfile_reader *r, uint32_t index,
                        struct symfile_file_parts *file)
{
    const uint8_t *p;

    memset(file, 0, sizeof(*file));
    if (index >= r->num_files) {
        return -1;
    }
    p = r->data + r->files + (size_t)index * r->file_size;
    file->comp_dir = symfile_reader_string(r, symfile_load(p));
    file->directory = symfile_reader_string(r, symfile_load(p + 4));
    file->name = symfile_reader_string(r, symfile_load(p + 8));
    if (r->version >= SYMFILE_SRCSRV_VERSION) {
        file->srcsrv_name = symfile_reader_string(r, symfile_load(p + 12));
        file->srcsrv_directory =
            symfile_reader_string(r, symfile_load(p + 16));
        file->srcsrv_revision = symfile_reader_string(r, symfile_load(p + 20));
    }
    return 0;
}

int symfile_reader_function(const struct symfile_reader *r, uint32_t index,
                            struct symfile_function_parts *function)
{
    const uint8_t *p;

    if (index >= r->num_functions) {
        memset(function, 0, sizeof(*function));
        function->entry = function->language = SYMFILE_NONE;
        return -1;
    }
    p = r->data + r->functions + (size_t)index * SYMFILE_FUNCTION_SIZE;
    function->name = symfile_reader_string(r, symfile_load(p));
    function->entry = symfile_load(p + 8);
    function->language = symfile_load(p + 12);
    return 0;
}

int symfile_reader_location(const struct symfile_reader *r, uint32_t index,
                            struct symfile_location *location)
{
    const uint8_t *p;

    if (index >= r->num_locations) {
        memset(location, 0xFF, sizeof(*location));
        return -1;
    }
    p = r->data + r->locations + (size_t)index * SYMFILE_LOCATION_SIZE;
    location->file = symfile_load(p);
    location->line = symfile_load(p + 4);
    location->function = symfile_load(p + 8);
    location->inlined_into = symfile_load(p + 12);
    return 0;
}

bool symfile_location_is_gap(const struct symfile_location *location)
{
    return (location->file & location->line & location->function &
            location->inlined_into) == SYMFILE_NONE;
}

uint32_t symfile_reader_range(const struct symfile_reader *r, uint32_t index)
{
    return symfile_load(r->data + r->ranges +
                        (size_t)index * SYMFILE_RANGE_SIZE);
}

uint32_t symfile_reader_range_location(const struct symfile_reader *r,
                                       uint32_t index)
{
    return r->num_locations - r->num_ranges + index;
}

void symfile_reader_frames(const struct symfile_reader *r, uint32_t location,
                           struct symfile_frames *frames)
{
    struct symfile_location first;

    frames->reader = r;
    frames->next = location;
    frames->left = r->num_locations;
    if (symfile_reader_location(r, location, &first) != 0 ||
        symfile_location_is_gap(&first)) {
        frames->next = SYMFILE_NONE;
    }
}

/* The state of a binary search for the last range that begins at or before the
 * wanted address: it is one of the count ranges from base on. */
struct search {
    const uint8_t *base;
    uint32_t count;
    uint32_t wanted;
};

static void search_begin(struct search *search,
                         const struct symfile_lookup *lookup)
{
    const struct symfile_reader *r;
    static const uint8_t nothing[SYMFILE_RANGE_SIZE];

    r = lookup->reader;
    search->base = r->data + r->ranges;
    search->count = r->num_ranges;
    search->wanted = (uint32_t)lookup->address;
    if (lookup->address > UINT32_MAX || r->num_ranges == 0 ||
        symfile_load(search->base) > lookup->address) {
        search->base = nothing;
        search->count = 0;
    }
}

static uint32_t search_end(const struct search *search,
                           const struct symfile_lookup *lookup)
{
    size_t range;
    struct symfile_location location;
    const struct symfile_reader *r;

    r = lookup->reader;
    if (search->count == 0) {
        return SYMFILE_NONE;
    }
    range = (size_t)(search->base - r->data - r->ranges) / SYMFILE_RANGE_SIZE;
    range = symfile_reader_range_location(r, (uint32_t)range);
    return symfile_reader_location(r, (uint32_t)range, &location) != 0 ||
                   symfile_location_is_gap(&location)
               ? SYMFILE_NONE
               : (uint32_t)range;
}

/* Advances all searches in turn, one step each, so that their memory accesses
 * overlap instead of waiting for each other.  A step has no branch, which the
 * processor could not predict. */
static void search_all(struct search *searches, size_t count)
{
    size_t i;
    uint32_t half;
    bool goes_on;
    struct search *s;

    do {
        goes_on = false;
        for (i = 0; i < count; i++) {
            s = &searches[i];
            half = s->count / 2;
            s->base +=
                symfile_load(s->base + (size_t)half * SYMFILE_RANGE_SIZE) <=
                        s->wanted
                    ? (size_t)half * SYMFILE_RANGE_SIZE
                    : 0;
            s->count -= half;
            goes_on = goes_on || s->count > 1;
        }
    } while (goes_on);
}

void symfile_reader_lookup_all(struct symfile_lookup *lookups, size_t count)
{
    size_t i, n;
    struct search searches[SEARCHES];

    for (; count > 0; count -= n, lookups += n) {
        n = count < SEARCHES ? count : SEARCHES;
        for (i = 0; i < n; i++) {
            search_begin(&searches[i], &lookups[i]);
        }
        search_all(searches, n);
        for (i = 0; i < n; i++) {
            lookups[i].location = search_end(&searches[i], &lookups[i]);
        }
    }
}

void symfile_reader_lookup(const struct symfile_reader *r, uint64_t address,
                           struct symfile_frames *frames)
{
    struct symfile_lookup lookup;

    lookup.reader = r;
    lookup.address = address;
    symfile_reader_lookup_all(&lookup, 1);
    frames->reader = r;
    frames->next = lookup.location;
    frames->left = r->num_locations;
}

bool symfile_reader_next(struct symfile_frames *frames,
                         struct symfile_frame *frame)
{
    const struct symfile_reader *r;
    struct symfile_location *location;

    r = frames->reader;
    location = &frame->location;
    if (frames->left == 0 ||
        symfile_reader_location(r, frames->next, location) != 0) {
        return false;
    }
    frames->left--;
    frames->next = location->inlined_into;
    frame->is_inlined = frames->left > 0 && frames->next < r->num_locations;
    symfile_reader_function(r, location->function, &frame->function);
    return true;
}
