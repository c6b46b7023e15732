/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a source keeps the PDB of a key: a walk over the paths below its base
 * at which it may lie, the likeliest first, and what is remembered of a source
 * to know which these are.  Knows nothing of transports: the caller asks for
 * each place and tells what it learned.
 */
#ifndef SYMCACHED_SOURCE_LAYOUT_H
#define SYMCACHED_SOURCE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"

/* two characters, the name twice, the key, separators, without a NUL, or
 * ".sym.gz" in place of the characters */
#define LAYOUT_PATH_MAX                                                       \
    (8 + 1 + 2 * (SYMCACHE_NAME_MAX + 1) + SYMCACHE_ID_TEXT_MAX + 1)

#define LAYOUT_VARIANTS 4

/* Without regard to case no key has more places: two tiers, three forms, and
 * what tells the tiers apart. */
#define LAYOUT_PLACES (2 * LAYOUT_FORMS + 1)

struct layout_place {
    enum layout_form form;
    char path[LAYOUT_PATH_MAX + 1]; /* relative, not percent-encoded */
};

/*
 * Where the last PDB of a source was; all zero at first.  A walk reads it when
 * it begins, and only a hit writes it: it orders what is asked, and no answer
 * to another walk, a lie perhaps, can keep anything from being asked.
 */
struct layout_memory {
    unsigned variant;
    unsigned form;
    bool two_tier;
    bool had_any;
};

struct layout_walk {
    const struct source_config *source;
    const symcache_key_t *key;
    const char *name;
    enum layout_form forms[LAYOUT_FORMS]; /* in order */
    unsigned nforms;
    unsigned first_variant;
    unsigned step;
    unsigned variant; /* of the place given last */
    enum layout_form form;
    bool two_tier;  /* the places given now */
    bool probed;    /* index2.txt was given */
    bool tier_sure; /* the other number of tiers is not to be asked */
    bool wants_index;
};

/*
 * Begins a walk by the layout, the casing and the forms of a source.  name is
 * the key's in the case of whoever asked; source, key and name live as long as
 * the walk.
 */
void layout_begin(struct layout_walk *walk, const struct source_config *source,
                  const symcache_key_t *key, const char *name,
                  const struct layout_memory *memory);

/* Gives the next place to ask; false: there is none left. */
bool layout_next(struct layout_walk *walk, struct layout_place *place);

/* The walk shall not end without FORM_INDEX, whatever the layout. */
void layout_want_index(struct layout_walk *walk);

/*
 * After FORM_INDEX, if the source said plainly whether the file is there.
 * Without it both numbers of tiers are asked.
 */
void layout_index(struct layout_walk *walk, bool present);

/* The PDB was at the place given last, or where its file.ptr led. */
void layout_hit(const struct layout_walk *walk, struct layout_memory *memory);

/*
 * All places for a base that is compared without case, spelled as the names
 * of that layout are.  *index gets the number of index2.txt: where that is
 * there, the places behind it count, and where it is not, those before it.  It
 * is 0 if index2.txt does not matter.
 */
size_t layout_places(struct layout_place places[LAYOUT_PLACES],
                     const struct source_config *source,
                     const symcache_key_t *key, const char *name,
                     size_t *index);

/* What lies at a place, by the last component of its path or URL. */
enum layout_form layout_form(const char *place);

/* The path with its last character, which may have several bytes, as "_". */
void layout_pack(char *path);

#endif
