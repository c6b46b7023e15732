/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sympath.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/control.h"

#define SYMPATH_CHAIN 10 /* stores */
#define SYMPATH_MAX 32767
#define SYMPATH_BLANKS " \t"

/* A piece of the value, which does not end with a NUL. */
struct sympath_text {
    const char *p;
    size_t len;
};

static int fail_sympath(struct sympath *path, const struct sympath_text *at,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail_sympath(struct sympath *path, const struct sympath_text *at,
                        const char *format, ...)
{
    va_list args;
    size_t len = at->len < 80 ? at->len : 80;
    const char *cut = memchr(at->p, '?', len);
    int n;

    /* the error must not contain a token in a query, or a password */
    if (cut != NULL && cut > at->p + 3) {
        len = (size_t)(cut - at->p);
    }
    if (memchr(at->p, '@', at->len) != NULL) {
        len = 0;
    }
    n = snprintf(path->error, sizeof(path->error), "\"%.*s%s\": ", (int)len,
                 at->p, len < at->len ? "..." : "");
    va_start(args, format);
    vsnprintf(path->error + n, sizeof(path->error) - (size_t)n, format, args);
    va_end(args);
    return -1;
}

static void trim_sympath_part(struct sympath_text *text)
{
    while (text->len > 0 && strchr(SYMPATH_BLANKS, text->p[0]) != NULL) {
        text->p++;
        text->len--;
    }
    while (text->len > 0 &&
           strchr(SYMPATH_BLANKS, text->p[text->len - 1]) != NULL) {
        text->len--;
    }
}

/* Cuts off the text before the first sign.  Returns false if none is left. */
static bool sympath_cut(struct sympath_text *rest, char sign,
                        struct sympath_text *piece)
{
    const char *end;

    if (rest->p == NULL) {
        return false;
    }
    end = memchr(rest->p, sign, rest->len);
    piece->p = rest->p;
    piece->len = end != NULL ? (size_t)(end - rest->p) : rest->len;
    if (end != NULL) {
        rest->p = end + 1;
        rest->len -= piece->len + 1;
    } else {
        rest->p = NULL;
    }
    trim_sympath_part(piece);
    return true;
}

static bool sympath_is(const struct sympath_text *text, const char *word)
{
    return strlen(word) == text->len &&
           strncasecmp(text->p, word, text->len) == 0;
}

static bool starts_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* places ------------------------------------------------------------------ */

/* Returns whether a "%" begins an escape in a URL, such as "%20", and not the
 * name of a variable. */
static bool is_sympath_escape(const char *out, const char *p, size_t left)
{
    return strstr(out, "://") != NULL && left >= 3 &&
           isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2]);
}

/* Copies the text into out, which has SYMPATH_TEXT bytes, and replaces
 * variables.  Returns 0, or -1 with the path's error set. */
static int expand_part(struct sympath *path, const struct sympath_text *in,
                       char *out)
{
    const char *p = in->p, *end = p + in->len, *close, *value;
    char name[128];
    size_t n, len = 0;

    out[0] = '\0';
    while (p < end) {
        value = p;
        n = 1;
        close = *p == '%' && !is_sympath_escape(out, p, (size_t)(end - p))
                    ? memchr(p + 1, '%', (size_t)(end - p - 1))
                    : NULL;
        if (close != NULL && close > p + 1) {
            snprintf(name, sizeof(name), "%.*s", (int)(close - p - 1), p + 1);
            value = getenv(name);
            if (value == NULL) {
                return fail_sympath(
                    path, in, "%%%s%% is not set in the environment", name);
            }
            n = strlen(value);
            p = close;
        }
        if (n >= SYMPATH_TEXT - len) {
            return fail_sympath(path, in, "is too long");
        }
        memcpy(out + len, value, n);
        len += n;
        out[len] = '\0';
        p++;
    }

    if (control_in(out)) {
        return fail_sympath(path, in, "has a control character");
    }
    while (len > 1 && (out[len - 1] == '/' || out[len - 1] == '\\')) {
        out[--len] = '\0';
    }
    return 0;
}

static int check_url(struct sympath *path, const struct sympath_text *at,
                     const char *url)
{
    const char *host = strstr(url, "://");

    if (host == NULL ||
        (!starts_with(url, "http://") && !starts_with(url, "https://"))) {
        return fail_sympath(path, at, "only http and https can be asked");
    }
    host += 3;
    if (strcspn(host, "/:?#\\") == 0 && host[0] != '[') {
        return fail_sympath(path, at, "has no host");
    }
    if (memchr(host, '@', strcspn(host, "/?#")) != NULL) {
        return fail_sympath(path, at,
                            "has a user name: make it a source of its own");
    }
    if (strpbrk(url, "?#") != NULL) {
        return fail_sympath(path, at,
                            "has a query: make it a source of its own");
    }
    if (strpbrk(url, " \\\"") != NULL) {
        return fail_sympath(path, at, "has a blank, a quote or a \\");
    }
    return 0;
}

static int check_folder(struct sympath *path, const struct sympath_text *at,
                        const char *folder)
{
    bool drive = isalpha((unsigned char)folder[0]) && folder[1] == ':' &&
                 (folder[2] == '\\' || folder[2] == '/' || folder[2] == '\0');
    bool unc = (folder[0] == '\\' && folder[1] == '\\') ||
               (folder[0] == '/' && folder[1] == '/');

    if (!drive && !unc && folder[0] != '/') {
        return fail_sympath(path, at,
                            "is neither a share, nor a drive, nor an absolute "
                            "path, nor a URL");
    }
    if (strpbrk(folder, "\"<>|?*") != NULL &&
        strncmp(folder, "\\\\?\\", 4) != 0) {
        return fail_sympath(path, at, "has a sign that no folder has");
    }
    return 0;
}

static int add_part(struct sympath *path, const struct sympath_text *at,
                    enum sympath_kind kind, bool cache)
{
    struct sympath_place *place = &path->places[path->n];
    size_t i;

    if (path->n == SYMPATH_PLACES) {
        return fail_sympath(path, at, "more than %d places", SYMPATH_PLACES);
    }
    if (expand_part(path, at, place->text) != 0) {
        return -1;
    }
    if (strstr(place->text, "://") != NULL ||
        starts_with(place->text, "http:") ||
        starts_with(place->text, "https:")) {
        kind = SYMPATH_URL;
    }
    if ((kind == SYMPATH_URL ? check_url : check_folder)(path, at,
                                                         place->text) != 0) {
        return -1;
    }

    place->kind = kind;
    place->cache = cache;
    for (i = 0; i < path->n; i++) {
        if (strcasecmp(path->places[i].text, place->text) == 0) {
            /* it may be missing only if it is a cache each time */
            path->places[i].cache = path->places[i].cache && cache;
            return 0;
        }
    }
    path->n++;
    return 0;
}

/* elements ---------------------------------------------------------------- */

/* Adds the stores after "srv*".  All but the last are caches of the last one.
 */
static int sympath_chain(struct sympath *path, struct sympath_text rest)
{
    struct sympath_text stores[SYMPATH_CHAIN], at = rest;
    size_t i, n = 0, last = SYMPATH_CHAIN;
    bool url;

    while (sympath_cut(&rest, '*', &stores[n])) {
        if (stores[n].len > 0) {
            last = n;
        }
        if (++n == SYMPATH_CHAIN && rest.p != NULL) {
            return fail_sympath(path, &at, "a chain of more than %d stores",
                                SYMPATH_CHAIN);
        }
    }
    if (last == SYMPATH_CHAIN) {
        return fail_sympath(path, &at,
                            "a debugger's own folder is all that is named");
    }

    for (i = 0; i < n; i++) {
        if (stores[i].len == 0) {
            continue; /* the default folder of a debugger, on its machine */
        }
        /* a URL cannot be written to, so it is not a cache in any position */
        url = stores[i].len > 5 && starts_with(stores[i].p, "http");
        if (add_part(path, &stores[i], SYMPATH_STORE, i < last && !url) != 0) {
            return -1;
        }
    }
    return 0;
}

static int sympath_element(struct sympath *path, struct sympath_text element)
{
    struct sympath_text rest = element, word, dll;

    sympath_cut(&rest, '*', &word);
    if (rest.p == NULL) {
        if (sympath_is(&word, "srv") || sympath_is(&word, "symsrv") ||
            sympath_is(&word, "cache")) {
            return fail_sympath(path, &element, "has no * after it");
        }
        return add_part(path, &element, SYMPATH_FOLDER, false);
    }

    if (sympath_is(&word, "srv")) {
        return sympath_chain(path, rest);
    }
    if (sympath_is(&word, "symsrv")) {
        sympath_cut(&rest, '*', &dll);
        if (!sympath_is(&dll, "symsrv.dll")) {
            return fail_sympath(path, &element,
                                "only symsrv.dll can be stood in for");
        }
        if (rest.p == NULL) {
            return fail_sympath(path, &element, "names no store");
        }
        return sympath_chain(path, rest);
    }
    if (sympath_is(&word, "cache")) {
        if (memchr(rest.p, '*', rest.len) != NULL) {
            return fail_sympath(path, &element, "cache* takes one folder");
        }
        trim_sympath_part(&rest);
        return rest.len == 0 ? 0 : add_part(path, &rest, SYMPATH_STORE, true);
    }
    return fail_sympath(path, &element,
                        "begins with neither srv*, symsrv* nor cache*");
}

/* Removes what people copy with a path: the command of the debugger or of the
 * shell, and quotes. */
static void strip_sympath_command(struct sympath_text *text)
{
    static const char *const words[] = {".sympath+", ".sympath", "set ",
                                        "_NT_SYMBOL_PATH="};
    size_t i, n;

    trim_sympath_part(text);
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        n = strlen(words[i]);
        if (text->len >= n && strncasecmp(text->p, words[i], n) == 0) {
            text->p += n;
            text->len -= n;
            trim_sympath_part(text);
        }
    }
    if (text->len >= 2 && text->p[0] == '"' && text->p[text->len - 1] == '"') {
        text->p++;
        text->len -= 2;
    }
}

int sympath_parse(struct sympath *path, const char *text)
{
    struct sympath_text rest = {text, strlen(text)}, element;

    memset(path, 0, sizeof(*path));
    if (rest.len > SYMPATH_MAX) {
        return fail_sympath(path, &rest, "is too long");
    }

    strip_sympath_command(&rest);
    element = rest;
    while (sympath_cut(&rest, ';', &element)) {
        if (element.len > 0 && sympath_element(path, element) != 0) {
            return -1;
        }
    }

    element = (struct sympath_text){text, strlen(text)};
    return path->n > 0 ? 0 : fail_sympath(path, &element, "names no place");
}
