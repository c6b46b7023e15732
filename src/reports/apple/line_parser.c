/*
 * Copyright (C) the ngx_symcache authors
 */
#include "line_parser.h"

#include <string.h>

#include "base/hex.h"

/* Bytes of a line of an image: its forms are tried at each "<". */
#define IMAGE_LINE 4096

static const char too_large[] = "a number is too large";

/* scanning ---------------------------------------------------------------- */

struct cursor {
    const char *p;
    const char *end;
};

static struct cursor at(struct apple_text text)
{
    const char *p = text.data != NULL ? text.data : "";

    return (struct cursor){p, p + text.size};
}

static struct apple_text between(const char *p, const char *end)
{
    return (struct apple_text){p, (size_t)(end - p)};
}

static size_t line_skip_spaces(struct cursor *line)
{
    const char *p = line->p;

    while (line->p < line->end && line_is_space(*line->p)) {
        line->p++;
    }
    return (size_t)(line->p - p);
}

static bool line_skip(struct cursor *line, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(line->end - line->p) < n || memcmp(line->p, text, n) != 0) {
        return false;
    }
    line->p += n;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, at least one. */
static bool line_digits(struct cursor *line, uint64_t *number,
                        line_error *error)
{
    const char *p = line->p;

    for (*number = 0; line->p < line->end && is_digit(*line->p); line->p++) {
        if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*line->p - '0'),
                                   number)) {
            *error = too_large;
        }
    }
    return line->p > p;
}

/* "0x" and digits, at least one. */
static bool line_hex(struct cursor *line, uint64_t *number, line_error *error)
{
    if (line->end - line->p < 3 || memcmp(line->p, "0x", 2) != 0 ||
        hex_digit(line->p[2]) < 0) {
        return false;
    }
    line->p += 2;
    *number = 0;
    while (line->p < line->end && hex_digit(*line->p) >= 0) {
        if (*number >> 60 != 0) {
            *error = too_large;
        }
        *number = *number << 4 | (uint64_t)hex_digit(*line->p++);
    }
    return true;
}

struct apple_text line_trim(struct apple_text text)
{
    while (text.size > 0 && line_is_space(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && line_is_space(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

bool line_starts(struct apple_text line, const char *text)
{
    size_t n = strlen(text);

    return line.size >= n && memcmp(line.data, text, n) == 0;
}

bool line_is(struct apple_text line, const char *text)
{
    return line.size == strlen(text) && line_starts(line, text);
}

bool line_number(struct apple_text text, uint32_t *number)
{
    struct cursor line = at(text);
    line_error error = NULL;
    uint64_t n;

    if (!line_digits(&line, &n, &error) || line.p < line.end ||
        error != NULL || n > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)n;
    return true;
}

/* threads ----------------------------------------------------------------- */

bool parse_thread_line(struct apple_text text, bool is_lenient,
                       struct apple_thread *thread, line_error *error)
{
    struct cursor line = at(text);
    struct apple_text name;
    line_error wrong = NULL;
    uint64_t id;
    bool has_crashed;

    if (!line_skip(&line, "Thread ") || !line_digits(&line, &id, &wrong)) {
        return false;
    }
    has_crashed = line_skip(&line, " Crashed") ||
                  (is_lenient && (line_skip(&line, " Attributed") ||
                                  line_skip(&line, " Highlighted")));
    if (!line_skip(&line, ":")) {
        return false;
    }
    memset(thread, 0, sizeof(*thread));
    thread->id = id;
    thread->has_crashed = has_crashed;
    line.p += is_lenient && line.p < line.end && *line.p == ':';
    name = line_trim(between(line.p, line.end));
    if (name.size > 0) {
        thread->name = name;
    }
    *error = wrong;
    return true;
}

/* A name ends before blanks and a dispatch queue. */
static struct apple_text line_before_queue(struct apple_text name)
{
    static const char queue[] = "Dispatch queue:";
    size_t n = sizeof(queue) - 1, i, end;

    for (i = 2; i < name.size && name.size - i >= n; i++) {
        if (memcmp(name.data + i, queue, n) != 0) {
            continue;
        }
        for (end = i; end > 1 && line_is_space(name.data[end - 1]);) {
            end--;
        }
        if (end < i) {
            name.size = end;
        }
    }
    return name;
}

bool parse_thread_name_line(struct apple_text text, uint64_t *id,
                            struct apple_text *name, line_error *error)
{
    struct cursor line = at(text);
    line_error wrong = NULL;

    if (!line_skip(&line, "Thread ") || !line_digits(&line, id, &wrong) ||
        !line_skip(&line, " name:")) {
        return false;
    }
    line_skip_spaces(&line);
    if (line.p == line.end) {
        return false;
    }
    *name = line_before_queue(between(line.p, line.end));
    *error = wrong;
    return true;
}

bool is_thread_state_line(struct apple_text text, bool is_lenient)
{
    static const char state[] = " Thread State";
    struct cursor line = at(text);
    line_error error = NULL;
    const char *p = line.end;
    uint64_t id;

    if (!line_skip(&line, "Thread ") || !line_digits(&line, &id, &error) ||
        !line_skip(&line, " crashed with ") || p[-1] != ':') {
        return false;
    }
    p--;
    if (is_lenient && p > line.p && p[-1] == ')') {
        while (p > line.p && *p != '(') {
            p--;
        }
        p -= p > line.p && p[-1] == ' ';
    }
    return (size_t)(p - line.p) >= sizeof(state) - 1 &&
           memcmp(p - (sizeof(state) - 1), state, sizeof(state) - 1) == 0;
}

static bool is_of_register(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c);
}

bool parse_register(struct apple_text *rest, struct apple_register *found,
                    line_error *error)
{
    struct cursor line = at(*rest);
    const char *start = line.p, *name, *colon;

    for (; line.p < line.end; line.p = colon + 1) {
        colon = memchr(line.p, ':', (size_t)(line.end - line.p));
        if (colon == NULL) {
            break;
        }
        for (name = colon; name > start && is_of_register(name[-1]);) {
            name--;
        }
        line.p = colon + 1;
        if (name < colon && line_skip_spaces(&line) > 0 &&
            line_hex(&line, &found->value, error)) {
            found->name = between(name, colon);
            *rest = between(line.p, line.end);
            return true;
        }
    }
    return false;
}

/* frames ------------------------------------------------------------------ */

bool parse_address(struct apple_text *rest, uint64_t *address,
                   line_error *error)
{
    struct cursor line = at(*rest);

    line_skip_spaces(&line);
    if (!line_hex(&line, address, error)) {
        return false;
    }
    *rest = between(line.p, line.end);
    return true;
}

/* Systems write the address 0 as zeros alone, without 0x. */
static bool skip_null(struct cursor *line)
{
    return line_skip(line, "000000000000000000") ||
           line_skip(line, "0000000000");
}

/* Does a line go on with blanks, an address, and blanks? */
static bool take_address(struct cursor *line, bool is_lenient,
                         uint64_t *address, line_error *error)
{
    struct cursor from = *line;
    line_error wrong = NULL;

    *address = 0;
    if (line_skip_spaces(line) > 0 &&
        ((is_lenient && skip_null(line)) || line_hex(line, address, &wrong)) &&
        line_skip_spaces(line) > 0) {
        *error = wrong;
        return true;
    }
    *line = from;
    return false;
}

/* The name is the shortest with an address after it. */
static bool take_module(struct cursor *line, bool is_lenient,
                        struct apple_frame *frame, line_error *error)
{
    const char *gap = line->p, *name, *p;
    size_t blanks = line_skip_spaces(line);

    name = line->p;
    for (p = name + 1; blanks > 0 && name < line->end && p < line->end; p++) {
        if (line_is_space(*p) && !line_is_space(p[-1])) {
            line->p = p;
            if (take_address(line, is_lenient, &frame->address, error)) {
                frame->module = between(name, p);
                return true;
            }
        }
    }
    /* without a name, one of the blanks is it */
    line->p = gap + 2;
    if (blanks > 2 && take_address(line, is_lenient, &frame->address, error)) {
        frame->module = between(gap + 1, gap + 2);
        return true;
    }
    return false;
}

/* " + 12" or " + 0xc", at the end of a symbol. */
static bool cut_line_offset(struct apple_text *symbol)
{
    const char *plus = memrchr(symbol->data, '+', symbol->size);
    struct cursor line = at(*symbol);
    line_error ignored = NULL;
    uint64_t offset;

    if (plus == NULL || plus == symbol->data || plus[-1] != ' ' ||
        plus + 1 == line.end || !line_is_space(plus[1])) {
        return false;
    }
    line.p = plus + 2;
    if ((!line_hex(&line, &offset, &ignored) &&
         !line_digits(&line, &offset, &ignored)) ||
        line.p < line.end) {
        return false;
    }
    symbol->size = (size_t)(plus - 1 - symbol->data);
    return true;
}

/* "0x1000 + 12 (name + 3)", as KSCrash writes it, and "0x1000 + 0xc // name"
 * of CrashReporter: the name is behind the beginning of its module. */
static bool cut_line_base(struct apple_text *symbol)
{
    struct cursor line = at(*symbol);
    line_error ignored = NULL;
    uint64_t number;

    if (!line_hex(&line, &number, &ignored) || !line_skip(&line, " + ") ||
        (!line_hex(&line, &number, &ignored) &&
         !line_digits(&line, &number, &ignored)) ||
        line_skip_spaces(&line) == 0) {
        return false;
    }
    if (line_skip(&line, "// ")) {
        *symbol = between(line.p, line.end);
        return true;
    }
    if (line_skip(&line, "(") && line.end[-1] == ')') {
        *symbol = between(line.p, line.end - 1);
        return true;
    }
    return false;
}

/* " (file:12)", the same.  Names of files and functions have parentheses, too.
 */
static void cut_place(struct apple_text *symbol, struct apple_frame *frame,
                      line_error *error)
{
    size_t n = symbol->size, depth = 0, i, colon;

    if (n == 0 || symbol->data[n - 1] != ')') {
        return;
    }
    for (colon = --n; colon > 0 && is_digit(symbol->data[colon - 1]);) {
        colon--;
    }
    if (colon == n || colon == 0 || symbol->data[--colon] != ':') {
        return;
    }
    for (i = colon; i > 1; i--) {
        depth += symbol->data[i - 1] == ')';
        if (symbol->data[i - 1] == '(' && depth-- == 0) {
            break;
        }
    }
    if (i < 2 || symbol->data[i - 2] != ' ') {
        return;
    }
    frame->file = between(symbol->data + i, symbol->data + colon);
    if (!line_number(between(symbol->data + colon + 1, symbol->data + n),
                     &frame->line)) {
        *error = too_large;
    }
    symbol->size = i - 2;
}

/* " [inlined]", the same. */
static bool cut_inlined(struct apple_text *symbol)
{
    static const char end[] = " [inlined]";
    size_t n = sizeof(end) - 1;

    if (symbol->size < n ||
        memcmp(symbol->data + symbol->size - n, end, n) != 0) {
        return false;
    }
    symbol->size -= n;
    return true;
}

/* A symbol that is a number is the beginning of its module. */
static bool line_is_number(struct apple_text symbol)
{
    struct cursor line = at(symbol);
    line_error error = NULL;
    uint64_t n;

    return line_hex(&line, &n, &error) && line.p == line.end && error == NULL;
}

bool parse_frame_line(struct apple_text text, bool is_lenient,
                      struct apple_frame *frame, line_error *error)
{
    struct cursor line = at(text);
    line_error ignored = NULL, wrong = NULL;
    struct apple_text symbol;
    uint64_t number;

    memset(frame, 0, sizeof(*frame));
    if (!line_digits(&line, &number, &ignored) ||
        !take_module(&line, is_lenient, frame, &wrong)) {
        return false;
    }
    if (line_is(frame->module, "???")) {
        frame->module = (struct apple_text){NULL, 0};
    }
    symbol = between(line.p, line.end);
    frame->is_inlined = cut_inlined(&symbol);
    if (!cut_line_offset(&symbol)) {
        cut_place(&symbol, frame, &wrong);
        cut_line_offset(&symbol); /* Xcode writes both */
    }
    if (cut_line_base(&symbol)) {
        cut_line_offset(&symbol);
    }
    if (!line_is_number(symbol) && !line_is(symbol, "???") &&
        !(is_lenient && line_is(symbol, "0"))) {
        frame->symbol = symbol;
    }
    *error = wrong;
    return true;
}

/* images ------------------------------------------------------------------ */

bool parse_uuid(struct apple_text text, uint8_t uuid[16])
{
    char hex[33] = "";
    size_t i, n = 0;
    bool has_hyphens;

    if (text.size > 2 && text.data[0] == '{' &&
        text.data[text.size - 1] == '}') {
        text = between(text.data + 1, text.data + text.size - 1);
    } else if (line_starts(text, "urn:uuid:")) {
        text = between(text.data + 9, text.data + text.size);
    }
    has_hyphens = text.size == 36;
    if (text.size != (has_hyphens ? 36 : 32)) {
        return false;
    }
    for (i = 0; i < text.size; i++) {
        if (has_hyphens && (i == 8 || i == 13 || i == 18 || i == 23)) {
            if (text.data[i] != '-') {
                return false;
            }
        } else {
            hex[n++] = text.data[i];
        }
    }
    return hex_bytes(hex, uuid, 16);
}

static const char *back_over_spaces(const char *start, const char *p)
{
    while (p > start && line_is_space(p[-1])) {
        p--;
    }
    return p;
}

/* Do a name, blanks, an architecture and blanks stand before p? */
static bool line_is_named(const char *start, const char *p)
{
    const char *arch_end = back_over_spaces(start, p), *arch = arch_end, *name;

    while (arch_end < p && arch > start && !line_is_space(arch[-1])) {
        arch--;
    }
    name = back_over_spaces(start, arch);
    return arch < arch_end && name < arch && name > start;
}

/* Does what stands before a "<" end with a name, an architecture and a
 * version, or with the blanks around a version that is not there? */
static bool line_is_head(const char *start, const char *p)
{
    const char *end = back_over_spaces(start, p), *open;

    if (end == p) {
        return false;
    }
    if (p - end > 1 && line_is_named(start, p - 1)) {
        return true;
    }
    if (end == start || end[-1] != ')') {
        return false;
    }
    for (open = end - 1; open > start && open[-1] != ')';) {
        open--;
        if (*open == '(' && open + 1 < end - 1 && line_is_named(start, open)) {
            return true;
        }
    }
    return false;
}

/* Finds "<UUID>" and a path, and whether what stands before them is right. */
static bool find_id(struct cursor *line, bool is_lenient,
                    struct apple_text *id, struct apple_text *path)
{
    const char *p, *close;
    struct cursor tail;
    uint8_t uuid[16];

    for (p = line->end; p > line->p;) {
        p--;
        if (*p != '<') {
            continue;
        }
        close = memchr(p, '>', (size_t)(line->end - p));
        if (close == NULL || close == p + 1) {
            continue;
        }
        tail = (struct cursor){close + 1, line->end};
        *id = between(p + 1, close);
        if (line_skip_spaces(&tail) == 0 &&
            !(is_lenient && close + 1 == line->end)) {
            continue;
        }
        *path = between(tail.p, tail.end);
        if (line_is_head(line->p, p) ||
            (is_lenient && parse_uuid(*id, uuid))) {
            return true;
        }
    }
    return false;
}

bool parse_image_line(struct apple_text text, bool is_lenient,
                      struct apple_image *image, line_error *error)
{
    struct cursor line = at(text);
    line_error wrong = NULL;
    struct apple_text id;
    uint64_t first, last;

    memset(image, 0, sizeof(*image));
    line_skip_spaces(&line);
    if (text.size > IMAGE_LINE || !line_hex(&line, &first, &wrong)) {
        return false;
    }
    line_skip_spaces(&line);
    if (!line_skip(&line, "-")) {
        return false;
    }
    line_skip_spaces(&line);
    if (!line_hex(&line, &last, &wrong) || line_skip_spaces(&line) == 0 ||
        !find_id(&line, is_lenient, &id, &image->path)) {
        return false;
    }
    if (wrong == NULL && last < first) {
        wrong = "an image ends before it begins";
    }
    if (!parse_uuid(id, image->uuid)) {
        if (is_lenient) {
            return false;
        }
        wrong = "an image's UUID is none";
    }
    image->has_id = true;
    image->base = first;
    image->size = last - first;
    *error = wrong;
    return true;
}

/* time -------------------------------------------------------------------- */

/* Days from 1970-01-01 to a day of the Gregorian calendar, whose year begins
 * in March here: then the leap day is the last of a year. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    int64_t era, of_era;

    year -= month <= 2;
    era = (year >= 0 ? year : year - 399) / 400;
    of_era = year - era * 400;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
           (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
}

static bool is_day(uint64_t year, uint64_t month, uint64_t day)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30,
                                   31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (uint64_t)(month == 2 && is_leap);
}

/* "+01:30", in seconds. */
static bool take_zone(struct cursor *line, int64_t *seconds)
{
    unsigned digits[4], i;
    bool is_west = line->p < line->end && *line->p == '-';

    if (!line_skip(line, "-") && !line_skip(line, "+")) {
        return false;
    }
    for (i = 0; i < 4; i++) {
        while (i == 2 &&
               (line_skip_spaces(line) > 0 || line_skip(line, ":"))) {
        }
        if (line->p == line->end || !is_digit(*line->p)) {
            return false;
        }
        digits[i] = (unsigned)(*line->p++ - '0');
    }
    *seconds =
        (is_west ? -60 : 60) * (int64_t)((digits[0] * 10 + digits[1]) * 60 +
                                         digits[2] * 10 + digits[3]);
    return digits[0] * 10 + digits[1] < 24 && digits[2] < 6;
}

/* Blanks, and at most so many digits. */
static bool take_part(struct cursor *line, size_t most, uint64_t *number)
{
    struct cursor part;
    line_error ignored = NULL;

    line_skip_spaces(line);
    part = *line;
    if ((size_t)(part.end - part.p) > most) {
        part.end = part.p + most;
    }
    if (!line_digits(&part, number, &ignored)) {
        return false;
    }
    line->p = part.p;
    return true;
}

bool parse_time(struct apple_text text, int64_t *seconds)
{
    static const char *const behind[6] = {"-", "-", "", ":", ":", ""};
    struct cursor line = at(text);
    line_error ignored = NULL;
    uint64_t n[6], fraction;
    int64_t zone;
    size_t i;

    for (i = 0; i < 6; i++) {
        if (!take_part(&line, i == 0 ? 4 : 2, &n[i]) ||
            !line_skip(&line, behind[i])) {
            return false;
        }
    }
    if (line_skip(&line, ".") && !line_digits(&line, &fraction, &ignored)) {
        return false;
    }
    line_skip_spaces(&line);
    if (!take_zone(&line, &zone) || line.p < line.end ||
        !is_day(n[0], n[1], n[2]) || n[3] > 23 || n[4] > 59 || n[5] > 60) {
        return false;
    }
    n[5] -= n[5] == 60; /* a leap second is the one before */
    *seconds =
        days_since_1970((int64_t)n[0], (int64_t)n[1], (int64_t)n[2]) * 86400 +
        (int64_t)(n[3] * 3600 + n[4] * 60 + n[5]) - zone;
    return true;
}
