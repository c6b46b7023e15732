/*
 * Copyright (C) the ngx_symcache authors
 */

#include "reader.h"

#include <stdio.h>
#include <string.h>

#include "format.h"

#define SEARCHES 16 /* that run at the same time */

static enum symc_reader_status reader_check_magic(const uint8_t *data,
                                                  size_t size, char *error,
                                                  size_t error_size)
{
    uint32_t version;

    if (size < SYMC_AT_GUID) {
        snprintf(error, error_size, "not a SymCache: %zu bytes", size);
        return SYMC_FOREIGN;
    }
    if (memcmp(data, "CMYS", 4) == 0) {
        snprintf(error, error_size,
                 "a SymCache of a big-endian machine, which nobody reads "
                 "here");
        return SYMC_FOREIGN;
    }
    if (memcmp(data, "SYMC", 4) != 0) {
        snprintf(error, error_size,
                 "not a SymCache: begins with %02x %02x %02x %02x, not with "
                 "\"SYMC\"",
                 data[0], data[1], data[2], data[3]);
        return SYMC_FOREIGN;
    }
    version = le32(data + SYMC_AT_VERSION);
    if (version < SYMC_OLDEST_VERSION || version > SYMC_VERSION) {
        snprintf(error, error_size,
                 "a SymCache of version %u; %d to %d can be read", version,
                 SYMC_OLDEST_VERSION, SYMC_VERSION);
        return SYMC_FOREIGN;
    }
    if (size < SYMC_HEADER) {
        snprintf(error, error_size,
                 "truncated: %zu bytes, the header alone has %d", size,
                 SYMC_HEADER);
        return SYMC_DAMAGED;
    }
    return SYMC_OPENED;
}

/* Computes where each part begins.  An empty part has a place, too: after the
 * padding of the part before it. */
static int reader_place_parts(struct symc_reader *reader, char *error,
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
        {"files", reader->num_files, reader->file_size, &reader->files},
        {"functions", reader->num_functions, SYMC_FUNCTION_SIZE,
         &reader->functions},
        {"source locations", reader->num_locations, SYMC_LOCATION_SIZE,
         &reader->locations},
        {"ranges", reader->num_ranges, SYMC_RANGE_SIZE, &reader->ranges},
        {"bytes of strings", reader->string_bytes, 1, &reader->strings},
    };

    /* counts have 32 bits and records are small: 64 bits cannot overflow */
    end = SYMC_HEADER;
    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        begin = (end + 7) & ~(uint64_t)7;
        end = begin + (uint64_t)parts[i].count * parts[i].size;
        if (end > reader->size) {
            snprintf(error, error_size,
                     "truncated: %u %s at 0x%llx would end at 0x%llx, the "
                     "file ends at 0x%zx",
                     parts[i].count, parts[i].what, (unsigned long long)begin,
                     (unsigned long long)end, reader->size);
            return -1;
        }
        *parts[i].begin = (size_t)begin;
    }
    return 0;
}

enum symc_reader_status symc_reader_open(struct symc_reader *reader,
                                         const void *data, size_t size,
                                         char *error, size_t error_size)
{
    const uint8_t *p;
    struct symc_reader r;
    enum symc_reader_status status;

    p = data;
    status = reader_check_magic(p, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    memset(&r, 0, sizeof(r));
    r.data = p;
    r.size = size;
    r.version = le32(p + SYMC_AT_VERSION);
    r.file_size =
        r.version >= SYMC_SRCSRV_VERSION ? SYMC_FILE_SIZE : SYMC_FILE_SIZE_V8;
    r.num_files = le32(p + SYMC_AT_FILES);
    r.num_functions = le32(p + SYMC_AT_FUNCTIONS);
    r.num_locations = le32(p + SYMC_AT_LOCATIONS);
    r.num_ranges = le32(p + SYMC_AT_RANGES);
    r.string_bytes = le32(p + SYMC_AT_STRINGS);
    if (r.num_ranges > r.num_locations) {
        snprintf(error, error_size,
                 "offset 0x%x: %u ranges, but only %u source locations",
                 SYMC_AT_RANGES, r.num_ranges, r.num_locations);
        return SYMC_DAMAGED;
    }
    if (reader_place_parts(&r, error, error_size) != 0) {
        return SYMC_DAMAGED;
    }
    *reader = r;
    return SYMC_OPENED;
}

struct symc_string symc_reader_string(const struct symc_reader *reader,
                                      uint32_t offset)
{
    struct symc_string string;

    (reader->is_verified ? symc_string_find : symc_string_read)(
        reader->data + reader->strings, reader->string_bytes, offset,
        reader->version, &string);
    return string;
}

int symc_reader_file(const struct symc_reader *reader, uint32_t index,
                     struct symc_file_parts *file)
{
    const uint8_t *p;

    memset(file, 0, sizeof(*file));
    if (index >= reader->num_files) {
        return -1;
    }
    p = reader->data + reader->files + (size_t)index * reader->file_size;
    file->comp_dir = symc_reader_string(reader, le32(p));
    file->directory = symc_reader_string(reader, le32(p + 4));
    file->name = symc_reader_string(reader, le32(p + 8));
    if (reader->version >= SYMC_SRCSRV_VERSION) {
        file->srcsrv_name = symc_reader_string(reader, le32(p + 12));
        file->srcsrv_directory = symc_reader_string(reader, le32(p + 16));
        file->srcsrv_revision = symc_reader_string(reader, le32(p + 20));
    }
    return 0;
}

int symc_reader_function(const struct symc_reader *reader, uint32_t index,
                         struct symc_function_parts *function)
{
    const uint8_t *p;

    if (index >= reader->num_functions) {
        memset(function, 0, sizeof(*function));
        function->entry = function->language = SYMC_NONE;
        return -1;
    }
    p = reader->data + reader->functions + (size_t)index * SYMC_FUNCTION_SIZE;
    function->name = symc_reader_string(reader, le32(p));
    function->entry = le32(p + 8);
    function->language = le32(p + 12);
    return 0;
}

int symc_reader_location(const struct symc_reader *reader, uint32_t index,
                         struct symc_location *location)
{
    const uint8_t *p;

    if (index >= reader->num_locations) {
        memset(location, 0xFF, sizeof(*location));
        return -1;
    }
    p = reader->data + reader->locations + (size_t)index * SYMC_LOCATION_SIZE;
    location->file = le32(p);
    location->line = le32(p + 4);
    location->function = le32(p + 8);
    location->inlined_into = le32(p + 12);
    return 0;
}

bool symc_location_is_gap(const struct symc_location *location)
{
    return (location->file & location->line & location->function &
            location->inlined_into) == SYMC_NONE;
}

uint32_t symc_reader_range(const struct symc_reader *reader, uint32_t index)
{
    return le32(reader->data + reader->ranges +
                (size_t)index * SYMC_RANGE_SIZE);
}

uint32_t symc_reader_range_location(const struct symc_reader *reader,
                                    uint32_t index)
{
    return reader->num_locations - reader->num_ranges + index;
}

void symc_reader_frames(const struct symc_reader *reader, uint32_t location,
                        struct symc_frames *frames)
{
    struct symc_location first;

    frames->reader = reader;
    frames->next = location;
    frames->left = reader->num_locations;
    if (symc_reader_location(reader, location, &first) != 0 ||
        symc_location_is_gap(&first)) {
        frames->next = SYMC_NONE;
    }
}

/* The state of a binary search for the last range that begins at or before the
 * wanted address: it is one of the count ranges from base on. */
struct search {
    const uint8_t *base;
    uint32_t count;
    uint32_t wanted;
};

static void reader_search_begin(struct search *search,
                                const struct symc_lookup *lookup)
{
    const struct symc_reader *reader;
    static const uint8_t nothing[SYMC_RANGE_SIZE];

    reader = lookup->reader;
    search->base = reader->data + reader->ranges;
    search->count = reader->num_ranges;
    search->wanted = (uint32_t)lookup->address;
    if (lookup->address > UINT32_MAX || reader->num_ranges == 0 ||
        le32(search->base) > lookup->address) {
        search->base = nothing;
        search->count = 0;
    }
}

static uint32_t reader_search_end(const struct search *search,
                                  const struct symc_lookup *lookup)
{
    size_t range;
    struct symc_location location;
    const struct symc_reader *reader;

    reader = lookup->reader;
    if (search->count == 0) {
        return SYMC_NONE;
    }
    range = (size_t)(search->base - reader->data - reader->ranges) /
            SYMC_RANGE_SIZE;
    range = symc_reader_range_location(reader, (uint32_t)range);
    return symc_reader_location(reader, (uint32_t)range, &location) != 0 ||
                   symc_location_is_gap(&location)
               ? SYMC_NONE
               : (uint32_t)range;
}

/* Advances all searches in turn, one step each, so that their memory accesses
 * overlap instead of waiting for each other.  A step has no branch, which the
 * processor could not predict. */
static void reader_search_all(struct search *searches, size_t count)
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
                le32(s->base + (size_t)half * SYMC_RANGE_SIZE) <= s->wanted
                    ? (size_t)half * SYMC_RANGE_SIZE
                    : 0;
            s->count -= half;
            goes_on = goes_on || s->count > 1;
        }
    } while (goes_on);
}

void symc_reader_lookup_all(struct symc_lookup *lookups, size_t count)
{
    size_t i, n;
    struct search searches[SEARCHES];

    for (; count > 0; count -= n, lookups += n) {
        n = count < SEARCHES ? count : SEARCHES;
        for (i = 0; i < n; i++) {
            reader_search_begin(&searches[i], &lookups[i]);
        }
        reader_search_all(searches, n);
        for (i = 0; i < n; i++) {
            lookups[i].location = reader_search_end(&searches[i], &lookups[i]);
        }
    }
}

void symc_reader_lookup(const struct symc_reader *reader, uint64_t address,
                        struct symc_frames *frames)
{
    struct symc_lookup lookup;

    lookup.reader = reader;
    lookup.address = address;
    symc_reader_lookup_all(&lookup, 1);
    frames->reader = reader;
    frames->next = lookup.location;
    frames->left = reader->num_locations;
}

bool symc_reader_next(struct symc_frames *frames, struct symc_frame *frame)
{
    const struct symc_reader *reader;
    struct symc_location *location;

    reader = frames->reader;
    location = &frame->location;
    if (frames->left == 0 ||
        symc_reader_location(reader, frames->next, location) != 0) {
        return false;
    }
    frames->left--;
    frames->next = location->inlined_into;
    frame->is_inlined =
        frames->left > 0 && frames->next < reader->num_locations;
    symc_reader_function(reader, location->function, &frame->function);
    return true;
}
