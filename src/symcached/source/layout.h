/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a source may keep the PDB of a key: a walk over the paths below its
 * base, the likeliest first, with the memory of a source that gives this
 * order.  Knows nothing of transports: the caller asks for each place and
 * reports the result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"

/* An id as a source has it: "elf-buildid-sym-" for "buildid-". */
#define LAYOUT_ID_MAX (8 + SYMCACHE_ID_TEXT_MAX)

/* Two characters of up to 4 bytes, or ".sym.gz" instead of these; the name
 * twice, the id, and separators; without a NUL. */
#define LAYOUT_PATH_MAX                                                       \
    (8 + 1 + 2 * (SYMCACHE_NAME_MAX + 1) + LAYOUT_ID_MAX + 1)

#define LAYOUT_VARIANTS 4

/* The most places of a key if case does not matter: one tier and two tiers with
 * three forms each and that of Mach-O, and index2.txt, which tells which of the
 * two it is. */
#define LAYOUT_PLACES (2 * (LAYOUT_FORMS + 1) + 1)

/* In the place of a program without a name: any name, the same for its folder
 * and its file, and followed by "_" for its packed file. */
#define LAYOUT_ANY "*"

/* Clients that ask for a program by its build id may not know its name. */
bool layout_is_unnamed(const symcache_key_t *key);

struct layout_place {
    enum layout_form form;
    char path[LAYOUT_PATH_MAX + 1]; /* relative, not percent-encoded */
};

/*
 * Where the last PDB of a source was; all zero at first.  A walk reads it when
 * it begins, and only a hit writes it.  It only decides what is asked for
 * first, so that a wrong answer in one walk cannot keep another walk from
 * asking for a place.
 */
struct layout_memory {
    unsigned variant;
    unsigned answered; /* a set of variants that have ever led to one */
    unsigned form;
    bool two_tier;
    bool had_any;
};

/*
 * Which spellings a walk gives: 0 for all, or a set of variants, and
 * LAYOUT_SET_TWO_TIER if in two tiers.  With LAYOUT_SET_OTHERS it gives what
 * the walk of the same set without it does not.
 */
#define LAYOUT_SET_TWO_TIER (1u << LAYOUT_VARIANTS)
#define LAYOUT_SET_OTHERS   (2u << LAYOUT_VARIANTS)

struct layout_walk {
    const struct source_config *source;
    const symcache_key_t *key;
    const char *name;
    enum layout_form forms[LAYOUT_FORMS]; /* in order */
    unsigned nforms;
    unsigned variants[LAYOUT_VARIANTS]; /* in order */
    unsigned nvariants; /* so many of them are given, the first ones */
    unsigned step;
    unsigned variant; /* of the place given last */
    enum layout_form form;
    bool two_tier;  /* the places given now */
    bool probed;    /* index2.txt was given */
    bool tier_sure; /* the other number of tiers need not be asked for */
    bool wants_index;
};

/*
 * Begins a walk by the layout, the casing and the forms of a source.  name is
 * the key's, spelled as the client sent it; source, key and name live as long
 * as the walk.
 */
void layout_begin(struct layout_walk *walk, const struct source_config *source,
                  const symcache_key_t *key, const char *name,
                  const struct layout_memory *memory);

/* The set of spellings that have led to a file, in the number of tiers that the
 * last one had; 0 if none has. */
unsigned layout_answered(const struct layout_memory *memory);

/* Limits a walk that has just begun to a set of spellings.  Returns true if
 * that leaves out places, which the same set with LAYOUT_SET_OTHERS has. */
bool layout_limit(struct layout_walk *walk, unsigned set);

/* Gives the next place to ask; false: there is none left. */
bool layout_next(struct layout_walk *walk, struct layout_place *place);

/* Makes the walk give FORM_INDEX before it ends, whatever the layout is. */
void layout_want_index(struct layout_walk *walk);

/*
 * Call this after FORM_INDEX if the source said plainly whether that file is
 * there.  Without this call the walk gives the places of both numbers of tiers.
 */
void layout_index(struct layout_walk *walk, bool present);

/* Remembers that the PDB was at the place given last, or where its file.ptr
 * led. */
void layout_hit(const struct layout_walk *walk, struct layout_memory *memory);

/*
 * Gives all places for a base whose names are compared without case, in the
 * usual spelling of its layout, and returns their number, which is 0 if the
 * layout has none for such a key.  *index gets the index of index2.txt: if
 * that file is there, the places after it count, and otherwise those before
 * it.  It is 0 if index2.txt does not matter.
 */
size_t layout_places(struct layout_place places[LAYOUT_PLACES],
                     const struct source_config *source,
                     const symcache_key_t *key, const char *name,
                     size_t *index);

/* What lies at a place, by the last component of its path or URL. */
enum layout_form layout_form(const char *place);

/* Replaces the last character of a path, of one or more bytes, with "_". */
void layout_pack(char *path);
