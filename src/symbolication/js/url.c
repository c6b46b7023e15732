/*
 * Copyright (C) the ngx_symcache authors
 */
#include "url.h"

#include "output.h"

static bool url_is(struct symc_string text, const char *other)
{
    return text.size == strlen(other) && js_begins(text, other);
}

/* Where the first of a character is, or the size. */
static size_t url_find(struct symc_string text, char c)
{
    const char *p = text.size > 0 ? memchr(text.data, c, text.size) : NULL;

    return p != NULL ? (size_t)(p - text.data) : text.size;
}

/* Where "://" is, or the size. */
static size_t url_find_scheme(struct symc_string text)
{
    const char *p =
        text.size > 0 ? memmem(text.data, text.size, "://", 3) : NULL;

    return p != NULL ? (size_t)(p - text.data) : text.size;
}

/* Writes a slash and a part for each part between slashes. */
static void url_put_parts(struct js_output *out, struct symc_string path)
{
    size_t n;

    for (;; path = js_rest(path, n + 1)) {
        n = url_find(path, '/');
        js_put(out, "/", 1);
        js_put(out, path.data, n);
        if (n == path.size) {
            return;
        }
    }
}

/* Removes the last part that was written after begin; returns whether there
 * was one. */
static bool url_remove_part(struct js_output *out, size_t begin)
{
    while (out->size > begin) {
        out->size--;
        if (out->size < out->room && out->data[out->size] == '/') {
            return true;
        }
    }
    return false;
}

/* Joins the parts of a relative reference to those that were written from
 * begin on. */
static void url_put_relative(struct js_output *out, size_t begin,
                             struct symc_string reference, bool is_http)
{
    size_t n;
    bool is_first = true;
    struct symc_string part;

    for (;; reference = js_rest(reference, n + 1)) {
        n = url_find(reference, '/');
        part = reference;
        part.size = n;
        if (url_is(part, "..") && (url_remove_part(out, begin) || is_http)) {
            /* it was removed, or the root is its own parent */
        } else if (!url_is(part, ".") || (!is_http && !is_first)) {
            is_first = false;
            url_put_parts(out, part);
        }
        if (n == reference.size) {
            return;
        }
    }
}

/* Removes parts that are empty, from begin on. */
static void url_squeeze(struct js_output *out, size_t begin)
{
    size_t i, size = begin;

    if (out->size > out->room) {
        return;
    }
    for (i = begin; i < out->size; i++) {
        if (out->data[i] != '/' ||
            (i + 1 < out->size && out->data[i + 1] != '/')) {
            out->data[size++] = out->data[i];
        }
    }
    out->size = size;
}

/* Writes what an absolute path comes to at a base. */
static void url_put_absolute(struct js_output *out, struct symc_string scheme,
                             struct symc_string path, struct symc_string right)
{
    if (scheme.size > 0 && js_begins(right, "//")) {
        js_put(out, scheme.data, scheme.size);
        right = js_rest(right, 2);
        js_put(out, "://", 3);
    } else if (scheme.size > 0) {
        js_put(out, scheme.data, scheme.size);
        js_put(out, "://", 3);
        js_put(out, path.data, url_find(path, '/'));
    }
    js_put(out, right.data, right.size);
}

size_t js_join(struct symc_string base, struct symc_string right, char *to,
               size_t room)
{
    size_t n, colon = url_find_scheme(base);
    struct symc_string scheme = {base.data, colon};
    struct symc_string path =
        colon < base.size ? js_rest(base, colon + 3) : base;
    struct js_output out = {to, room, 0};

    if (url_find_scheme(right) < right.size || js_begins(right, "webpack:") ||
        js_begins(right, "turbopack:")) {
        js_put(&out, right.data, right.size);
        return out.size;
    }
    right = js_begins(right, "~") ? js_rest(right, 1) : right;
    if (colon == base.size || url_is(scheme, "file")) {
        scheme.size = 0;
    }
    if (js_begins(right, "/")) {
        url_put_absolute(&out, scheme, path, right);
        return out.size;
    }
    n = 0;
    if (scheme.size > 0) {
        n = url_find(path, '/');
        js_put(&out, scheme.data, scheme.size);
        js_put(&out, "://", 3);
        js_put(&out, path.data, n);
    }
    path = js_rest(path, n);
    path = js_begins(path, "/") ? js_rest(path, 1) : path;
    n = out.size;
    url_put_parts(&out, path);
    (void)url_remove_part(&out, n);
    url_put_relative(&out, n, right,
                     url_is(scheme, "http") || url_is(scheme, "https"));
    url_squeeze(&out, n);
    return out.size;
}

struct symc_string js_path(struct symc_string url)
{
    size_t colon;

    if (js_begins(url, "~")) {
        return js_rest(url, 1);
    }
    colon = url_find_scheme(url);
    if (colon < url.size) {
        struct symc_string path = js_rest(url, colon + 3);
        size_t slash = url_find(path, '/');

        return slash < path.size ? js_rest(path, slash) : path;
    }
    return url;
}

unsigned js_candidates(struct symc_string url, char *to,
                       struct symc_string names[4])
{
    unsigned i, n = 0;
    size_t query;
    struct symc_string path;

    url.size = url_find(url, '#');
    query = url_find(url, '?');
    names[n++] = url;
    if (query < url.size) {
        names[n] = url;
        names[n++].size = query;
    }
    path = js_path(url);
    query = url_find(path, '?');
    for (i = 0; i < 2 && (i == 0 || query < path.size); i++) {
        names[n].data = to;
        names[n].size = 1 + (i == 0 ? path.size : query);
        *to++ = '~';
        if (names[n].size > 1) {
            memcpy(to, path.data, names[n].size - 1);
        }
        to += names[n].size - 1;
        n++;
    }
    return n;
}

static bool url_cut_ending(struct symc_string *name)
{
    size_t i, n, before = name->size;
    static const char *const endings[] = {
        ".min", ".js", ".map", ".cjs", ".mjs", ".ts", ".d", ".jsx", ".tsx"};

    for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        n = strlen(endings[i]);
        while (name->size >= n &&
               memcmp(name->data + name->size - n, endings[i], n) == 0) {
            name->size -= n;
        }
    }
    return name->size != before;
}

size_t js_stem(struct symc_string url, char *to, size_t room)
{
    const char *slash;
    struct symc_string name, path = js_path(url);
    struct js_output out = {to, room, 0};

    slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    if (slash == NULL) {
        js_put(&out, path.data, path.size);
        return out.size;
    }
    name = js_rest(path, (size_t)(slash - path.data) + 1);
    name.size = url_find(name, '?');
    name.size = url_find(name, '#');
    while (url_cut_ending(&name)) {
    }
    js_put(&out, path.data, (size_t)(slash - path.data) + 1);
    js_put(&out, name.data, name.size);
    return out.size;
}
