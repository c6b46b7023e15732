/*
 * Copyright (C) the ngx_symcache authors
 *
 * Protocols of symbolicated.  A protocol reads a request into a call, which
 * says which modules it needs; somebody else gets them, however long it takes;
 * then the call writes its answer.  Nothing here waits, opens or listens.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/spool.h"
#include "config/config.h"
#include "derived/derived.h"
#include "json/json.h"
#include "proto/key.h"

#define API_HEADERS_MAX 8

/* Bytes of the name or path of a module, which an answer may have in each of
 * its frames: a long one would cost more than its request (PATH_MAX). */
#define API_MODULE_NAME_MAX 4096

enum api_protocol {
    API_SERVICE, /* pages of the service, unknown paths */
    API_MOZILLA_V4,
    API_MOZILLA_V5,
    API_SYMBOLICATOR,
    API_MINIDUMP,
    API_SYMBOLIZE,
    API_PROFILE,
    API_APPLE,
    API_JVM,
    API_JS,
    API_SOURCE,
    API_ASM,
    API_PROTOCOLS
};

enum api_method { API_GET, API_HEAD, API_POST, API_OPTIONS, API_OTHER };

struct api_request {
    enum api_method method;
    const char *path;  /* as sent, without the query */
    const char *query; /* or NULL */
    char *body; /* size bytes, no NUL; a parser may change them; they live as
                   long as the call */
    struct spool *spool; /* the body, in place of that; or NULL */
    size_t size;
    /* The first header of that name, or NULL. */
    const char *(*header)(const struct api_request *request, const char *name);
    const struct symbolication_config *config; /* lives as long as the call */
    struct json *json; /* for json_read(); somebody else's after api_begin() */
    bool is_cut_off; /* symcached cannot be reached, which it was, or should */
};

struct api_header {
    const char *name;
    const char *value;
};

/* How the parts of an answer are packed. */
enum api_packing { API_NOT_PACKED, API_GZIP, API_ZSTD };

struct api_reply {
    enum api_protocol protocol;
    int status;
    enum api_packing packing; /* of parts: as the first one has it */
    const char *type; /* Content-Type, static, or NULL */
    struct api_header headers[API_HEADERS_MAX];
    unsigned nheaders;
    struct json_writer *body; /* empty at first */
};

enum api_module_state {
    API_MODULE_UNKNOWN,   /* not looked for yet */
    API_MODULE_FOUND,     /* a reader is set */
    API_MODULE_MISSING,   /* no source has it, or its key is not valid */
    API_MODULE_UNSUPPORTED, /* there is a file, for another kind of key */
    API_MODULE_MALFORMED, /* there is a file, and nothing can be read in it */
    API_MODULE_FAILED,    /* an upstream, or something here, failed */
    API_MODULE_LATE       /* not there within the time that the call has */
    /* later ones count when stores differ */
};

/* Where symcached looked for a module, for one of the stores. */
struct api_attempts {
    struct api_attempts *next; /* of the next store */
    const struct store_config *store; /* NULL: a tenant's */
    const struct json *json; /* of the page, or of what is noted beside the
                                file that was found */
    uint32_t list;           /* "attempts" */
    char *text;              /* of the page /v1/why, or NULL */
    struct json page;
};

/* A module that an answer needs. */
struct api_module {
    symcache_key_t key;
    const char *name; /* the key's, as the client wrote it */
    size_t name_size;
    char *hints; /* see proto/hints.h; or NULL */
    enum api_module_state state;
    const union derived_reader *reader; /* FOUND: that of the key's kind,
                                           verified; until the call's end */
    uint64_t size; /* FOUND: bytes of the file */
    const char *properties; /* FOUND, of a file at a URL: the text of
                               proto/properties.h, or NULL */
    const uint8_t *digest;  /* the same: its SHA-256, or NULL */
    unsigned features; /* FOUND: of its original, a set of SYMCACHE_HAS_...; 0:
                          not known */
    struct api_attempts *attempts; /* or NULL; until the call's end */
    bool missed;   /* it was not on disk */
    bool asked;    /* symcached was asked for it */
    bool is_unseen; /* FAILED or LATE: for want of descriptors or memory */
    unsigned usec; /* from the begin of the search to this state */
};

/* Of which modules a call wants to know where they were looked for. */
enum api_attempts_wish {
    API_ATTEMPTS_OF_NONE,
    API_ATTEMPTS_OF_FAILED, /* API_MODULE_FAILED */
    API_ATTEMPTS_OF_ALL
};

/* Modules that a call wants at a time: unknown ones are looked for together.
 * They stay as they are until the end of the call. */
struct api_round {
    struct api_round *before; /* or NULL */
    struct api_module *modules;
    size_t nmodules;
};

/* A call may want that many rounds. */
#define API_ROUNDS_MAX 64

/* The state of a call after one of its steps. */
enum api_next {
    API_FINISHED, /* the reply is whole */
    API_WANTS,    /* another round has modules that are unknown */
    API_WORKS,    /* its work is to be begun, or goes on with files */
    API_POLLS,    /* its poll is to be begun */
    API_PART,     /* the reply is a part of the answer, and more follows */
    API_LETS_GO   /* no module of any round is needed any more: they are let
                     go, and then the rounds may have others */
};

/* The state of a call that continued without its connection. */
enum api_poll_news {
    API_POLL_NONE,
    API_POLL_UNKNOWN, /* there is none with this id */
    API_POLL_RUNS,    /* and longer than the poll waits */
    API_POLL_ENDED
};

/* The answer of such a call. */
struct api_answer {
    int status;
    const char *type; /* static, or NULL */
    const char *data;
    size_t size;
};

/* A call that asks for the answer of another one. */
struct api_poll {
    const char *id;
    enum api_poll_news news;
    const struct api_answer *answer; /* ENDED; NULL: there was no room for it */
};

enum api_news {
    API_WORK_NONE,
    API_WORK_WANTS,   /* it tells which files */
    API_WORK_ENDED,   /* with a result */
    API_WORK_REFUSED, /* detail: why */
    API_WORK_DIED,
    API_WORK_UNABLE,    /* not the body's fault: to be tried again */
    API_WORK_UNFETCHED, /* its body cannot be fetched; the text says why */
    API_WORK_LATE     /* the time of the call is over */
};

/* A file that a worker is told of. */
struct api_input_file {
    uint32_t index; /* index, what and state: as the worker means them */
    uint8_t what;
    uint8_t state;
    const struct api_module *module; /* found; or NULL: there is no file */
};

/* The work that a worker does for a call, with a body
 * (worker_pool/worker_pool.h). */
struct api_work {
    uint32_t kind;
    uint32_t limit;
    size_t most; /* bytes that a worker may say, if they are more than
                    "limits.body_size" */
    const char *domain; /* whose body it is; NULL: of a stranger */
    const char *text;
    struct spool *body;
    const char *url;   /* NULL, or the body is to be fetched there first... */
    const char *token; /* ...with this, or NULL; the line "coding" is added to
                          the text then */
    enum api_news news; /* since the step before */
    uint32_t detail;
    char *said; /* with a NUL; the call takes it and frees it; or NULL */
    size_t size;
    const struct api_input_file
        *input_files; /* the answer to API_WORK_WANTS */
    size_t ninput_files;
};

/* How frames of crash reports are found; api_trust_names has the words. */
enum api_trust {
    API_TRUST_OTHER,
    API_TRUST_CONTEXT,
    API_TRUST_CFI,
    API_TRUST_FP,
    API_TRUST_SCAN,
    API_TRUSTS
};

extern const char *const api_trust_names[API_TRUSTS];

/* Outcomes of script frames; api_script_names has their names. */
enum api_script {
    API_SCRIPT_MAPPED,
    API_SCRIPT_NO_PLACE,  /* the map has none for its position */
    API_SCRIPT_NO_SCRIPT, /* the script is not to be had */
    API_SCRIPT_NO_MAP,    /* its map is not */
    API_SCRIPT_MALFORMED, /* its map cannot be read */
    API_SCRIPT_PLAIN,     /* the script refers to no map */
    API_SCRIPTS
};

extern const char *const api_script_names[API_SCRIPTS];

/* Results of a crash report's stacks. */
struct api_walk {
    size_t frames[API_TRUSTS];
    size_t without_cfi; /* modules whose CFI was asked for in vain */
};

/* A request under way; a protocol's own struct begins with it. */
struct api_call {
    struct api_round *round; /* the newest, which may be &first */
    struct api_round first;  /* what the request itself names */
    size_t nframes;
    enum api_attempts_wish attempts;
    const char *tenant; /* the request for the tenant whose store is searched;
                           NULL: search the configured stores */
    size_t tenant_size;
    struct api_work *work; /* or NULL: it has none */
    struct api_poll *poll; /* the same */
    const struct api_walk *walk; /* that its work has come to; or NULL */
    const size_t
        *scripts; /* how many frames of scripts came to what; or NULL */
    size_t unfound; /* scripts that are not found, or their maps: no module was
                       asked for, but the log counts them as missing ones */
    const char *left_out; /* of which the answer has not all, as there is too
                             much; static; or NULL */
    char *failure; /* of the first module that failed or is late, for the log:
                      which one, where and why; or of its body; or NULL */
    bool lacks_tenant; /* its store could not be had, so that nothing was asked
                          of its source */
    bool is_stopped; /* modules are late as the process stops */
    size_t parts; /* that have gone out; a step may not count on one before */
    uint64_t wait; /* milliseconds until those that are missing are late */
    uint64_t patience; /* milliseconds that its connection waits, if
                          answer_pending is set */
    /* Whether a file from this source ("": unknown source) counts; if not, the
     * stores after its own are searched as well.  NULL: all files count. */
    bool (*counts)(const struct api_call *call, const char *source);
    /*
     * Continues with the results for the modules of all rounds: writes the
     * answer, or adds a round.  The reply is empty at each call.  If a file
     * was cut short meanwhile, the step is called again: results read from
     * modules that were found are invalid then, and the part written from them
     * has not been sent.  After the last part the step leaves the reply empty.
     */
    enum api_next (*step)(struct api_call *call, struct api_reply *reply);
    /* Is the next step better not taken in the loop, as it reads much?  NULL:
     * only what its work has said tells that. */
    bool (*is_large)(const struct api_call *call);
    /*
     * The answer to a connection that does not wait any longer: the call goes
     * on and is polled by this id, or ends as it cannot be kept (NULL).
     * NULL: its connection waits for the call.
     */
    void (*answer_pending)(struct api_reply *reply, const char *id);
    void (*free)(struct api_call *call);
};

/*
 * Begins the call of a request.  NULL: the reply is complete already (a page
 * of the service, an error).
 */
struct api_call *api_begin(const struct api_request *request,
                           struct api_reply *reply);

/* The protocol's name in the log and the metrics. */
const char *api_protocol_name(enum api_protocol protocol);

/* Whether the body has a Content-Encoding, which no protocol reads. */
bool api_is_encoded(const struct api_request *request);

/* Has the query of a request this value of a parameter? */
bool api_query_has(const struct api_request *request, const char *name,
                   const char *value);

/* Adds a header.  Its texts must be static or belong to the request, because
 * the call no longer exists when the reply is sent. */
void api_reply_header(struct api_reply *reply, const char *name,
                      const char *value);
