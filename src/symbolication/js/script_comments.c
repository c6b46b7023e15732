/*
 * Copyright (C) the ngx_symcache authors
 */
#include "script_comments.h"

#include <string.h>

#include "data_url.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

/* The last place before end where word begins, or NULL. */
static const char *find_last(const char *text, const char *end,
                             const char *word)
{
    size_t n = strlen(word);
    const char *p, *found;

    if ((size_t)(end - text) < n) {
        return NULL;
    }
    for (p = end - n + 1; p > text;) {
        found = memrchr(text, word[0], (size_t)(p - text));
        if (found == NULL || memcmp(found, word, n) == 0) {
            return found;
        }
        p = found;
    }
    return NULL;
}

/* The text after the last comment with a word, up to white space. */
static struct symc_string find_comment(const char *script, size_t size,
                                       const char *word, bool accepts_at)
{
    const char *at, *end = script + size;
    struct symc_string text = {NULL, 0};

    for (at = end;;) {
        at = find_last(script, at, word);
        if (at == NULL || at - script < 4) {
            return text;
        }
        if (memcmp(at - 4, "//# ", 4) == 0 ||
            (accepts_at && memcmp(at - 4, "//@ ", 4) == 0)) {
            break;
        }
    }
    for (at += strlen(word); at < end && is_blank(*at); at++) {
    }
    text.data = at;
    for (; at < end && !is_blank(*at); at++) {
    }
    text.size = (size_t)(at - text.data);
    return text;
}

struct symc_string js_source_mapping_url(const char *script, size_t size)
{
    size_t i;
    struct symc_string url =
        find_comment(script, size, "sourceMappingURL=", true);

    for (i = 0; i < url.size; i++) {
        if ((url.data[i] == '?' || url.data[i] == '#') &&
            !js_is_data_url(url)) {
            url.size = i;
        }
    }
    if (url.size == 0) {
        url.data = NULL;
    }
    return url;
}

struct symc_string js_debug_id(const char *script, size_t size)
{
    struct symc_string id = find_comment(script, size, "debugId=", false);

    if (id.size == 0) {
        id.data = NULL;
    }
    return id;
}
