/*
 * Copyright (C) the ngx_symcache authors
 *
 * The steps that lookups of every source type are made of.  Each step ends in
 * a callback of the loop; when it found nothing, lookup->resume goes on.
 */
#ifndef SYMCACHED_SOURCE_STEPS_H
#define SYMCACHED_SOURCE_STEPS_H

#include <stdbool.h>
#include "symcached/fetch/fetch.h"
#include "layout.h"
#include "lookup.h"
#include "file_ptr.h"
#include "symcached/unpack/unpack.h"
#include "via.h"

struct event;
struct attempt_queue;

#define LOOKUP_PLACE 4096

/* what is known of a source from its answers; stays over a reload that has it
 */
struct source_memory {
    struct source_memory *next;
    struct layout_memory layout;
    int index;   /* of a flat directory, see flat.h; or -1 */
    char *place; /* url or path, behind the name */
    char name[];
};

struct sources {
    struct event_base *base;
    struct hosts *hosts;
    struct fetcher *outside; /* two, because a connection that is open */
    struct fetcher *inside;  /* passes the check of addresses */
    struct source_memory *memories;
    void (*freed)(void *arg);
    void *freed_arg;
};

/*
 * What a lookup waits for.  lookup_set_step() is the only place that changes
 * it; each step that has a task of its own ends with that task's callback.
 *
 *   source_lookup() --> LOOKUP_BEGINS
 *                            | the loop calls the type's begin function
 *                            v
 *                      LOOKUP_DECIDES ----> lookup_end()
 *                        |  ^                  |       |
 *     the next place     v  | nothing there    |       v before its turn
 *     LOOKUP_FETCHES, _SEARCHES, _CHECKS,      |   LOOKUP_ENDED
 *     _VALIDATES                               v       | source_adopt()
 *                                    callbacks.done  <-+
 */
enum lookup_step {
    LOOKUP_BEGINS,    /* for the loop */
    LOOKUP_DECIDES,   /* for nothing: what follows is being decided */
    LOOKUP_FETCHES,   /* for an HTTP answer; task is a struct fetch */
    LOOKUP_SEARCHES,  /* for a child in a directory; a struct unpack */
    LOOKUP_CHECKS,    /* for a child that looks at a body; a struct unpack */
    LOOKUP_VALIDATES, /* for a child that reads a SymCache; a struct child */
    LOOKUP_ENDED      /* for its turn, see source_adopt() */
};

struct lookup {
    struct sources *sources;
    const struct config *config;
    const struct source_config *source;
    symcache_key_t key;
    char name[SYMCACHE_NAME_MAX + 1]; /* the key's, as it was asked for */
    struct source_callbacks callbacks;
    void *arg;
    struct event *begin;
    struct attempt_queue
        *attempt_queue;  /* what is not told yet: before its turn */
    struct visit *visit; /* of the source's host or directory */
    enum lookup_step step;
    void *task; /* of the step, or NULL */
    char *file;
    char *part; /* what is received */
    char *out;  /* what is unpacked */
    int part_fd;
    int out_fd;
    unsigned aside; /* files that made way for the next of their name */
    enum source_outcome outcome; /* the most serious of the attempts */
    bool publics_only;           /* what was found */
    unsigned pointers;           /* followed so far */
    void (*resume)(struct lookup *lookup);

    /* http.c */
    struct source_memory *memory;
    struct layout_walk walk;
    enum layout_form form; /* of the place that is being asked for */
    bool doubted;          /* 400 was taken for an absence; see http_judge() */
    bool plain;            /* the answer about index2.txt */
    bool pointed;          /* at a URL by a file.ptr */
    bool pointed_below;    /* the URL is one of the source itself */
    char *pointed_packed;  /* the URL of its packed form, to be asked next */

    /* symcache.c */
    struct source_symcache *symcache;
    struct header_config extra[5];
    size_t nextra;
    char via[VIA_MAX];
    char exceeds[SYMCACHE_VERSION_TEXT_MAX + 1];

    /* the place or places of this step */
    struct fetch_result received;
    char place[LOOKUP_PLACE];
    char *tree_root;
    char *tree_places[UNPACK_PLACES];
    size_t ntree_places;
    size_t tree_index2;
    bool tree_beneath;
    bool tree_flat;
    unsigned tree_runs;
    struct host *tree_host;   /* the directory, while it is looked into */
    struct visit *tree_visit; /* of it, if it is not the source's */
    bool tree_probe;
    int new_index; /* of a flat directory, being written; or -1 */
};

/* what lookup_tree() takes; the members mean what they do in unpack.h */
struct lookup_tree {
    const char *root;
    const char *places[UNPACK_PLACES];
    size_t nplaces;
    size_t index2;
    bool beneath;
    bool flat;
};

/* task: what runs from now on in this step, see there; or NULL. */
void lookup_set_step(struct lookup *lookup, enum lookup_step step, void *task);

/* What is known of the lookup's source; NULL when out of memory. */
struct source_memory *lookup_memory(struct lookup *lookup);

/* Tells the owner of this step's place, and remembers the most serious
 * outcome. */
void lookup_attempt_here(struct lookup *lookup, enum source_outcome outcome,
                         const char *detail);

/* Ends the lookup with its most serious outcome; frees it. */
void lookup_end(struct lookup *lookup);

/* Begins the receipt of a body.  Returns 0, or -1 with errno. */
int lookup_open_part(struct lookup *lookup);

/* Unpacks and checks what is in part. */
void lookup_check_part(struct lookup *lookup);

/* The directory is not looked into any more; detail is for the log. */
void lookup_leave_tree(struct lookup *lookup, enum breaker_end end,
                       const char *detail);

/* Looks for places below a directory; all are copied. */
void lookup_tree(struct lookup *lookup, const struct lookup_tree *tree);

/* Follows the file.ptr that lies at lookup->place. */
void lookup_pointer(struct lookup *lookup, const uint8_t *data, size_t len);

/* The first steps of each type. */
void source_filesystem_begin(struct lookup *lookup);
void source_http_begin(struct lookup *lookup);
void source_symcache_begin(struct lookup *lookup);

/*
 * The outcome of an answer of an object store, which has its reasons in the
 * body; detail gets a line about it.
 */
enum source_outcome source_bucket_judge(const struct source_config *source,
                                        const struct fetch_result *result,
                                        char *detail, size_t size);

/* A URL that a file.ptr names, or a path below the source's own. */
void source_http_pointed(struct lookup *lookup, const char *url);
void source_http_pointed_below(struct lookup *lookup, const char *path);

#endif
