/*
 * Copyright (C) the ngx_symcache authors
 */

#include "module_list.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

#define LITERAL(text) text, sizeof(text) - 1

/* A piece of a line. */
struct module_list_piece {
    const char *p;
    size_t size;
};

static void trim_piece(struct module_list_piece *piece)
{
    while (piece->size > 0 && strchr(" \t\r", piece->p[0]) != NULL) {
        piece->p++;
        piece->size--;
    }
    while (piece->size > 0 &&
           strchr(" \t\r", piece->p[piece->size - 1]) != NULL) {
        piece->size--;
    }
}

static void unquote_piece(struct module_list_piece *piece)
{
    trim_piece(piece);
    if (piece->size > 1 && piece->p[0] == '"' &&
        piece->p[piece->size - 1] == '"') {
        piece->p++;
        piece->size -= 2;
    }
}

/* Removes everything up to the end of the text from the line.  Returns 1 or
 * 0. */
static bool module_take_piece(struct module_list_piece *line, const char *text,
                              size_t size, struct module_list_piece *before)
{
    const char *found = memmem(line->p, line->size, text, size);

    if (found == NULL) {
        return false;
    }
    before->p = line->p;
    before->size = (size_t)(found - line->p);
    line->size -= before->size + size;
    line->p = found + size;
    return true;
}

/* Removes the last field of the line, which is preceded by a comma. */
static bool take_last(struct module_list_piece *line,
                      struct module_list_piece *field)
{
    const char *comma = memrchr(line->p, ',', line->size);

    if (comma == NULL) {
        return false;
    }
    field->p = comma + 1;
    field->size = line->size - (size_t)(field->p - line->p);
    line->size = (size_t)(comma - line->p);
    unquote_piece(field);
    return true;
}

static void module_base_name(struct module_list_piece *path)
{
    size_t i;

    for (i = path->size; i > 0; i--) {
        if (path->p[i - 1] == '\\' || path->p[i - 1] == '/') {
            path->p += i;
            path->size -= i;
            return;
        }
    }
}

static enum list_found module_list_read(struct identity *identity,
                                        const struct module_list_piece *name,
                                        const struct module_list_piece *guid,
                                        const struct module_list_piece *age,
                                        const char **wrong)
{
    *wrong = identity_read(identity, name->p, name->size, guid->p, guid->size,
                           age->p, age->size);
    return *wrong == NULL ? LIST_MODULE : LIST_BAD;
}

/* Reads what follows "PdbSig: {". */
static enum list_found module_read_record(struct module_list_piece *line,
                                          struct identity *identity,
                                          const char **wrong)
{
    struct module_list_piece guid, age, name;

    if (!module_take_piece(line, LITERAL("}; Age: "), &guid) ||
        !module_take_piece(line, LITERAL("; Pdb: "), &age)) {
        *wrong = "a CodeView record without age or PDB";
        return LIST_BAD;
    }
    name = *line;
    module_take_piece(line, LITERAL("\""), &name);
    trim_piece(&name);
    module_base_name(&name);
    return module_list_read(identity, &name, &guid, &age, wrong);
}

/* Other lines that xperf prints: its heading, its progress ("[1/2] 50%"),
 * and images without a CodeView record. */
static bool is_of_xperf(const struct module_list_piece *line)
{
    struct module_list_piece rest = *line, before;

    return (rest.size > 1 && rest.p[0] == '0' && rest.p[1] == 'x') ||
           (rest.size > 1 && rest.p[0] == '[' && rest.p[1] >= '0' &&
            rest.p[1] <= '9') ||
           module_take_piece(&rest, LITERAL("CodeView Record"), &before);
}

enum list_found list_line(const char *text, size_t size,
                          struct identity *identity, const char **wrong)
{
    struct module_list_piece line = {text, size}, guid, age;

    trim_piece(&line);
    *wrong = NULL;
    if (line.size == 0 || line.p[0] == '#') {
        return LIST_NOTHING;
    }
    if (module_take_piece(&line, LITERAL("[RSDS] PdbSig: {"), &guid)) {
        return module_read_record(&line, identity, wrong);
    }
    if (is_of_xperf(&line)) {
        return LIST_NOTHING;
    }
    if (!take_last(&line, &age) || !take_last(&line, &guid)) {
        *wrong = "not pdb,guid,age";
        return LIST_BAD;
    }
    unquote_piece(&line);
    return module_list_read(identity, &line, &guid, &age, wrong);
}

void list_init(struct list *list, FILE *stream)
{
    int c;

    list->stream = stream;
    list->is_wide = 0;
    list->line = 0;
    list->size = 0;
    c = getc(stream);
    if (c == 0xFF) { /* FF FE: begins no text in UTF-8 */
        list->is_wide = getc(stream) == 0xFE;
    } else if (c != EOF) {
        ungetc(c, stream);
    }
}

/* Returns a code unit of UTF-16, or EOF. */
static int get_unit(FILE *stream)
{
    int low, high;

    low = getc(stream);
    high = getc(stream);
    return high == EOF ? EOF : low | high << 8;
}

/* Returns a character of UTF-16, a byte of UTF-8, or EOF. */
static int get_character(const struct list *list)
{
    uint32_t pair;
    int c;

    if (!list->is_wide) {
        return getc(list->stream);
    }
    c = get_unit(list->stream);
    if (c < 0xD800 || c > 0xDBFF) {
        return c;
    }
    pair = utf16_pair((uint32_t)c, (uint32_t)get_unit(list->stream));
    return pair != 0 ? (int)pair : 0xFFFD;
}

static void put_char(struct list *list, int c)
{
    /* One byte more than fits, so that a line that is too long is noticed. */
    if (list->size < sizeof(list->text)) {
        list->text[list->size++] = (char)c;
    }
}

static void put_character(struct list *list, int c)
{
    char text[4];
    size_t i, n;

    if (!list->is_wide) {
        put_char(list, c);
        return;
    }
    n = utf8_encode(text, (uint32_t)c);
    for (i = 0; i < n; i++) {
        put_char(list, text[i]);
    }
}

enum list_found list_next(struct list *list, struct identity *identity,
                          const char **wrong)
{
    int c;

    list->size = 0;
    list->line++;
    while ((c = get_character(list)) != EOF && c != '\n') {
        put_character(list, c);
    }
    if (c == EOF && list->size == 0) {
        return LIST_END;
    }
    if (list->size == sizeof(list->text)) {
        *wrong = "a line that is too long";
        return LIST_BAD;
    }
    if (list->line == 1 && list->size >= 3 &&
        memcmp(list->text, "\xEF\xBB\xBF", 3) == 0) {
        list->size -= 3; /* the byte order mark of UTF-8 */
        memmove(list->text, list->text + 3, list->size);
    }
    return list_line(list->text, list->size, identity, wrong);
}
