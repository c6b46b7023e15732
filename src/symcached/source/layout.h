/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a source keeps the PDB of a key: a walk over the paths below its base
 * at which it may lie, the likeliest first, and what is remembered of a source
 * to know which these are.  Knows nothing of transports: the caller asks for
 * each place and tells what it learned.
 */
#ifndef SYMCACHED_LAYOUT_H
#define SYMCACHED_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config.h"

/* two characters, the name twice, the key, separators, without a NUL */
#define LAYOUT_PATH_MAX                                                       \
    (8 + 1 + 2 * (SYMCACHE_NAME_MAX + 1) + SYMCACHE_ID_TEXT_MAX + 1)

#define LAYOUT_SPELLINGS 3

/* Without regard to case no key has more places: two tiers, three forms. */
#define LAYOUT_PLACES (2 * LAYOUT_FORMS)

struct layout_place {
    enum layout_form form;
    char path[LAYOUT_PATH_MAX + 1]; /* relative, not percent-encoded */
};

/*
 * What a source's answers have taught; all zero at first.  It orders what is
 * asked; what is not asked at all is up to the configuration, so that a miss
 * is one.
 */
struct layout_memory {
    unsigned spelling; /* that worked last */
    unsigned form;     /* that worked last */
    bool had_any;
    bool two_tier;           /* what index2.txt said */
    uint64_t two_tier_until; /* and how long that is believed, clock_ms() */
};

struct layout_walk {
    const struct source_config *source;
    const symcache_key_t *key;
    const char *name;
    struct layout_memory *memory;
    uint64_t now;
    enum layout_form forms[LAYOUT_FORMS]; /* in order */
    unsigned nforms;
    unsigned first_spelling;
    unsigned step;
    unsigned spelling; /* of the place given last */
    enum layout_form form;
    bool two_tier;
    bool probed;
};

/* Has a layout places of that form? */
bool layout_has_form(enum source_layout layout, enum layout_form form);

/*
 * Begins a walk by the layout, the casing and the forms of a source.  name is
 * the key's in the case of whoever asked; source, key, name and memory live as
 * long as the walk; now is clock_ms().
 */
void layout_begin(struct layout_walk *walk, const struct source_config *source,
                  const symcache_key_t *key, const char *name,
                  struct layout_memory *memory, uint64_t now);

/* Gives the next place to ask; false: there is none left. */
bool layout_next(struct layout_walk *walk, struct layout_place *place);

/* After FORM_INDEX, if the source could tell whether the file is there. */
void layout_index(struct layout_walk *walk, bool present);

/* The PDB was at the place given last, or where its file.ptr led. */
void layout_hit(struct layout_walk *walk);

/*
 * All places for a base that is compared without case, spelled as the names
 * of that layout are.  *ntiers gets the number of those, the first, that count
 * only without index2.txt; the others then count only with it.  It is 0 if
 * index2.txt does not matter.
 */
size_t layout_places(struct layout_place places[LAYOUT_PLACES],
                     const struct source_config *source,
                     const symcache_key_t *key, const char *name,
                     size_t *ntiers);

/* What lies at a place, by the last component of its path or URL. */
enum layout_form layout_form(const char *place);
const char *layout_form_name(enum layout_form form);

/* The path with its last character, which may have several bytes, as "_". */
void layout_pack(char *path);

#endif
