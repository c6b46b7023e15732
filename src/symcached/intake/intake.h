/*
 * Copyright (C) the ngx_symcache authors
 *
 * Turns a source's file into a plain original file of the requested identity.
 * A sandboxed child process does this, so that a damaged file can crash only
 * its parser, and a file system that hangs stops only that process.
 *
 * For each place, the child process writes a line "@<place> <letter> <text>"
 * to stderr.  The letter is that of an enum source_outcome (M: this machine
 * failed), or K, H, P, W, X or A; f, k and h stand for a PDB with public
 * symbols only.  A line with R before it tells how many bytes had no room, one
 * with S what the file has, as a hexadecimal set of SYMCACHE_HAS_...  A line
 * with O comes first, as soon as a directory answers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "symcached/fetch/fetch.h"
#include "proto/key.h"
#include "decompress.h"
#include "pdb_directory.h"
#include "in_place.h"
#include "local_pdb.h"

struct event_base;
struct unpack;

#define UNPACK_PLACES 9

/* The environment variable that has the checksum, for the child process. */
#define UNPACK_CHECKSUM "SYMBOL_CHECKSUM"

/* Another one, which is there if a received body has a Content-Encoding. */
#define UNPACK_CODED "SYMBOL_CODED"

struct unpack_request {
    const symcache_key_t *key;
    unsigned formats; /* what is looked for: a bit for each format */
    const char *checksum; /* see original_check.c; or NULL */
    bool coded; /* in: with a Content-Encoding, which is undone */
    uint64_t max;     /* bytes */
    const struct cache_config *cache; /* whose total_size counts */
    uint64_t keep;    /* bytes that stay free on the file system of `out` */
    unsigned seconds; /* time limit */
    unsigned first;   /* seconds within which a directory must answer */
    void (*gone)(void *arg); /* as in child.h */
    void *gone_arg;
    int out;          /* an empty file, open for reading and writing */
    int in;           /* a received body; or -1: look in places */
    const char *root; /* absolute directory */
    bool beneath;     /* symbolic links must not lead out of root */
    time_t unchanged; /* a plain file of a local file system that was not
                         changed since is left there; 0: all are copied */
    time_t settled; /* that is so if its content was not changed since */
    const char *places[UNPACK_PLACES]; /* relative to root; the first that
                                          exists counts */
    size_t nplaces;
    /* root is a flat directory, see pdb_directory.h: the first place is the
     * requested name; it stands for all PDBs in root, of which the one with
     * that name comes first */
    bool flat;
    int index;     /* flat: the index so far, which is read */
    int new_index; /* flat: an empty file for the new index */
    size_t index2; /* if not 0, the index of index2.txt in places.  Without
                      that file, only the places before it count; with it, only
                      those behind it; if that cannot be told, all of them
                      count, and index2.txt is a place that failed */
};

enum unpack_found {
    UNPACK_NONE,
    UNPACK_OUT,    /* the PDB is in `out` */
    UNPACK_IN,     /* `in` is already the PDB */
    UNPACK_HERE,   /* the PDB was left where it is, and is open */
    UNPACK_POINTER /* the beginning of a file.ptr is in `out` */
};

struct unpack_attempt {
    size_t place; /* index in places; 0 for a received body */
    enum source_outcome outcome;
    bool other; /* an intact PDB, but of another identity */
    const char *detail;
};

struct unpack_result {
    enum unpack_found found; /* by the last attempt */
    int here;                /* UNPACK_HERE: it, until done returns */
    bool publics_only;       /* what was found has public symbols only */
    unsigned features;       /* what it has: a set of SYMCACHE_HAS_... */
    struct unpack_attempt attempts[UNPACK_PLACES];
    size_t nattempts;
    uint64_t wanted; /* a guess of the bytes that had no room, or 0 */
    bool silent;     /* the directory did not answer in time */
    bool died;       /* the process was killed or crashed */
    bool again; /* flat: not all files were read; start again with new_index
                   as the index */
    unsigned ms;
};

typedef void (*unpack_done_fn)(void *arg, const struct unpack_result *result);

/*
 * done is called once, but never from inside this function.  The caller keeps
 * the descriptors and may close them at once.  Returns NULL with errno on
 * failure.
 */
struct unpack *unpack_start(struct event_base *base,
                            const struct unpack_request *request,
                            unpack_done_fn done, void *arg);

/* Kills the child process; done is not called any more. */
void unpack_cancel(struct unpack *unpack);

/* The child process: main() of "symcached-sandboxed --unpack ...". */
int unpack_main(int argc, char **argv);

/* The child: main() of "symcached-sandboxed --upload". */
int upload_main(int argc, char **argv);
