/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

#include <string.h>

void demangle_fail(struct demangler *d)
{
    d->has_failed = true;
    d->p = d->end;
}

bool demangle_enter(struct demangler *d)
{
    if (++d->depth > DEMANGLE_DEPTH_MAX) {
        demangle_fail(d);
    }
    return !d->has_failed;
}

struct text text_join(struct demangler *d, struct text a, struct text b)
{
    char *p;

    if (a.size == 0 || b.size == 0) {
        return a.size == 0 ? b : a;
    }
    p = d->room + d->used;
    if (a.data + a.size == p && b.size <= DEMANGLE_ROOM - d->used) {
        memcpy(p, b.data, b.size); /* a is the newest: it grows in place */
        d->used += b.size;
        return (struct text){a.data, a.size + b.size};
    }
    if (a.size + b.size > DEMANGLE_ROOM - d->used) {
        demangle_fail(d);
        return a;
    }
    memcpy(p, a.data, a.size);
    memcpy(p + a.size, b.data, b.size);
    d->used += a.size + b.size;
    return (struct text){p, a.size + b.size};
}

struct text text_join3(struct demangler *d, struct text a, struct text b,
                       struct text c)
{
    return text_join(d, text_join(d, a, b), c);
}

struct text type_whole(struct demangler *d, struct type type)
{
    return text_join(d, type.before, type.after);
}

struct type type_plain(struct text text)
{
    return (struct type){.before = text};
}

bool text_ends_with(struct text text, struct text end)
{
    return text.size >= end.size &&
           memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

bool text_starts_with(struct text text, struct text begin)
{
    return text.size >= begin.size &&
           memcmp(text.data, begin.data, begin.size) == 0;
}

int peek(const struct demangler *d)
{
    return d->p < d->end ? (unsigned char)*d->p : -1;
}

int peek_second(const struct demangler *d)
{
    return d->end - d->p > 1 ? (unsigned char)d->p[1] : -1;
}

bool take(struct demangler *d, const char *what)
{
    size_t n;

    n = strlen(what);
    if ((size_t)(d->end - d->p) < n || memcmp(d->p, what, n) != 0) {
        return false;
    }
    d->p += n;
    return true;
}

/* "A" to "P" are hex digits up to "@"; "0" to "9" are 1 to 10. */
static struct text parse_digits(struct demangler *d)
{
    char digits[24];
    size_t at;
    uint64_t n;
    bool is_negative;

    is_negative = take(d, "?");
    n = 0;
    if (is_digit(peek(d))) {
        n = (uint64_t)(*d->p++ - '0') + 1;
    } else {
        for (at = 0; peek(d) >= 'A' && peek(d) <= 'P' && at < 16; at++) {
            n = n << 4 | (uint64_t)(*d->p++ - 'A');
        }
        if (!take(d, "@")) {
            demangle_fail(d);
        }
    }
    at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    if (is_negative) {
        digits[--at] = '-';
    }
    /* into the room: the array does not live long enough */
    return text_join3(d, TEXT(" "), TEXT(" "),
                      (struct text){digits + at, sizeof(digits) - at});
}

struct text parse_number(struct demangler *d)
{
    struct text text;

    text = parse_digits(d);
    return text.size > 2 ? (struct text){text.data + 2, text.size - 2} : text;
}
