/*
 * Copyright (C) the ngx_symcache authors
 *
 * A lookup under way, and what is known of its source meanwhile.
 */
#pragma once

#include <stdbool.h>
#include "symcached/fetch/fetch.h"
#include "layout.h"
#include "lookup.h"
#include "file_ptr.h"
#include "original_id.h"
#include "proto/header.h"
#include "proto/hints.h"
#include "sources.h"
#include "symcached/intake/intake.h"
#include "via_header.h"

struct event;
struct early_attempts;

#define LOOKUP_PLACE 4096

/* The state of a source, learned from its answers; kept over reloads, as long
 * as the configuration has the source. */
struct source_memory {
    struct source_memory *next;
    struct layout_memory layout;
    struct sentry_lists *lists; /* of a source of type sentry; or NULL */
    int index;   /* of a flat directory, see pdb_directory.h; or -1 */
    char *place; /* url or path, behind the name */
    char name[];
};

struct sources {
    struct event_base *base;
    struct tiers *tiers;
    struct hosts *hosts; /* of the fetcher */
    struct fetcher *fetcher;
    struct source_memory *memories;
    void (*freed)(void *arg);
    void *freed_arg;
};

/* The state of a source; NULL when out of memory. */
struct source_memory *sources_memory(struct sources *sources,
                                     const struct source_config *source);

/*
 * What a lookup waits for.  lookup_set_step() is the only place that changes
 * it; each step that has a task of its own ends with that task's callback.
 *
 *   lookup_start() --> LOOKUP_BEGINS
 *                            | the loop calls the type's begin function
 *                            v
 *                      LOOKUP_BETWEEN_STEPS ----> lookup_end()
 *                        |  ^                  |       |
 *     the next place     v  | nothing there    |       v before its turn
 *     LOOKUP_FETCHES, _SEARCHES, _CHECKS,      |   LOOKUP_ENDED
 *     _VALIDATES, _IN_TIER, _IN_INDEX,          v       | lookup_promote()
 *     _FINDS_LOCAL                   callbacks.done  <-+
 *
 * A file that is found in LOOKUP_FETCHES or _FINDS_LOCAL may lead to
 * LOOKUP_UNVERIFIED, and from there to the end, or to where it would be
 * checked.
 */
enum lookup_step {
    LOOKUP_BEGINS,        /* for the loop */
    LOOKUP_BETWEEN_STEPS, /* for nothing: what follows is being decided */
    LOOKUP_FETCHES,       /* for an HTTP answer; task is a struct fetch */
    LOOKUP_SEARCHES,      /* for a child in a directory; a struct unpack */
    LOOKUP_CHECKS,      /* for a child that looks at a body; a struct unpack */
    LOOKUP_VALIDATES,   /* for a child that reads a SymCache; a struct child */
    LOOKUP_IN_TIER,     /* for an original of a tier; a struct tier_get */
    LOOKUP_IN_INDEX,    /* for a thread in the index; a struct task */
    LOOKUP_FINDS_LOCAL, /* for a thread in a directory; a struct task */
    LOOKUP_UNVERIFIED, /* for lookup_verified() or lookup_check_unverified() */
    LOOKUP_ENDED       /* for its turn, see lookup_promote() */
};

struct lookup {
    struct sources *sources;
    const struct config *config;
    const struct source_config *source;
    symcache_key_t key;
    symcache_key_t at;      /* the key whose places are looked at */
    symcache_key_t code_id; /* of which only the id counts */
    bool is_named;          /* the hints let the source be asked */
    bool has_code_id;
    unsigned id_at;    /* a position, see original_id_at(); */
    unsigned first_id; /* where it began */
    bool has_index_id; /* the code id is one of the index of uploads */
    bool by_index;     /* it is looked for by what the index has */
    unsigned ids;      /* that are wanted, a set */
    unsigned variants; /* likewise, of layout.h; or 0: all */
    bool leaves_out;   /* places in other spellings */
    unsigned formats;  /* of the originals that are wanted */
    time_t unchanged;  /* since when a file must be that is not copied; or 0 */
    char checksum[SYMCACHE_HINT_MAX + 1]; /* of a portable PDB, or "" */
    struct header_config checksum_header;
    char url[SYMCACHE_URL_MAX + 1];        /* of a file at a URL, or "" */
    char artifacts[SYMCACHE_HINT_MAX + 1]; /* a list of bundles, or "" */
    bool coded;      /* part has a Content-Encoding, which is to be undone */
    bool is_scraped; /* a client names the URL, and no file of ours */
    bool second;     /* no other age or name is to be looked for */
    bool any_name;   /* what is found may have another name in it */
    char name[SYMCACHE_NAME_MAX + 1]; /* the key's, as it was asked for */
    struct lookup_callbacks callbacks;
    void *arg;
    struct event *begin;
    struct early_attempts
        *attempt_queue;     /* before its turn: what is to be reported then */
    struct host_slot *slot; /* of the source's host or directory */
    enum lookup_step step;
    void *task; /* of the step, or NULL */
    char *file;
    char *part;       /* what is received */
    char *properties; /* of that, as proto/properties.h has them; or NULL */
    char *out;        /* what is unpacked */
    int part_fd;
    int out_fd;
    unsigned aside; /* how many files were moved away, for their names */
    enum source_outcome outcome; /* the most serious of the attempts */
    bool publics_only;           /* the PDB found has only public symbols */
    unsigned features;           /* what was found has, see proto/kind.h */
    uint64_t offered;            /* size of an unverified file */
    bool in_dir;                 /* which is left in its directory */
    bool is_offered_no_more;     /* nothing is offered any more */
    struct lookup_symcache *symcache; /* for a SymCache server, or NULL */

    /* what the source's type set when it began */
    void *state;                           /* its own; freed with the lookup */
    void (*resume)(struct lookup *lookup); /* nothing was found here */
    void (*found)(struct lookup *lookup);  /* learns from it; or NULL */

    /* file.ptr */
    unsigned pointers;    /* followed so far */
    bool pointed;         /* at a URL */
    bool pointed_below;   /* the URL is one of the source itself */
    char *pointed_packed; /* the URL of its packed form, to be asked next */

    /* the place of this step, and what came from it */
    struct fetch_result received;
    char place[LOOKUP_PLACE];

    /* the directory that is searched, a source's own or a file.ptr's */
    struct {
        char *root; /* these as in struct lookup_dir */
        char *places[UNPACK_PLACES];
        size_t nplaces;
        size_t index2;
        bool beneath;
        bool flat;
        unsigned runs;     /* children so far */
        bool seen;         /* by a thread, which found nothing to be used */
        struct host *host; /* the directory's, while it is searched */
        struct host_slot *slot; /* its own, if it is not the source's */
        bool probe;
        int new_index; /* of a flat directory, being written; or -1 */
    } dir;
};

/* task is what runs in this step, see enum lookup_step, or NULL. */
void lookup_set_step(struct lookup *lookup, enum lookup_step step, void *task);

/* Reports the attempt at lookup->place to the lookup's owner, and remembers
 * the most serious outcome. */
void lookup_attempt_here(struct lookup *lookup, enum source_outcome outcome,
                         const char *detail);

/* Ends the lookup with its most serious outcome; frees it. */
void lookup_end(struct lookup *lookup);

/* Zeroed memory for the source's type.  NULL when out of memory; the lookup
 * has then been ended. */
void *lookup_type_state(struct lookup *lookup, size_t size);
