/*
 * Copyright (C) the ngx_symcache authors
 *
 * The stream is a text of this form:
 *
 *   SRCSRV: ini ---          VERSION=, VERCTRL=, ...
 *   SRCSRV: variables ---    SRCSRVTRG=, ...
 *   SRCSRV: source files --- path*var2*var3*var4*...
 *   SRCSRV: end ---
 */

#include "srcsrv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/utf8.h"

struct srcsrv_entry {
    const char *line; /* begins with the path */
    uint32_t size;
    uint32_t path_size;
    uint32_t number; /* of the entry: the last one of equal paths is used */
};

struct srcsrv_lines {
    const char *p;
    const char *end;
    const char *line;
    size_t size;
};

void srcsrv_free(struct srcsrv *srcsrv)
{
    free(srcsrv->entries);
    msf_buffer_free(&srcsrv->buffer);
    memset(srcsrv, 0, sizeof(*srcsrv));
}

static bool srcsrv_next_line(struct srcsrv_lines *l)
{
    const char *nl;

    if (l->p == l->end) {
        return false;
    }
    nl = memchr(l->p, '\n', (size_t)(l->end - l->p));
    l->line = l->p;
    l->size = (size_t)((nl == NULL ? l->end : nl) - l->p);
    l->p = nl == NULL ? l->end : nl + 1;
    if (nl != NULL && l->size > 0 && l->line[l->size - 1] == '\r') {
        l->size--;
    }
    return true;
}

static bool srcsrv_line_starts(const struct srcsrv_lines *l, const char *with)
{
    size_t n;

    n = strlen(with);
    return l->size >= n && memcmp(l->line, with, n) == 0;
}

/* Returns the value if the line is NAME=value, in any case, or else NULL. */
static const char *srcsrv_value_of(const struct srcsrv_lines *l,
                                   const char *name, size_t *size)
{
    size_t n;

    n = strlen(name);
    if (l->size <= n || l->line[n] != '=' ||
        strncasecmp(l->line, name, n) != 0) {
        return NULL;
    }
    *size = l->size - n - 1;
    return l->line + n + 1;
}

/* Goes to the next line.  Returns false at the end, at the next section, and
 * at a line that is not NAME=value. */
static bool srcsrv_next_setting(struct srcsrv_lines *l)
{
    return srcsrv_next_line(l) && !srcsrv_line_starts(l, "SRCSRV:") &&
           memchr(l->line, '=', l->size) != NULL;
}

static bool read_ini(struct srcsrv_lines *l, bool of_perforce)
{
    bool has_version = false, is_perforce = false;
    size_t size;
    const char *value;

    if (!srcsrv_next_line(l) || !srcsrv_line_starts(l, "SRCSRV: ini --")) {
        return false;
    }
    while (srcsrv_next_setting(l)) {
        value = srcsrv_value_of(l, "VERSION", &size);
        if (value != NULL) {
            has_version = size == 1 && *value >= '1' && *value <= '3';
        }
        value = srcsrv_value_of(l, "VERCTRL", &size);
        if (value != NULL) {
            is_perforce = size == 8 && strncasecmp(value, "perforce", 8) == 0;
        }
    }
    return has_version && (is_perforce || !of_perforce) &&
           srcsrv_line_starts(l, "SRCSRV: variables --");
}

static bool read_variables(struct srcsrv *srcsrv, struct srcsrv_lines *l)
{
    bool has_target = false;
    size_t size;

    srcsrv->variables = l->p;
    while (srcsrv_next_setting(l)) {
        has_target |= srcsrv_value_of(l, "SRCSRVTRG", &size) != NULL;
        srcsrv->variables_size = (size_t)(l->p - srcsrv->variables);
    }
    return has_target && srcsrv_line_starts(l, "SRCSRV: source files --");
}

static int srcsrv_compare_path(const char *a, uint32_t a_size, const char *b,
                               uint32_t b_size)
{
    int rc;

    rc = strncasecmp(a, b, a_size < b_size ? a_size : b_size);
    return rc != 0 ? rc : (a_size > b_size) - (a_size < b_size);
}

static int compare_entries(const void *left, const void *right)
{
    int rc;
    const struct srcsrv_entry *a = left, *b = right;

    rc = srcsrv_compare_path(a->line, a->path_size, b->line, b->path_size);
    return rc != 0 ? rc : (a->number > b->number) - (a->number < b->number);
}

static int read_srcsrv_files(struct srcsrv *srcsrv, struct srcsrv_lines *l)
{
    size_t room;
    const char *star;
    struct srcsrv_entry *entry;

    room = 0;
    while (srcsrv_next_line(l) && !srcsrv_line_starts(l, "SRCSRV:")) {
        if (array_need(&srcsrv->entries, &room, srcsrv->count + 1,
                       sizeof(*srcsrv->entries)) != 0) {
            return -1;
        }
        star = memchr(l->line, '*', l->size);
        entry = &srcsrv->entries[srcsrv->count];
        entry->line = l->line;
        entry->size = (uint32_t)l->size;
        entry->path_size =
            star == NULL ? entry->size : (uint32_t)(star - l->line);
        entry->number = (uint32_t)srcsrv->count++;
    }
    if (!srcsrv_line_starts(l, "SRCSRV: end --")) {
        srcsrv->count = 0;
    }
    if (srcsrv->count > 0) {
        qsort(srcsrv->entries, srcsrv->count, sizeof(*srcsrv->entries),
              compare_entries);
    }
    return 0;
}

int srcsrv_read(struct srcsrv *srcsrv, const struct msf *msf,
                const struct info_stream *info, bool of_perforce)
{
    uint32_t size;
    struct srcsrv_lines l = {NULL, NULL, NULL, 0};

    memset(srcsrv, 0, sizeof(*srcsrv));
    size = msf_stream_size(msf, info->srcsrv_stream);
    if (size == 0) {
        return 0;
    }
    l.p = (const char *)msf_view(msf, info->srcsrv_stream, 0, size,
                                 &srcsrv->buffer);
    if (l.p == NULL || utf8_valid(l.p, size) != size) {
        return 0;
    }
    l.end = l.p + size;
    srcsrv->size = size;
    if (!read_ini(&l, of_perforce) || !read_variables(srcsrv, &l)) {
        return 0;
    }
    return read_srcsrv_files(srcsrv, &l);
}

/* Returns part n of a line, counted from 1.  The tenth part is all of the
 * rest. */
static const char *srcsrv_entry_part(const struct srcsrv_entry *entry,
                                     unsigned n, uint32_t *size)
{
    const char *p, *end, *star;

    p = entry->line;
    end = entry->line + entry->size;
    for (; n > 1; n--) {
        p = memchr(p, '*', (size_t)(end - p));
        if (p == NULL) {
            return NULL;
        }
        p++;
    }
    star = memchr(p, '*', (size_t)(end - p));
    *size = (uint32_t)((star == NULL ? end : star) - p);
    return p;
}

bool srcsrv_part(const struct srcsrv *srcsrv, size_t entry, unsigned number,
                 struct symc_text *text)
{
    text->size = 0;
    text->data =
        srcsrv_entry_part(&srcsrv->entries[entry], number, &text->size);
    return text->data != NULL;
}

bool srcsrv_variable(const struct srcsrv *srcsrv, size_t *at,
                     struct symc_text *name, struct symc_text *value)
{
    struct srcsrv_lines l = {srcsrv->variables, NULL, NULL, 0};
    const char *equals;

    if (*at >= srcsrv->variables_size) {
        return false;
    }
    l.p += *at;
    l.end = srcsrv->variables + srcsrv->variables_size;
    (void)srcsrv_next_line(&l);
    *at = (size_t)(l.p - srcsrv->variables);
    equals = memchr(l.line, '=', l.size);
    name->data = l.line;
    name->size = (uint32_t)(equals - l.line);
    value->data = equals + 1;
    value->size = (uint32_t)(l.size - name->size - 1);
    return true;
}

bool srcsrv_find(const struct srcsrv *srcsrv, const char *path, uint32_t size,
                 struct srcsrv_info *info)
{
    size_t low, high, mid;
    const struct srcsrv_entry *entry;

    low = 0;
    high = srcsrv->count;
    while (low < high) {
        mid = low + (high - low) / 2;
        entry = &srcsrv->entries[mid];
        if (srcsrv_compare_path(entry->line, entry->path_size, path, size) <=
            0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low == 0) {
        return false;
    }
    entry = &srcsrv->entries[low - 1];
    if (srcsrv_compare_path(entry->line, entry->path_size, path, size) != 0) {
        return false;
    }
    info->path = srcsrv_entry_part(entry, 3, &info->path_size);
    if (info->path == NULL) {
        return false;
    }
    while (info->path_size >= 2 && memcmp(info->path, "//", 2) == 0) {
        info->path += 2;
        info->path_size -= 2;
    }
    info->revision = srcsrv_entry_part(entry, 4, &info->revision_size);
    if (info->revision != NULL && info->revision_size == 0) {
        info->revision = NULL;
    }
    return true;
}
