/*
 * Copyright (C) the ngx_symcache authors
 *
 * One lookup of one key in one upstream source.  The lookup tries the
 * spellings of the source's layout in turn (foo.pdb, foo.pd_, file.ptr), has
 * each body unpacked and its identity checked in a sandboxed child process,
 * and ends with a plain PDB of the wanted GUID and age, or without one.
 *
 * Knows nothing of jobs, stores, transcoders or waiters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "config/config.h"
#include "symcached/fetch/fetch.h"
#include "proto/key.h"
#include "proto/provenance.h"

/* One place that was looked in; valid during the callback only. */
struct lookup_attempt {
    const char *source; /* name in the configuration */
    const char *place;  /* URL (without query and user info) or path */
    enum source_outcome outcome;
    const char *detail; /* "404", "wrong GUID: wanted ..., got ...", ... */
    uint64_t bytes;     /* received */
    unsigned ms;
    unsigned retry_after; /* seconds the source asked for, or 0 */
    symcache_extent_e extent; /* found: of the original */
    unsigned features;        /* found: what it has, a set of proto/kind.h */
    unsigned id_at;           /* by which of its ids, see source_ids */
    long status;          /* of an HTTP answer, or 0 */
    int errnum;           /* why a connection failed, or 0 */
    bool is_ruled_out;    /* the configuration alone says that it has none */
};

/* Was the source not asked, as its host is left alone for a pause? */
static inline bool
lookup_attempt_is_unasked(const struct lookup_attempt *attempt)
{
    return attempt->outcome == SOURCE_FAILED && attempt->status == 0 &&
           attempt->retry_after > 0;
}

/* Request and answer of a SymCache server, besides the key. */
struct lookup_symcache {
    bool has_exceeds;
    symcache_version_t exceeds; /* of the file that there is already */
    const char *via; /* ids (via_header.h); read at the start only */
    const char *store;          /* whose id is put behind them; likewise */
    symcache_version_t version; /* after FOUND: of the file */
    bool not_newer; /* after NOT_FOUND: it has nothing that exceeds it */
    bool is_loop;   /* after NOT_FOUND: it has left out servers of via, which
                       may have it */
};

/*
 * The files that a lookup for a derived file asks a source for: a debug file,
 * the file of the key itself, a program, in the order of the kind's slots.
 */
struct lookup_ids {
    unsigned first; /* 0, or one more than that of an original that is bad */
    bool programs;  /* or only debug files */
    unsigned among; /* a set, see lookup_first_ids() */
    unsigned variants; /* a set, see layout.h */
};

struct lookup_callbacks {
    /* once for every place, before done */
    void (*attempt)(void *arg, const struct lookup_attempt *attempt);
    /* or NULL: places were left out, in spellings that were not wanted and may
     * be asked for; before done, if that says that there is no file */
    void (*left_out)(void *arg);
    /* exactly once, never from inside lookup_start() */
    void (*done)(void *arg, enum source_outcome outcome);
    /*
     * Or NULL.  `file`, or the one at `here`, which stays where it is, is by
     * its place and its first bytes the requested PDB, but its id was not
     * checked yet.  A caller that can check it by other means later calls
     * lookup_verified() or lookup_check_unverified(), or lookup_cancel(); the
     * lookup keeps no slot of its host meanwhile.
     */
    void (*unverified)(void *arg, const char *here);
};

struct sources;
struct lookup;

/*
 * Starts a lookup.  The PDB is left in `file`, an absolute path that does not
 * exist yet, in an existing directory on the file system where it will stay.
 * The lookup makes other files there, too, which the caller removes with the
 * directory.  name is the key's in the case of whoever asked, for stores that
 * tell cases apart; it is copied.  A file of a format that is not among
 * formats is unusable.  hints are those of proto/hints.h, and are copied: HTTP
 * servers are told of a checksum, and a file that has another one is unusable.
 * If unchanged is not 0, a file of a directory that was not changed since then
 * may be left where it is: `file` is then a symbolic link to it; and the
 * caller can do with an unverified file.  The directory of `file` is made if
 * it is missing.  config must live until done or cancel.  Without an attempt
 * callback it is a lookup before its turn: done says that it has ended, and
 * its result is kept until lookup_promote() or lookup_cancel().  Returns NULL
 * when out of memory.
 *
 * For a SymCache server, symcache is needed and must live as long; `file` then
 * gets a SymCache that has been validated.
 */
struct lookup *
lookup_start(struct sources *sources, const struct config *config,
             const struct source_config *source, const symcache_key_t *key,
             const char *name, const char *hints, unsigned formats,
             struct lookup_ids ids, time_t unchanged, const char *file,
             struct lookup_symcache *symcache,
             const struct lookup_callbacks *callbacks, void *arg);

/* The slot of what is found by an id, if it is of this format. */
symcache_kind_e lookup_id_slot(const symcache_key_t *key, unsigned id_at,
                               enum original_format format);

/* The ids that lead to the best originals of the key's kind, a set: those of
 * programs, or those of all else; 0 if there are no others. */
unsigned lookup_first_ids(const symcache_key_t *key);

/* Is an id of the key, source_attempt.id_at, among these? */
bool lookup_id_is_among(const symcache_key_t *key, unsigned id_at,
                        unsigned ids);

/* Has the source places of such an id or of a later one? */
bool lookup_has_id(const struct source_config *source,
                   const symcache_key_t *key, const char *hints,
                   unsigned formats, struct lookup_ids ids);

/*
 * The turn of such a lookup has come: reports all attempts so far, and goes on
 * as if it had been started with these callbacks.
 */
void lookup_promote(struct lookup *lookup,
                    const struct lookup_callbacks *callbacks, void *arg);

/* Does the lookup ask by one of these ids at the moment? */
bool lookup_asks_among(const struct lookup *lookup, unsigned ids);

/* The lookup is to ask by no other ids than these from now on. */
void lookup_narrow(struct lookup *lookup, unsigned ids);

/* The file is the right one, and as far as the source is concerned this is the
 * end: the attempt is reported, and the lookup is freed; done is not called. */
void lookup_verified(struct lookup *lookup, bool publics_only,
                     unsigned features);

/* Has a process look at the file, and goes on as if unverified() had never been
 * called.  `file` is gone, until it is found again. */
void lookup_check_unverified(struct lookup *lookup);

/* Is a body being received or checked? */
bool lookup_receives(const struct lookup *lookup);

/* Has its host not begun to answer for limits.first_byte_patience? */
bool lookup_is_silent(const struct lookup *lookup);

/* The place that is being asked, until the lookup ends. */
const char *lookup_place_asked(const struct lookup *lookup);

/* No callback comes afterwards. */
void lookup_cancel(struct lookup *lookup);
