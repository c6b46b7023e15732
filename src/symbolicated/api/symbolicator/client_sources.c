/*
 * Copyright (C) the ngx_symcache authors
 *
 * A tenant whose configuration is refused does not start, so the rules here
 * are those of the configuration, and stricter.
 */
#include "client_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/origin.h"
#include "base/percent.h"
#include "client_filter.h"
#include "reserved_headers.h"

#define PATTERNS_MAX 64 /* of all sources; each is a cost for each module */
#define HEADERS_MAX 32
#define SECRET_SIZE 4096 /* bytes of a header, a key or a token */
#define LOGIN_SIZE 2048
#define URL_SIZE 4096
#define NAME_SIZE 222 /* of a bucket */
#define REGION_SIZE 64

#define REGION_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define BUCKET_LETTERS REGION_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ._"

static const char *const source_types[] = {"http",   "s3",         "gcs",
                                           "sentry", "filesystem", NULL};

static const struct schema_member source_members[CLIENT_MEMBERS] = {
    [CLIENT_TYPE] = {"type", SCHEMA_ENUMERATION, SCHEMA_REQUIRED,
                     source_types},
    [CLIENT_ID] = {"id", SCHEMA_STRING, SCHEMA_REQUIRED, NULL},
    [CLIENT_URL] = {"url", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_HEADERS] = {"headers", SCHEMA_MAP, SCHEMA_OPTIONAL, NULL},
    [CLIENT_BUCKET] = {"bucket", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_PREFIX] = {"prefix", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_REGION] = {"region", SCHEMA_ANY, SCHEMA_OPTIONAL, NULL},
    [CLIENT_PROVIDER] = {"aws_credentials_provider", SCHEMA_STRING,
                         SCHEMA_OPTIONAL, NULL},
    [CLIENT_ACCESS_KEY] = {"access_key", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_SECRET_KEY] = {"secret_key", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_CLIENT_EMAIL] = {"client_email", SCHEMA_STRING, SCHEMA_OPTIONAL,
                             NULL},
    [CLIENT_PRIVATE_KEY] = {"private_key", SCHEMA_STRING, SCHEMA_OPTIONAL,
                            NULL},
    [CLIENT_BEARER_TOKEN] = {"bearer_token", SCHEMA_STRING, SCHEMA_OPTIONAL,
                             NULL},
    [CLIENT_TOKEN] = {"token", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_COOKIES] = {"cookies", SCHEMA_STRING, SCHEMA_OPTIONAL, NULL},
    [CLIENT_LAYOUT] = {"layout", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
    [CLIENT_FILTERS] = {"filters", SCHEMA_OBJECT, SCHEMA_OPTIONAL, NULL},
    [CLIENT_IS_PUBLIC] = {"is_public", SCHEMA_BOOL, SCHEMA_OPTIONAL, NULL},
    [CLIENT_HAS_INDEX] = {"has_index", SCHEMA_BOOL, SCHEMA_OPTIONAL, NULL},
    [CLIENT_INVALID_CERTS] = {"accept_invalid_certs", SCHEMA_BOOL,
                              SCHEMA_OPTIONAL, NULL},
};

/* The layouts of Symbolicator, what they are called here, and what they have.
 */
static const char *const source_layout_types[] = {
    "native",  "symstore",   "symstore_index2", "ssqp",
    "unified", "debuginfod", "slashsymbols",    NULL};
#define ALL_FILES ((1u << CLIENT_FILES) - 1)
#define NO_TEXT (ALL_FILES & ~(1u << CLIENT_BREAKPAD))
#define WITH_CODE_ID                                                          \
    (NO_TEXT & ~(1u << CLIENT_PDB | 1u << CLIENT_PORTABLEPDB |                \
                 1u << CLIENT_SOURCEBUNDLE))
static const struct {
    const char *name;
    unsigned types;
} layouts[] = {
    {"native", ALL_FILES},
    {"symstore", NO_TEXT},
    {"two_tier", NO_TEXT},
    {"ssqp", NO_TEXT},
    {"unified", NO_TEXT},
    {"debuginfod", 1u << CLIENT_ELF_DEBUG | 1u << CLIENT_ELF_CODE},
    {"slashsymbols", WITH_CODE_ID},
};

static const char *const source_casings[] = {"default", "lowercase",
                                             "uppercase", NULL};

enum layout_member { LAYOUT_TYPE, LAYOUT_CASING, LAYOUT_MEMBERS };

static const struct schema_member source_layout_members[LAYOUT_MEMBERS] = {
    [LAYOUT_TYPE] = {"type", SCHEMA_ENUMERATION, SCHEMA_OPTIONAL,
                     source_layout_types},
    [LAYOUT_CASING] = {"casing", SCHEMA_ENUMERATION, SCHEMA_OPTIONAL,
                       source_casings},
};

bool client_source_has(const struct json *json,
                       const struct client_source *source,
                       enum client_member member)
{
    uint32_t value = source->found[member];

    return value != 0 && json->values[value].size > 0;
}

static bool source_has_control(const struct json *json, uint32_t value)
{
    const char *p = json_text(json, value), *end;

    for (end = p + json->values[value].size; p < end; p++) {
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7F) {
            return true;
        }
    }
    return false;
}

/* NULL, or the error.  "@/" begins the name of a file in the configuration, so
 * it cannot begin a client's secret. */
static const char *mistake_of_source_secret(const struct json *json,
                                            uint32_t value)
{
    size_t size = json->values[value].size;

    if (size > SECRET_SIZE) {
        return "is too long";
    }
    if (source_has_control(json, value)) {
        return "has a control character";
    }
    return size >= 2 && memcmp(json_text(json, value), "@/", 2) == 0
               ? "begins with @/"
               : NULL;
}

static bool source_is_of(const struct json *json, uint32_t value, size_t max,
                         const char *letters)
{
    const char *text = json_text(json, value);
    size_t i, size = json->values[value].size;

    for (i = 0; i < size; i++) {
        if (text[i] == '\0' || strchr(letters, text[i]) == NULL) {
            return false;
        }
    }
    return size > 0 && size <= max;
}

/* layout ------------------------------------------------------------------ */

static bool read_source_layout(struct schema_walk *walk,
                               struct client_source *source)
{
    uint32_t found[LAYOUT_MEMBERS];
    size_t i = 0;

    if (!schema_part(walk, "layout", source->found[CLIENT_LAYOUT],
                     source_layout_members, LAYOUT_MEMBERS, found)) {
        return false;
    }
    while (found[LAYOUT_TYPE] != 0 &&
           !json_is(walk->json, found[LAYOUT_TYPE], source_layout_types[i])) {
        i++;
    }
    source->layout = layouts[i].name;
    source->filter.types &= layouts[i].types;
    if (found[LAYOUT_CASING] != 0) {
        source->casing =
            json_is(walk->json, found[LAYOUT_CASING], "lowercase") ? "lower"
            : json_is(walk->json, found[LAYOUT_CASING], "uppercase")
                ? "upper"
                : "default";
    }
    return true;
}

/* places ------------------------------------------------------------------ */

static bool source_has_origin(const char *scheme, size_t scheme_size,
                              const char *host, size_t host_size)
{
    char origin[ORIGIN_MAX], *url = NULL;
    bool has_one = asprintf(&url, "%.*s%.*s", (int)scheme_size, scheme,
                            (int)host_size, host) >= 0 &&
                   origin_print(origin, sizeof(origin), url) == 0;

    free(url);
    return has_one;
}

/* The part of a URL after "://", or NULL. */
static const char *source_host_of(const char *text, size_t size)
{
    if (size > 7 && memcmp(text, "http://", 7) == 0) {
        return text + 7;
    }
    return size > 8 && memcmp(text, "https://", 8) == 0 ? text + 8 : NULL;
}

/* Takes a URL to pieces.  Returns NULL, or what is wrong.  A query is refused:
 * it may be a secret, and would be a part of each place that is told. */
static const char *split_source_url(const struct json *json, uint32_t value,
                                    struct client_source *source)
{
    const char *text = json_text(json, value), *p, *at;
    const char *host = source_host_of(text, json->values[value].size);
    const char *end = text + json->values[value].size;
    size_t len;

    if (host == NULL) {
        return "must begin with http:// or https://, and have a host";
    }
    for (p = host; p < end; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7F ||
            memchr("?#\\", *p, 3) != NULL) {
            return "has a query, a fragment, a blank, a control character or "
                   "a \\";
        }
    }
    len = (size_t)(end - host);
    p = memchr(host, '/', len);
    at = memrchr(host, '@', p != NULL ? (size_t)(p - host) : len);
    if (at != NULL) {
        source->login = host;
        source->login_size = (size_t)(at - host);
        host = at + 1;
    }
    if (host == end || *host == '/' || *host == ':') {
        return "has no host";
    }
    while (end[-1] == '/') {
        end--;
    }
    if (source->login_size > LOGIN_SIZE ||
        json->values[value].size > URL_SIZE) {
        return "is too long";
    }
    source->host = host;
    source->host_size = (size_t)(end - host);
    len = (size_t)(source_host_of(text, json->values[value].size) - text);
    return source_has_origin(text, len, host, source->host_size)
               ? NULL
               : "is not a URL";
}

/* types of sources -------------------------------------------------------- */

/* Whether headers before one have its name. */
static bool is_repeated(const struct json *json, uint32_t first, uint32_t i)
{
    size_t size = json->values[i].size;

    for (; first < i; first = json->values[first + 1].end) {
        if (json->values[first].size == size &&
            strncasecmp(json_text(json, first), json_text(json, i), size) ==
                0) {
            return true;
        }
    }
    return false;
}

static const char *mistake_of_source_header(const struct json *json,
                                            uint32_t first, uint32_t i)
{
    if (!source_is_of(json, i, 256, BUCKET_LETTERS "!#$%&'*+^`|~")) {
        return "is not the name of a header";
    }
    if (header_is_reserved(schema_text(json, i))) {
        return "has a header that is not allowed here";
    }
    if (is_repeated(json, first, i)) {
        return "has a header twice";
    }
    return json->values[i + 1].type == JSON_STRING
               ? mistake_of_source_secret(json, i + 1)
               : "expected a string";
}

static bool read_source_headers(struct schema_walk *walk, uint32_t headers)
{
    const struct json *json = walk->json;
    const char *mistake;
    uint32_t i;
    size_t n = 0;

    if (headers == 0) {
        return true;
    }
    for (i = headers + 1; i < json->values[headers].end;
         i = json->values[i + 1].end) {
        mistake = ++n > HEADERS_MAX
                      ? "has too many"
                      : mistake_of_source_header(json, headers + 1, i);
        if (mistake != NULL) {
            return schema_fail_member(walk, "headers", mistake);
        }
    }
    return true;
}

static bool read_http_source(struct schema_walk *walk,
                             struct client_source *source)
{
    const struct json *json = walk->json;
    const char *mistake;

    if (source->found[CLIENT_URL] == 0) {
        return schema_fail(walk, "missing field `url`");
    }
    mistake = split_source_url(json, source->found[CLIENT_URL], source);
    if (mistake != NULL) {
        return schema_fail_member(walk, "url", mistake);
    }
    /* Symbolicator's base ends with it, and ours is above it */
    if (strcmp(source->layout, "debuginfod") == 0) {
        if (source->host_size < 9 ||
            memcmp(source->host + source->host_size - 8, "/buildid", 8) != 0) {
            return schema_fail_member(
                walk, "url",
                "must end with /buildid in the layout debuginfod");
        }
        source->host_size -= 8;
    }
    return read_source_headers(walk, source->found[CLIENT_HEADERS]);
}

/* The members that both types of buckets have. */
static bool read_bucket_source(struct schema_walk *walk,
                               struct client_source *source)
{
    static const struct {
        enum client_member member;
        const char *name;
    } secrets[] = {
        {CLIENT_ACCESS_KEY, "access_key"},
        {CLIENT_SECRET_KEY, "secret_key"},
        {CLIENT_CLIENT_EMAIL, "client_email"},
        {CLIENT_BEARER_TOKEN, "bearer_token"},
    };
    const struct json *json = walk->json;
    const char *mistake;
    size_t i;

    if (source->found[CLIENT_BUCKET] == 0) {
        return schema_fail(walk, "missing field `bucket`");
    }
    if (!source_is_of(json, source->found[CLIENT_BUCKET], NAME_SIZE,
                      BUCKET_LETTERS) ||
        *json_text(json, source->found[CLIENT_BUCKET]) == '.') {
        return schema_fail_member(walk, "bucket",
                                  "is not the name of a bucket");
    }
    if (client_source_has(json, source, CLIENT_PREFIX) &&
        (source_has_control(json, source->found[CLIENT_PREFIX]) ||
         json->values[source->found[CLIENT_PREFIX]].size > 1024 ||
         percent_path_has_dots(
             json_text(json, source->found[CLIENT_PREFIX]),
             json->values[source->found[CLIENT_PREFIX]].size))) {
        return schema_fail_member(walk, "prefix", "is not a part of a name");
    }
    for (i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        mistake = client_source_has(json, source, secrets[i].member)
                      ? mistake_of_source_secret(
                            json, source->found[secrets[i].member])
                      : NULL;
        if (mistake != NULL) {
            return schema_fail_member(walk, secrets[i].name, mistake);
        }
    }
    if (strcmp(source->layout, "debuginfod") == 0) {
        schema_enter(walk, "layout", 0);
        return schema_fail_member(walk, "type",
                                  "debuginfod is not looked for in buckets");
    }
    return true;
}

/* A name, or a name and the URL of a server that is not Amazon's. */
static bool read_source_region(struct schema_walk *walk,
                               struct client_source *source)
{
    const struct json *json = walk->json;
    uint32_t value = source->found[CLIENT_REGION];
    const char *mistake;

    if (value == 0) {
        return schema_fail(walk, "missing field `region`");
    }
    if (json->values[value].type == JSON_ARRAY) {
        if (json->values[value].size != 2 ||
            json->values[value + 2].type != JSON_STRING) {
            return schema_fail_member(walk, "region",
                                      "expected a name and a URL");
        }
        source->endpoint = value + 2;
        value++;
        mistake = split_source_url(json, source->endpoint, source);
        if (mistake == NULL && source->login != NULL) {
            mistake = "has a user name";
        }
        if (mistake != NULL) {
            return schema_fail_member(walk, "region", mistake);
        }
    }
    source->region = value;
    return (json->values[value].type == JSON_STRING &&
            source_is_of(json, value, REGION_SIZE, REGION_LETTERS)) ||
           schema_fail_member(walk, "region", "is not the name of a region");
}

static bool read_s3_source(struct schema_walk *walk,
                           struct client_source *source)
{
    const struct json *json = walk->json;

    if (source->found[CLIENT_PROVIDER] != 0 &&
        !json_is(json, source->found[CLIENT_PROVIDER], "static")) {
        /* they would be this machine's */
        return schema_fail_member(walk, "aws_credentials_provider",
                                  "only static is allowed here");
    }
    if (!read_bucket_source(walk, source) ||
        !read_source_region(walk, source)) {
        return false;
    }
    if (client_source_has(json, source, CLIENT_ACCESS_KEY) !=
        client_source_has(json, source, CLIENT_SECRET_KEY)) {
        return schema_fail(walk, "`access_key` and `secret_key` go together");
    }
    return !client_source_has(json, source, CLIENT_ACCESS_KEY) ||
           memchr(json_text(json, source->found[CLIENT_ACCESS_KEY]), ':',
                  json->values[source->found[CLIENT_ACCESS_KEY]].size) ==
               NULL ||
           schema_fail_member(walk, "access_key", "has a colon");
}

/* Has a text the lines around a key in PEM?  What is between them is for
 * symcached to read. */
static bool has_pem_lines(const char *text, size_t size)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ";
    const char *at = memmem(text, size, begin, sizeof(begin) - 1);

    return at != NULL && memmem(at, (size_t)(text + size - at), end,
                                sizeof(end) - 1) != NULL;
}

/* Google's private keys come with line ends, or with "\n" in their place. */
static bool read_gcs_source(struct schema_walk *walk,
                            struct client_source *source)
{
    const struct json *json = walk->json;
    uint32_t key = source->found[CLIENT_PRIVATE_KEY];

    if (!read_bucket_source(walk, source)) {
        return false;
    }
    if (client_source_has(json, source, CLIENT_PRIVATE_KEY) !=
        client_source_has(json, source, CLIENT_CLIENT_EMAIL)) {
        return schema_fail(walk,
                           "`client_email` and `private_key` go together");
    }
    if (!client_source_has(json, source, CLIENT_PRIVATE_KEY)) {
        return true;
    }
    if (json->values[key].size > SECRET_SIZE) {
        return schema_fail_member(walk, "private_key", "is too long");
    }
    return has_pem_lines(json_text(json, key), json->values[key].size) ||
           schema_fail_member(walk, "private_key", "is not a key in PEM");
}

/* Sentry's own; it has neither layout nor filters. */
static bool read_sentry_source(struct schema_walk *walk,
                               struct client_source *source)
{
    const struct json *json = walk->json;
    enum client_member member =
        source->found[CLIENT_TOKEN] != 0 ? CLIENT_TOKEN : CLIENT_COOKIES;
    const char *mistake;

    source->is_sentry = true;
    source->layout = "unified"; /* where all types of files have a place */
    source->casing = "default";
    source->filter = (struct client_filter){.types = ALL_FILES};
    if (source->found[CLIENT_URL] == 0) {
        return schema_fail(walk, "missing field `url`");
    }
    if (source->found[member] == 0) {
        return schema_fail(walk, "missing field `token` or `cookies`");
    }
    mistake = split_source_url(json, source->found[CLIENT_URL], source);
    if (mistake == NULL && source->login != NULL) {
        mistake = "has a user name";
    }
    if (mistake != NULL) {
        return schema_fail_member(walk, "url", mistake);
    }
    mistake = json->values[source->found[member]].size == 0
                  ? "is empty"
                  : mistake_of_source_secret(json, source->found[member]);
    return mistake == NULL ||
           schema_fail_member(
               walk, member == CLIENT_TOKEN ? "token" : "cookies", mistake);
}

static bool source_is_true(const struct json *json, uint32_t value)
{
    return value != 0 && json->values[value].type == JSON_TRUE;
}

bool client_source_is_public(const struct json *json,
                             const struct client_source *source)
{
    return !source->is_sentry &&
           source_is_true(json, source->found[CLIENT_IS_PUBLIC]);
}

bool client_source_read(struct schema_walk *walk, uint32_t value,
                        struct client_source *source)
{
    const struct json *json = walk->json;
    uint32_t type;

    memset(source, 0, sizeof(*source));
    source->casing = "default";
    if (!schema_object(walk, value, source_members, CLIENT_MEMBERS,
                       source->found)) {
        return false;
    }
    if (json_is(json, source->found[CLIENT_TYPE], "sentry")) {
        return read_sentry_source(walk, source);
    }
    if (!client_filter_read(walk, source->found[CLIENT_FILTERS],
                            &source->filter) ||
        !read_source_layout(walk, source)) {
        return false;
    }
    if (source_is_true(json, source->found[CLIENT_INVALID_CERTS])) {
        return schema_fail_member(walk, "accept_invalid_certs",
                                  "certificates are always verified here");
    }
    type = source->found[CLIENT_TYPE];
    if (json_is(json, type, "http")) {
        return read_http_source(walk, source);
    }
    if (json_is(json, type, "s3")) {
        return read_s3_source(walk, source);
    }
    return json_is(json, type, "gcs")
               ? read_gcs_source(walk, source)
               : schema_fail_member(
                     walk, "type",
                     "only http, s3, gcs and sentry are allowed here");
}

int client_sources_check(const struct symbolicator_request *request,
                         char *error, size_t error_size)
{
    const struct json *json = &request->json;
    struct schema_walk walk = {
        .json = json, .error = error, .error_size = error_size};
    struct client_source source;
    uint32_t item = 0;
    size_t n = 0, patterns = 0;

    while (schema_next(&walk, "sources", request->sources, &item)) {
        if (++n > CLIENT_MAX) {
            schema_fail(&walk, "too many sources");
            return 422;
        }
        if (!client_source_read(&walk, item, &source)) {
            return 422;
        }
        patterns += source.filter.patterns == 0
                        ? 0
                        : json->values[source.filter.patterns].size;
        if (patterns > PATTERNS_MAX) {
            schema_fail(&walk, "too many path_patterns with those before");
            return 422;
        }
    }
    return 0;
}

/* candidates -------------------------------------------------------------- */

uint32_t client_source_find(const struct symbolicator_request *request,
                            const char *name)
{
    const struct client_list *list = request->own;
    size_t i, size;

    for (i = 0; list != NULL && i < list->count; i++) {
        size = strlen(list->sources[i].name);
        if (strncmp(list->sources[i].name, name, size) == 0 &&
            (name[size] == '\0' || name[size] == '-')) {
            return list->sources[i].value;
        }
    }
    return 0;
}

char *client_source_location(const struct symbolicator_request *request,
                             uint32_t source, const char *place,
                             bool is_absent)
{
    const struct json *json = &request->json;
    uint32_t type = json_member(json, source, "type");
    uint32_t url = json_member(json, source, "url");
    uint32_t bucket = json_member(json, source, "bucket");
    const char *host = strstr(place, "://"), *key, *text;
    char *location = NULL;
    size_t size;

    /* the list, the whole of a source that has no place for the file, or what
     * a tenant has downloaded, whose path is no business of clients */
    if ((type != 0 && json_is(json, type, "sentry") &&
         strncmp(place, "sentry://", 9) != 0) ||
        place[0] == '/' ||
        (is_absent && url != 0 &&
         strncmp(place, json_text(json, url), strlen(place)) == 0)) {
        return strdup(CLIENT_NO_PLACE);
    }
    if (type == 0 || bucket == 0 || json_is(json, type, "http") ||
        host == NULL || (key = strchr(host + 3, '/')) == NULL) {
        return strdup(place);
    }
    text = json_text(json, bucket);
    size = json->values[bucket].size;
    /* the bucket is a folder, or a part of the host's name */
    if (strncmp(key + 1, text, size) == 0 && key[1 + size] == '/' &&
        strncmp(host + 3, text, size) != 0) {
        key += 1 + size;
    }
    if (asprintf(&location, "%s://%.*s%s",
                 json_is(json, type, "s3") ? "s3" : "gs", (int)size, text,
                 key) < 0) {
        return NULL;
    }
    location[percent_decode(location, location, strlen(location))] = '\0';
    return location;
}
