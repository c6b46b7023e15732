
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads from the URI and the headers: the key, the version that the client can
 * read, the version that it has already, and whether it takes Retry-After.
 */


#include "ngx_symcache.h"


/* Hints of a request: most have none, and each hit would set an array of them
 * to zero. */

typedef struct {
    ngx_uint_t  given;    /* 1 << symcache_hint_e for each */
    ngx_str_t   values[SYMCACHE_HINTS];
} ngx_symcache_request_hints_t;


/* Lengths of the names of headers that are read: others have mostly another. */

#define ngx_symcache_request_length(name)  (1u << (sizeof(name) - 1))

#define NGX_SYMCACHE_REQUEST_LENGTHS                                          \
    (ngx_symcache_request_length(SYMCACHE_HEADER_CHECKSUM)                    \
     | ngx_symcache_request_length("Accept")                                  \
     | ngx_symcache_request_length(SYMCACHE_HEADER_EXCEEDS)                   \
     | ngx_symcache_request_length(SYMCACHE_HEADER_CODE_ID)                   \
     | ngx_symcache_request_length(SYMCACHE_HEADER_VIA)                       \
     | ngx_symcache_request_length(SYMCACHE_HEADER_WANT_DIGEST)               \
     | ngx_symcache_request_length(SYMCACHE_HEADER_ALLOW_RETRY)               \
     | ngx_symcache_request_length(SYMCACHE_HEADER_ACCEPT_RETRY))


static ngx_int_t ngx_symcache_request_path(ngx_symcache_ctx_t *ctx);
static ngx_int_t ngx_symcache_request_headers(ngx_symcache_ctx_t *ctx,
    const char **text);
static ngx_int_t ngx_symcache_request_header(ngx_symcache_ctx_t *ctx,
    ngx_table_elt_t *h, ngx_table_elt_t **exceeds,
    ngx_symcache_request_hints_t *hints);
static ngx_uint_t ngx_symcache_request_is_via(ngx_str_t *value);
static void ngx_symcache_request_hint(ngx_symcache_ctx_t *ctx,
    symcache_hint_e hint, ngx_str_t *value,
    ngx_symcache_request_hints_t *hints);
static ngx_int_t ngx_symcache_request_hints(ngx_symcache_ctx_t *ctx,
    ngx_symcache_request_hints_t *hints);
static ngx_int_t ngx_symcache_request_code_file(ngx_symcache_ctx_t *ctx,
    ngx_str_t *name);


ngx_int_t
ngx_symcache_request_read(ngx_symcache_ctx_t *ctx, const char **text)
{
    ngx_http_request_t       *r;
    ngx_symcache_loc_conf_t  *slcf;

    r = ctx->request;
    slcf = ctx->conf;

    *text = NULL;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    if (ngx_symcache_request_path(ctx) != NGX_OK) {
        return NGX_HTTP_NOT_FOUND;
    }

    ctx->parsed = 1;
    ctx->ask.version = ctx->asked.version;

    if (slcf->symbols || ctx->asked.key.kind == SYMCACHE_KIND_PPDBCACHE) {

        /* symcache_min_version is of SymCaches */

        return ngx_symcache_request_headers(ctx, text);
    }

    ctx->ask.min = *slcf->min_version;

    if (symcache_version_cmp(&ctx->ask.version, &ctx->ask.min) < 0) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "SymCache version below symcache_min_version");
        return NGX_HTTP_NOT_FOUND;
    }

    if (symcache_version_cmp(&ctx->ask.version, slcf->async_after) > 0) {
        ctx->retries = 1;
    }

    return ngx_symcache_request_headers(ctx, text);
}


static ngx_int_t
ngx_symcache_request_path(ngx_symcache_ctx_t *ctx)
{
    u_char                   *p;
    size_t                    len;
    symcache_status_e         rc;
    ngx_http_request_t       *r;
    ngx_symcache_loc_conf_t  *slcf;

    r = ctx->request;
    slcf = ctx->conf;

    if (slcf->tail) {
        if (ngx_symcache_request_tail(&r->uri, &ctx->asked) == NGX_OK) {
            return NGX_OK;
        }

        rc = SYMCACHE_BAD_PATH;
        goto bad;
    }

    if (r->uri.len < slcf->prefix) {
        rc = SYMCACHE_BAD_PATH;
        goto bad;
    }

    p = r->uri.data + slcf->prefix;
    len = r->uri.len - slcf->prefix;

    /* "location /symcache" also matches "/symcachev3.1.0/..." */

    if (slcf->prefix && p[-1] != '/' && (len == 0 || *p != '/')) {
        rc = SYMCACHE_BAD_PATH;
        goto bad;
    }

    if (slcf->symbols) {
        ctx->symbol = symcache_symbol_parse((char *) p, len, &ctx->asked);

        /* clients ask for all forms of a file, so this is not logged */

        return ctx->symbol == SYMCACHE_SYMBOL_NONE ? NGX_DECLINED : NGX_OK;
    }

    rc = symcache_request_parse((char *) p, len, &ctx->asked);

    if (rc == SYMCACHE_OK) {
        return NGX_OK;
    }

bad:

    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                  "no SymCache request: %s", symcache_status_text(rc));

    return NGX_DECLINED;
}


ngx_int_t
ngx_symcache_request_tail(ngx_str_t *uri, symcache_request_t *req)
{
    u_char      *p;
    ngx_uint_t   n;

    p = uri->data + uri->len;

    if (uri->len && p[-1] == '/') {
        p--;
    }

    /*
     * The key has three segments, or four with an age of its own.  No path
     * can be read in both ways, because no GUID is an age.
     */

    for (n = 0; n < 4 && p > uri->data; /* void */ ) {

        p--;

        if (*p != '/') {
            continue;
        }

        n++;

        if (n >= 3
            && symcache_request_parse((char *) p,
                                      uri->data + uri->len - p, req)
               == SYMCACHE_OK)
        {
            /* the same behind "ppdb" is a PpdbCache */

            if (p - uri->data >= 5 && ngx_strncmp(p - 5, "/ppdb", 5) == 0) {
                p -= 5;
                (void) symcache_request_parse((char *) p,
                                              uri->data + uri->len - p, req);
            }

            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_symcache_request_symbol_tail(ngx_str_t *uri, symcache_request_t *req)
{
    u_char      *p, *last;
    ngx_uint_t   n;

    last = uri->data + uri->len;
    n = 0;

    /* paths have three segments at the end, or four with "msfz0" */

    for (p = last; p > uri->data && n < 4; /* void */ ) {
        p--;

        if (*p != '/') {
            continue;
        }

        n++;

        if (n >= 3
            && symcache_symbol_parse((char *) p, last - p, req)
               != SYMCACHE_SYMBOL_NONE)
        {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_symcache_request_headers(ngx_symcache_ctx_t *ctx, const char **text)
{
    ngx_int_t                      rc;
    ngx_uint_t                     i;
    ngx_list_part_t               *part;
    ngx_table_elt_t               *h, *exceeds;
    ngx_symcache_request_hints_t   hints;

    exceeds = NULL;
    hints.given = 0;
    ngx_str_set(&ctx->via, "");

    part = &ctx->request->headers_in.headers.part;
    h = part->elts;

    for (i = 0; /* void */ ; i++) {

        if (i >= part->nelts) {
            if (part->next == NULL) {
                break;
            }

            part = part->next;
            h = part->elts;
            i = 0;
        }

        if (h[i].hash == 0
            || h[i].key.len >= 32
            || !(NGX_SYMCACHE_REQUEST_LENGTHS & (1u << h[i].key.len)))
        {
            continue;
        }

        rc = ngx_symcache_request_header(ctx, &h[i], &exceeds, &hints);

        if (rc != NGX_OK) {
            *text = "If-Version-Exceeds is given more than once\n";
            return NGX_HTTP_BAD_REQUEST;
        }
    }

    if (hints.given && ngx_symcache_request_hints(ctx, &hints) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (exceeds
        && (!symcache_answer_exceeds((char *) exceeds->value.data,
                                     exceeds->value.len, &ctx->ask)
            || ctx->ask.exceeds.major == 0))
    {
        *text = "If-Version-Exceeds must be a version below the requested "
                "one\n";
        return NGX_HTTP_BAD_REQUEST;
    }

    return NGX_OK;
}


/* NGX_OK, or NGX_DECLINED for a second If-Version-Exceeds. */

static ngx_int_t
ngx_symcache_request_header(ngx_symcache_ctx_t *ctx, ngx_table_elt_t *h,
    ngx_table_elt_t **exceeds, ngx_symcache_request_hints_t *hints)
{
#define header_is(name)                                                       \
    (h->key.len == sizeof(name) - 1                                           \
     && ngx_strncasecmp(h->key.data, (u_char *) name, sizeof(name) - 1) == 0)

    if (header_is(SYMCACHE_HEADER_CHECKSUM)) {
        ngx_symcache_request_hint(ctx, SYMCACHE_HINT_CHECKSUM, &h->value,
                                  hints);
        return NGX_OK;
    }

    if (ctx->conf->symbols) {

        if (header_is("Accept")
            && ngx_strlcasestrn(h->value.data, h->value.data + h->value.len,
                                (u_char *) "application/msfz0",
                                sizeof("application/msfz0") - 2))
        {
            ctx->msfz = 1;
        }

        /* the other headers are those of the SymCache protocol */

        return NGX_OK;
    }

    if (header_is(SYMCACHE_HEADER_EXCEEDS)) {

        if (*exceeds) {
            return NGX_DECLINED;
        }

        *exceeds = h;

    } else if (header_is(SYMCACHE_HEADER_CODE_ID)) {
        ngx_symcache_request_hint(ctx, SYMCACHE_HINT_CODE_ID, &h->value,
                                  hints);

    } else if (header_is(SYMCACHE_HEADER_VIA)) {

        /* only a helper sends it, and always as one line */

        if (ngx_symcache_request_is_via(&h->value)) {
            ctx->via = h->value;
        }

    } else if (header_is(SYMCACHE_HEADER_WANT_DIGEST)) {

        ctx->digest = symcache_digest_wanted((char *) h->value.data,
                                             h->value.len);

    } else if (header_is(SYMCACHE_HEADER_ALLOW_RETRY)
               || header_is(SYMCACHE_HEADER_ACCEPT_RETRY))
    {
        if (h->value.len == 4
            && ngx_strncasecmp(h->value.data, (u_char *) "true", 4) == 0)
        {
            ctx->retries = 1;
        }
    }

#undef header_is

    return NGX_OK;
}


/*
 * The helper refuses a request with other bytes in its head, or a long one, and
 * would then be marked as failed.
 */

static ngx_uint_t
ngx_symcache_request_is_via(ngx_str_t *value)
{
    u_char  c;
    size_t  i;

    for (i = 0; i < value->len; i++) {
        c = value->data[i];

        if ((c < '0' || c > '9') && (c < 'a' || c > 'f')
            && c != ',' && c != ' ')
        {
            return 0;
        }
    }

    return value->len < SYMCACHE_VIA_MAX;
}


/* An invalid value of the hint is ignored, because Windows PDBs and their
 * clients have none; of several values, the first one counts. */

static void
ngx_symcache_request_hint(ngx_symcache_ctx_t *ctx, symcache_hint_e hint,
    ngx_str_t *value, ngx_symcache_request_hints_t *hints)
{
    char  text[SYMCACHE_HINTS_MAX + 1];

    text[0] = '\0';

    if ((hints->given & (1u << hint))
        || !symcache_hint_add(text, hint, (char *) value->data, value->len))
    {
        ngx_log_error(NGX_LOG_INFO, ctx->request->connection->log, 0,
                      "no valid hint \"%s\", ignored: \"%V\"",
                      symcache_hint_name(hint), value);
        return;
    }

    hints->given |= 1u << hint;
    hints->values[hint] = *value;
}


static ngx_int_t
ngx_symcache_request_hints(ngx_symcache_ctx_t *ctx,
    ngx_symcache_request_hints_t *hints)
{
    char        text[SYMCACHE_HINTS_MAX + 1];
    u_char     *p;
    size_t      len;
    ngx_uint_t  i;

    text[0] = '\0';

    for (i = 0; i < SYMCACHE_HINTS; i++) {
        if (hints->given & (1u << i)) {
            (void) symcache_hint_add(text, (symcache_hint_e) i,
                                     (char *) hints->values[i].data,
                                     hints->values[i].len);
        }
    }

    len = ngx_strlen(text) + 1;

    if (len == 1) {
        return NGX_OK;
    }

    p = ngx_pnalloc(ctx->request->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(p, text, len);
    ctx->hints = (char *) p;

    return NGX_OK;
}


ngx_int_t
ngx_symcache_request_code_id(ngx_symcache_ctx_t *ctx)
{
    char                           text[SYMCACHE_ID_TEXT_MAX + 1];
    ngx_str_t                      value;
    symcache_key_t                *id;
    ngx_symcache_request_hints_t   hints;

    if (ngx_http_arg(ctx->request, (u_char *) "code_id", sizeof("code_id") - 1,
                     &value)
        != NGX_OK
        || value.len == 0 || value.len > 2 * SYMCACHE_BUILD_ID_MAX)
    {
        return NGX_OK;
    }

    id = ngx_palloc(ctx->request->pool, sizeof(symcache_key_t));
    if (id == NULL) {
        return NGX_ERROR;
    }

    if (symcache_code_id_parse((char *) value.data, value.len, id)
        != SYMCACHE_OK)
    {
        return NGX_OK;
    }

    value.len = symcache_id_print(text, id);
    value.data = (u_char *) text;

    hints.given = 0;
    ngx_symcache_request_hint(ctx, SYMCACHE_HINT_CODE_ID, &value, &hints);

    if (ngx_symcache_request_code_file(ctx, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len) {
        ngx_symcache_request_hint(ctx, SYMCACHE_HINT_CODE_FILE, &value,
                                  &hints);
    }

    return ngx_symcache_request_hints(ctx, &hints);
}


/* The name of the file with the code id, without folders, or an empty one. */

static ngx_int_t
ngx_symcache_request_code_file(ngx_symcache_ctx_t *ctx, ngx_str_t *name)
{
    u_char     *p, *last;
    ngx_str_t   value;

    ngx_str_null(name);

    if (ngx_http_arg(ctx->request, (u_char *) "code_file",
                     sizeof("code_file") - 1, &value)
        != NGX_OK
        || value.len == 0 || value.len > SYMCACHE_HINT_MAX)
    {
        return NGX_OK;
    }

    p = ngx_pnalloc(ctx->request->pool, value.len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    name->data = p;
    last = p;
    ngx_unescape_uri(&last, &value.data, value.len, 0);

    for (/* void */ ; p < last; p++) {
        if (*p == '/' || *p == '\\') {
            name->data = p + 1;
        }
    }

    name->len = last - name->data;

    return NGX_OK;
}
