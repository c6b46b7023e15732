/*
 * Copyright (C) the ngx_symcache authors
 */
#include "quote.h"

#include <string.h>

#include "line_parser.h"

/* Each of these lines is only in such a report. */
static bool is_line_of_report(struct apple_text line)
{
    struct apple_thread thread;
    line_error error;

    return line_starts(line, "Incident Identifier:") ||
           line_starts(line, "Binary Images:") ||
           (parse_thread_line(line, false, &thread, &error) &&
            thread.has_crashed);
}

struct apple_text find_quote(const char *text, size_t size)
{
    const char *p, *end = text + size, *next, *start;

    for (p = text; p < end; p = next + 1) {
        next = memchr(p, '\n', (size_t)(end - p));
        next = next != NULL ? next : end;
        for (start = p; start < next && (line_is_space(*start) ||
                                         *start == '>' || *start == '|');) {
            start++;
        }
        if (is_line_of_report(
                (struct apple_text){start, (size_t)(next - start)})) {
            return (struct apple_text){p, (size_t)(start - p)};
        }
    }
    return (struct apple_text){NULL, 0};
}

void cut_quote(struct apple_text *line, struct apple_text quote)
{
    while (line->size > 0 && quote.size > 0 && *line->data == *quote.data) {
        line->data++;
        line->size--;
        quote.data++;
        quote.size--;
    }
}
