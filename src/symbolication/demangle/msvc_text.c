/*
 * Copyright (C) the ngx_symcache authors
 */
#include "msvc_parser.h"

#include <string.h>

void demangle_fail(struct msvc_parser *msvc)
{
    msvc->has_failed = true;
    msvc->p = msvc->end;
}

bool demangle_enter(struct msvc_parser *msvc)
{
    if (++msvc->depth > DEMANGLE_DEPTH_MAX) {
        demangle_fail(msvc);
    }
    return !msvc->has_failed;
}

struct text text_join(struct msvc_parser *msvc, struct text a, struct text b)
{
    char *p;

    if (a.size == 0 || b.size == 0) {
        return a.size == 0 ? b : a;
    }
    p = msvc->room + msvc->used;
    if (a.data + a.size == p && b.size <= DEMANGLE_ROOM - msvc->used) {
        memcpy(p, b.data, b.size); /* a is the newest: it grows in place */
        msvc->used += b.size;
        return (struct text){a.data, a.size + b.size};
    }
    if (a.size + b.size > DEMANGLE_ROOM - msvc->used) {
        demangle_fail(msvc);
        return a;
    }
    memcpy(p, a.data, a.size);
    memcpy(p + a.size, b.data, b.size);
    msvc->used += a.size + b.size;
    return (struct text){p, a.size + b.size};
}

struct text text_join3(struct msvc_parser *msvc, struct text a, struct text b,
                       struct text c)
{
    return text_join(msvc, text_join(msvc, a, b), c);
}

struct text type_whole(struct msvc_parser *msvc, struct type type)
{
    return text_join(msvc, type.before, type.after);
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

int peek(const struct msvc_parser *msvc)
{
    return msvc->p < msvc->end ? (unsigned char)*msvc->p : -1;
}

int peek_second(const struct msvc_parser *msvc)
{
    return msvc->end - msvc->p > 1 ? (unsigned char)msvc->p[1] : -1;
}

bool take(struct msvc_parser *msvc, const char *what)
{
    size_t n;

    n = strlen(what);
    if ((size_t)(msvc->end - msvc->p) < n || memcmp(msvc->p, what, n) != 0) {
        return false;
    }
    msvc->p += n;
    return true;
}

/* "A" to "P" are hex digits up to "@"; "0" to "9" are 1 to 10. */
static struct text text_of_digits(struct msvc_parser *msvc)
{
    char digits[24];
    size_t at;
    uint64_t n;
    bool is_negative;

    is_negative = take(msvc, "?");
    n = 0;
    if (is_digit(peek(msvc))) {
        n = (uint64_t)(*msvc->p++ - '0') + 1;
    } else {
        for (at = 0; peek(msvc) >= 'A' && peek(msvc) <= 'P' && at < 16; at++) {
            n = n << 4 | (uint64_t)(*msvc->p++ - 'A');
        }
        if (!take(msvc, "@")) {
            demangle_fail(msvc);
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
    return text_join3(msvc, TEXT(" "), TEXT(" "),
                      (struct text){digits + at, sizeof(digits) - at});
}

struct text text_of_number(struct msvc_parser *msvc)
{
    struct text text;

    text = text_of_digits(msvc);
    return text.size > 2 ? (struct text){text.data + 2, text.size - 2} : text;
}
