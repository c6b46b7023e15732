/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a script, for its functions and their names.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/jsscopes/jsscopes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Scopes are in the script, and an identifier's text is, too. */
static void check(const struct jsscopes *s, const char *script, size_t size)
{
    size_t i, k;
    const struct jsscopes_part *part;

    for (i = 0; i < s->count; i++) {
        if (s->list[i].start >= s->list[i].end || s->list[i].end > size ||
            (size_t)s->list[i].first_part + s->list[i].num_parts >
                s->num_parts) {
            abort();
        }
        for (k = 0; k < s->list[i].num_parts; k++) {
            part = &s->parts[s->list[i].first_part + k];
            if (part->is_identifier &&
                (part->text < script ||
                 part->text + part->size > script + size)) {
                abort();
            }
        }
    }
}

static void check_index(const struct jsscopes *s)
{
    ssize_t i, n;
    struct jsscopes_change *changes;

    n = jsscopes_index(s, &changes);
    for (i = 1; i < n; i++) {
        if (changes[i].at < changes[i - 1].at) {
            abort();
        }
    }
    if (n < 0) {
        abort();
    }
    free(changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jsscopes s;
    struct jsscopes_error error = {NULL, 0};

    memset(&s, 0, sizeof(s));
    if (jsscopes_read(&s, (const char *)data, size, &error) == JSSCOPES_OK) {
        check(&s, (const char *)data, size);
        check_index(&s);
    } else if (error.reason == NULL || error.at > size) {
        abort();
    }
    jsscopes_free(&s);
    return 0;
}
