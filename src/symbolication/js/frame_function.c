/*
 * Copyright (C) the ngx_symcache authors
 */
#include "frame_function.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

static const struct symc_string anonymous = {"<anonymous>", 11};
static const struct symc_string unknown = {"<unknown>", 9};

static bool is_word(struct symc_string text, const char *other)
{
    return text.size == strlen(other) &&
           memcmp(text.data, other, text.size) == 0;
}

/* The names of the runtime of webpack, and none, say nothing. */
static bool is_useless(struct symc_string name)
{
    return is_word(name, anonymous.data) ||
           is_word(name, "__webpack_require__") ||
           is_word(name, "__webpack_modules__");
}

struct symc_string js_frame_function(const struct jscache_token *token,
                                     struct symc_string own,
                                     struct symc_string caller)
{
    struct symc_string name = token->function;
    static const char async[] = "$async$"; /* dart2js */

    switch (token->scope) {
    case JSCACHE_SCOPE_NONE:
        name = own.data != NULL ? own : unknown;
        break;
    case JSCACHE_SCOPE_ANONYMOUS:
        name = anonymous;
        break;
    case JSCACHE_SCOPE_NAMED:
        if (name.data == NULL) { /* a damaged file */
            name = unknown;
        } else if (name.size >= sizeof(async) - 1 &&
                   memcmp(name.data, async, sizeof(async) - 1) == 0 &&
                   token->name.data != NULL) {
            name = token->name;
        }
        break;
    }
    if (!is_useless(name)) {
        return name;
    }
    return caller.size > 0 ? caller : own.data != NULL ? own : name;
}

/* The part of a name at p, up to a dot or its end. */
static struct symc_string part_at(const char *p, const char *end)
{
    const char *dot = memchr(p, '.', (size_t)(end - p));
    struct symc_string part = {p, (size_t)((dot != NULL ? dot : end) - p)};

    return part;
}

size_t js_fold(struct symc_string name, char *to, size_t room)
{
    size_t n;
    char number[32];
    const char *p = name.data, *end = p + name.size;
    struct symc_string part, next;
    struct js_output out = {to, room, 0};

    for (part = part_at(p, end); part.data + part.size < end; part = next) {
        for (n = 1, next = part_at(part.data + part.size + 1, end);
             next.data + next.size < end && next.size == part.size &&
             memcmp(next.data, part.data, part.size) == 0;
             n++) {
            next = part_at(next.data + next.size + 1, end);
        }
        if (n > 1) {
            snprintf(number, sizeof(number), "#%zu}", n);
            js_put(&out, "{", 1);
            js_put(&out, part.data, part.size);
            js_put(&out, number, strlen(number));
        } else {
            js_put(&out, part.data, part.size);
        }
        js_put(&out, ".", 1);
    }
    js_put(&out, part.data, part.size);
    return out.size;
}
