
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the files of the module share: the configuration, the context of a
 * request, and the functions of each file.
 */


#ifndef _NGX_SYMCACHE_H_INCLUDED_
#define _NGX_SYMCACHE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "proto/answer.h"
#include "proto/digest.h"
#include "proto/header.h"
#include "proto/hints.h"
#include "proto/key.h"
#include "proto/path.h"
#include "proto/request.h"
#include "proto/symbol_path.h"
#include "proto/version.h"

#include "ngx_symcache_compat.h"


typedef struct ngx_symcache_ctx_s          ngx_symcache_ctx_t;
typedef struct ngx_symcache_wait_s         ngx_symcache_wait_t;
typedef struct ngx_symcache_helper_s       ngx_symcache_helper_t;
typedef struct ngx_symcache_dircache_s     ngx_symcache_dircache_t;
typedef struct ngx_symcache_transcoders_s  ngx_symcache_transcoders_t;


/* after its last use the helper counts a file as in use for so many seconds */

#define NGX_SYMCACHE_TOUCH  3600

#define NGX_SYMCACHE_NOTIFIED  64

/* how often the helper is asked again if the file it reports is not there */

#define NGX_SYMCACHE_MISSED  2

/* versions on disk that are remembered of a key; nearly all have one or two */

#define NGX_SYMCACHE_VERSIONS  2

#define NGX_SYMCACHE_GZIP_OFF     0
#define NGX_SYMCACHE_GZIP_ON      1
#define NGX_SYMCACHE_GZIP_ALWAYS  2


typedef struct {
    uint32_t                   hash;
    ngx_msec_t                 time;
} ngx_symcache_notified_t;


/* There is one per cycle, and each worker changes its own copy of it. */

typedef struct {
    ngx_rbtree_t               waits;         /* of ngx_symcache_wait_t */
    ngx_rbtree_node_t          waits_sentinel;

    ngx_symcache_transcoders_t *transcoders;
    ngx_symcache_dircache_t    *dircache;

    /* the last notifications of this worker, by hash of the key */

    ngx_symcache_notified_t    notified[NGX_SYMCACHE_NOTIFIED];
    ngx_msec_t                 notify_failed;

    ngx_flag_t                 body_group_access;  /* somewhere */
} ngx_symcache_main_conf_t;


typedef struct {
    ngx_http_upstream_conf_t   upstream;

    ngx_http_complex_value_t  *root;
    ngx_str_t                  path;     /* "symcache" without variables */
    size_t                     prefix;   /* length of a prefix location */
    ngx_flag_t                 tail;     /* the key ends the URI */
    ngx_flag_t                 symbols;  /* original files: the root is that
                                            of symcached's downloads */
    ngx_flag_t                 pass_off;
    ngx_flag_t                 status;   /* symcache_status is given */
    u_char                    *aliased;  /* the alias in force here, or NULL */

    ngx_str_t                  host;     /* the Host of requests */
    ngx_str_t                  token;    /* sent with them, or "" */
    ngx_str_t                  store;
    ngx_str_t                  type;
    ngx_str_t                  type_start;  /* type and "; version=" */

    ngx_msec_t                 hold_timeout;
    ngx_uint_t                 error;    /* status, or 0: of the protocol */
    ngx_uint_t                 draining; /* the same, or unset: error */
    time_t                     retry_after;

    symcache_version_t        *min_version;
    symcache_version_t        *async_after;

    ngx_http_complex_value_t  *accel;
    ngx_http_complex_value_t  *redirect;
    ngx_flag_t                 elsewhere;   /* either is given, or off */

    ngx_flag_t                 body_group_access;

    ngx_uint_t                 gzip;        /* NGX_SYMCACHE_GZIP_* */

    ngx_shm_zone_t            *zone;
    ngx_flag_t                 zone_default;  /* none is named */
    uint64_t                   scope;    /* hash of path and store */
    time_t                     valid_present;
    time_t                     valid_absent;  /* as given, or unset */
    time_t                     absent;   /* the same, or its default here */
    time_t                     valid_pending;
    ngx_uint_t                 valid_given;  /* which kinds, at this level */
} ngx_symcache_loc_conf_t;


typedef enum {
    NGX_SYMCACHE_NONE = 0,
    NGX_SYMCACHE_HIT,
    NGX_SYMCACHE_STALE,
    NGX_SYMCACHE_MISS,
    NGX_SYMCACHE_HELD,
    NGX_SYMCACHE_PENDING,
    NGX_SYMCACHE_ABSENT,
    NGX_SYMCACHE_NOT_MODIFIED,
    NGX_SYMCACHE_BAD,
    NGX_SYMCACHE_ERROR
} ngx_symcache_status_e;


/* what the answer of the helper means */

typedef enum {
    NGX_SYMCACHE_REPLY_ERROR = 0,      /* an answer that cannot be used */
    NGX_SYMCACHE_REPLY_LOST,           /* no connection, no byte, or it stops */
    NGX_SYMCACHE_REPLY_TIMEOUT,        /* no answer in time */
    NGX_SYMCACHE_REPLY_READY,
    NGX_SYMCACHE_REPLY_PENDING,
    NGX_SYMCACHE_REPLY_NOT_MODIFIED,
    NGX_SYMCACHE_REPLY_ABSENT,
    NGX_SYMCACHE_REPLY_BUSY,
    NGX_SYMCACHE_REPLY_DRAINING,       /* it starts no new job */
    NGX_SYMCACHE_REPLY_REDIRECT        /* the client gets it elsewhere */
} ngx_symcache_reply_e;


typedef struct {
    ngx_symcache_reply_e       code;
    symcache_version_t         version;       /* if READY */
    time_t                     retry_after;   /* of "ask again"; or 0 */
    time_t                     valid;         /* if ABSENT, seconds; or 0 */
} ngx_symcache_reply_t;


typedef ngx_int_t (*ngx_symcache_reply_pt)(ngx_symcache_ctx_t *ctx);
typedef void (*ngx_symcache_done_pt)(ngx_symcache_ctx_t *ctx);


struct ngx_symcache_ctx_s {
    ngx_http_request_t        *request;
    ngx_symcache_loc_conf_t   *conf;

    ngx_str_t                  root;      /* no slash at its end, no NUL */
    ngx_str_t                  path;      /* of the file, and a NUL */
    u_char                    *texts;     /* room for two headers, if path */

    ngx_str_t                  reason;    /* why the helper has no file */
    ngx_str_t                  location;  /* where the client gets it */
    ngx_str_t                  via;       /* the helpers on its way, or "" */
    const char                *hints;     /* see proto/hints.h */

    uint64_t                   scope;     /* part of the key in the zone */
    uint32_t                   forgotten; /* when the helper was asked */

    ngx_msec_t                 deadline;  /* when the hold ends */
    ngx_symcache_reply_t       reply;
    ngx_symcache_reply_pt      replied;
    ngx_symcache_helper_t     *helper;
    ngx_symcache_wait_t       *wait;
    ngx_pool_cleanup_t         cleanup;

    /* Small members stand together, as thousands of requests may be held. */

    symcache_ask_t             ask;
    symcache_version_t         versions[NGX_SYMCACHE_VERSIONS];
    symcache_version_t         best;      /* valid if has_best */
    symcache_version_t         made;      /* valid if has_made */
    u_char                     served_text[SYMCACHE_VERSION_TEXT_MAX + 1];
    u_char                     served_len;
    uint32_t                   asks;      /* questions to the helper */

    unsigned                   status:4;  /* an ngx_symcache_status_e */
    unsigned                   nversions:2;  /* on disk; one more for "more" */
    unsigned                   gzipped:2; /* bits: versions with a gzip file */
    unsigned                   parsed:1;  /* asked is valid */
    unsigned                   retries:1; /* the client takes Retry-After */
    unsigned                   has_best:1;
    unsigned                   has_made:1;
    unsigned                   transcoders_known:1;
    unsigned                   gzip:1;    /* the gzip file is sent */
    unsigned                   digest:1;  /* the client wants one */
    unsigned                   msfz:1;    /* it takes a compressed PDB */
    unsigned                   nstates:6; /* ours in upstream_states */
    unsigned                   above:1;   /* exceeds stands for ask.min */
    unsigned                   newer:1;   /* and the client sent one, too */
    unsigned                   missed:2;  /* reported files, not found */
    unsigned                   gone:1;    /* a file that was named */
    unsigned                   redirects:1;  /* the client may be sent away */
    unsigned                   symbol:3;  /* a symcache_symbol_e */

    symcache_request_t         asked;     /* last: memory ends with its name */
};


extern ngx_module_t  ngx_symcache_module;


/* ngx_symcache_handler.c */

/* The content handler of a location with "symcache". */

ngx_int_t ngx_symcache_handler(ngx_http_request_t *r);

/*
 * Sends the file of ctx->best, or has it sent from elsewhere.  NGX_DECLINED:
 * there is none.  With MISS or HELD as its status, the helper has just made it.
 */

ngx_int_t ngx_symcache_handler_serve(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status);


/* ngx_symcache_upload_body.c */

/* Notes that symcache_body_group_access is on somewhere. */
char *ngx_symcache_upload_body_used(ngx_conf_t *cf, void *post, void *data);

/* If it is, adds a handler that looks at all requests. */
ngx_int_t ngx_symcache_upload_body_init(ngx_conf_t *cf);


/* ngx_symcache_symbols.c */

/* Completes the configuration of a location with symcache_symbols. */
void ngx_symcache_symbols_merge(ngx_conf_t *cf);

/* Makes a root of the folder of all downloads: that of the store in it. */
ngx_int_t ngx_symcache_symbols_root(ngx_pool_t *pool, ngx_str_t *store,
    ngx_str_t *root);

/* Answers a request for an original file, or waits for the helper. */

ngx_int_t ngx_symcache_symbols_decide(ngx_symcache_ctx_t *ctx);

/* May the file of the same path be sent in another form? */

ngx_uint_t ngx_symcache_symbols_vary(ngx_symcache_ctx_t *ctx);


/* ngx_symcache_directives.c */

char *ngx_symcache_directive_root(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_pass(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_token(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_version(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_elsewhere(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_gzip(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_valid(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_symcache_directive_store(ngx_conf_t *cf, void *post, void *data);
char *ngx_symcache_directive_type(ngx_conf_t *cf, void *post, void *data);
char *ngx_symcache_directive_hold(ngx_conf_t *cf, void *post, void *data);
char *ngx_symcache_directive_buffer(ngx_conf_t *cf, void *post, void *data);
char *ngx_symcache_directive_retry(ngx_conf_t *cf, void *post, void *data);


/* ngx_symcache_request.c */

/*
 * Reads the URI and the headers into ctx.  NGX_OK, or the status of the answer
 * to a bad request, with its text or NULL.
 */
ngx_int_t ngx_symcache_request_read(ngx_symcache_ctx_t *ctx,
    const char **text);

/* NGX_OK and *req, or NGX_DECLINED if the URI does not end with a key. */
ngx_int_t ngx_symcache_request_tail(ngx_str_t *uri, symcache_request_t *req);

/* The same for a URI that ends with the path of an original file. */
ngx_int_t ngx_symcache_request_symbol_tail(ngx_str_t *uri,
    symcache_request_t *req);

/* Takes the code id from the query, where Breakpad's clients have it, for the
 * helper. */
ngx_int_t ngx_symcache_request_code_id(ngx_symcache_ctx_t *ctx);


/*
 * ngx_symcache_answer.c: each function sends the whole answer and
 * returns what the request is finalized with.
 */

ngx_int_t ngx_symcache_answer_bad(ngx_symcache_ctx_t *ctx, ngx_uint_t status,
    const char *text);
ngx_int_t ngx_symcache_answer_absent(ngx_symcache_ctx_t *ctx);
ngx_int_t ngx_symcache_answer_not_modified(ngx_symcache_ctx_t *ctx);

/*
 * "Ask again": Retry-After with 404, or with 503 if the client takes no 404.
 * Clients of debuginfod take any answer for a final one, so for a build id the
 * connection is reset.
 */
ngx_int_t ngx_symcache_answer_later(ngx_symcache_ctx_t *ctx,
    ngx_symcache_status_e status);

/* Has the file sent by another location, or by another server. */
ngx_int_t ngx_symcache_answer_accel(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version);
ngx_int_t ngx_symcache_answer_location(ngx_symcache_ctx_t *ctx,
    ngx_str_t *url);

ngx_int_t ngx_symcache_answer_redirect(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version);

ngx_table_elt_t *ngx_symcache_answer_header(ngx_http_request_t *r,
    const char *name, size_t len, ngx_str_t *value);


/* ngx_symcache_file.c */

/*
 * Finds the highest version on disk that serves this client, and that is below
 * *below unless that is NULL.  Sets best and has_best; and versions, nversions
 * and gzipped by all that are on disk.  NGX_OK or NGX_ERROR.
 */
ngx_int_t ngx_symcache_file_best(ngx_symcache_ctx_t *ctx,
    symcache_version_t *below);

/*
 * Opens the file of a version: NGX_OK, NGX_DECLINED if there is none, or
 * NGX_ERROR.  With fresh, open_file_cache is not believed, which may remember
 * that the file was missing before the helper made it.
 */
ngx_int_t ngx_symcache_file_open(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version, ngx_open_file_info_t *of, ngx_uint_t fresh);

/* The same for the file ctx->path. */
ngx_int_t ngx_symcache_file_open_path(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of, ngx_uint_t fresh);

/*
 * Sets Content-Type with the version, and served_text for the variables, of a
 * file that has been opened.
 */
void ngx_symcache_file_type(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version);

ngx_int_t ngx_symcache_file_send(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version, ngx_open_file_info_t *of);


/* Sets best and has_best by versions and nversions, without the disk. */
void ngx_symcache_file_choose(ngx_symcache_ctx_t *ctx);


/* ngx_symcache_dircache.c */

ngx_symcache_dircache_t *ngx_symcache_dircache_create(ngx_pool_t *pool);

/*
 * Looks up a folder that stat() has just described in fi.  NGX_OK: it has not
 * changed since it was kept, and versions, nversions and gzipped are set;
 * otherwise NGX_DECLINED.
 */
ngx_int_t ngx_symcache_dircache_recall(ngx_symcache_ctx_t *ctx,
    ngx_file_info_t *fi);

/* Keeps versions, nversions and gzipped of a folder that was read after fi. */
void ngx_symcache_dircache_keep(ngx_symcache_ctx_t *ctx, ngx_file_info_t *fi);


/* ngx_symcache_gzip.c */

/*
 * Replaces the file that is open as *of by its gzip file, if there is one and
 * the client allows it.  symcache_gzip is not off.  NGX_OK or NGX_ERROR.
 */
ngx_int_t ngx_symcache_gzip(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of);


/* ngx_symcache_debuginfod.c */

/* Sets the headers of debuginfod in an answer by build id. */
ngx_int_t ngx_symcache_debuginfod(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of);


/* ngx_symcache_digest.c */

/*
 * Adds Repr-Digest for the file that is open as *of, if its digest is known, as
 * headers_out.accept_ranges.  NGX_OK or NGX_ERROR.
 */
ngx_int_t ngx_symcache_digest(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of);


/* ngx_symcache_transcoders.c */

ngx_symcache_transcoders_t *ngx_symcache_transcoders_create(ngx_pool_t *pool);

/*
 * Finds the best version that the helper can make for this client: sets made
 * and has_made, and transcoders_known if what the helper makes is known at all.
 */
void ngx_symcache_transcoders_best(ngx_symcache_ctx_t *ctx);


/* ngx_symcache_helper_question.c */

/* Merges the upstream's part of the configuration. */
void ngx_symcache_helper_merge(ngx_symcache_loc_conf_t *prev,
    ngx_symcache_loc_conf_t *conf);

/*
 * Asks the helper, which may wait for a running job for so many seconds.  done
 * is called later, with the reply in ctx->reply, unless the request ends before
 * that.  If held, symcache_read_timeout does not apply: the caller sets its own
 * limit, and ends the question with ngx_symcache_helper_cancel().  NGX_OK or
 * NGX_ERROR.
 */
ngx_int_t ngx_symcache_helper_ask(ngx_symcache_ctx_t *ctx, ngx_uint_t held,
    ngx_uint_t wait, ngx_symcache_done_pt done);

/*
 * Notifies the helper of a request that is served from the store, so that it
 * makes a newer version, or knows that the file is in use.  No request waits
 * for the answer.
 */
void ngx_symcache_helper_notify(ngx_symcache_ctx_t *ctx);


/* bytes; a longer page is invalid */

#define NGX_SYMCACHE_PAGE  262144

/*
 * Asks for the helper's status page, for a second at most, as
 * ngx_symcache_helper_ask() does for a lookup.  READY: *page is its body, whole
 * and said to be JSON.
 */
ngx_int_t ngx_symcache_helper_page(ngx_symcache_ctx_t *ctx, ngx_str_t *page,
    ngx_symcache_done_pt done);

/* Ends the question, if one is under way, without a call of done. */
void ngx_symcache_helper_cancel(ngx_symcache_helper_t *helper);


/* ngx_symcache_wait.c */

void ngx_symcache_wait_init(ngx_symcache_main_conf_t *smcf);

/*
 * Suspends the request until the helper has answered or the hold is over.  Then
 * ctx->replied is called, and the request finalized with what it returns.
 */
ngx_int_t ngx_symcache_wait_start(ngx_symcache_ctx_t *ctx);

/*
 * Ends the wait without finalizing the request.  If this was the leader, its
 * first follower asks from now on.
 */
void ngx_symcache_wait_leave(ngx_symcache_wait_t *wait);


/* ngx_symcache_suspend.c */

/*
 * Suspends a request until an event of ours answers it.  If its client goes
 * away, its wait and its question end, whatever becomes of the request.
 */
ngx_int_t ngx_symcache_suspend(ngx_http_request_t *r);

/* Allocates memory, not zeroed, of a request that may be held for long. */
void *ngx_symcache_suspend_alloc(ngx_pool_t *pool, size_t size);


/* ngx_symcache_variables.c */

ngx_int_t ngx_symcache_variables_add(ngx_conf_t *cf);

/* The context, also after an internal redirect, or NULL if there is none. */
ngx_symcache_ctx_t *ngx_symcache_variables_ctx(ngx_http_request_t *r);

/* Keeps the context for ngx_symcache_variables_ctx(). */
void ngx_symcache_variables_keep(ngx_symcache_ctx_t *ctx);


#endif /* _NGX_SYMCACHE_H_INCLUDED_ */
