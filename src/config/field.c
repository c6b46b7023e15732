/*
 * Copyright (C) the ngx_symcache authors
 */

#include "field.h"
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <event2/util.h>
#include "secret_field.h"
#include "base/control.h"
#include "base/duration.h"
#include "base/percent.h"
#include "proto/version.h"

#define EXAMPLE_LISTEN "\"unix:/run/symcached/symcached.sock\""

int field_error(struct config_reader *r, const cJSON *item, const char *format,
                ...)
{
    char reason[512];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);

    json_file_error(r->json, item, reason, r->error, r->size);
    return -1;
}

const struct config_field *field_find(const struct config_field *fields,
                                      size_t n, const char *key)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (strcmp(fields[i].key, key) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

/* Returns a key that differs by the "s" of a plural only, or NULL. */
static const char *field_near(const struct config_part *parts, size_t n,
                              const char *key)
{
    size_t len = strlen(key), i, j, m;
    const char *other;

    for (i = 0; i < n; i++) {
        for (j = 0; j < parts[i].n; j++) {
            other = parts[i].fields[j].key;
            m = strlen(other);
            if ((m == len + 1 && other[len] == 's' &&
                 strncmp(other, key, len) == 0) ||
                (len == m + 1 && key[m] == 's' &&
                 strncmp(other, key, m) == 0)) {
                return other;
            }
        }
    }
    return NULL;
}

static int read_field_key(struct config_reader *r, const cJSON *object,
                          const cJSON *item, const struct config_part *parts,
                          size_t n)
{
    const struct config_field *field;
    const cJSON *other;
    const char *near;
    size_t i;

    for (other = object->child; other != item; other = other->next) {
        if (strcmp(other->string, item->string) == 0) {
            return field_error(r, item, "repeated key");
        }
    }

    for (i = 0; i < n; i++) {
        field = field_find(parts[i].fields, parts[i].n, item->string);
        if (field != NULL) {
            return field->read(r, item, field,
                               (char *)parts[i].at + field->offset);
        }
    }
    near = field_near(parts, n, item->string);
    return near != NULL
               ? field_error(r, item, "unknown key; \"%s\" may be meant", near)
               : field_error(r, item, "unknown key");
}

static int check_required_field(struct config_reader *r, const cJSON *item,
                                const struct config_part *part)
{
    const struct config_field *field;
    size_t i;

    for (i = 0; i < part->n; i++) {
        field = &part->fields[i];
        if ((field->flags & CONFIG_REQUIRED) != 0 &&
            cJSON_GetObjectItemCaseSensitive(item, field->key) == NULL) {
            return field_error(r, item, "\"%s\" is missing", field->key);
        }
    }
    return 0;
}

int field_parts(struct config_reader *r, const cJSON *item,
                const struct config_part *parts, size_t n)
{
    const cJSON *child;
    size_t i;

    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (read_field_key(r, item, child, parts, n) != 0) {
            return -1;
        }
    }

    for (i = 0; i < n; i++) {
        if (check_required_field(r, item, &parts[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

int field_object(struct config_reader *r, const cJSON *item,
                 const struct config_field *fields, size_t n, void *at)
{
    struct config_part part = {fields, n, at};

    return field_parts(r, item, &part, 1);
}

const char *field_text(struct config_reader *r, const cJSON *item,
                       const char *example)
{
    if (!cJSON_IsString(item)) {
        field_error(r, item, "must be a string%s%s",
                    example != NULL ? " such as " : "",
                    example != NULL ? example : "");
        return NULL;
    }
    if (item->valuestring[0] == '\0') {
        field_error(r, item, "must not be empty");
        return NULL;
    }
    if (control_in(item->valuestring)) {
        field_error(r, item, "has a control character");
        return NULL;
    }
    return item->valuestring;
}

int field_word(struct config_reader *r, const cJSON *item,
               const char *const *words, size_t n)
{
    const char *text = cJSON_GetStringValue(item), *between = "";
    char list[256] = "";
    size_t i, used = 0;

    for (i = 0; i < n; i++) {
        if (text != NULL && strcmp(text, words[i]) == 0) {
            return (int)i;
        }
        used += (size_t)snprintf(list + used, sizeof(list) - used,
                                 "%s\"%s\"", between, words[i]);
        used = used < sizeof(list) ? used : sizeof(list);
        between = i + 2 < n ? ", " : " or ";
    }
    return field_error(r, item, "must be %s", list);
}

int field_name(struct config_reader *r, const cJSON *item, const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    if (name[n] != '\0' || n == 0 || n > CONFIG_NAME_MAX || name[0] == '.') {
        return field_error(r, item,
                           "a name is 1 to 64 letters, digits and \"._-\", "
                           "and does not begin with a dot");
    }
    return 0;
}

int field_string(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, NULL);
    char *copy;

    if (text == NULL) {
        return -1;
    }

    copy = strdup(text);
    if (copy == NULL) {
        return field_error(r, item, "out of memory");
    }
    free(*(char **)at);
    *(char **)at = copy;
    return 0;
}

/* Drops empty parts and those that are ".", so that paths can be compared.
 * Returns false for "..", which leads elsewhere behind a symbolic link. */
static bool make_field_path_plain(char *path)
{
    const char *part = path;
    char *end = path;
    size_t len;

    while (*part != '\0') {
        part += strspn(part, "/");
        len = strcspn(part, "/");
        if (len == 2 && memcmp(part, "..", 2) == 0) {
            return false;
        }
        if (len > 0 && (len != 1 || part[0] != '.')) {
            *end++ = '/';
            memmove(end, part, len);
            end += len;
        }
        part += len;
    }
    if (end == path) {
        *end++ = '/';
    }
    *end = '\0';
    return true;
}

int field_path(struct config_reader *r, const cJSON *item,
               const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, "\"/srv/symbols\"");

    if (text == NULL) {
        return -1;
    }
    if (text[0] != '/') {
        return field_error(r, item, "must be an absolute path");
    }
    if (strlen(text) > CONFIG_PATH_MAX) {
        return field_error(r, item, "is longer than %d bytes",
                           CONFIG_PATH_MAX);
    }
    if (field_string(r, item, field, at) != 0) {
        return -1;
    }

    return make_field_path_plain(*(char **)at)
               ? 0
               : field_error(r, item, "has \"..\" as a part");
}

bool config_paths_overlap(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    size_t n = na < nb ? na : nb;

    return strncmp(a, b, n) == 0 &&
           (na == nb || (na > nb ? a : b)[n] == '/' || n == 1);
}

int field_url(struct config_reader *r, const cJSON *item,
              const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, "\"https://h.example.com/s\""),
               *host;
    char *url;
    size_t len;

    if (text == NULL) {
        return -1;
    }

    if (strncmp(text, "http://", 7) == 0) {
        host = text + 7;
    } else if (strncmp(text, "https://", 8) == 0) {
        host = text + 8;
    } else {
        return field_error(r, item, "must begin with http:// or https://");
    }

    if (strcspn(host, "/:?#") == 0 && host[0] != '[') {
        return field_error(r, item, "has no host");
    }
    if (memchr(host, '@', strcspn(host, "/")) != NULL) {
        return field_error(r, item,
                           "has a user name: give credentials in \"auth\"");
    }
    if (strpbrk(text, "?# \\") != NULL) {
        return field_error(r, item,
                           "has a query, a fragment, a blank or a \\");
    }
    if (field_string(r, item, field, at) != 0) {
        return -1;
    }

    url = *(char **)at;
    for (len = strlen(url); url[len - 1] == '/'; len--) {
        url[len - 1] = '\0';
    }
    return 0;
}

int field_listen(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    struct sockaddr_storage address;
    int len = sizeof(address);
    const char *text = field_text(r, item, EXAMPLE_LISTEN);

    if (text == NULL) {
        return -1;
    }

    if (strncmp(text, "unix:", 5) == 0) {
        if (text[5] != '/') {
            return field_error(r, item, "must be unix:/absolute/path");
        }
        if (strlen(text + 5) >=
            sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
            return field_error(r, item,
                               "is longer than a socket path can be (107)");
        }
    } else if (evutil_parse_sockaddr_port(text, (struct sockaddr *)&address,
                                          &len) != 0 ||
               /* no port; that of IPv6 has the same place */
               ((struct sockaddr_in *)&address)->sin_port == 0) {
        return field_error(r, item, "must be unix:/path or address:port");
    }
    return field_string(r, item, field, at);
}

int field_listen_unix(struct config_reader *r, const cJSON *item,
                      const struct config_field *field, void *at)
{
    const char *text =
        field_text(r, item, "\"unix:/run/symcached/admin.sock\"");

    if (text == NULL) {
        return -1;
    }
    if (strncmp(text, "unix:", 5) != 0) {
        return field_error(r, item,
                           "must be unix:/path: who may connect is "
                           "a matter of the file's permissions");
    }
    return field_listen(r, item, field, at);
}

int field_read_apart(struct config_reader *r, const cJSON *item,
                     const struct config_field *field, void *at)
{
    return 0;
}

int field_bool(struct config_reader *r, const cJSON *item,
               const struct config_field *field, void *at)
{
    if (!cJSON_IsBool(item)) {
        return field_error(r, item, "must be true or false");
    }
    *(bool *)at = cJSON_IsTrue(item);
    return 0;
}

static int field_out_of_range(struct config_reader *r, const cJSON *item,
                              const struct config_field *field)
{
    return field_error(r, item, "must be %" PRIu64 " to %" PRIu64, field->min,
                       field->max);
}

int field_count(struct config_reader *r, const cJSON *item,
                const struct config_field *field, void *at)
{
    double n;

    if (!cJSON_IsNumber(item)) {
        return field_error(r, item,
                           "must be a number from %" PRIu64 " to %" PRIu64,
                           field->min, field->max);
    }

    n = item->valuedouble;
    if (!(n >= (double)field->min && n <= (double)field->max) ||
        n != (double)(unsigned)n) {
        return field_out_of_range(r, item, field);
    }
    *(unsigned *)at = (unsigned)n;
    return 0;
}

/* Reads decimal digits.  Returns the rest of the text, or NULL if there are no
 * digits or more than 15. */
static const char *read_field_digits(const char *p, uint64_t *n)
{
    const char *start = p;

    for (*n = 0; isdigit((unsigned char)*p); p++) {
        if (p - start >= 15) {
            return NULL;
        }
        *n = *n * 10 + (uint64_t)(*p - '0');
    }
    return p > start ? p : NULL;
}

int field_duration(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, "\"1h30m\"");
    uint64_t seconds;

    if (text == NULL) {
        return -1;
    }
    if (!duration_parse(text, &seconds)) {
        return field_error(r, item,
                           "is not a duration such as \"30s\", \"1h30m\", "
                           "\"7d\"");
    }
    if (seconds > field->max) {
        return field_error(r, item, "is too long");
    }
    if (seconds < field->min) {
        return field_error(r, item, "must be %" PRIu64 " to %" PRIu64 " s",
                           field->min, field->max);
    }
    *(unsigned *)at = (unsigned)seconds;
    return 0;
}

int field_size(struct config_reader *r, const cJSON *item,
               const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, "\"200g\""), *p;
    unsigned shift = 0;
    uint64_t n = 0;

    if (text == NULL) {
        return -1;
    }

    p = read_field_digits(text, &n);
    if (p != NULL && *p != '\0') {
        static const char units[] = "kmgt";
        const char *unit = strchr(units, tolower((unsigned char)*p));

        if (unit == NULL || p[1] != '\0') {
            p = NULL;
        } else {
            shift = 10 * (unsigned)(unit - units + 1);
        }
    }
    if (p == NULL) {
        return field_error(
            r, item, "is not a size such as \"4096\", \"512k\", \"15g\"");
    }

    if (n > field->max >> shift || n << shift < field->min) {
        return field_out_of_range(r, item, field);
    }
    *(uint64_t *)at = n << shift;
    return 0;
}

int field_version(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    symcache_version_t *version = at;
    const char *text = field_text(r, item, "\"3.1.0\"");

    if (text == NULL) {
        return -1;
    }
    if (!symcache_version_parse(text, strlen(text), version) ||
        version->major == 0) {
        return field_error(
            r, item,
            "is not a version such as \"3.1.0\" (three numbers, "
            "the first from 1 on)");
    }
    return 0;
}

int field_url_path(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    const char *text = field_text(r, item, "\"windows/symbols\"");
    char *plain, *encoded;
    size_t len;

    if (text == NULL) {
        return -1;
    }

    if (percent_path_has_dots(text, strlen(text))) {
        return field_error(r, item, "has a part \".\" or \"..\"");
    }
    text += strspn(text, "/");
    len = strlen(text);
    while (len > 0 && text[len - 1] == '/') {
        len--;
    }

    plain = strndup(text, len);
    encoded = malloc(3 * len + 2);
    if (plain == NULL || encoded == NULL) {
        free(plain);
        free(encoded);
        return field_error(r, item, "out of memory");
    }
    encoded[0] = '\0';
    if (len > 0) {
        encoded[0] = '/';
        percent_encode_path(encoded + 1, plain);
    }
    free(plain);
    free(*(char **)at);
    *(char **)at = encoded;
    return 0;
}

static bool is_field_text(config_read_fn read)
{
    return read == field_string || read == field_path || read == field_url ||
           read == field_url_path || read == field_secret ||
           read == field_private_key;
}

void field_clear(const struct config_field *fields, size_t n, void *at)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (is_field_text(fields[i].read)) {
            secret_free(*(char **)((char *)at + fields[i].offset));
        }
    }
}

bool config_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}
