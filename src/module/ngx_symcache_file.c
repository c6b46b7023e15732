
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files of the store: the best version is found, opened and sent.  The helper
 * may remove a file at any time, so a missing one is a miss and no error.
 */


#include "ngx_symcache.h"
#include "proto/vector.h"


/* the folder of a key has a few files; more must not block the worker */

#define NGX_SYMCACHE_DIR_ENTRIES  4096

/* bytes of an ETag behind the version, and of the quote in front of it */

#define NGX_SYMCACHE_ETAG_END  (sizeof("\"---gz\"") - 1 + 2 * 16)


/* all that is needed to send a file is allocated at once */

typedef struct {
    ngx_buf_t   buf;
    ngx_file_t  file;
} ngx_symcache_file_buf_t;


static ngx_int_t ngx_symcache_file_path(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_file_scan(ngx_symcache_ctx_t *ctx,
    ngx_str_t *name, symcache_version_t *below);
static ngx_int_t ngx_symcache_file_read_dir(ngx_symcache_ctx_t *ctx,
    ngx_dir_t *dir, symcache_version_t *below);
static void ngx_symcache_file_add(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version, symcache_version_t *below);
static ngx_int_t ngx_symcache_file_header(ngx_symcache_ctx_t *ctx,
    symcache_version_t *version, ngx_open_file_info_t *of);
static ngx_int_t ngx_symcache_file_vary(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_file_etag(ngx_symcache_ctx_t *ctx,
    ngx_open_file_info_t *of);
static ngx_int_t ngx_symcache_file_encoding(ngx_http_request_t *r);
static ngx_uint_t ngx_symcache_file_missing(ngx_err_t err);


/* the type of PpdbCaches, and with its parameter */

static ngx_str_t  ngx_symcache_file_ppdb =
    ngx_string("application/vnd.ppdbcache");
static ngx_str_t  ngx_symcache_file_ppdb_start =
    ngx_string("application/vnd.ppdbcache; version=");


ngx_int_t
ngx_symcache_file_best(ngx_symcache_ctx_t *ctx, symcache_version_t *below)
{
    u_char           *p;
    ngx_str_t         name;
    ngx_file_info_t   fi;

    ctx->has_best = 0;
    ctx->nversions = 0;
    ctx->gzipped = 0;

    if (!symcache_path_storable(&ctx->asked.key)) {
        return NGX_OK;
    }

    if (ngx_symcache_file_path(ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    name.data = ctx->path.data;
    p = name.data + ctx->root.len + 1;
    p += symcache_path_dir((char *) p, &ctx->asked.key);
    name.len = p - name.data;

    if (ngx_file_info(name.data, &fi) == NGX_FILE_ERROR) {

        if (ngx_symcache_file_missing(ngx_errno)) {
            return NGX_OK;
        }

        ngx_log_error(NGX_LOG_CRIT, ctx->request->connection->log, ngx_errno,
                      ngx_file_info_n " \"%V\" failed", &name);
        return NGX_ERROR;
    }

    if (below == NULL && ngx_symcache_dircache_recall(ctx, &fi) == NGX_OK) {
        ngx_symcache_file_choose(ctx);
        return NGX_OK;
    }

    if (ngx_symcache_file_scan(ctx, &name, below) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_symcache_dircache_keep(ctx, &fi);

    return NGX_OK;
}


void
ngx_symcache_file_choose(ngx_symcache_ctx_t *ctx)
{
    int  best;

    best = symcache_version_best(ctx->versions, ctx->nversions,
                                 &ctx->ask.version, &ctx->ask.min);
    ctx->has_best = 0;

    if (best != -1) {
        ctx->best = ctx->versions[best];
        ctx->has_best = 1;
    }
}


static ngx_int_t
ngx_symcache_file_path(ngx_symcache_ctx_t *ctx)
{
    u_char  *p;
    size_t   len;

    if (ctx->path.data) {
        return NGX_OK;
    }

    /* room for what symcache_path_file() writes behind the root, and a NUL */

    len = ctx->root.len + 1 + symcache_path_max(&ctx->asked.key) + 1;

    /* and for Content-Type and ETag, which have the version */

    p = ngx_pnalloc(ctx->request->pool,
                    len + ngx_max(ctx->conf->type_start.len,
                                  ngx_symcache_file_ppdb_start.len)
                    + 2 * SYMCACHE_VERSION_TEXT_MAX + NGX_SYMCACHE_ETAG_END);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ctx->path.data = p;
    ctx->texts = p + len;

    p = ngx_cpymem(p, ctx->root.data, ctx->root.len);
    *p = '/';

    return NGX_OK;
}


/* Reads a folder, which has no versions if it does not exist. */

static ngx_int_t
ngx_symcache_file_scan(ngx_symcache_ctx_t *ctx, ngx_str_t *name,
    symcache_version_t *below)
{
    ngx_int_t  rc;
    ngx_dir_t  dir;

    if (ngx_open_dir(name, &dir) == NGX_ERROR) {

        if (ngx_symcache_file_missing(ngx_errno)) {
            return NGX_OK;
        }

        ngx_log_error(NGX_LOG_CRIT, ctx->request->connection->log, ngx_errno,
                      ngx_open_dir_n " \"%V\" failed", name);
        return NGX_ERROR;
    }

    rc = ngx_symcache_file_read_dir(ctx, &dir, below);

    if (ngx_close_dir(&dir) == NGX_ERROR) {
        ngx_log_error(NGX_LOG_ALERT, ctx->request->connection->log, ngx_errno,
                      ngx_close_dir_n " \"%V\" failed", name);
    }

    return rc;
}


static ngx_int_t
ngx_symcache_file_read_dir(ngx_symcache_ctx_t *ctx, ngx_dir_t *dir,
    symcache_version_t *below)
{
    ngx_err_t            err;
    ngx_uint_t           i, n, ngz;
    symcache_file_e      file;
    symcache_version_t   version, gz[NGX_SYMCACHE_VERSIONS];

    ngz = 0;

    for (i = 0; i < NGX_SYMCACHE_DIR_ENTRIES; i++) {

        ngx_set_errno(0);

        if (ngx_read_dir(dir) == NGX_ERROR) {
            err = ngx_errno;

            if (err == NGX_ENOMOREFILES || ngx_symcache_file_missing(err)) {
                break;
            }

            ngx_log_error(NGX_LOG_CRIT, ctx->request->connection->log, err,
                          ngx_read_dir_n " \"%s\" failed", ctx->path.data);
            return NGX_ERROR;
        }

        if (!symcache_path_name_parse((char *) ngx_de_name(dir),
                                      ngx_de_namelen(dir), &ctx->asked.key,
                                      &version, &file))
        {
            continue;
        }

        if (file == SYMCACHE_FILE_PLAIN) {
            ngx_symcache_file_add(ctx, &version, below);

        } else if (file == SYMCACHE_FILE_GZIP && ngz < NGX_SYMCACHE_VERSIONS) {
            gz[ngz++] = version;
        }
    }

    if (i == NGX_SYMCACHE_DIR_ENTRIES) {
        ngx_log_error(NGX_LOG_WARN, ctx->request->connection->log, 0,
                      "more than %d entries in \"%s\"",
                      NGX_SYMCACHE_DIR_ENTRIES, ctx->path.data);
    }

    for (i = 0; i < ngx_min(ctx->nversions, NGX_SYMCACHE_VERSIONS); i++) {
        for (n = 0; n < ngz; n++) {
            if (symcache_version_cmp(&ctx->versions[i], &gz[n]) == 0) {
                ctx->gzipped |= 1 << i;
            }
        }
    }

    return NGX_OK;
}


/* Adds a version of the folder, and chooses it if it is the best so far. */

static void
ngx_symcache_file_add(ngx_symcache_ctx_t *ctx, symcache_version_t *version,
    symcache_version_t *below)
{
    int                  best;
    symcache_version_t   versions[2];

    if (ctx->nversions < NGX_SYMCACHE_VERSIONS) {
        ctx->versions[ctx->nversions] = *version;
    }

    if (ctx->nversions <= NGX_SYMCACHE_VERSIONS) {
        ctx->nversions++;
    }

    if (below && symcache_version_cmp(version, below) >= 0) {
        return;
    }

    versions[0] = ctx->best;
    versions[1] = *version;

    best = symcache_version_best(&versions[!ctx->has_best],
                                 1 + ctx->has_best, &ctx->ask.version,
                                 &ctx->ask.min);

    if (best == ctx->has_best) {
        ctx->best = *version;
        ctx->has_best = 1;
    }
}


ngx_int_t
ngx_symcache_file_open(ngx_symcache_ctx_t *ctx, symcache_version_t *version,
    ngx_open_file_info_t *of, ngx_uint_t fresh)
{
    u_char  *p;

    if (!symcache_path_storable(&ctx->asked.key)) {
        return NGX_DECLINED;
    }

    if (ngx_symcache_file_path(ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    p = ctx->path.data + ctx->root.len + 1;
    p += ctx->conf->symbols
         ? symcache_path_original((char *) p, &ctx->asked.key)
         : symcache_path_file((char *) p, &ctx->asked.key, version,
                              SYMCACHE_FILE_PLAIN);
    ctx->path.len = p - ctx->path.data;

    return ngx_symcache_file_open_path(ctx, of, fresh);
}


ngx_int_t
ngx_symcache_file_open_path(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of,
    ngx_uint_t fresh)
{
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = ctx->request;
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    ngx_memzero(of, sizeof(ngx_open_file_info_t));

    of->read_ahead = clcf->read_ahead;
    of->directio = clcf->directio;
    of->valid = fresh ? 0 : clcf->open_file_cache_valid;
    of->min_uses = clcf->open_file_cache_min_uses;
    of->errors = clcf->open_file_cache_errors;
    of->events = clcf->open_file_cache_events;

    if (ngx_http_set_disable_symlinks(r, clcf, &ctx->path, of) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ngx_open_cached_file(clcf->open_file_cache, &ctx->path, of, r->pool)
        != NGX_OK)
    {
        if (of->err && ngx_symcache_file_missing(of->err)) {
            return NGX_DECLINED;
        }

        if (of->err) {
            ngx_log_error(NGX_LOG_CRIT, r->connection->log, of->err,
                          "%s \"%V\" failed", of->failed, &ctx->path);
        }

        return NGX_ERROR;
    }

    /* the helper publishes no empty file, so something else has cut this one */

    if (!of->is_file || of->size == 0) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "\"%V\" is not a regular file or empty", &ctx->path);
        return NGX_DECLINED;
    }

    return NGX_OK;
}


ngx_int_t
ngx_symcache_file_send(ngx_symcache_ctx_t *ctx, symcache_version_t *version,
    ngx_open_file_info_t *of)
{
    ngx_int_t                 rc;
    ngx_buf_t                *b;
    ngx_chain_t               out;
    ngx_http_request_t       *r;
    ngx_symcache_file_buf_t  *fb;

    r = ctx->request;

    /* everything is allocated before the header is sent */

    fb = ngx_pcalloc(r->pool, sizeof(ngx_symcache_file_buf_t));
    if (fb == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b = &fb->buf;
    b->file = &fb->file;

    rc = ngx_symcache_file_header(ctx, version, of);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b->file_pos = 0;
    b->file_last = of->size;

    b->in_file = 1;
    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    b->file->fd = of->fd;
    b->file->name = ctx->path;
    b->file->log = r->connection->log;
    b->file->directio = of->is_directio;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static ngx_int_t
ngx_symcache_file_header(ngx_symcache_ctx_t *ctx, symcache_version_t *version,
    ngx_open_file_info_t *of)
{
    ngx_int_t            rc;
    ngx_http_request_t  *r;

    r = ctx->request;

    r->root_tested = !r->error_page;
    r->allow_ranges = 1;
    r->connection->log->action = "sending response to client";

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = of->size;
    r->headers_out.last_modified_time = of->mtime;

    ngx_symcache_file_type(ctx, version);

    if (ngx_symcache_file_vary(ctx) != NGX_OK
        || (ctx->symbol == SYMCACHE_SYMBOL_BUILD_ID
            && ngx_symcache_debuginfod(ctx, of) != NGX_OK)
        || ngx_symcache_file_etag(ctx, of) != NGX_OK
        || (ctx->gzip && ngx_symcache_file_encoding(r) != NGX_OK)
        || (ctx->digest && ngx_symcache_digest(ctx, of) != NGX_OK))
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_HTTP_RANGE_NOT_SATISFIABLE) {

        /* 416 has a text of nginx's, and these headers describe the file */

        if (r->headers_out.content_encoding) {
            r->headers_out.content_encoding->hash = 0;
            r->headers_out.content_encoding = NULL;
        }

        ngx_http_clear_accept_ranges(r);    /* Repr-Digest */
    }

    return rc;
}


void
ngx_symcache_file_type(ngx_symcache_ctx_t *ctx, symcache_version_t *version)
{
    u_char              *p;
    ngx_str_t           *type, *start;
    ngx_http_request_t  *r;

    r = ctx->request;

    ctx->served_len = symcache_version_print((char *) ctx->served_text,
                                             version);

    if (ctx->conf->symbols) {

        /* TraceEvent refuses a type that does not end with this */

        ngx_str_set(&r->headers_out.content_type, "application/octet-stream");
        r->headers_out.content_type_len = r->headers_out.content_type.len;
        r->headers_out.content_type_lowcase = NULL;

        return;
    }

    type = &ctx->conf->type;
    start = &ctx->conf->type_start;

    if (ctx->asked.key.kind == SYMCACHE_KIND_PPDBCACHE) {
        type = &ngx_symcache_file_ppdb;
        start = &ngx_symcache_file_ppdb_start;
    }

    p = ctx->texts;

    r->headers_out.content_type.data = p;

    p = ngx_cpymem(p, start->data, start->len);
    p = ngx_cpymem(p, ctx->served_text, ctx->served_len);

    r->headers_out.content_type.len = p - r->headers_out.content_type.data;

    /*
     * gzip_types and the like compare the part before the parameter.  As the
     * lengths differ, no charset is added.
     */

    r->headers_out.content_type_len = type->len;
    r->headers_out.content_type_lowcase = NULL;
}


/* A PDB may be sent compressed or not, as the client takes it. */

static ngx_int_t
ngx_symcache_file_vary(ngx_symcache_ctx_t *ctx)
{
    ngx_str_t  value;

    if (!ngx_symcache_symbols_vary(ctx)) {
        return NGX_OK;
    }

    ngx_str_set(&value, "Accept");

    return ngx_symcache_answer_header(ctx->request, "Vary", sizeof("Vary") - 1,
                                      &value)
           ? NGX_OK : NGX_ERROR;
}


/*
 * The ETag has version, size and inode.  It cannot have the mtime, which is the
 * last use and changes while the file stays the same.  So a client that sends
 * both an ETag and a date is judged by the ETag alone, as RFC 9110 demands;
 * nginx would compare both.
 */

static ngx_int_t
ngx_symcache_file_etag(ngx_symcache_ctx_t *ctx, ngx_open_file_info_t *of)
{
    u_char                    *p, *last;
    ngx_str_t                  value;
    ngx_table_elt_t           *h;
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = ctx->request;
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (!clcf->etag) {
        return NGX_OK;
    }

    /* behind Content-Type, and from its end, as numbers are written */

    p = ctx->texts + NGX_SYMCACHE_ETAG_END + SYMCACHE_VERSION_TEXT_MAX;

    if (!ctx->conf->symbols) {
        p += r->headers_out.content_type.len;
    }

    last = p;

    *--p = '"';

    if (ctx->gzip) {
        p -= sizeof("-gz") - 1;
        ngx_memcpy(p, "-gz", sizeof("-gz") - 1);
    }

    p = (u_char *) symcache_vector_number_print((char *) p, of->uniq);
    *--p = '-';
    p = (u_char *) symcache_vector_number_print((char *) p, of->size);
    *--p = '-';
    p -= ctx->served_len;
    ngx_memcpy(p, ctx->served_text, ctx->served_len);
    *--p = '"';

    value.data = p;
    value.len = last - p;

    h = ngx_symcache_answer_header(r, "ETag", sizeof("ETag") - 1, &value);
    if (h == NULL) {
        return NGX_ERROR;
    }

    r->headers_out.etag = h;

    if (r->headers_in.if_match) {
        r->headers_in.if_unmodified_since = NULL;
    }

    if (r->headers_in.if_none_match) {
        r->headers_in.if_modified_since = NULL;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_symcache_file_encoding(ngx_http_request_t *r)
{
    ngx_str_t         value;
    ngx_table_elt_t  *h;

    ngx_str_set(&value, "gzip");

    h = ngx_symcache_answer_header(r, "Content-Encoding",
                                   sizeof("Content-Encoding") - 1, &value);
    if (h == NULL) {
        return NGX_ERROR;
    }

    r->headers_out.content_encoding = h;

    return NGX_OK;
}


static ngx_uint_t
ngx_symcache_file_missing(ngx_err_t err)
{
    return err == NGX_ENOENT || err == NGX_ENOTDIR || err == NGX_ENAMETOOLONG;
}
