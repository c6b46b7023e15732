/*
 * Copyright (C) the ngx_symcache authors
 *
 * The steps that lookups of every source type are made of.  Each step ends in
 * a callback of the loop; if it found nothing, lookup->resume is called.
 */
#pragma once

#include "lookup_state.h"

/* what lookup_dir() takes; the members mean what they do in intake.h */
struct lookup_dir {
    const char *root;
    const char *places[UNPACK_PLACES];
    size_t nplaces;
    size_t index2;
    bool beneath;
    bool flat;
};

/* The build id of the module has become known: its places are looked at, and
 * those of the key no more.  Returns false if it belongs to another key, or
 * one was known. */
bool lookup_take_build_id(struct lookup *lookup,
                          const symcache_key_t *build_id);

/* The ids of the file that a profiler knows by the key have become known: it
 * is looked for by these from now on.  An ELF file has no code_id (NULL), a PE
 * image may have no debug_id.  Returns false if no such file is wanted, or
 * there are none. */
bool lookup_take_ids(struct lookup *lookup, const symcache_key_t *debug_id,
                     const symcache_key_t *code_id);

/* Ends it with an attempt that failed on this machine, with errno. */
void lookup_fail(struct lookup *lookup, const char *what);

/* Makes the folder of lookup->file, if it is missing: the caller may have left
 * that until there is a file for it.  Returns 0, or -1 with errno. */
int lookup_make_folder(const struct lookup *lookup);

/* Opens an empty part file for a body.  Returns 0, or -1 with errno. */
int lookup_open_part(struct lookup *lookup);

/* Closes the part file of an earlier place, if there is one. */
void lookup_drop_part(struct lookup *lookup);

/* Unpacks and checks what is in part. */
void lookup_check_part(struct lookup *lookup);

/* Starts a child that searches or checks, and enters its step. */
void lookup_unpack(struct lookup *lookup, enum lookup_step step,
                   struct unpack_request *request, unpack_done_fn done);

/* A child had no space for this many bytes; 0: it had enough. */
void lookup_had_no_space(const struct lookup *lookup, uint64_t wanted);

/* A PDB with another identity is unusable.  But in a flat directory, where only
 * names tell files apart, it is another build's, and the wanted one absent. */
enum source_outcome lookup_outcome(const struct lookup *lookup,
                                   const struct unpack_attempt *attempt);

/* The PDB is whole, checked and on disk: gives it its name. */
void lookup_publish(struct lookup *lookup, const char *from,
                    const char *detail);

/* Looks for places below a directory; all are copied. */
void lookup_dir(struct lookup *lookup, const struct lookup_dir *dir);

/* Looks for the places of lookup->dir. */
void lookup_run_dir(struct lookup *lookup);

/* Sets lookup->place to one of them. */
void lookup_set_dir_place(struct lookup *lookup, size_t place);

/* Fills the request for them.  Returns false when it has ended the lookup. */
bool lookup_enter_dir(struct lookup *lookup, struct unpack_request *request);

/* The directory is no longer searched, so its slot is freed; detail is for the
 * log. */
void lookup_leave_dir(struct lookup *lookup, enum breaker_end end,
                      const char *detail);

/* offer_unverified.c: these return false if what is found has to be checked by
 * a process first; otherwise they have begun to do without. */
bool lookup_offer_part(struct lookup *lookup);
bool lookup_find_local_pdb(struct lookup *lookup);

/* Follows the file.ptr of lookup->place, which fd has. */
void lookup_file_ptr(struct lookup *lookup, int fd);

/*
 * Returns the outcome of an answer of the source itself.  detail has the text
 * from the fetch, which may be replaced.
 */
typedef enum source_outcome (*source_judge_fn)(
    struct lookup *lookup, const struct fetch_result *result, char *detail,
    size_t size);

/* Asks below the source's url for one place of its layout after another. */
void source_http_walk(struct lookup *lookup, source_judge_fn judge);

/* The <Code> of an object store's error; "" if there is none. */
#define HTTP_CODE 64
void source_http_code(char code[HTTP_CODE],
                      const struct fetch_response *response);

/* Fetches a URL that a file.ptr names, or a path below the source's own. */
void source_http_pointed(struct lookup *lookup, const char *url);
void source_http_pointed_below(struct lookup *lookup, const char *path);

/* Fetches a URL of the source itself, and has it unpacked and checked.  Takes
 * url over; NULL counts as out of memory. */
void source_http_own(struct lookup *lookup, char *url);
