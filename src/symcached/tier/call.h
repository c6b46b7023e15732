/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a tier is asked to do with one object, and the types of tiers.  For the
 * files of this room only.
 */
#pragma once

#include <sys/queue.h>
#include "base/breaker.h"
#include "symcached/fetch/fetch.h"
#include "object.h"
#include "tier.h"

#define TIER_CONNECT 1 /* time limits in seconds: of a connection, */
#define TIER_FIRST 2   /* until something comes, */
#define TIER_BODY 60   /* of a whole file, */
#define TIER_WRITE 10  /* and of one that is stored, if it is small; */
#define TIER_WRITE_RATE (256 * 1024) /* otherwise bytes a second, */
#define TIER_STALL 30 /* of which none for so long is the end */

/* The result of a call, as its type reports it. */
enum tier_reply {
    TIER_REPLY_DONE,
    TIER_REPLY_ABSENT, /* there is no such object */
    TIER_REPLY_EXISTS, /* there is one, and it was not replaced */
    TIER_REPLY_FAILED, /* this object, or something here, is at fault */
    TIER_REPLY_FAULT,  /* the tier is: counts for its breaker */
    TIER_REPLY_DENIED  /* and so it will do for the next: opens the breaker */
};

struct tier_call;

struct tier_type {
    bool has_meta; /* its objects are as in object.h, not plain files */
    /*
     * Each begins a call and returns at once; tier_call_end() follows, but not
     * from inside.  Returns 0, or -1 with errno if it cannot begin.
     *
     * get    writes the body to call->fd, and the metadata to call->lines
     * look   writes the metadata alone
     * put    stores call->size bytes of call->fd with call->lines; unless
     *        call->replace, only where nothing is
     * fresh  makes the object as young as a new one, if it has the digest of
     *        call->lines; with another one, or if it is young, it EXISTS
     * remove removes the object; DONE also where there is none
     * list   adds the names in a folder to call->names, and may write what it
     *        reads to call->fd; a folder need not exist
     */
    int (*get)(struct tier_call *call);
    int (*look)(struct tier_call *call);
    int (*put)(struct tier_call *call);
    int (*fresh)(struct tier_call *call);
    int (*remove)(struct tier_call *call);
    int (*list)(struct tier_call *call);
    /* Has a part of what a get asked for arrived?  NULL: it cannot tell. */
    bool (*receives)(const struct tier_call *call);
};

extern const struct tier_type tier_s3, tier_filesystem, tier_symcache;

/* Where a client without keys gets the object for a while.  Returns NULL if
 * that is too long, or when out of memory. */
char *tier_s3_url(const struct tier_call *call);

/* The <Code> of an answer's body, or "". */
#define TIER_CODE_MAX 64
void tier_s3_code(char code[TIER_CODE_MAX],
                  const struct fetch_response *response);

/* Adds a name, if it can be one and there is room. */
void tier_names_add(struct tier_names *names, const char *name);

const struct tier_type *tier_type_of(const struct tier_config *config);

typedef void (*tier_reply_fn)(struct tier_call *call, enum tier_reply reply,
                              const char *detail);

struct tier_call {
    struct tiers *tiers;
    struct tier_config *config;
    const struct config *all; /* where that is in */
    const symcache_key_t *key; /* of a file that was made, */
    symcache_version_t version;
    bool is_original; /* or not: then these two are not used */
    char name[TIER_NAME_MAX + 1];  /* of the object */
    char place[TIER_NAME_MAX + 1024]; /* the same, with where that is */
    char lines[TIER_META_MAX];     /* metadata */
    int fd;                        /* what is received, or stored */
    struct tier_names *names;      /* what is listed */
    uint64_t max;                  /* bytes that are received, */
    unsigned seconds;              /* and the time for that */
    unsigned lifetime; /* of what "fresh" makes young, in seconds; or 0 */
    uint64_t size;                 /* of what is stored */
    char body_sha256[DIGEST_HEX + 1]; /* of the same */
    bool replace;
    int64_t length; /* of what a look has found; -1 = not known */
    int64_t stored; /* when the object was, in seconds; 0 = not known */
    uint64_t bytes; /* received */
    long status;
    int refusal; /* of a put: 413 or 507, if sending it again would not help */
    tier_reply_fn reply;
    void *task; /* of the type, while it works */
    void (*task_cancel)(void *task);
    unsigned renewals; /* of the keys that it was sent with, see s3.c */
    bool again;        /* it was sent with others before */
    bool looks;        /* it looks at what is there, before a write */
};

/* For types: ends a call. */
__attribute__((format(printf, 3, 4))) void tier_call_end(struct tier_call *call,
                                                         enum tier_reply reply,
                                                         const char *format,
                                                         ...);

/* Ends what a type does for a call, if anything.  No tier_call_end() follows.
 */
void tier_call_cancel(struct tier_call *call);

/* tier.c ----------------------------------------------------------------- */

/* One of the two directions of a tier. */
struct tier_way {
    struct breaker breaker;
    unsigned running; /* calls of the type */
    const struct tier_call *probe; /* of them, the one that decides, or NULL */
    char why[256]; /* the last failure, */
    time_t at;     /* its time, */
    int refusal;   /* and that of its call, until a file is stored */
    bool writes_fail; /* one has, and none has succeeded since */
    bool is_unproved; /* the breaker was closed by a look alone */
};

TAILQ_HEAD(tier_gets, tier_get);
TAILQ_HEAD(tier_puts, tier_put);

struct tier {
    LIST_ENTRY(tier) all;
    char *name;
    struct tier_way get;
    struct tier_way put;
    struct tier_gets gets; /* that wait */
    struct tier_puts puts;
    unsigned nputs;
    uint64_t outcomes[TIER_FAILED + 1]; /* of gets */
    uint64_t stored;     /* files, */
    uint64_t not_stored; /* and those that were given up, removals included */
    unsigned getting; /* gets from their begin to their end, checks included */
    uint64_t turn;    /* clock_ms() when the latest of them began */
    unsigned putting;
};

struct tiers {
    struct event_base *base;
    struct config *config;
    const struct store_config *(*find)(void *arg, const char *name);
    void *find_arg; /* both as tiers_find_stores() has them */
    struct fetcher *fetcher;
    struct event *pump;
    struct event *look;   /* for what was discarded, see outdated_objects.h */
    struct task *looking; /* or NULL */
    LIST_HEAD(, tier) all;
    LIST_HEAD(, tier_put) writing;
    bool finishing;
    void (*finished)(void *arg); /* or NULL */
    void *finished_arg;
    bool stopping;
};

/* The limits of requests to tiers, and of their breakers. */
extern const struct limits_config tier_limits;

/* Sets what every call has, and the place of call->name. */
void tier_call_init(struct tier_call *call, struct tiers *tiers,
                    const struct config *all, struct tier_config *config,
                    tier_reply_fn reply);

/* Returns the tier of that name, or NULL when out of memory. */
struct tier *tiers_find(struct tiers *tiers, const char *name);

/*
 * May this call begin?  *probe: it decides whether others may, when it ends or
 * when what it asked for begins to arrive.
 */
bool tier_way_begins(const struct tier *tier, struct tier_way *way,
                     const struct tier_call *call, bool *probe);

/* A call has ended. */
void tier_way_ends(const struct tier *tier, struct tier_way *way,
                   const struct tier_call *call, enum tier_reply reply,
                   bool probe, const char *detail);

/* While writes fail, a call that was to be followed by one has ended well, and
 * has only read: the next one shows whether the tier can be written. */
void tier_way_looked(struct tier_way *way, bool probe);

/* Begins what waits and may begin, soon. */
void tiers_pump(struct tiers *tiers);

/* get.c, put.c ----------------------------------------------------------- */

/* Each returns the milliseconds after which to look again, or 0. */
unsigned tier_gets_pump(struct tier *tier);
unsigned tier_puts_pump(struct tiers *tiers, struct tier *tier);

/* Removes the object of a file when its turn comes. */
void tier_puts_remove(struct tiers *tiers, const struct store_config *store,
                      const symcache_key_t *key,
                      const symcache_version_t *version);

/* Is anything to be done, or being done, to the object of a file? */
bool tier_puts_has(struct tiers *tiers, const struct store_config *store,
                   const symcache_key_t *key,
                   const symcache_version_t *version);

/* Forgets all that waits and ends what runs. */
void tier_puts_stop(struct tiers *tiers, struct tier *tier);
