/*
 * Copyright (C) the ngx_symcache authors
 */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/byte_compare.h"
#include "json/json.h"
#include "proto/key.h"
#include "member_text.h"

#define MANIFEST "manifest.json"

/* 100,000 files have some 20 MB, and 14 values each. */
#define MANIFEST_MAX ((size_t)128 << 20)
#define VALUES_MAX ((size_t)16 << 20)

#define MEMBERS_MAX 1000000

struct manifest_reader {
    struct manifest *manifest;
    struct json json;
    struct failure *failure;
};

void manifest_free(struct manifest *manifest)
{
    free(manifest->json);
    free(manifest->files);
    free(manifest->links);
    free(manifest->attributes);
    memset(manifest, 0, sizeof(*manifest));
}

static int wrong_manifest(struct manifest_reader *r, const char *what)
{
    return failure_set(r->failure, FAILURE_DAMAGED,
                       "is damaged: manifest of the source bundle: %s", what);
}

static struct symc_text manifest_text_of(const struct json *json,
                                         uint32_t value)
{
    struct symc_text text = {json_text(json, value),
                                json->values[value].size};

    return text;
}

static bool manifest_is_text(const struct json *json, uint32_t value)
{
    return json->values[value].type == JSON_STRING;
}

/* files ------------------------------------------------------------------ */

static bool manifest_type(const struct json *json, uint32_t value,
                          enum sourcecache_type *type)
{
    static const struct {
        const char *name;
        enum sourcecache_type type;
    } types[] = {
        {"source", SOURCECACHE_SOURCE},
        {"minified_source", SOURCECACHE_MINIFIED},
        {"source_map", SOURCECACHE_MAP},
        {"indexed_ram_bundle", SOURCECACHE_RAM_BUNDLE},
    };
    size_t i;

    *type = SOURCECACHE_ANY;
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (manifest_is_text(json, value) &&
            json_is(json, value, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    }
    return json->values[value].type == JSON_NULL;
}

static bool manifest_has_name(const struct json *json, uint32_t value,
                              const char *name)
{
    return json->values[value].size == strlen(name) &&
           strncasecmp(json_text(json, value), name, strlen(name)) == 0;
}

/* The reference to the source map is that of the header sourcemap, or else of
 * x-sourcemap.  Names are compared without case, and the last one counts. */
static const char *manifest_headers(const struct json *json, uint32_t object,
                                    struct sourcecache_file *file)
{
    struct symc_text old = {NULL, 0}, id = {NULL, 0};
    uint32_t i, at = object + 1;

    if (json->values[object].type != JSON_OBJECT) {
        return "the headers of a file are not an object";
    }
    for (i = 0; i < json->values[object].size; i++) {
        if (!manifest_is_text(json, at + 1)) {
            return "a header is not a text";
        }
        if (manifest_has_name(json, at, "debug-id")) {
            id = manifest_text_of(json, at + 1);
        } else if (manifest_has_name(json, at, "sourcemap")) {
            file->map = manifest_text_of(json, at + 1);
        } else if (manifest_has_name(json, at, "x-sourcemap")) {
            old = manifest_text_of(json, at + 1);
        }
        at = json->values[at + 1].end;
    }
    if (file->map.data == NULL) {
        file->map = old;
    }
    file->has_id = symcache_debug_id_read(id.data, id.size, file->guid,
                                          &file->age) != 0;
    return NULL;
}

/* Reads a member of a file's entry; seen has a bit for each that was there. */
static const char *manifest_read_member(const struct json *json, uint32_t name,
                                        unsigned *seen,
                                        struct sourcecache_file *file)
{
    static const char *const names[] = {"type", "path", "url", "headers"};
    uint32_t value = name + 1;
    unsigned i;

    for (i = 0; i < 4 && !json_is(json, name, names[i]); i++) {
    }
    if (i == 4) {
        return NULL;
    }
    if (*seen & 1u << i) {
        return "a file has a member twice";
    }
    *seen |= 1u << i;
    switch (i) {
    case 0:
        return manifest_type(json, value, &file->type)
                   ? NULL
                   : "the type of a file is unknown";
    case 1:
    case 2:
        if (!manifest_is_text(json, value)) {
            return "a path or URL is not a text";
        }
        *(i == 1 ? &file->path : &file->url) = manifest_text_of(json, value);
        return NULL;
    default:
        return manifest_headers(json, value, file);
    }
}

static const char *manifest_file(const struct json *json, uint32_t name,
                                 struct sourcecache_file *file)
{
    uint32_t i, object = name + 1, at = object + 1;
    unsigned seen = 0;
    const char *what = NULL;

    memset(file, 0, sizeof(*file));
    file->name = manifest_text_of(json, name);
    if (json->values[object].type != JSON_OBJECT) {
        return "a file is not an object";
    }
    for (i = 0; i < json->values[object].size && what == NULL; i++) {
        what = manifest_read_member(json, at, &seen, file);
        at = json->values[at + 1].end;
    }
    return what;
}

static int compare_texts(const struct symc_text *a,
                         const struct symc_text *b)
{
    return byte_compare(a->data, a->size, b->data, b->size);
}

/* Names lie in the order of the text. */
static int compare_names(const struct symc_text *a, const struct symc_text *b)
{
    int order = compare_texts(a, b);

    return order != 0 ? order : a->data < b->data ? -1 : 1;
}

static int compare_files(const void *a, const void *b)
{
    const struct sourcecache_file *x = a, *y = b;

    return compare_names(&x->name, &y->name);
}

/* Of files with one name, the last one counts. */
static void sort_files(struct manifest *manifest)
{
    size_t i, n = 0;

    qsort(manifest->files, manifest->num_files, sizeof(*manifest->files),
          compare_files);
    for (i = 0; i < manifest->num_files; i++) {
        if (n > 0 && compare_texts(&manifest->files[n - 1].name,
                                   &manifest->files[i].name) == 0) {
            n--;
        }
        manifest->files[n++] = manifest->files[i];
    }
    manifest->num_files = n;
}

static int read_manifest_files(struct manifest_reader *r, uint32_t object)
{
    const struct json *json = &r->json;
    struct manifest *manifest = r->manifest;
    uint32_t i, at = object + 1, n = json->values[object].size;
    const char *what;

    if (json->values[object].type != JSON_OBJECT) {
        return wrong_manifest(r, "\"files\" is not an object");
    }
    if (n > MEMBERS_MAX) {
        return failure_set(r->failure, FAILURE_LIMIT,
                           "names more than %d source files", MEMBERS_MAX);
    }
    manifest->files = calloc((size_t)n + 1, sizeof(*manifest->files));
    if (manifest->files == NULL) {
        return failure_memory(r->failure);
    }
    for (i = 0; i < n; i++) {
        what =
            manifest_file(json, at, &manifest->files[manifest->num_files++]);
        if (what != NULL) {
            return wrong_manifest(r, what);
        }
        at = json->values[at + 1].end;
    }
    sort_files(manifest);
    return 0;
}

/* links and attributes --------------------------------------------------- */

/* Of patterns that differ in their case only, the last in byte order counts,
 * which is the last for the writer, too. */
static int compare_links(const void *a, const void *b)
{
    const struct manifest_pair *x = a, *y = b;

    return compare_names(&x->name, &y->name);
}

static int manifest_links(struct manifest_reader *r, uint32_t object)
{
    const struct json *json = &r->json;
    struct manifest *manifest = r->manifest;
    uint32_t i, at = object + 1, n = json->values[object].size;

    if (json->values[object].type != JSON_OBJECT) {
        return wrong_manifest(r, "\"source_links\" is not an object");
    }
    if (n > SOURCECACHE_LINKS_MAX) {
        return failure_set(r->failure, FAILURE_LIMIT,
                           "has more than %d source links",
                           SOURCECACHE_LINKS_MAX);
    }
    manifest->links = calloc((size_t)n + 1, sizeof(*manifest->links));
    if (manifest->links == NULL) {
        return failure_memory(r->failure);
    }
    for (i = 0; i < n; i++, at += 2) {
        if (!manifest_is_text(json, at + 1)) {
            return wrong_manifest(r, "the URL of a source link is not a text");
        }
        manifest->links[manifest->num_links].name = manifest_text_of(json, at);
        manifest->links[manifest->num_links++].value =
            manifest_text_of(json, at + 1);
    }
    qsort(manifest->links, manifest->num_links, sizeof(*manifest->links),
          compare_links);
    return 0;
}

static int manifest_attribute(struct manifest_reader *r, uint32_t name)
{
    struct manifest_pair *pair;
    struct manifest *manifest = r->manifest;
    struct sourcecache_identity *id = &manifest->identity;

    if (!manifest_is_text(&r->json, name + 1)) {
        return wrong_manifest(r, "an attribute is not a text");
    }
    pair = &manifest->attributes[manifest->num_attributes++];
    pair->name = manifest_text_of(&r->json, name);
    pair->value = manifest_text_of(&r->json, name + 1);
    if (json_is(&r->json, name, "debug_id") &&
        !symcache_debug_id_read(pair->value.data, pair->value.size, id->guid,
                                &id->age)) {
        memset(id, 0, sizeof(*id));
    }
    return 0;
}

static int read_top(struct manifest_reader *r)
{
    const struct json *json = &r->json;
    struct manifest *manifest = r->manifest;
    uint32_t i, at = 1, n = json->values[0].size;
    int rc = 0;

    if (json->values[0].type != JSON_OBJECT) {
        return wrong_manifest(r, "no object");
    }
    manifest->attributes =
        calloc((size_t)n + 1, sizeof(*manifest->attributes));
    if (manifest->attributes == NULL) {
        return failure_memory(r->failure);
    }
    for (i = 0; i < n && rc == 0; i++) {
        if (json_is(json, at, "files")) {
            rc = manifest->files != NULL ? wrong_manifest(r, "\"files\" twice")
                                         : read_manifest_files(r, at + 1);
        } else if (json_is(json, at, "source_links")) {
            rc = manifest->links != NULL
                     ? wrong_manifest(r, "\"source_links\" twice")
                     : manifest_links(r, at + 1);
        } else {
            rc = manifest_attribute(r, at);
        }
        at = json->values[at + 1].end;
    }
    return rc;
}

/* the archive ------------------------------------------------------------ */

/* Goes to the last member that is the manifest. */
static int go_to_manifest(struct zip *zip, struct zip_member *member,
                          struct failure *failure)
{
    uint64_t i, found = 0, n = zip_count(zip);

    if (n > MEMBERS_MAX) {
        return failure_set(failure, FAILURE_LIMIT, "has more than %d members",
                           MEMBERS_MAX);
    }
    for (i = 1; i <= n; i++) {
        if (zip_next(zip, member) != 1) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is damaged: the directory of the archive");
        }
        found = strcmp(member->name, MANIFEST) == 0 ? i : found;
    }
    if (found == 0) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: a source bundle without \"%s\"",
                           MANIFEST);
    }
    zip_rewind(zip);
    for (i = 0; i < found; i++) {
        (void)zip_next(zip, member);
    }
    return 0;
}

int manifest_read(struct manifest *manifest, struct zip *zip,
                  struct failure *failure)
{
    struct manifest_reader r = {manifest, {0}, failure};
    struct json_error error = {"something after it", 0, 1, 1, false};
    struct zip_member member;
    struct member_text text = {0};
    int rc;

    if (go_to_manifest(zip, &member, failure) != 0) {
        return -1;
    }
    switch (member_text_read(&text, zip, &member, MANIFEST_MAX)) {
    case SOURCECACHE_TEXT:
        break;
    case SOURCECACHE_TOO_LARGE:
        free(text.data);
        return failure_set(failure, FAILURE_LIMIT,
                           "has a manifest of more than %zu MiB",
                           MANIFEST_MAX >> 20);
    default:
        free(text.data);
        return wrong_manifest(&r, "it cannot be unpacked");
    }
    manifest->json = text.data;
    rc = json_read(&r.json, manifest->json, text.size, VALUES_MAX, &error) ==
                     text.size &&
                 text.size > 0
             ? read_top(&r)
         : error.out_of_memory
             ? failure_memory(failure)
             : failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: manifest of the source bundle: %s "
                           "(line %u, column %zu)",
                           error.reason, error.line, error.column);
    json_free(&r.json);
    zip_rewind(zip);
    return rc;
}

ptrdiff_t manifest_find(const struct manifest *manifest, const char *member)
{
    struct symc_text name = {member, (uint32_t)strlen(member)};
    size_t low = 0, high = manifest->num_files, middle;
    int order;

    while (low < high) {
        middle = low + (high - low) / 2;
        order = compare_texts(&name, &manifest->files[middle].name);
        if (order == 0) {
            return (ptrdiff_t)middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return -1;
}
