/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a stack trace of JavaScript, and names and URLs in it.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/jstrace/jstrace.h"
#include "symbolication/js/js.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *buffer(size_t size)
{
    void *p = malloc(size + 1);

    if (p == NULL) {
        abort();
    }
    return p;
}

/* All that is written is in the room that the rules promise. */
static void use(struct symc_string url, struct symc_string name)
{
    size_t room = url.size + name.size + 8;
    char *to = buffer(room), *folded = buffer(3 * name.size + 16);
    char *both = buffer(2 * url.size + 2);
    struct symc_string names[4];

    if (js_join(url, name, to, room) > room ||
        js_fold(name, folded, 3 * name.size + 16) > 3 * name.size + 16 ||
        js_module_name(url, to) > url.size ||
        js_stem(url, to, room) > url.size ||
        js_candidates(url, both, names) > 4 ||
        js_file_names(name, url, false, to).module.size > room) {
        abort();
    }
    free(to);
    free(folded);
    free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size, *next;
    struct jstrace_frame frame;
    struct symc_string url = {text, size}, name;
    char *to = buffer(size);

    for (; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        if (!jstrace_read(text, (size_t)(next - text), &frame)) {
            continue;
        }
        if (frame.begin > frame.end || frame.end > (size_t)(next - text) ||
            frame.url.size == 0 || frame.line == 0 || frame.column == 0 ||
            frame.place.data != frame.url.data ||
            frame.place.size < frame.url.size ||
            frame.place.data + frame.place.size > text + frame.end) {
            abort();
        }
        url.data = frame.url.data;
        url.size = frame.url.size;
        name.data = frame.function.data;
        name.size = frame.function.size;
        use(url, name.data != NULL ? name : url);
    }
    (void)js_debug_id((const char *)data, size);
    url = js_source_mapping_url((const char *)data, size);
    if (url.data != NULL && js_is_data_url(url) &&
        js_data_url_read(url, to, &size) && size > url.size) {
        abort();
    }
    free(to);
    return 0;
}
