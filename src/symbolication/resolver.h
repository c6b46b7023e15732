/*
 * Copyright (C) the ngx_symcache authors
 *
 * From many addresses of a file to the functions there, by their numbers in a
 * table of names.
 */
#pragma once

#include "inline_chain.h"
#include "name_table.h"
#include "source_path.h"
#include "symbolication/demangle/demangle.h"

#define RESOLVER_ADDRESSES_MAX 16384 /* at a time */

/* The functions at an address: numbers in threes, of name, file and line, the
 * outermost first. */
struct resolved {
    uint32_t first; /* in frames */
    uint32_t count; /* functions */
};

/* All zero at first; of more than a MiB. */
struct resolver {
    struct name_table names; /* name_table_begin() is the caller's */
    struct resolved places[RESOLVER_ADDRESSES_MAX];
    uint32_t *frames;
    size_t nframes; /* numbers */
    size_t frames_room;

    /* the resolver's own */
    struct source_path path;
    struct chain chain;
    char name[DEMANGLE_ROOM];
    struct symc_lookup lookups[RESOLVER_ADDRESSES_MAX];
    uint32_t order[RESOLVER_ADDRESSES_MAX];
};

/*
 * Finds what is at RESOLVER_ADDRESSES_MAX addresses or fewer, in any order:
 * places and frames, until the next call.  Without memory, the table of names
 * has failed.
 */
void resolver_run(struct resolver *resolver, const struct symc_reader *reader,
                  const uint64_t *addresses, uint32_t count);

/* Mapped files go. */
void resolver_forget_files(struct resolver *resolver);

void resolver_free(struct resolver *resolver);
