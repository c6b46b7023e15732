/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_files.h"

#include <string.h>

#include "base/byte_compare.h"

#include "absence_reason.h"
#include "js_artifacts.h"
#include "js_scraping.h"
#include "js_wants.h"

/* A file that was looked for in this step. */
struct js_entry {
    struct symc_string url;
    const char *debug_id;
    enum sourcecache_type type;
    struct js_file file;
};

void *js_files_take(struct js_files *files, size_t size)
{
    void *piece = arena_take(&files->arena, size);

    files->has_failed = files->has_failed || piece == NULL;
    if (piece != NULL) {
        memset(piece, 0, size);
    }
    return piece;
}

bool js_is_equal(struct symc_string a, struct symc_string b)
{
    return a.size == b.size && (a.data != NULL) == (b.data != NULL) &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int js_compare(struct symc_string a, struct symc_string b)
{
    return byte_compare(a.data, a.size, b.data, b.size);
}

uint64_t js_hash(const struct js_files *files, struct symc_string text)
{
    return table_hash((uintptr_t)files, text.size > 0 ? text.data : "",
                      text.size);
}

void js_table_add(struct js_files *files, struct table *table, uint64_t hash,
                  const void *value)
{
    if (table_add(table, hash, (uintptr_t)value) != 0) {
        files->has_failed = true;
    }
}

void js_files_note(struct js_files *files, struct js_file *file,
                   const struct js_asked *asked)
{
    struct js_asked *own =
        files->tells_why ? js_files_take(files, sizeof(*own)) : NULL;

    if (own != NULL) {
        *own = *asked;
        *(file->asked != NULL ? &file->last_asked->next : &file->asked) = own;
        file->last_asked = own;
        if (own->answer == NULL) {
            own->answer = absence_state(own->module);
        }
    }
}

void js_files_begin(struct js_files *files)
{
    arena_reset(&files->arena);
    table_free(&files->entries);
    table_free(&files->artifacts);
    table_free(&files->data_urls);
    files->bundles = NULL;
    files->nbundles = 0;
    files->are_bundles_pending = false;
    files->listed = files->told = 0;
    files->left_out = NULL;
    files->attempts = NULL;
}

void js_files_free(struct js_files *files)
{
    js_wants_free(files);
    table_free(&files->entries);
    table_free(&files->artifacts);
    table_free(&files->data_urls);
    arena_free(&files->arena);
}

static void js_files_find_file(struct js_files *files,
                               enum sourcecache_type type,
                               struct symc_string url, const char *debug_id,
                               struct js_file *file)
{
    if (!js_artifacts_find(files, type, url, debug_id, file)) {
        file->asked = NULL; /* all of them are asked again */
        if (!js_artifacts_ask(files, url, debug_id, file)) {
            file->state = JS_FILE_PENDING;
            return;
        }
        if (!js_artifacts_find(files, type, url, debug_id, file)) {
            if (url.data != NULL) {
                js_scraping_find(files, type, url, file);
            } else {
                file->state = JS_FILE_MISSING;
            }
            return;
        }
    }
    js_scraping_note(files, url, NULL, NULL, false);
}

const struct js_file *js_files_find(struct js_files *files,
                                    enum sourcecache_type type,
                                    struct symc_string url,
                                    const char *debug_id)
{
    static const struct js_file none = {.state = JS_FILE_MISSING};
    uint64_t hash = js_hash(files, url);
    struct js_entry *entry;
    size_t at = 0;

    while ((entry = (struct js_entry *)table_next(&files->entries, hash,
                                                  &at)) != NULL) {
        if (js_is_equal(entry->url, url) && entry->type == type &&
            strcmp(entry->debug_id, debug_id) == 0) {
            return &entry->file;
        }
    }
    entry = js_files_take(files, sizeof(*entry));
    if (entry == NULL) {
        return &none;
    }
    entry->url = url;
    entry->debug_id = debug_id;
    entry->type = type;
    entry->file.resolved_with = "unknown";
    js_files_find_file(files, type, url, debug_id, &entry->file);
    js_table_add(files, &files->entries, hash, entry);
    return &entry->file;
}
