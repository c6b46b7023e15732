/*
 * Copyright (C) the ngx_symcache authors
 *
 * All records of a symbfile, by address.
 */
#pragma once

#include "base/arena.h"
#include "debuginfo/failure.h"
#include "reader.h"

/* A record, and the highest end of it and of all before it. */
struct symbfile_entry {
    struct symbfile_record record;
    uint64_t end;
    uint64_t last_end;
};

struct symbfile_search {
    struct symbfile_entry *entries; /* by address and depth */
    size_t num_entries;
    size_t entry_room;
    struct arena arena; /* lines and frames of the records */
    struct symbfile_frame *frames; /* of the last lookup */
    const struct symbfile_entry **found; /* work space */
    size_t found_room;
    size_t frame_room;
};

/*
 * Reads a file, which must stay in memory.  Returns 0, or -1 with failure set.
 * The search, which need not be initialised, is to be freed in any case.
 */
int symbfile_search_open(struct symbfile_search *search, const uint8_t *data,
                         size_t size, struct failure *failure);
void symbfile_search_free(struct symbfile_search *search);

/*
 * Finds the functions at an address, outermost first: those of its return pad,
 * otherwise of the ranges that contain it.  Returns their number, or -1 when
 * out of memory.  The frames stay until the next call.
 */
long symbfile_search_at(struct symbfile_search *search, uint64_t address,
                        const struct symbfile_frame **frames);
