/*
 * Copyright (C) the ngx_symcache authors
 */
#include "file_name.h"

#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "url.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_all_hex(struct symc_string text)
{
    size_t i;

    for (i = 0; i < text.size && hex_digit(text.data[i]) >= 0; i++) {
    }
    return i == text.size;
}

/* A version: a "v" that may be missing, and numbers with dots between. */
static bool name_is_version(struct symc_string text)
{
    size_t i;
    bool was_digit = false;

    if (text.size > 0 && (text.data[0] | 0x20) == 'v') {
        text = js_rest(text, 1);
    }
    for (i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]) && (text.data[i] != '.' || !was_digit)) {
            return false;
        }
        was_digit = is_digit(text.data[i]);
    }
    return was_digit;
}

/* Does a folder say nothing of the module? */
static bool name_is_useless(struct symc_string folder)
{
    size_t i;
    static const char *const words[] = {
        "script", "scripts", "javascript",   "javascripts",     "js",
        "build",  "static",  "node_modules", "bower_components"};

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (folder.size == strlen(words[i]) &&
            strncasecmp(folder.data, words[i], folder.size) == 0) {
            return true;
        }
    }
    return (folder.size > 0 && strchr("_.~", folder.data[0]) != NULL &&
            memchr(folder.data, '\n', folder.size) == NULL) ||
           name_is_version(folder) ||
           ((folder.size == 7 || folder.size == 8 || folder.size == 32 ||
             folder.size == 40) &&
            is_all_hex(folder));
}

/* Cuts slashes and folders that say nothing off the beginning. */
static struct symc_string name_cut_folders(struct symc_string path)
{
    const char *slash;
    struct symc_string folder;

    for (;;) {
        slash = path.size > 0 ? memchr(path.data, '/', path.size) : NULL;
        if (slash == NULL) {
            return path;
        }
        folder.data = path.data;
        folder.size = (size_t)(slash - path.data);
        if (folder.size > 0 && !name_is_useless(folder)) {
            return path;
        }
        path = js_rest(path, folder.size + 1);
    }
}

/* Cuts a hash of at least 7 digits off the end, and what is before it. */
static struct symc_string name_cut_hash(struct symc_string path)
{
    size_t n = path.size;

    while (n > 0 && hex_digit(path.data[n - 1]) >= 0) {
        n--;
    }
    if (path.size - n >= 7 && n > 0 &&
        (path.data[n - 1] == '-' || path.data[n - 1] == '.')) {
        path.size = n - 1;
    }
    return path;
}

/* The part after the first folder or file whose name is only a hash; absent if
 * there is none. */
static struct symc_string name_behind_hash(struct symc_string path)
{
    size_t n;
    const char *slash;
    struct symc_string part, none = {NULL, 0};

    for (;; path = js_rest(path, n + 1)) {
        slash = path.size > 0 ? memchr(path.data, '/', path.size) : NULL;
        n = slash != NULL ? (size_t)(slash - path.data) : path.size;
        part.data = path.data;
        part.size = n;
        if (n == 32 || (n == 40 && is_all_hex(part))) {
            return js_rest(path, slash != NULL ? n + 1 : n);
        }
        if (slash == NULL) {
            return none;
        }
    }
}

size_t js_module_name(struct symc_string path, char *to)
{
    size_t i;
    struct symc_string behind;

    path = js_path(path);
    for (i = 0; i < path.size; i++) {
        if (path.data[i] == '#' || path.data[i] == '?') {
            path.size = i;
        }
    }
    for (i = path.size; i > 0 && path.data[i - 1] != '/'; i--) {
        if (path.data[i - 1] == '.') {
            path.size = i - 1;
            break;
        }
    }
    if (path.size >= 4 && memcmp(path.data + path.size - 4, ".min", 4) == 0) {
        path.size -= 4;
    }
    behind = name_behind_hash(path);
    path =
        behind.data != NULL ? behind : name_cut_hash(name_cut_folders(path));
    if (path.size > 0) {
        memcpy(to, path.data, path.size);
    }
    return path.size;
}

/* The part after the first "/~/" follows "~/" then. */
static bool name_take_home(struct symc_string name,
                           struct symc_string *filename)
{
    const char *home =
        name.size > 0 ? memmem(name.data, name.size, "/~/", 3) : NULL;

    if (home != NULL) {
        filename->data = home + 1;
        filename->size = name.size - (size_t)(home + 1 - name.data);
    }
    return home != NULL;
}

/* The size of webpack[-internal]://NAMESPACE/./ before its last two bytes, or
 * 0. */
static size_t namespace_size(struct symc_string name)
{
    size_t n = js_begins(name, "webpack://")            ? 10
               : js_begins(name, "webpack-internal://") ? 19
                                                        : 0;
    size_t begin = n;

    for (; n > 0 && n < name.size &&
           ((name.data[n] | 0x20) >= 'a' && (name.data[n] | 0x20) <= 'z'
                ? true
                : is_digit(name.data[n]) ||
                      memchr("_-@.", name.data[n], 4) != NULL);
         n++) {
    }
    return n > begin && name.size - n >= 3 &&
                   memcmp(name.data + n, "/./", 3) == 0
               ? n + 1
               : 0;
}

static struct symc_string cut(struct symc_string name, const char *prefix)
{
    return js_begins(name, prefix) ? js_rest(name, strlen(prefix)) : name;
}

struct js_names js_file_names(struct symc_string name,
                              struct symc_string abs_path, bool has_module,
                              char *module)
{
    size_t n;
    bool is_webpack = js_begins(name, "webpack:");
    bool is_turbopack = !is_webpack && js_begins(name, "turbopack:");
    struct js_names names = {name, {NULL, 0}};

    if ((is_webpack || is_turbopack) &&
        !name_take_home(name, &names.filename)) {
        n = is_webpack ? namespace_size(name) : 0;
        if (n > 0) {
            names.filename = js_rest(name, n);
        } else if (is_webpack) {
            names.filename =
                cut(cut(name, "webpack:///"), "webpack-internal:///");
        } else if (js_begins(name, "turbopack:///")) {
            names.filename = cut(cut(name, "turbopack:///"), "[project]/");
        }
    }
    if (is_webpack || is_turbopack) {
        names.module.data = module;
        names.module.size = js_module_name(names.filename, module);
    } else if (!has_module && (js_begins(abs_path, "http:") ||
                               js_begins(abs_path, "https:") ||
                               js_begins(abs_path, "webpack:") ||
                               js_begins(abs_path, "turbopack:") ||
                               js_begins(abs_path, "app:"))) {
        names.module.data = module;
        names.module.size = js_module_name(abs_path, module);
    }
    return names;
}
