/*
 * Copyright (C) the ngx_symcache authors
 *
 * Containers of Azure's blob storage.  Requests have a shared access signature
 * in their query, or are signed here with the account's key, as described in
 * "Authorize with Shared Key" of the storage services' REST reference.
 */
#include "symcached/source/lookup_steps.h"

#include <ctype.h>
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Since 2015-02-21 the length is not signed if there is no body. */
#define VERSION "2019-07-07"

#define ACCOUNT_MIN 3
#define ACCOUNT_MAX 24
#define CONTAINER_MIN 3
#define CONTAINER_MAX 63
#define KEY_TEXT_MAX 1024
#define ACCOUNT_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"

/* The settings; all texts may be NULL but for the first two. */
struct azure {
    char *account;
    char *container;
    char *endpoint; /* URL, no trailing slash */
    char *prefix;   /* encoded, with a slash before it, or empty */
    char *account_key;
    char *sas_token; /* without the question mark */
};

#define KEY(key, read, member, flags)                                         \
    {                                                                         \
        key, read, offsetof(struct azure, member), 0, 0, flags                \
    }

static const struct config_field keys[] = {
    KEY("account", field_string, account, CONFIG_REQUIRED),
    KEY("container", field_string, container, CONFIG_REQUIRED),
    KEY("endpoint", field_url, endpoint, 0),
    KEY("prefix", field_url_path, prefix, 0),
    KEY("account_key", field_secret, account_key, CONFIG_SECRET),
    KEY("sas_token", field_secret, sas_token, CONFIG_SECRET),
};

/* the signature ----------------------------------------------------------- */

static size_t azure_name_length(const char *line)
{
    return strcspn(line, ":;"); /* "Name;" has no value */
}

static const char *azure_value_of(const char *line)
{
    line += azure_name_length(line) + 1;
    return line + strspn(line, " \t");
}

static const char *azure_find_header(const struct curl_slist *headers,
                                     const char *name)
{
    size_t len = strlen(name);

    for (; headers != NULL; headers = headers->next) {
        if (azure_name_length(headers->data) == len &&
            strncasecmp(headers->data, name, len) == 0) {
            return azure_value_of(headers->data);
        }
    }
    return NULL;
}

static int azure_by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t nx = azure_name_length(x), ny = azure_name_length(y);
    int cmp = strncasecmp(x, y, nx < ny ? nx : ny);

    return cmp != 0 ? cmp : (nx > ny) - (nx < ny);
}

/* CanonicalizedHeaders.  Returns 0, or -1 when out of memory. */
static int azure_put_headers(FILE *out, const struct curl_slist *headers)
{
    const struct curl_slist *header;
    const char **lines;
    size_t n = 0, i, j;

    for (header = headers; header != NULL; header = header->next) {
        n++;
    }
    lines = calloc(n + 1, sizeof(*lines));
    if (lines == NULL) {
        return -1;
    }

    for (n = 0; headers != NULL; headers = headers->next) {
        if (strncasecmp(headers->data, "x-ms-", 5) == 0) {
            lines[n++] = headers->data;
        }
    }
    qsort(lines, n, sizeof(*lines), azure_by_name);
    for (i = 0; i < n; i++) {
        for (j = 0; j < azure_name_length(lines[i]); j++) {
            fputc(tolower((unsigned char)lines[i][j]), out);
        }
        fprintf(out, ":%s\n", azure_value_of(lines[i]));
    }
    free(lines);
    return 0;
}

/* The text that is signed, to be freed; NULL when out of memory. */
static char *azure_string_to_sign(const struct azure *azure, const char *url,
                                  const struct curl_slist *headers)
{
    /* the empty one is Date, for which x-ms-date is sent */
    static const char *const standard[] = {
        "Content-Encoding",    "Content-Language",
        "Content-Length",      "Content-MD5",
        "Content-Type",        "",
        "If-Modified-Since",   "If-Match",
        "If-None-Match",       "If-Unmodified-Since",
        "Range",
    };
    const char *path = strchr(strstr(url, "://") + 3, '/'), *value;
    char *text = NULL;
    size_t len, i;
    FILE *out = open_memstream(&text, &len);
    int rc;

    if (out == NULL) {
        return NULL;
    }

    fputs("GET\n", out);
    for (i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
        value = azure_find_header(headers, standard[i]);
        fprintf(out, "%s\n", value != NULL ? value : "");
    }
    rc = azure_put_headers(out, headers);
    fprintf(out, "/%s%s", azure->account, path != NULL ? path : "/");
    if (fclose(out) != 0 || rc != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/*
 * Decodes the key.  Returns its length, or -1.  Blanks are refused, because
 * OpenSSL skips those around the text, but the result counts them.
 */
static int azure_decode_key(unsigned char *key, const char *text)
{
    size_t len = strlen(text);
    int n = -1;

    if (len > 0 && len <= KEY_TEXT_MAX && strcspn(text, " \t") == len) {
        n = EVP_DecodeBlock(key, (const unsigned char *)text, (int)len);
    }
    /* OpenSSL counts the padding, too */
    return n < 0 ? -1 : n - (text[len - 1] == '=') - (text[len - 2] == '=');
}

/* Appends line, which it takes over.  Returns NULL when out of memory; the
 * headers are then freed. */
static struct curl_slist *azure_append_header(struct curl_slist *headers,
                                              char *line)
{
    struct curl_slist *more = NULL;

    if (headers != NULL && line != NULL) {
        more = curl_slist_append(headers, line);
    }
    if (more == NULL) {
        curl_slist_free_all(headers);
    }
    free(line);
    return more;
}

static char *azure_authorization(const struct azure *azure, const char *url,
                                 const struct curl_slist *headers)
{
    unsigned char key[KEY_TEXT_MAX], mac[EVP_MAX_MD_SIZE];
    unsigned char base64[EVP_MAX_MD_SIZE * 2];
    char *text = azure_string_to_sign(azure, url, headers), *line = NULL;
    unsigned n = 0;

    if (text != NULL &&
        HMAC(EVP_sha256(), key, azure_decode_key(key, azure->account_key),
             (const unsigned char *)text, strlen(text), mac, &n) != NULL) {
        EVP_EncodeBlock(base64, mac, (int)n);
        if (asprintf(&line, "Authorization: SharedKey %s:%s", azure->account,
                     base64) < 0) {
            line = NULL;
        }
    }
    explicit_bzero(key, sizeof(key));
    free(text);
    return line;
}

static struct curl_slist *azure_sign_key(const void *settings,
                                         const char *method, const char *url,
                                         struct curl_slist *headers,
                                         char **instead)
{
    const struct azure *azure = settings;
    time_t now = time(NULL);
    char date[64];
    struct tm tm;

    if (strchr(url, '?') != NULL) {
        return headers; /* a redirect: our own requests have no query */
    }

    strftime(date, sizeof(date), "x-ms-date: %a, %d %b %Y %H:%M:%S GMT",
             gmtime_r(&now, &tm));
    headers = azure_append_header(headers, strdup(date));
    if (headers != NULL &&
        azure_find_header(headers, "x-ms-version") == NULL) {
        headers =
            azure_append_header(headers, strdup("x-ms-version: " VERSION));
    }
    return headers != NULL
               ? azure_append_header(headers,
                                     azure_authorization(azure, url, headers))
               : NULL;
}

static struct curl_slist *azure_sign_sas(const void *settings,
                                         const char *method, const char *url,
                                         struct curl_slist *headers,
                                         char **instead)
{
    const struct azure *azure = settings;

    if (asprintf(instead, "%s%c%s", url, strchr(url, '?') != NULL ? '&' : '?',
                 azure->sas_token) < 0) {
        *instead = NULL;
        curl_slist_free_all(headers);
        return NULL;
    }
    return headers;
}

/* the configuration ------------------------------------------------------- */

static bool azure_is_account(const char *name)
{
    size_t n = strspn(name, ACCOUNT_LETTERS);

    return n >= ACCOUNT_MIN && n <= ACCOUNT_MAX && name[n] == '\0';
}

/* Hyphens only one at a time and inside, and perhaps "$" first: "$web". */
static bool azure_is_container(const char *name)
{
    size_t len = strlen(name), n;
    const char *p = name + (name[0] == '$');

    for (;;) {
        n = strspn(p, ACCOUNT_LETTERS);
        p += n;
        if (n == 0 || *p != '-') {
            break;
        }
        p++;
    }
    return n > 0 && *p == '\0' && len >= CONTAINER_MIN && len <= CONTAINER_MAX;
}

static bool azure_is_sas(const char *token)
{
    const char *p;

    for (p = token; *p != '\0'; p++) {
        if (!isgraph((unsigned char)*p) || *p == '#') {
            return false;
        }
    }
    return strncmp(token, "sig=", 4) == 0 || strstr(token, "&sig=") != NULL;
}

static int check_secrets(struct config_reader *reader, const cJSON *item,
                         struct source_config *source)
{
    struct transport_config *transport = &source->transport;
    struct azure *azure = source->settings;
    unsigned char key[KEY_TEXT_MAX];
    int n;

    if (azure->account_key != NULL && azure->sas_token != NULL) {
        return field_error(reader, item,
                           "has \"account_key\" and \"sas_token\"");
    }

    if (azure->account_key != NULL) {
        n = azure_decode_key(key, azure->account_key);
        explicit_bzero(key, sizeof(key));
        if (n <= 0) {
            return field_error(reader, item, "\"account_key\" is not base64");
        }
        transport->sign = azure_sign_key;
    }
    if (azure->sas_token != NULL) {
        if (azure->sas_token[0] == '?') { /* as the portal shows it */
            memmove(azure->sas_token, azure->sas_token + 1,
                    strlen(azure->sas_token));
        }
        if (!azure_is_sas(azure->sas_token)) {
            return field_error(reader, item,
                               "\"sas_token\" is not a query with \"sig=\"");
        }
        transport->sign = azure_sign_sas;
    }
    if (transport->sign != NULL) {
        transport->auth = TRANSPORT_SIGN;
        transport->sign_settings = azure;
    }
    return 0;
}

static int check_azure(struct config_reader *reader, const cJSON *item,
                       struct source_config *source)
{
    const struct azure *azure = source->settings;
    const char *prefix = azure->prefix != NULL ? azure->prefix : "";
    int rc;

    if (!azure_is_account(azure->account)) {
        return field_error(reader, item,
                           "\"account\" is not the name of an account");
    }
    if (!azure_is_container(azure->container)) {
        return field_error(reader, item,
                           "\"container\" is not the name of a container");
    }

    rc = azure->endpoint != NULL
             ? asprintf(&source->url, "%s/%s%s", azure->endpoint,
                        azure->container, prefix)
             : asprintf(&source->url,
                        "https://%s.blob.core.windows.net/%s%s",
                        azure->account, azure->container, prefix);
    if (rc < 0) {
        source->url = NULL;
        return field_error(reader, item, "out of memory");
    }
    return check_secrets(reader, item, source);
}

/* the answer -------------------------------------------------------------- */

/*
 * Only BlobNotFound is an absence.  ContainerNotFound is a fault of the
 * configuration, and ResourceNotFound is the answer to those who are not
 * allowed to know whether the container exists.
 */
static enum source_outcome judge_azure(struct lookup *lookup,
                                       const struct fetch_result *result,
                                       char *detail, size_t size)
{
    const struct fetch_response *response = result->response;
    char code[HTTP_CODE];

    if (response->status < 300) {
        return result->outcome == SOURCE_NOT_FOUND ? SOURCE_FAILED
                                                   : result->outcome;
    }

    source_http_code(code, response);
    snprintf(detail, size, "%s%s%s", result->detail,
             code[0] != '\0' ? " " : "", code);
    return result->outcome == SOURCE_NOT_FOUND &&
                   (response->status != 404 ||
                    strcmp(code, "BlobNotFound") != 0)
               ? SOURCE_FAILED
               : result->outcome;
}

static void begin_azure(struct lookup *lookup)
{
    source_http_walk(lookup, judge_azure);
}

const struct source_type source_azure = {
    .name = "azure",
    .shared = SOURCE_KEYS_LAYOUT | SOURCE_KEYS_MAP | SOURCE_KEYS_HTTP |
              SOURCE_KEYS_HEADERS,
    .keys = keys,
    .nkeys = sizeof(keys) / sizeof(keys[0]),
    .settings_size = sizeof(struct azure),
    .place = "endpoint",
    .check = check_azure,
    .begin = begin_azure,
};
