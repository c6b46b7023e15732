/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/origin.h"

#define OWN_MAX 32 /* as many as a tenant may have */

/* Whether a string is the name of a source of some store. */
static bool is_source(const struct symbolication_config *config,
                      const struct json *json, uint32_t id)
{
    size_t i, k;
    const struct store_config *store;

    for (i = 0; i < config->nstores; i++) {
        store = config->stores[i];
        for (k = 0; k < store->nsource_names; k++) {
            if (json_is(json, id, store->source_names[k])) {
                return true;
            }
        }
    }
    return false;
}

/* The id of a source of the request; 0: it has none that is text. */
static uint32_t find_id(const struct json *json, uint32_t source)
{
    uint32_t id;

    id = json_member(json, source, "id");
    return id != 0 && json->values[id].type == JSON_STRING ? id : 0;
}

uint32_t
symbolicator_source_list(const struct symbolication_config *config,
                         const struct symbolicator_request *request)
{
    return config->symbolicator.sources == SYMBOLICATOR_SOURCES_CONFIGURED ||
                   config->symbolicator.sources == SYMBOLICATOR_SOURCES_ALLOW
               ? request->sources
               : 0;
}

/* a client's own ----------------------------------------------------------- */

enum source_member {
    SOURCE_TYPE,
    SOURCE_ID,
    SOURCE_URL,
    SOURCE_HEADERS,
    SOURCE_LAYOUT,
    SOURCE_FILTERS,
    SOURCE_MEMBERS
};

static const struct shape_member source_members[SOURCE_MEMBERS] = {
    [SOURCE_TYPE] = {"type", SHAPE_STRING, SHAPE_REQUIRED, NULL},
    [SOURCE_ID] = {"id", SHAPE_STRING, SHAPE_REQUIRED, NULL},
    [SOURCE_URL] = {"url", SHAPE_STRING, SHAPE_OPTIONAL, NULL},
    [SOURCE_HEADERS] = {"headers", SHAPE_MAP, SHAPE_OPTIONAL, NULL},
    [SOURCE_LAYOUT] = {"layout", SHAPE_OBJECT, SHAPE_OPTIONAL, NULL},
    [SOURCE_FILTERS] = {"filters", SHAPE_OBJECT, SHAPE_OPTIONAL, NULL},
};

/* The layouts of Symbolicator, and what they are called here; NULL: no PDB is
 * looked for there. */
static const char *const layout_types[] = {
    "native",  "symstore",   "symstore_index2", "ssqp",
    "unified", "debuginfod", "slashsymbols",    NULL};
static const char *const layouts[] = {NULL,      "symstore", "two_tier", "ssqp",
                                      "unified", NULL,       NULL};

static const char *const casings[] = {"default", "lowercase", "uppercase",
                                      NULL};

enum layout_member { LAYOUT_TYPE, LAYOUT_CASING, LAYOUT_MEMBERS };

static const struct shape_member layout_members[LAYOUT_MEMBERS] = {
    [LAYOUT_TYPE] = {"type", SHAPE_ENUMERATION, SHAPE_OPTIONAL, layout_types},
    [LAYOUT_CASING] = {"casing", SHAPE_ENUMERATION, SHAPE_OPTIONAL, casings},
};

static const char *const file_types[] = {
    "pe",        "pdb",       "portablepdb",  "mach_debug",
    "mach_code", "elf_debug", "elf_code",     "wasm_debug",
    "wasm_code", "breakpad",  "sourcebundle", "uuidmap",
    "bcsymbolmap", "il2cpp",  "proguard",     NULL};

static const struct shape_member filter_members[] = {
    {"filetypes", SHAPE_STRINGS, SHAPE_OPTIONAL, NULL},
};

/* shape_object() of a member, whose name is in the error. */
static bool read_member(struct shape_walk *walk, const char *name,
                        uint32_t value, const struct shape_member *members,
                        size_t n, uint32_t *found)
{
    bool is_good;

    shape_enter(walk, name, 0);
    is_good = shape_object(walk, value, members, n, found);
    shape_leave(walk);
    return is_good;
}

/* Checks the types of files; *has_pdb: PDBs are among them. */
static bool check_filters(struct shape_walk *walk, uint32_t filters,
                          bool *has_pdb)
{
    const struct json *json = walk->json;
    uint32_t found[1], i;

    *has_pdb = true;
    if (filters == 0) {
        return true;
    }
    if (!read_member(walk, "filters", filters, filter_members, 1, found)) {
        return false;
    }
    if (found[0] == 0 || json->values[found[0]].size == 0) {
        return true;
    }
    *has_pdb = false;
    for (i = found[0] + 1; i < json->values[found[0]].end;
         i = json->values[i].end) {
        if (!shape_is_one_of(json, i, file_types)) {
            shape_enter(walk, "filters", 0);
            shape_enter(walk, "filetypes", 0);
            return shape_fail(walk, "unknown variant");
        }
        *has_pdb = *has_pdb || json_is(json, i, "pdb");
    }
    return true;
}

/* What is taken over of a source. */
struct own_source {
    uint32_t url;
    const char *layout; /* NULL: there are no PDBs in it */
    const char *casing;
};

static bool read_layout(struct shape_walk *walk, uint32_t layout,
                        struct own_source *own)
{
    uint32_t found[LAYOUT_MEMBERS];
    size_t i;

    if (layout == 0) {
        return true;
    }
    if (!read_member(walk, "layout", layout, layout_members, LAYOUT_MEMBERS,
                     found)) {
        return false;
    }
    for (i = 0; found[LAYOUT_TYPE] != 0 && layout_types[i] != NULL; i++) {
        if (json_is(walk->json, found[LAYOUT_TYPE], layout_types[i])) {
            own->layout = layouts[i];
        }
    }
    if (found[LAYOUT_CASING] != 0) {
        own->casing =
            json_is(walk->json, found[LAYOUT_CASING], "lowercase") ? "lower"
            : json_is(walk->json, found[LAYOUT_CASING], "uppercase")
                ? "upper"
                : "default";
    }
    return true;
}

static bool has_origin(const char *text, size_t size)
{
    char origin[ORIGIN_MAX], *url = strndup(text, size);
    bool has = url != NULL && origin_print(origin, sizeof(origin), url) == 0;

    free(url);
    return has;
}

/* Returns NULL, or what is wrong; the rules of "url" in the configuration, as
 * a tenant that has one that it refuses does not start.  A URL is written to a
 * file, so no secret may be in it. */
static const char *mistake_of_url(const char *text, size_t size)
{
    const char *host = text, *end = text + size, *p;
    size_t len;

    if (size > 7 && memcmp(text, "http://", 7) == 0) {
        host += 7;
    } else if (size > 8 && memcmp(text, "https://", 8) == 0) {
        host += 8;
    } else {
        return "must begin with http:// or https://, and have a host";
    }
    for (p = host; p < end; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7F ||
            memchr("?#\\", *p, 3) != NULL) {
            return "has a query, a fragment, a blank, a control character or "
                   "a \\";
        }
    }
    p = memchr(host, '/', (size_t)(end - host));
    len = (size_t)((p != NULL ? p : end) - host);
    if (len == 0 || *host == ':') {
        return "has no host";
    }
    if (memchr(host, '@', len) != NULL) {
        return "credentials are not allowed here";
    }
    return has_origin(text, size) ? NULL : "is no URL";
}

/* Finds the URL of a source, which it needs. */
static bool read_url(struct shape_walk *walk, uint32_t url,
                     struct own_source *own)
{
    const char *mistake;

    own->url = url;
    if (url == 0) {
        return shape_fail(walk, "missing field `url`");
    }
    mistake = mistake_of_url(json_text(walk->json, url),
                             walk->json->values[url].size);
    if (mistake != NULL) {
        shape_enter(walk, "url", 0);
        return shape_fail(walk, mistake);
    }
    return true;
}

/* Reads one source.  Nothing but an HTTP server without credentials is
 * allowed. */
static bool read_own(struct shape_walk *walk, uint32_t value,
                     struct own_source *own)
{
    const struct json *json = walk->json;
    uint32_t found[SOURCE_MEMBERS];
    bool has_pdb;

    memset(own, 0, sizeof(*own));
    own->casing = "default";
    if (!shape_object(walk, value, source_members, SOURCE_MEMBERS, found)) {
        return false;
    }
    if (!json_is(json, found[SOURCE_TYPE], "http")) {
        return shape_fail(walk, "type: only http is allowed here");
    }
    if (!read_url(walk, found[SOURCE_URL], own)) {
        return false;
    }
    if (found[SOURCE_HEADERS] != 0 &&
        json->values[found[SOURCE_HEADERS]].size > 0) {
        return shape_fail(walk, "headers: not allowed here");
    }
    if (!read_layout(walk, found[SOURCE_LAYOUT], own) ||
        !check_filters(walk, found[SOURCE_FILTERS], &has_pdb)) {
        return false;
    }
    own->layout = has_pdb ? own->layout : NULL;
    return true;
}

static bool is_own_list(const struct symbolication_config *config,
                        const struct symbolicator_request *request)
{
    return config->symbolicator.sources == SYMBOLICATOR_SOURCES_ALLOW &&
           request->sources != 0;
}

static int check_own(const struct symbolicator_request *request, char *error,
                     size_t error_size)
{
    const struct json *json = &request->json;
    struct shape_walk walk = {
        .json = json, .error = error, .error_size = error_size};
    struct own_source own;
    uint32_t i;
    size_t n = 0;

    shape_enter(&walk, "sources", 0);
    for (i = request->sources + 1; i < json->values[request->sources].end;
         i = json->values[i].end) {
        shape_enter(&walk, NULL, n++);
        if (n > OWN_MAX) {
            shape_fail(&walk, "too many sources");
            return 422;
        }
        if (!read_own(&walk, i, &own)) {
            return 422;
        }
        shape_leave(&walk);
    }
    return 0;
}

static void write_own(struct json_writer *w, const struct json *json,
                      const struct own_source *own, size_t index)
{
    const struct json_value *url = &json->values[own->url];
    const char *text = json_text(json, own->url);
    size_t size = url->size;
    char name[32];

    while (size > 0 && text[size - 1] == '/') {
        size--;
    }
    snprintf(name, sizeof(name), "s%zu", index);
    json_write_open(w, '{');
    json_write_key(w, "name");
    json_write_text(w, name);
    json_write_key(w, "url");
    json_write_string(w, text, size);
    json_write_key(w, "layout");
    json_write_text(w, own->layout);
    json_write_key(w, "casing");
    json_write_text(w, own->casing);
    json_write_close(w, '}');
}

void symbolicator_tenant_write(struct json_writer *w,
                               const struct symbolication_config *config,
                               const struct symbolicator_request *request)
{
    const struct json *json = &request->json;
    char error[64];
    struct shape_walk walk = {
        .json = json, .error = error, .error_size = sizeof(error)};
    struct own_source own;
    uint32_t i;
    size_t n = 0, written = 0;

    if (!is_own_list(config, request)) {
        return;
    }
    json_write_open(w, '{');
    json_write_key(w, "scope");
    json_write_text(w, request->scope);
    json_write_key(w, "sources");
    json_write_open(w, '[');
    for (i = request->sources + 1; i < json->values[request->sources].end;
         i = json->values[i].end, n++) {
        if (read_own(&walk, i, &own) && own.layout != NULL) {
            write_own(w, json, &own, n);
            written++;
        }
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
    if (written == 0) {
        json_write_reset(w);
    }
}

char *symbolicator_tenant_source(const struct symbolicator_request *request,
                                 const char *name)
{
    const struct json *json = &request->json;
    unsigned long index, n = 0;
    uint32_t i, id;

    if (name[0] != 's') {
        return NULL;
    }
    index = strtoul(name + 1, NULL, 10);
    for (i = request->sources + 1; i < json->values[request->sources].end;
         i = json->values[i].end, n++) {
        id = n == index ? find_id(json, i) : 0;
        if (id != 0) {
            return strndup(json_text(json, id), json->values[id].size);
        }
    }
    return NULL;
}

/* the configuration's ------------------------------------------------------ */

int symbolicator_sources_check(const struct symbolication_config *config,
                               const struct symbolicator_request *request,
                               char *error, size_t error_size)
{
    size_t n;
    uint32_t i, id, list;
    const struct json *json;

    if (request->sources != 0 &&
        config->symbolicator.sources == SYMBOLICATOR_SOURCES_REFUSE) {
        snprintf(error, error_size, "sources: not allowed here");
        return 422;
    }
    if (is_own_list(config, request)) {
        return check_own(request, error, error_size);
    }
    json = &request->json;
    list = symbolicator_source_list(config, request);
    if (list == 0) {
        return 0;
    }
    for (i = list + 1, n = 0; i < json->values[list].end;
         i = json->values[i].end, n++) {
        id = find_id(json, i);
        if (id == 0) {
            snprintf(error, error_size, "sources[%zu]: missing field `id`", n);
            return 422;
        }
        if (!is_source(config, json, id)) {
            snprintf(error, error_size,
                     "sources[%zu].id: no source of this name is configured",
                     n);
            return 422;
        }
    }
    return 0;
}

bool symbolicator_source_counts(const struct symbolication_config *config,
                                const struct symbolicator_request *request,
                                const char *source)
{
    size_t size;
    uint32_t i, id, list;
    const struct json *json;

    json = &request->json;
    list = symbolicator_source_list(config, request);
    if (list == 0 || is_own_list(config, request)) {
        return true;
    }
    for (i = list + 1; i < json->values[list].end; i = json->values[i].end) {
        id = find_id(json, i);
        size = json->values[id].size;
        if (strncmp(source, json_text(json, id), size) == 0 &&
            (source[size] == '\0' || source[size] == '.')) {
            return true;
        }
    }
    return false;
}
