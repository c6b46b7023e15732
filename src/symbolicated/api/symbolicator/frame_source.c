/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_source.h"

#include <string.h>

#define SNIP "{snip}"

void frame_source_find(struct frame_source *found,
                       const struct sourcecache_reader *sources,
                       struct symc_string path, uint32_t line)
{
    struct sourcecache_entry entry;
    char url[SYMCACHE_URL_MAX];
    size_t size;

    found->is_known = found->has_text = found->has_lines = false;
    found->link_size = 0;
    if (sources == NULL || path.size == 0) {
        return;
    }
    if (!sourcecache_find_path(sources, path.data, path.size, &entry)) {
        size = sourcecache_link(sources, path.data, path.size, url,
                                sizeof(url));
        found->is_known = size > 0;
        if (size <= sizeof(url)) {
            found->link_size = symcache_url_normalise(found->link, url, size);
        }
        return;
    }
    found->is_known = entry.status == SOURCECACHE_TEXT ||
                      entry.status == SOURCECACHE_LINKED;
    if (!found->is_known) {
        return;
    }
    found->has_text = entry.status == SOURCECACHE_TEXT;
    found->has_lines =
        found->has_text &&
        source_context_read(&found->context, &found->known, sources,
                            &entry, line);
    if (entry.url.size > 0) {
        found->link_size = symcache_url_normalise(found->link, entry.url.data,
                                                  entry.url.size);
    }
}

void frame_source_follow(struct frame_source *found,
                         struct source_links *links, size_t module,
                         uint32_t line)
{
    struct symc_string text;

    if (found->has_text || found->link_size == 0) {
        return;
    }
    text = source_links_text(links, found->link, found->link_size, module);
    if (text.data != NULL) {
        found->has_lines = source_context_of_text(
            &found->context, &found->known, text, line);
    }
}

void frame_source_ask(struct frame_source *found, struct source_links *links,
                      const struct symbolicator_request *request,
                      size_t module, struct symc_string path, uint32_t line)
{
    struct symc_string text;

    if (found->has_text || found->has_lines) {
        return;
    }
    text = source_links_of_servers(links, request, module, path);
    if (text.data != NULL) {
        found->has_lines = source_context_of_text(
            &found->context, &found->known, text, line);
    }
}

static void write_line(struct json_writer *w, const struct source_line *line)
{
    char text[256];
    size_t n = 0;

    if (!line->is_cut_before && !line->is_cut_behind) {
        json_write_string(w, line->text.data, line->text.size);
        return;
    }
    if (line->is_cut_before) {
        memcpy(text, SNIP " ", sizeof(SNIP));
        n = sizeof(SNIP);
    }
    memcpy(text + n, line->text.data, line->text.size);
    n += line->text.size;
    if (line->is_cut_behind) {
        memcpy(text + n, " " SNIP, sizeof(SNIP));
        n += sizeof(SNIP);
    }
    json_write_string(w, text, n);
}

static void write_list(struct json_writer *w, const char *name,
                       const struct source_line *lines, unsigned count)
{
    unsigned i;

    if (count == 0) {
        return;
    }
    json_put_open(w, name, '[');
    for (i = 0; i < count; i++) {
        write_line(w, &lines[i]);
    }
    json_write_close(w, ']');
}

void frame_source_write_lines(struct json_writer *w,
                              const struct source_context *context)
{
    write_list(w, "pre_context", context->lines, context->before);
    json_write_key(w, "context_line");
    write_line(w, &context->lines[context->before]);
    write_list(w, "post_context", context->lines + context->before + 1,
               context->count - context->before - 1);
}

void frame_source_write(struct json_writer *w,
                        const struct frame_source *found)
{
    if (found->has_lines) {
        frame_source_write_lines(w, &found->context);
    }
    if (found->link_size > 0) {
        json_put_string(w, "source_link", found->link, found->link_size);
    }
}

/* frames that bring their own -------------------------------------------- */

void frame_source_find_given(struct frame_source *found,
                             const struct sourcecache_reader *sources,
                             const struct json *json,
                             const uint32_t members[FRAME_MEMBERS])
{
    uint64_t line = 0;
    bool has_line = members[FRAME_LINENO] != 0 &&
                    json_integer(json, members[FRAME_LINENO], &line) ==
                        JSON_INTEGER_POSITIVE;

    frame_source_find(found, has_line ? sources : NULL,
                      schema_text(json, members[FRAME_ABS_PATH]),
                      (uint32_t)line);
}

static bool is_empty(const struct json *json, uint32_t list)
{
    return list == 0 || json->values[list].size == 0;
}

void frame_source_pass_lines(struct json_writer *w, const struct json *json,
                             uint32_t before, uint32_t line, uint32_t after)
{
    json_put_value(w, "pre_context", json,
                   is_empty(json, before) ? 0 : before);
    json_put_value(w, "context_line", json, line);
    json_put_value(w, "post_context", json, is_empty(json, after) ? 0 : after);
}

void frame_source_write_given(struct json_writer *w,
                              const struct frame_source *found,
                              const struct json *json,
                              const uint32_t members[FRAME_MEMBERS])
{
    if (!found->has_lines) {
        frame_source_pass_lines(w, json, members[FRAME_PRE_CONTEXT],
                                members[FRAME_CONTEXT_LINE],
                                members[FRAME_POST_CONTEXT]);
    }
    frame_source_write(w, found);
    if (!found->is_known) {
        json_put_value(w, "source_link", json, members[FRAME_SOURCE_LINK]);
    }
}
