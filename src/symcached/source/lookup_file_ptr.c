/*
 * Copyright (C) the ngx_symcache authors
 *
 * Follows a file.ptr to what it names, whichever type of source has it.
 */
#include "lookup_steps.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LOOKUP_POINTERS 3

/* Does rel end with <name>/<GUIDAGE>/<name>? */
static bool file_ptr_is_in_store(const struct lookup *lookup, const char *rel)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];
    char tail[2 * SYMCACHE_NAME_MAX + SYMCACHE_ID_TEXT_MAX + 3];
    size_t len = strlen(rel), n;

    symcache_id_print(id, &lookup->key);
    snprintf(tail, sizeof(tail), "%s/%s/%s", lookup->key.name, id,
             lookup->key.name);

    n = strlen(tail);
    return len >= n && strcasecmp(rel + len - n, tail) == 0 &&
           (len == n || rel[len - n - 1] == '/');
}

/* Looks for the file that a file.ptr names, for its packed form, and, if that
 * is a place in a symbol store, for the file.ptr next to it. */
static void file_ptr_follow_rel(struct lookup *lookup, const char *root,
                                char rel[FILE_PTR_TEXT])
{
    char packed[FILE_PTR_TEXT], pointer[FILE_PTR_TEXT + sizeof("file.ptr")];
    struct lookup_dir dir = {.root = root,
                             .places = {rel, packed, pointer},
                             .nplaces = 2,
                             .beneath = true};
    const char *slash = strrchr(rel, '/');

    snprintf(packed, sizeof(packed), "%s", rel);
    layout_pack(packed);

    if (slash != NULL && file_ptr_is_in_store(lookup, rel)) {
        snprintf(pointer, sizeof(pointer), "%.*s/file.ptr", (int)(slash - rel),
                 rel);
        dir.nplaces = 3;
    }

    lookup_dir(lookup, &dir);
}

static void file_ptr_follow_path(struct lookup *lookup, const char *text)
{
    const struct source_config *source = lookup->source;
    char rel[FILE_PTR_TEXT], detail[FILE_PTR_TEXT + 64];
    const char *root, *refused;

    refused = config_map_location(
        source->map, source->nmap,
        source->path != NULL ? source->path : source->url, text, &root, rel);
    if (refused != NULL) {
        snprintf(detail, sizeof(detail), "%s: \"%.300s\"", refused, text);
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND, detail);
        lookup->resume(lookup);
        return;
    }

    if (root == source->url) {
        source_http_pointed_below(lookup, rel);
    } else {
        file_ptr_follow_rel(lookup, root, rel);
    }
}

void lookup_file_ptr(struct lookup *lookup, int fd)
{
    uint8_t data[FILE_PTR_MAX];
    char text[FILE_PTR_TEXT], detail[320];
    ssize_t n = pread(fd, data, sizeof(data), 0);

    if (n < 0) {
        lookup_fail(lookup, "read");
        return;
    }
    if (++lookup->pointers > LOOKUP_POINTERS) {
        lookup_attempt_here(lookup, SOURCE_UNUSABLE,
                            "too many file.ptr in a chain");
        lookup->resume(lookup);
        return;
    }

    switch (file_ptr_parse(data, (size_t)n, text)) {
    case FILE_PTR_PATH:
        file_ptr_follow_path(lookup, text);
        return;
    case FILE_PTR_URL:
        source_http_pointed(lookup, text);
        return;
    case FILE_PTR_MESSAGE:
        snprintf(detail, sizeof(detail), "MSG: %.300s", text);
        lookup_attempt_here(lookup, SOURCE_NOT_FOUND, detail);
        break;
    case FILE_PTR_BAD:
        lookup_attempt_here(lookup, SOURCE_UNUSABLE, text);
        break;
    }

    lookup->resume(lookup);
}
