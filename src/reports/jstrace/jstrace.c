/*
 * Copyright (C) the ngx_symcache authors
 */
#include "jstrace.h"

#include <string.h>

#include "base/hex.h"

#define LOG_PREFIX 256 /* bytes, in which the prefix of a log's line ends */
#define MADE " > WebAssembly." /* Firefox, of modules that are in no file */

static bool jstrace_begins(const char *p, const char *end, const char *with)
{
    size_t n = strlen(with);

    return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

static bool jstrace_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *cut_blanks(const char *p, const char *end)
{
    while (end > p && jstrace_is_blank(end[-1])) {
        end--;
    }
    return end;
}

/* Reads ":" and a number of at least 1 from the end of a text back. */
static bool jstrace_read_number(const char *begin, const char **end,
                                uint32_t *number)
{
    const char *p = *end;
    uint64_t n = 0, unit;

    for (unit = 1;
         p > begin && p[-1] >= '0' && p[-1] <= '9' && unit <= UINT32_MAX;
         unit *= 10) {
        n += unit * (unsigned)(*--p - '0');
    }
    if (p == *end || p == begin || p[-1] != ':' || n > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)n;
    *end = p - 1;
    return true;
}

static const char *jstrace_find(const char *p, const char *end,
                                const char *text)
{
    return memmem(p, (size_t)(end - p), text, strlen(text));
}

/* Reads ":wasm-function[12]:0x1a2b" from the end of a text back, the offset in
 * a module of WebAssembly: its map has bytes as columns of the first line. */
static bool jstrace_read_offset(const char *begin, const char **end,
                                struct jstrace_frame *frame)
{
    const char *p = jstrace_find(begin, *end, ":wasm-function[");
    const char *close = p != NULL ? jstrace_find(p, *end, "]:0x") : NULL;
    uint64_t offset;

    if (close == NULL || *end - close > 12 ||
        !hex_number(close + 4, (size_t)(*end - close) - 4, &offset) ||
        offset >= UINT32_MAX - 1) {
        return false;
    }
    frame->is_wasm = true;
    frame->line = 1;
    frame->column = (uint32_t)offset + 1;
    *end = p;
    return true;
}

/* Reads "URL:LINE:COLUMN". */
static bool jstrace_read_place(const char *p, const char *end,
                               struct jstrace_frame *frame)
{
    const char *q;
    bool is_bytecode = jstrace_begins(p, end, "address at "), is_made;

    p += is_bytecode ? strlen("address at ") : 0;
    frame->place.data = p;
    frame->place.size = (size_t)(end - p);
    if ((!jstrace_read_offset(p, &end, frame) &&
         (!jstrace_read_number(p, &end, &frame->column) ||
          !jstrace_read_number(p, &end, &frame->line))) ||
        p == end || frame->line == 0 || *p == '<' ||
        frame->column == UINT32_MAX) {
        return false;
    }
    is_made = frame->is_wasm && jstrace_find(p, end, MADE) != NULL;
    frame->column += is_bytecode; /* offsets are from 0 */
    for (q = p; q < end; q++) {
        if (*q == '\t' || (*q == '>' && !is_made) ||
            (unsigned char)*q < ' ') {
            return false;
        }
    }
    frame->url.data = p;
    frame->url.size = (size_t)(end - p);
    return frame->column > 0;
}

/* Reads what is after "at". */
static bool jstrace_read_at(const char *line, const char *p, const char *end,
                            struct jstrace_frame *frame)
{
    const char *bracket;

    if (jstrace_begins(p, end, "async ")) {
        p += strlen("async ");
    }
    frame->has_at = true;
    frame->begin = (size_t)(p - line);
    bracket = end > p && end[-1] == ')' ? memmem(p, (size_t)(end - p), " (", 2)
                                        : NULL;
    if (bracket == NULL) {
        return jstrace_read_place(p, end, frame);
    }
    if (memmem(bracket, (size_t)(end - bracket), ") at ", 5) != NULL) {
        return false; /* several frames in one line */
    }
    frame->function.data = p;
    frame->function.size = (size_t)(bracket - p);
    return !jstrace_begins(bracket + 2, end, "eval at ") &&
           jstrace_read_place(bracket + 2, end - 1, frame);
}

/* Skips what a log has in front of a function, which has no colon in it, and
 * what Firefox says of the call: "async*f", "setTimeout handler*f". */
static const char *jstrace_skip_prefix(const char *p, const char *function_end)
{
    const char *colon, *star;

    while ((colon = memmem(p, (size_t)(function_end - p), ": ", 2)) != NULL) {
        p = colon + 2;
    }
    star = memrchr(p, '*', (size_t)(function_end - p));
    p = star != NULL && memchr(p, '/', (size_t)(star - p)) == NULL ? star + 1
                                                                   : p;
    while (p < function_end && jstrace_is_blank(*p)) {
        p++;
    }
    return p;
}

/* The same behind what a log has in front of a line, if the place is surely
 * one: a time is no place. */
static bool find_at(const char *line, const char *p, const char *end,
                    struct jstrace_frame *frame)
{
    const char *last = end - p > LOG_PREFIX ? p + LOG_PREFIX : end;

    while ((p = memmem(p, (size_t)(last - p), " at ", 4)) != NULL) {
        p += strlen(" at ");
        if (jstrace_read_at(line, p, end, frame) &&
            memchr(frame->url.data, ' ', frame->url.size) == NULL &&
            (memchr(frame->url.data, '/', frame->url.size) != NULL ||
             memchr(frame->url.data, '\\', frame->url.size) != NULL)) {
            frame->end = (size_t)(end - line);
            return true;
        }
        memset(frame, 0, sizeof(*frame));
        p--; /* the blank may be that of the next one */
    }
    return false;
}

bool jstrace_read(const char *line, size_t size, struct jstrace_frame *frame)
{
    const char *p = line, *end = line + size, *at, *function;

    memset(frame, 0, sizeof(*frame));
    end = cut_blanks(p, end);
    if (end - p > 2 && end[-1] == '{' && jstrace_is_blank(end[-2])) {
        end = cut_blanks(p, end - 2); /* Node goes on with properties */
    }
    while (p < end && jstrace_is_blank(*p)) {
        p++;
    }
    frame->end = (size_t)(end - line);
    frame->begin = (size_t)(p - line);
    if (jstrace_begins(p, end, "at ")) {
        return jstrace_read_at(line, p + strlen("at "), end, frame);
    }
    if (end > p && find_at(line, p, end, frame)) {
        return true;
    }
    frame->end = (size_t)(end - line);
    at = end > p ? memchr(p, '@', (size_t)(end - p)) : NULL;
    function = at != NULL ? jstrace_skip_prefix(p, at) : NULL;
    if (at != NULL &&
        (memchr(at, ' ', (size_t)(end - at)) == NULL ||
         jstrace_find(at, end, MADE) != NULL) &&
        memmem(function, (size_t)(at - function), "://", 3) == NULL) {
        frame->begin = (size_t)(function - line);
        frame->function.data = function;
        frame->function.size = (size_t)(at - function);
        return jstrace_read_place(at + 1, end, frame);
    }
    /* Safari prints functions without a name so */
    return end > p && memmem(p, (size_t)(end - p), "://", 3) != NULL &&
           memchr(p, ' ', (size_t)(end - p)) == NULL &&
           jstrace_read_place(p, end, frame);
}

bool jstrace_is_trace(const char *text, size_t size)
{
    const char *end = text + size, *next;
    struct jstrace_frame frame;

    for (; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        if (jstrace_read(text, (size_t)(next - text), &frame)) {
            return true;
        }
    }
    return false;
}
