/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sourcebundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/sourcemap/sourcemap.h"
#include "manifest.h"
#include "proto/key.h"
#include "symbolication/js/js.h"
#include "member_text.h"

/* All texts that are looked at. */
#define TEXTS_MAX ((uint64_t)256 << 20)

struct sourcebundle_check {
    const struct manifest *manifest;
    struct member_text text;
    uint64_t left; /* bytes of texts */
    char *out;
    size_t room, used; /* of out */
    size_t wrong;
};

static void script_say_doubt(struct sourcebundle_check *check,
                             const struct sourcecache_file *file,
                             const char *what)
{
    const struct symc_text *name =
        file->url.size > 0 ? &file->url : &file->name;
    int n = snprintf(check->out + check->used, check->room - check->used,
                     "%s%.*s: %s", check->wrong > 0 ? "; " : "",
                     (int)name->size, name->data, what);

    check->wrong++;
    if (n > 0 && (size_t)n < check->room - check->used) {
        check->used += (size_t)n;
    } else {
        check->out[check->used] = '\0'; /* whole sentences only */
    }
}

static bool script_has_same_id(const struct sourcecache_file *a,
                               const struct sourcecache_file *b)
{
    return b->has_id && b->age == a->age &&
           memcmp(a->guid, b->guid, sizeof(a->guid)) == 0;
}

static int script_by_id(const void *a, const void *b)
{
    const struct sourcecache_file *x =
        *(const struct sourcecache_file *const *)a;
    const struct sourcecache_file *y =
        *(const struct sourcecache_file *const *)b;
    int n = memcmp(x->guid, y->guid, sizeof(x->guid));

    return n != 0 ? n : (x->age > y->age) - (x->age < y->age);
}

/* Which types the files with one id have, a set. */
static unsigned script_types_of(const struct sourcecache_file *const *files,
                                size_t n, size_t first, size_t *end)
{
    unsigned types = 0;

    for (*end = first;
         *end < n && script_has_same_id(files[first], files[*end]); ++*end) {
        types |= 1u << files[*end]->type;
    }
    return types;
}

/* Files of pairs of which the other half is not there. */
static void check_pairs(struct sourcebundle_check *check)
{
    const unsigned pair = 1u << SOURCECACHE_MINIFIED | 1u << SOURCECACHE_MAP;
    const struct manifest *m = check->manifest;
    const struct sourcecache_file **files =
        calloc(m->num_files + 1, sizeof(*files));
    size_t i, end, n = 0;
    unsigned types;

    for (i = 0; files != NULL && i < m->num_files; i++) {
        if (m->files[i].has_id && (pair & 1u << m->files[i].type) != 0) {
            files[n++] = &m->files[i];
        }
    }
    if (n > 0) {
        qsort(files, n, sizeof(*files), script_by_id);
    }
    for (i = 0; i < n; i = end) {
        types = script_types_of(files, n, i, &end);
        if (types == 1u << SOURCECACHE_MINIFIED) {
            script_say_doubt(check, files[i],
                             "no source map has its debug id");
        } else if (types == 1u << SOURCECACHE_MAP) {
            script_say_doubt(check, files[i], "no script has its debug id");
        }
    }
    free(files);
}

/* Does a file say in itself that it has another debug id? */
static void check_id(struct sourcebundle_check *check,
                     const struct sourcecache_file *file,
                     struct symc_string id)
{
    struct sourcecache_file own = {.has_id = false};

    own.has_id =
        id.data != NULL &&
        symcache_debug_id_read(id.data, id.size, own.guid, &own.age) != 0;
    if (own.has_id && file->has_id && !script_has_same_id(file, &own)) {
        script_say_doubt(check, file,
                         "has another debug id in it than the bundle says");
    }
}

static void check_map(struct sourcebundle_check *check,
                      const struct sourcecache_file *file)
{
    struct failure failure = {FAILURE_NONE, ""};
    struct sourcemap map = {.num_tokens = 0};

    if (sourcemap_read(&map, check->text.data, check->text.size, &failure) !=
        0) {
        script_say_doubt(check, file, failure.text);
    } else {
        check_id(check, file, map.debug_id);
    }
    sourcemap_free(&map);
}

/* Clients list as a script what they do not recognize as a map. */
static bool is_map(const struct sourcecache_file *file)
{
    static const char end[] = ".map";
    const size_t n = sizeof(end) - 1;

    return file->type == SOURCECACHE_MAP ||
           (file->url.size >= n &&
            memcmp(file->url.data + file->url.size - n, end, n) == 0);
}

static void check_member(struct sourcebundle_check *check, struct zip *zip,
                         const struct zip_member *member)
{
    ptrdiff_t at = manifest_find(check->manifest, member->name);
    const struct sourcecache_file *file =
        at >= 0 ? &check->manifest->files[at] : NULL;
    size_t most = check->left < SOURCECACHE_TEXT_MAX ? check->left
                                                     : SOURCECACHE_TEXT_MAX;
    enum sourcecache_status status;

    if (file == NULL || (file->type != SOURCECACHE_MINIFIED &&
                         file->type != SOURCECACHE_MAP)) {
        return;
    }
    status = member_text_read(&check->text, zip, member, most);
    check->left -= check->text.size;
    switch (status) {
    case SOURCECACHE_TEXT:
        if (is_map(file)) {
            check_map(check, file);
        } else {
            check_id(check, file,
                     js_debug_id(check->text.data, check->text.size));
        }
        break;
    case SOURCECACHE_DAMAGED:
        script_say_doubt(check, file, "is damaged in the archive");
        break;
    default:
        break;
    }
}

size_t sourcebundle_scripts_check(const uint8_t *data, size_t size, char *text,
                                  size_t text_size)
{
    struct manifest manifest = {0};
    struct failure failure = {FAILURE_NONE, ""};
    struct sourcebundle_check check = {.manifest = &manifest,
                                       .left = TEXTS_MAX,
                                       .out = text,
                                       .room = text_size};
    struct zip *zip = zip_open(data, size);
    struct zip_member member;
    uint64_t i, n;

    text[0] = '\0';
    if (zip == NULL) {
        return 0;
    }
    if (manifest_read(&manifest, zip, &failure) == 0) {
        n = zip_count(zip);
        for (i = 0; i < n && zip_next(zip, &member) == 1; i++) {
            check_member(&check, zip, &member);
        }
        check_pairs(&check);
    }
    manifest_free(&manifest);
    free(check.text.data);
    zip_close(zip);
    return check.wrong;
}
