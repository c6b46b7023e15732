
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Setters and checks of directives that nginx has none for.  Each returns a
 * phrase, which nginx completes with the name of the directive, file and line.
 */


#include "ngx_symcache_memory.h"


#define NGX_SYMCACHE_BUFFER_MIN  1024

#define NGX_SYMCACHE_TOKEN_MAX   4096

#define NGX_SYMCACHE_VALID_ANY      1
#define NGX_SYMCACHE_VALID_PRESENT  2
#define NGX_SYMCACHE_VALID_ABSENT   4
#define NGX_SYMCACHE_VALID_PENDING  8


static char *ngx_symcache_directive_location(ngx_http_core_loc_conf_t *clcf,
    ngx_symcache_loc_conf_t *slcf);
static ssize_t ngx_symcache_directive_read(ngx_conf_t *cf, ngx_str_t *file,
    u_char *buf, size_t size);
static size_t ngx_symcache_directive_token_len(u_char *p, size_t n);
static char *ngx_symcache_directive_declare(ngx_conf_t *cf, ngx_str_t *name,
    ngx_str_t *size);


char *
ngx_symcache_directive_root(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    ngx_str_t                         *value;
    ngx_http_core_loc_conf_t          *clcf;
    ngx_http_compile_complex_value_t   ccv;

    if (slcf->root) {
        return slcf->symbols == (cmd->offset != 0)
               ? "is duplicate"
               : "conflicts with \"symcache\" or \"symcache_symbols\" in the "
                 "same location";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        return NGX_CONF_OK;
    }

    if (value[1].len == 0) {
        return cmd->offset ? "needs the folder of symcached's downloads"
                           : "needs the root of a store";
    }

    slcf->symbols = (cmd->offset != 0);

    slcf->root = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (slcf->root == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_script_variables_count(&value[1]) == 0
        && ngx_conf_full_name(cf->cycle, &value[1], 0) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[1];
    ccv.complex_value = slcf->root;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->handler) {
        return "conflicts with another directive that answers requests";
    }

    clcf->handler = ngx_symcache_handler;

    return ngx_symcache_directive_location(clcf, slcf);
}


/* finds where in the URI the key is: behind the prefix, or at the end */

static char *
ngx_symcache_directive_location(ngx_http_core_loc_conf_t *clcf,
    ngx_symcache_loc_conf_t *slcf)
{
    if (clcf->exact_match) {
        return "cannot be used in a location \"= ...\", which matches "
               "no SymCache request";
    }

    slcf->prefix = clcf->name.len;

#if (NGX_PCRE)

    if (clcf->regex) {
        slcf->tail = 1;
    }

#endif

    if (clcf->named) {
        slcf->tail = 1;
    }

    if (slcf->tail && slcf->symbols) {
        return "needs a location with a prefix, after which the path of "
               "the file begins";
    }

    return NGX_CONF_OK;
}


char *
ngx_symcache_directive_pass(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    ngx_str_t   *value;
    ngx_url_t    u;

    if (slcf->upstream.upstream || slcf->pass_off) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        slcf->pass_off = 1;
        return NGX_CONF_OK;
    }

    if (ngx_http_script_variables_count(&value[1])) {
        return "takes no variables, use an upstream block with \"hash\"";
    }

    if (ngx_strncasecmp(value[1].data, (u_char *) "http://", 7) == 0
        || ngx_strncasecmp(value[1].data, (u_char *) "https://", 8) == 0)
    {
        return "takes an address without \"http://\"";
    }

    if (value[1].data[0] == '/') {
        return "needs \"unix:\" before the path of a socket";
    }

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.url = value[1];
    u.no_resolve = 1;

    slcf->upstream.upstream = ngx_http_upstream_add(cf, &u, 0);
    if (slcf->upstream.upstream == NULL) {
        return NGX_CONF_ERROR;
    }

    if (u.family == AF_UNIX) {
        ngx_str_set(&slcf->host, "localhost");

    } else {
        slcf->host = value[1];
    }

    return NGX_CONF_OK;
}


/* symcache_pass_token: the first line of a file, which the master reads */

char *
ngx_symcache_directive_token(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    u_char      buf[NGX_SYMCACHE_TOKEN_MAX + 1];
    size_t      len;
    ssize_t     n;
    ngx_str_t  *value, *token, file;

    token = (ngx_str_t *) (p + cmd->offset);

    if (token->data) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        ngx_str_set(token, "");
        return NGX_CONF_OK;
    }

    if (value[1].len < 2 || value[1].data[0] != '@') {
        return "needs \"@\" and the file that has the token in its first line";
    }

    file.data = value[1].data + 1;
    file.len = value[1].len - 1;

    if (ngx_conf_full_name(cf->cycle, &file, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    n = ngx_symcache_directive_read(cf, &file, buf, sizeof(buf));
    if (n == NGX_ERROR) {
        return NGX_CONF_ERROR;
    }

    len = ngx_symcache_directive_token_len(buf, n);

    if (len == 0 || len > NGX_SYMCACHE_TOKEN_MAX
        || (len < (size_t) n && buf[len] != LF && buf[len] != CR))
    {
        ngx_explicit_memzero(buf, sizeof(buf));
        return "needs a file whose first line is a token of letters, digits "
               "and \"-._~+/=\"";
    }

    token->data = ngx_pnalloc(cf->pool, len);
    if (token->data == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memcpy(token->data, buf, len);
    token->len = len;

    ngx_explicit_memzero(buf, sizeof(buf));

    return NGX_CONF_OK;
}


/* Reads the beginning of a file: its length, or NGX_ERROR. */

static ssize_t
ngx_symcache_directive_read(ngx_conf_t *cf, ngx_str_t *file, u_char *buf,
    size_t size)
{
    ssize_t   n;
    ngx_fd_t  fd;

    fd = ngx_open_file(file->data, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                       NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", file);
        return NGX_ERROR;
    }

    n = ngx_read_fd(fd, buf, size);

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_read_fd_n " \"%V\" failed", file);
    }

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_ALERT, cf->log, ngx_errno,
                      ngx_close_file_n " \"%V\" failed", file);
    }

    return n;
}


static size_t
ngx_symcache_directive_token_len(u_char *p, size_t n)
{
    u_char  c;
    size_t  i;

    for (i = 0; i < n; i++) {
        c = (u_char) (p[i] | 0x20);

        if ((c < 'a' || c > 'z') && (p[i] < '0' || p[i] > '9')
            && (p[i] == '\0' || !ngx_strchr("-._~+/=", p[i])))
        {
            break;
        }
    }

    return i;
}


char *
ngx_symcache_directive_version(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    char  *p = conf;

    ngx_str_t            *value;
    symcache_version_t  **version;

    version = (symcache_version_t **) (p + cmd->offset);

    if (*version != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    *version = ngx_palloc(cf->pool, sizeof(symcache_version_t));
    if (*version == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    if (!symcache_version_parse((char *) value[1].data, value[1].len,
                                *version))
    {
        return "needs a version such as 3.1.0";
    }

    return NGX_CONF_OK;
}


/* symcache_accel and symcache_redirect, of which one can be in force */

char *
ngx_symcache_directive_elsewhere(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    char  *p = conf;

    ngx_str_t                          *value;
    ngx_http_complex_value_t          **field;
    ngx_http_compile_complex_value_t    ccv;

    field = (ngx_http_complex_value_t **) (p + cmd->offset);

    if (*field) {
        return "is duplicate";
    }

    if (slcf->accel || slcf->redirect) {
        return "is impossible here: only one of \"symcache_accel\" and "
               "\"symcache_redirect\" can send the file";
    }

    value = cf->args->elts;
    slcf->elsewhere = 1;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        return NGX_CONF_OK;
    }

    if (field == &slcf->accel
        && value[1].data[0] != '/' && value[1].data[0] != '$')
    {
        return "needs a URI that starts with \"/\"";
    }

    /* "symcache_redirect on" would lead to "on/<path>" beside the request */

    if (value[1].data[0] != '/' && value[1].data[0] != '$'
        && ngx_strncasecmp(value[1].data, (u_char *) "http://", 7) != 0
        && ngx_strncasecmp(value[1].data, (u_char *) "https://", 8) != 0)
    {
        return "needs a URL that starts with \"http://\", \"https://\" or "
               "\"/\"";
    }

    *field = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (*field == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[1];
    ccv.complex_value = *field;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


char *
ngx_symcache_directive_gzip(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    ngx_str_t  *value;

    if (slcf->gzip != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {
        slcf->gzip = NGX_SYMCACHE_GZIP_OFF;
        return NGX_CONF_OK;
    }

#if (NGX_HTTP_GZIP)

    if (ngx_strcmp(value[1].data, "on") == 0) {
        slcf->gzip = NGX_SYMCACHE_GZIP_ON;
        return NGX_CONF_OK;
    }

    if (ngx_strcmp(value[1].data, "always") == 0) {
        slcf->gzip = NGX_SYMCACHE_GZIP_ALWAYS;
        return NGX_CONF_OK;
    }

    return "takes \"on\", \"off\" or \"always\"";

#else

    return "can only be \"off\": this nginx was built without its gzip module";

#endif
}


/* symcache_zone: with a size it declares a zone, without it uses one */

char *
ngx_symcache_directive_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    u_char     *p;
    ngx_str_t  *value, name, size;

    value = cf->args->elts;

    p = (u_char *) ngx_strchr(value[1].data, ':');

    if (p) {
        name.data = value[1].data;
        name.len = p - name.data;
        size.data = p + 1;
        size.len = value[1].data + value[1].len - size.data;

        if (cf->cmd_type != NGX_HTTP_MAIN_CONF) {
            return "takes a size in \"http\" only";
        }

        return ngx_symcache_directive_declare(cf, &name, &size);
    }

    if (slcf->zone != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    if (ngx_strcmp(value[1].data, "off") == 0) {
        slcf->zone = NULL;
        return NGX_CONF_OK;
    }

    if (value[1].len == 0) {
        return "needs a name";
    }

    slcf->zone = ngx_shared_memory_add(cf, &value[1], 0, &ngx_symcache_module);

    return slcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_symcache_directive_declare(ngx_conf_t *cf, ngx_str_t *name, ngx_str_t *size)
{
    size_t   i;
    ssize_t  n;

    if (name->len == 0) {
        return "needs a name";
    }

    if (name->len == 3 && ngx_strncmp(name->data, "off", 3) == 0) {
        return "needs another name, \"off\" is to use none";
    }

    /* the name is shown in HTML, in JSON and in a label of Prometheus */

    for (i = 0; i < name->len; i++) {
        if (name->data[i] < ' ' || ngx_strchr("\"\\<>&", name->data[i])) {
            return "needs a name without quotes, \"\\\", \"<\", \">\" and "
                   "\"&\"";
        }
    }

    n = ngx_parse_size(size);

    if (n == NGX_ERROR) {
        return "has an invalid size";
    }

    if (n < (ssize_t) (8 * ngx_pagesize)) {
        return "is too small, a zone has at least eight memory pages";
    }

    return ngx_symcache_memory_declare(cf, name, n);
}


char *
ngx_symcache_directive_valid(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_symcache_loc_conf_t *slcf = conf;

    time_t       valid;
    ngx_str_t   *value, *kind;
    ngx_uint_t   bit;

    value = cf->args->elts;
    kind = (cf->args->nelts == 3) ? &value[1] : NULL;

    valid = ngx_parse_time(&value[cf->args->nelts - 1], 1);

    if (valid == (time_t) NGX_ERROR || valid > SYMCACHE_WAIT_MAX) {
        return "needs a time in whole seconds of at most one day";
    }

    if (kind == NULL) {
        bit = NGX_SYMCACHE_VALID_ANY;

    } else if (ngx_strcmp(kind->data, "present") == 0) {
        bit = NGX_SYMCACHE_VALID_PRESENT;

    } else if (ngx_strcmp(kind->data, "absent") == 0) {
        bit = NGX_SYMCACHE_VALID_ABSENT;

    } else if (ngx_strcmp(kind->data, "pending") == 0) {
        bit = NGX_SYMCACHE_VALID_PENDING;

    } else {
        return "takes \"present\", \"absent\" or \"pending\"";
    }

    if (slcf->valid_given & bit) {
        return "is duplicate";
    }

    slcf->valid_given |= bit;

    /* without a kind, it is for the kinds that are not given themselves */

    bit = (kind == NULL) ? ~slcf->valid_given : bit;

    if (bit & NGX_SYMCACHE_VALID_PRESENT) {
        slcf->valid_present = valid;
    }

    if (bit & NGX_SYMCACHE_VALID_ABSENT) {
        slcf->valid_absent = valid;
    }

    if (bit & NGX_SYMCACHE_VALID_PENDING) {
        slcf->valid_pending = valid;
    }

    return NGX_CONF_OK;
}


/* The store is a segment of the path of requests, which is not escaped. */

char *
ngx_symcache_directive_store(ngx_conf_t *cf, void *post, void *data)
{
    u_char      c;
    size_t      i;
    ngx_str_t  *store = data;

    for (i = 0; i < store->len; i++) {
        c = store->data[i];

        if ((c < '0' || c > '9') && (c < 'A' || c > 'Z')
            && (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.')
        {
            break;
        }
    }

    if (store->len == 0 || i != store->len) {
        return "needs a name of letters, digits, \"-\", \"_\" and \".\"";
    }

    if (store->data[0] == '.') {
        return "needs a name that does not begin with a dot";
    }

    if (store->len > SYMCACHE_STORE_MAX) {
        return "needs a name of at most 64 characters";
    }

    return NGX_CONF_OK;
}


char *
ngx_symcache_directive_type(ngx_conf_t *cf, void *post, void *data)
{
    size_t       i;
    ngx_str_t   *type = data;
    ngx_uint_t   slashes;

    slashes = 0;

    for (i = 0; i < type->len; i++) {
        if (type->data[i] <= ' ' || type->data[i] >= 0x7f
            || type->data[i] == ';' || type->data[i] == ',')
        {
            break;
        }

        /* there must be one slash, with something on both sides */

        if (type->data[i] == '/') {
            slashes += (i && i < type->len - 1) ? 1 : 2;
        }
    }

    if (i != type->len || slashes != 1) {
        return "needs a media type without parameters";
    }

    return NGX_CONF_OK;
}


char *
ngx_symcache_directive_hold(ngx_conf_t *cf, void *post, void *data)
{
    ngx_msec_t  *timeout = data;

    if (*timeout > (ngx_msec_t) SYMCACHE_WAIT_MAX * 1000) {
        return "must not exceed one day";
    }

    return NGX_CONF_OK;
}


/* The header of a reply with the longest path must fit into the buffer. */

char *
ngx_symcache_directive_buffer(ngx_conf_t *cf, void *post, void *data)
{
    size_t  *size = data;

    if (*size < NGX_SYMCACHE_BUFFER_MIN) {
        return "must be at least 1024";
    }

    return NGX_CONF_OK;
}


char *
ngx_symcache_directive_retry(ngx_conf_t *cf, void *post, void *data)
{
    time_t  *after = data;

    if (*after < 1 || *after > SYMCACHE_WAIT_MAX) {
        return "must be between one second and one day";
    }

    return NGX_CONF_OK;
}
