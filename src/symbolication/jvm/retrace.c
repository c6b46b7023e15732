/*
 * Copyright (C) the ngx_symcache authors
 */
#include "retrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alternatives.h"
#include "traces.h"

#define SNIFFED 200 /* lines, of which one must be a frame */

#define LOG_PREFIX 256 /* bytes, in which the prefix of a log's line ends */

#define DESCRIPTOR_MAX 1024 /* bytes; no rule has a longer one */

static struct symc_string retrace_slice(const char *begin, const char *end)
{
    struct symc_string text = {begin, (size_t)(end - begin)};

    return text;
}

static bool retrace_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a name of Java or Kotlin, beyond ASCII as well. */
static bool retrace_is_name(char c)
{
    return (unsigned char)c >= 0x80 || is_digit(c) || c == '_' || c == '$' ||
           c == '.' || c == '-' || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static const char *retrace_skip_blanks(const char *p, const char *end)
{
    while (p < end && retrace_is_blank(*p)) {
        p++;
    }
    return p;
}

static const char *retrace_cut_blanks(const char *p, const char *end)
{
    while (end > p && retrace_is_blank(end[-1])) {
        end--;
    }
    return end;
}

/* Does a text begin so?  Then *p is after it. */
static bool retrace_take_word(const char **p, const char *end,
                              const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(end - *p) < size || memcmp(*p, word, size) != 0) {
        return false;
    }
    *p += size;
    return true;
}

/*
 * Skips what Android's log writes in front of a message, in the forms
 * "11-27 18:00:00.000  123  123 E AndroidRuntime: " and
 * "E/AndroidRuntime(  123): ".
 */
static const char *retrace_skip_logcat(const char *p, const char *end)
{
    static const char letters[] = "VDIWEFA";
    const char *colon = memmem(p, (size_t)(end - p), ": ", 2), *at;

    if (colon == NULL) {
        return p;
    }
    if (p[0] != '\0' && strchr(letters, p[0]) != NULL && colon - p > 2 &&
        p[1] == '/') {
        return colon + 2;
    }
    if (colon - p < 18 || !is_digit(p[0]) || p[2] != '-' || p[5] != ' ') {
        return p;
    }
    for (at = p + 18; at + 2 < end; at++) {
        if (at[-1] == ' ' && strchr(letters, at[0]) != NULL && at[1] == ' ') {
            colon = memmem(at, (size_t)(end - at), ": ", 2);
            return colon != NULL ? colon + 2 : p;
        }
    }
    return p;
}

/* Reads the number after the last colon in the parentheses, if there is one; a
 * text that is not a number counts as line 0. */
static void retrace_read_line(struct jvm_line *line, const char *p,
                              const char *end)
{
    const char *colon = memrchr(p, ':', (size_t)(end - p));
    uint64_t n = 0;

    if (colon == NULL) {
        return;
    }
    line->has_line = true;
    for (p = colon + 1; p < end; p++) {
        if (!is_digit(*p) || n > UINT32_MAX) {
            return;
        }
        n = n * 10 + (uint64_t)(*p - '0');
    }
    line->line = n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Reads "a.b.c(File:1)", whose parentheses are known; in front of the class
 * there may be a loader and a module, "app//java.base@17/", and after the
 * method a blank, as Google's Play Console writes. */
static bool retrace_read_call(struct jvm_line *line, const char *begin,
                              const char *p, const char *open,
                              const char *close, const char *end)
{
    const char *dot, *slash, *name_end = retrace_cut_blanks(p, open);

    slash = memrchr(p, '/', (size_t)(name_end - p));
    p = slash != NULL ? slash + 1 : p;
    dot = memrchr(p, '.', (size_t)(name_end - p));
    if (dot == NULL || dot == p ||
        memchr(p, ' ', (size_t)(name_end - p)) != NULL) {
        return false;
    }
    line->kind = JVM_LINE_FRAME;
    line->before = retrace_slice(begin, p);
    line->class = retrace_slice(p, dot);
    line->method = retrace_slice(dot + 1, name_end);
    line->open = open;
    line->behind = retrace_slice(close + 1, end);
    retrace_read_line(line, open + 1, close);
    return true;
}

/* Reads "at a.b.c(File:1)". */
static bool retrace_read_frame(struct jvm_line *line, const char *begin,
                               const char *p, const char *end)
{
    const char *open, *close;

    if (!retrace_take_word(&p, end, "at ")) {
        return false;
    }
    p = retrace_skip_blanks(p, end);
    open = memchr(p, '(', (size_t)(end - p));
    close = open != NULL ? memchr(open, ')', (size_t)(end - open)) : NULL;
    return close != NULL &&
           retrace_read_call(line, begin, p, open, close, end);
}

/* The same behind anything, such as what a log has in front of each line. */
static bool retrace_find_frame(struct jvm_line *line, const char *begin,
                               const char *p, const char *end)
{
    const char *open, *close = p, *name, *at;

    for (open = p; (open = memchr(open, '(', (size_t)(end - open))) != NULL;
         open++) {
        if (close < open &&
            (close = memchr(open, ')', (size_t)(end - open))) == NULL) {
            return false;
        }
        for (name = retrace_cut_blanks(p, open);
             name > p && !retrace_is_blank(name[-1]) && name[-1] != '(';
             name--) {
        }
        at = retrace_cut_blanks(p, name);
        if (at < name && at - p >= 2 && memcmp(at - 2, "at", 2) == 0 &&
            (at - p == 2 || !retrace_is_name(at[-3])) &&
            retrace_read_call(line, begin, name, open, close, end)) {
            return true;
        }
    }
    return false;
}

/* Reads the class of an exception, and what may stand in front of it. */
static bool retrace_read_exception(struct jvm_line *line, const char *begin,
                                   const char *p, const char *end)
{
    static const char *const words[] = {
        "Caused by: ", "Suppressed: ", "[CIRCULAR REFERENCE:",
        "Exception in thread \""};
    const char *from;
    bool has_bracket = false;
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!retrace_take_word(&p, end, words[i])) {
            continue;
        }
        if (i == 2) {
            p = retrace_skip_blanks(p, end); /* the JDK has had one since 17 */
            has_bracket = true;
        } else if (i == 3) {
            from = memmem(p, (size_t)(end - p), "\" ", 2);
            p = from != NULL ? from + 2 : p;
        }
    }
    for (from = p; p < end && retrace_is_name(*p); p++) {
    }
    if (p == from ||
        (p < end && !(*p == ':' && (p + 1 == end || p[1] == ' ')) &&
         !(has_bracket && *p == ']'))) {
        return false;
    }
    line->kind = JVM_LINE_EXCEPTION;
    line->before = retrace_slice(begin, from);
    line->class = retrace_slice(from, p);
    line->behind = retrace_slice(p, end);
    return true;
}

/* The same, of a class in a package, behind what a log has in front of it. */
static void retrace_find_exception(struct jvm_line *line, const char *begin,
                                   const char *p, const char *end)
{
    const char *last = end - p > LOG_PREFIX ? p + LOG_PREFIX : end, *colon;

    while ((colon = memmem(p, (size_t)(last - p), ": ", 2)) != NULL) {
        p = colon + 2;
        if (retrace_read_exception(line, begin, p, end) &&
            memchr(line->class.data, '.', line->class.size) != NULL) {
            return;
        }
        line->kind = JVM_LINE_OTHER;
    }
}

void jvm_line_read(struct jvm_line *line, struct symc_string text)
{
    const char *begin = text.data, *end = begin + text.size, *p;

    *line = (struct jvm_line){.kind = JVM_LINE_OTHER};
    if (text.size == 0) {
        return;
    }
    p = retrace_skip_blanks(retrace_skip_logcat(begin, end), end);
    if (!retrace_read_frame(line, begin, p, end) &&
        !retrace_find_frame(line, begin, p, end) &&
        !retrace_read_exception(line, begin, p, end)) {
        retrace_find_exception(line, begin, p, end);
    }
}

/* Gets the next line with its end, and its size without that. */
static bool retrace_next_line(const char **at, const char *end,
                              struct symc_string *whole, size_t *size)
{
    const char *lf;

    if (*at == end) {
        return false;
    }
    lf = memchr(*at, '\n', (size_t)(end - *at));
    *whole = retrace_slice(*at, lf != NULL ? lf + 1 : end);
    *size = whole->size - (lf != NULL);
    *size -= *size > 0 && whole->data[*size - 1] == '\r';
    *at += whole->size;
    return true;
}

/* Is this in the parentheses of a frame?  .NET has parameters there, with
 * their types, or nothing; JavaScript has a blank before them, and a column
 * behind the line. */
static bool retrace_is_place(const struct jvm_line *line)
{
    static const char *const words[] = {"Unknown Source", "Native Method"};
    const char *begin = line->open + 1, *colon;
    size_t i, size = (size_t)(line->behind.data - 1 - begin);

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (size >= strlen(words[i]) &&
            memcmp(begin, words[i], strlen(words[i])) == 0) {
            return true; /* Android has a number after it */
        }
    }
    colon = memchr(begin, ':', size);
    return size > 0 && memchr(begin, ' ', size) == NULL &&
           (line->method.data + line->method.size == line->open ||
            (colon != NULL && memchr(begin, '/', size) == NULL &&
             memrchr(begin, ':', size) == colon));
}

bool jvm_is_trace(const char *text, size_t size)
{
    const char *at = text, *p, *end;
    struct symc_string whole;
    struct jvm_line line = {.kind = JVM_LINE_OTHER};
    size_t n;
    unsigned i;

    for (i = 0; i < SNIFFED && retrace_next_line(&at, text + size, &whole, &n);
         i++) {
        end = whole.data + n;
        p = retrace_skip_blanks(retrace_skip_logcat(whole.data, end), end);
        if (retrace_read_frame(&line, whole.data, p, end) &&
            retrace_is_place(&line)) {
            return true;
        }
    }
    return false;
}

/* writing -----------------------------------------------------------------*/

struct retrace {
    struct jvm_mapping mapping;
    struct jvm_alternatives *alternatives;
    const struct jvm_output_text *output;
    uint64_t left; /* bytes that may still be written */
    uint64_t work;
    bool is_too_large;
    struct symc_string descriptor; /* data is NULL: nothing was thrown */
    char room[DESCRIPTOR_MAX];
};

static void retrace_put_trace(struct retrace *retrace, const char *data,
                              size_t size)
{
    if (size > retrace->left) {
        retrace->is_too_large = true;
        size = (size_t)retrace->left;
    }
    if (size > 0) {
        retrace->output->write(retrace->output->context, data, size);
        retrace->left -= size;
    }
}

static void retrace_put_text(struct retrace *retrace, struct symc_string text)
{
    retrace_put_trace(retrace, text.data, text.size);
}

/* Writes what stands in front of a class, with "<OR> " before "at" if another
 * frame may be meant instead. */
static void retrace_put_before(struct retrace *retrace,
                               struct symc_string before, bool is_alternative)
{
    const char *at = before.data + before.size;

    if (is_alternative) {
        while (at > before.data &&
               (memcmp(at, "at", 2) != 0 || !retrace_is_blank(at[2]))) {
            at--;
        }
        retrace_put_trace(retrace, before.data, (size_t)(at - before.data));
        retrace_put_trace(retrace, "<OR> ", 5);
        before = retrace_slice(at, before.data + before.size);
    }
    retrace_put_text(retrace, before);
}

static void retrace_put_frame(struct retrace *retrace,
                              const struct jvm_line *line,
                              const struct jvm_mapped *mapped,
                              bool is_alternative, struct symc_string line_end)
{
    char number[16];
    int n = snprintf(number, sizeof(number), ":%u", mapped->line);

    retrace_put_before(retrace, line->before, is_alternative);
    retrace_put_text(retrace, mapped->class);
    retrace_put_trace(retrace, ".", 1);
    retrace_put_text(retrace, mapped->method);
    retrace_put_text(
        retrace,
        retrace_slice(line->method.data + line->method.size, line->open + 1));
    retrace_put_text(retrace, mapped->file);
    retrace_put_text(retrace, mapped->extension);
    if (mapped->has_line &&
        (line->has_line || !retrace->alternatives->is_ambiguous)) {
        retrace_put_trace(retrace, number, (size_t)n);
    }
    retrace_put_trace(retrace, ")", 1);
    retrace_put_text(retrace, line->behind);
    retrace_put_text(retrace, line_end);
}

/* Is there such a frame at the same depth of a stack before? */
static bool retrace_is_repeated(const struct jvm_alternatives *a, size_t stack,
                                uint32_t depth)
{
    const struct jvm_mapped *list = a->frames.list;
    size_t i;

    for (i = 0; depth > 0 && i < stack; i++) {
        if (depth < a->stacks[i].count &&
            jvm_is_same_frame(&list[a->stacks[i].first + depth],
                              &list[a->stacks[stack].first + depth], true)) {
            return true;
        }
    }
    return false;
}

/* Writes the frames of all stacks at a depth.  Returns false if there are
 * none. */
static bool retrace_put_depth(struct retrace *retrace,
                              const struct jvm_line *line, uint32_t depth,
                              struct symc_string line_end)
{
    const struct jvm_alternatives *a = retrace->alternatives;
    bool is_any = false;
    size_t i;

    for (i = 0; i < a->num_stacks; i++) {
        if (depth >= a->stacks[i].count) {
            continue;
        }
        is_any = true;
        if (!retrace_is_repeated(a, i, depth)) {
            retrace_put_frame(retrace, line,
                              &a->frames.list[a->stacks[i].first + depth],
                              i > 0, line_end);
        }
    }
    return is_any;
}

static void retrace_frame(struct retrace *retrace, const struct jvm_line *line,
                          struct symc_string whole,
                          struct symc_string line_end)
{
    const struct jvm_frame frame = {
        .class = line->class, .method = line->method, .line = line->line};
    const struct jvm_mapping before = retrace->mapping;
    enum jvm_outcome outcome;
    uint32_t depth = 0;

    outcome = jvm_find_alternatives(
        &retrace->mapping, &frame,
        retrace->descriptor.data != NULL ? &retrace->descriptor : NULL,
        &retrace->work, retrace->alternatives);
    if (outcome == JVM_OUTLINE) {
        return;
    }
    if (outcome == JVM_UNKNOWN) {
        retrace_put_text(retrace, whole);
    } else {
        while (retrace_put_depth(retrace, line, depth, line_end)) {
            depth++;
        }
    }
    if (outcome == JVM_UNKNOWN || retrace->alternatives->is_only_class) {
        retrace->mapping =
            before; /* what was thrown and outlined is of the next */
    } else {
        retrace->descriptor.data = NULL;
    }
}

/* Notes the descriptor of what was thrown, for rules. */
static void retrace_set_thrown(struct retrace *retrace,
                               struct symc_string class)
{
    size_t i;

    retrace->descriptor.data = NULL;
    if (class.size > sizeof(retrace->room) - 2) {
        return;
    }
    retrace->room[0] = 'L';
    for (i = 0; i < class.size; i++) {
        retrace->room[i + 1] = class.data[i] == '.' ? '/' : class.data[i];
    }
    retrace->room[class.size + 1] = ';';
    retrace->descriptor = (struct symc_string){retrace->room, class.size + 2};
}

static void retrace_exception(struct retrace *retrace,
                              const struct jvm_line *line,
                              struct symc_string line_end)
{
    struct symc_string class = line->class;

    (void)jvm_remap_class(retrace->mapping.reader, line->class, &class);
    retrace_set_thrown(retrace, class);
    retrace->mapping.has_outline = false;
    retrace_put_text(retrace, line->before);
    retrace_put_text(retrace, class);
    retrace_put_text(retrace, line->behind);
    retrace_put_text(retrace, line_end);
}

enum jvm_retraced
jvm_retrace(const struct proguardcache_reader *reader, const char *text,
            size_t size, const struct jvm_output_text *output)
{
    struct retrace retrace = {.mapping = {.reader = reader},
                              .output = output,
                              .left = JVM_RETRACED_MAX +
                                      JVM_RETRACED_FACTOR * size,
                              .work = JVM_WORK_MAX};
    const char *at = text;
    struct symc_string whole, line_end;
    struct jvm_line line;
    size_t n;

    retrace.alternatives = malloc(sizeof(*retrace.alternatives));
    if (retrace.alternatives == NULL) {
        return JVM_RETRACED_NO_MEMORY;
    }
    while (!retrace.is_too_large &&
           retrace_next_line(&at, text + size, &whole, &n)) {
        line_end = retrace_slice(whole.data + n, whole.data + whole.size);
        jvm_line_read(&line, (struct symc_string){whole.data, n});
        if (line_end.size == 0) { /* of the last line */
            line_end = (struct symc_string){"\n", 1};
        }
        switch (line.kind) {
        case JVM_LINE_FRAME:
            retrace_frame(&retrace, &line, whole, line_end);
            break;
        case JVM_LINE_EXCEPTION:
            retrace_exception(&retrace, &line, line_end);
            break;
        default:
            retrace_put_text(&retrace, whole);
        }
    }
    free(retrace.alternatives);
    return retrace.is_too_large ? JVM_RETRACED_TOO_LARGE : JVM_RETRACED;
}
