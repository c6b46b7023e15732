/*
 * Copyright (C) the ngx_symcache authors
 */
#include "object.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/hex.h"
#include "base/release.h"
#include "base/secret.h"
#include "config/config.h"

#define MAKER "symcached/" SYMCACHED_VERSION

void tier_object_name(char *buf, const char *generation, const char *store,
                      const symcache_key_t *key,
                      const symcache_version_t *version)
{
    char dir[SYMCACHE_PATH_MAX + 1], made[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_path_dir(dir, key);
    symcache_version_print(made, version);
    snprintf(buf, TIER_NAME_MAX + 1, "%.64s/%.64s/%s/v%s.%s", generation,
             store, dir, made,
             symcache_kind_text((symcache_kind_e)key->kind));
}

void tier_original_name(char *buf, const char *path)
{
    snprintf(buf, TIER_NAME_MAX + 1, UPLOADS_SOURCE "/%s", path);
}

/* Splits off the part before the next slash.  Returns its length and moves *at
 * after the slash; or returns 0 if there is no slash. */
static size_t object_next_part(const char **at, const char **part)
{
    const char *slash = strchr(*at, '/');

    *part = *at;
    if (slash == NULL) {
        return 0;
    }
    *at = slash + 1;
    return (size_t)(slash - *part);
}

bool tier_object_parse(const char *name, struct tier_object *object)
{
    const char *at = name, *parts[4], *dot;
    char same[TIER_NAME_MAX + 1];
    symcache_kind_e kind;
    size_t n[4];
    int i;

    for (i = 0; i < 4; i++) {
        n[i] = object_next_part(&at, &parts[i]);
    }
    dot = strrchr(at, '.');
    /* names of a configuration begin with no dot, but ".try" of uploads and
     * ".." do, of which a server would take another object away */
    if (n[0] == 0 || n[0] >= sizeof(object->generation) || n[1] == 0 ||
        n[1] >= sizeof(object->store) || parts[0][0] == '.' ||
        parts[1][0] == '.' || dot == NULL || at[0] != 'v' ||
        symcache_name_parse(parts[2], n[2], &object->key) != SYMCACHE_OK ||
        symcache_id_parse(parts[3], n[3], &object->key) != SYMCACHE_OK ||
        !symcache_version_parse(at + 1, (size_t)(dot - at) - 1,
                                &object->version) ||
        !symcache_kind_parse(dot + 1, strlen(dot + 1), &kind) ||
        symcache_kind_is_original(kind)) {
        return false;
    }
    snprintf(object->generation, sizeof(object->generation), "%.*s",
             (int)n[0], parts[0]);
    snprintf(object->store, sizeof(object->store), "%.*s", (int)n[1],
             parts[1]);
    object->key.kind = (uint8_t)kind;
    tier_object_name(same, object->generation, object->store, &object->key,
                     &object->version);
    return strcmp(same, name) == 0;
}

/* reading ------------------------------------------------------------------ */

/* Reads n digits. */
static bool object_read_hex(char *to, const char *value, size_t n)
{
    if (strspn(value, "0123456789abcdef") != n || value[n] != '\0') {
        return false;
    }
    memcpy(to, value, n + 1);
    return true;
}

static bool object_read_size(uint64_t *size, const char *value)
{
    char *end;

    if (!isdigit((unsigned char)value[0]) || strlen(value) > 18) {
        return false;
    }
    *size = strtoull(value, &end, 10);
    return *end == '\0' && *size > 0;
}

/* Reads a number of at most seven digits. */
static bool object_read_number(unsigned *number, const char *value, int base)
{
    char *end;

    if (!isxdigit((unsigned char)value[0]) || strlen(value) > 7) {
        return false;
    }
    *number = (unsigned)strtoul(value, &end, base);
    return *end == '\0';
}

/* The name of a source, or of a part of a symbol path: what field_name()
 * takes.  It goes into an attribute where a blank ends it. */
static bool object_read_source(char to[SYMCACHE_PROVENANCE_SOURCE + 1],
                               const char *value)
{
    size_t i, n = strlen(value);

    if (n == 0 || n > SYMCACHE_PROVENANCE_SOURCE) {
        return false;
    }
    for (i = 0; i < n; i++) {
        if (!isalnum((unsigned char)value[i]) &&
            strchr("._-", value[i]) == NULL) {
            return false;
        }
    }
    memcpy(to, value, n + 1);
    return true;
}

static bool object_read_publics(bool *publics_only, const char *value)
{
    *publics_only = strcmp(value, "publics") == 0;
    return *publics_only || strcmp(value, "full") == 0;
}

enum {
    OBJECT_SHA256,
    OBJECT_SIZE,
    OBJECT_SOURCE,
    OBJECT_PUBLICS,
    OBJECT_EXTENT,
    OBJECT_FEATURES,
    OBJECT_BUILDER,
    OBJECT_MACHINE,
    OBJECT_MAC,
    LINES
};

static const char *const line_names[LINES] = {
    "sha256",   "size",    "source",  "quality", "extent",
    "features", "builder", "machine", "mac"};

static bool object_read_value(struct tier_meta *meta, int line,
                              const char *value)
{
    switch (line) {
    case OBJECT_SHA256:
        return object_read_hex(meta->sha256, value, DIGEST_HEX);
    case OBJECT_SIZE:
        return object_read_size(&meta->size, value);
    case OBJECT_SOURCE:
        return object_read_source(meta->source, value);
    case OBJECT_PUBLICS:
        return object_read_publics(&meta->publics_only, value);
    case OBJECT_EXTENT:
        meta->is_program = strcmp(value, "program") == 0;
        return true;
    case OBJECT_FEATURES:
        return object_read_number(&meta->features, value, 16);
    case OBJECT_BUILDER:
        return object_read_number(&meta->builder, value, 10);
    case OBJECT_MACHINE:
        return object_read_hex(meta->machine, value,
                               SYMCACHE_UPLOAD_MACHINE_DIGITS);
    default:
        return object_read_hex(meta->mac, value, DIGEST_HEX);
    }
}

/* Names come in any case, as those of HTTP headers do.  Returns LINES if the
 * line is none of ours. */
static int object_find_line(const char *p, size_t len)
{
    int i;

    for (i = 0; i < LINES; i++) {
        if (strlen(line_names[i]) == len &&
            strncasecmp(line_names[i], p, len) == 0) {
            break;
        }
    }
    return i;
}

const char *tier_meta_read(struct tier_meta *meta, const char *lines)
{
    static const char *const wrong[LINES] = {
        "a bad sha256", "a bad size", "a bad source", "a bad quality",
        "a bad extent", "a bad features", "a bad builder", "a bad machine",
        "a bad mac"};
    char value[256];
    const char *p = lines, *colon, *end;
    unsigned seen = 0;
    int line;

    memset(meta, 0, sizeof(*meta));
    for (; *p != '\0'; p = *end != '\0' ? end + 1 : end) {
        end = p + strcspn(p, "\n");
        colon = memchr(p, ':', (size_t)(end - p));
        if (colon == NULL) {
            continue;
        }
        line = object_find_line(p, (size_t)(colon - p));
        if (line == LINES) {
            continue;
        }
        colon += 1 + strspn(colon + 1, " ");
        snprintf(value, sizeof(value), "%.*s",
                 end > colon ? (int)(end - colon) : 0, colon);
        if ((seen & 1u << line) != 0 || end - colon >= (int)sizeof(value) ||
            !object_read_value(meta, line, value)) {
            return wrong[line];
        }
        seen |= 1u << line;
    }
    if (!(seen & 1u << OBJECT_SHA256) || !(seen & 1u << OBJECT_SIZE)) {
        return "no sha256 or no size";
    }
    return !(seen & 1u << OBJECT_SOURCE) != !(seen & 1u << OBJECT_PUBLICS)
               ? "source or quality alone"
               : NULL;
}

/* writing ------------------------------------------------------------------ */

void tier_meta_print(const struct tier_meta *meta, char *buf)
{
    size_t n;

    n = (size_t)snprintf(buf, TIER_META_MAX,
                         "sha256: %s\nsize: %" PRIu64 "\nmaker: " MAKER "\n",
                         meta->sha256, meta->size);
    if (meta->source[0] != '\0') {
        n += (size_t)snprintf(buf + n, TIER_META_MAX - n,
                              "source: %s\nquality: %s\n%s", meta->source,
                              meta->publics_only ? "publics" : "full",
                              meta->is_program ? "extent: program\n" : "");
    }
    if (meta->features != 0) {
        n += (size_t)snprintf(buf + n, TIER_META_MAX - n, "features: %x\n",
                              meta->features);
    }
    if (meta->builder != 0) {
        n += (size_t)snprintf(buf + n, TIER_META_MAX - n, "builder: %u\n",
                              meta->builder);
    }
    if (meta->machine[0] != '\0') {
        n += (size_t)snprintf(buf + n, TIER_META_MAX - n, "machine: %s\n",
                              meta->machine);
    }
    if (meta->mac[0] != '\0') {
        snprintf(buf + n, TIER_META_MAX - n, "mac: %s\n", meta->mac);
    }
}

/* the MAC ------------------------------------------------------------------ */

/* Each part ends with a newline, which none of them has in it. */
static void object_make_mac(const struct tier_meta *meta, const char *name,
                            const char *key, char mac[DIGEST_HEX + 1])
{
    unsigned char text[TIER_NAME_MAX + TIER_META_MAX];
    unsigned char sum[EVP_MAX_MD_SIZE] = {0};
    unsigned len = 0;
    int n;

    n = snprintf((char *)text, sizeof(text),
                 "symcache-tier-1\n%s\n%" PRIu64 "\n%s\n%s\n%s\n", name,
                 meta->size, meta->sha256, meta->source,
                 meta->source[0] == '\0' ? ""
                 : meta->publics_only    ? "publics"
                                         : "full");
    (void)HMAC(EVP_sha256(), key, (int)strlen(key), text, (size_t)n, sum,
               &len);
    hex_print(mac, sum, DIGEST_HEX / 2, HEX_LOWER);
}

void tier_meta_sign(struct tier_meta *meta, const char *name, const char *key)
{
    object_make_mac(meta, name, key, meta->mac);
}

bool tier_meta_is_signed(const struct tier_meta *meta, const char *name,
                         const char *key)
{
    char mac[DIGEST_HEX + 1];

    object_make_mac(meta, name, key, mac);
    return meta->mac[0] != '\0' && secret_is_equal(mac, meta->mac);
}
