/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cfi.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER 24 /* characters of a number, with what is before it */

/* text -------------------------------------------------------------------- */

static int flush_text(struct cfi *cfi)
{
    size_t used = cfi->used;

    cfi->used = 0;
    return used == 0 ||
                   cfi->sink->write(cfi->sink->context, cfi->text, used) == 0
               ? 0
               : failure_writer(cfi->failure, SYMC_NO_WRITE);
}

static int put_text(struct cfi *cfi, const char *text, size_t size)
{
    size_t n;

    for (; size > 0; text += n, size -= n) {
        if (cfi->used == CFI_PIECE && flush_text(cfi) != 0) {
            return -1;
        }
        n = CFI_PIECE - cfi->used < size ? CFI_PIECE - cfi->used : size;
        memcpy(cfi->text + cfi->used, text, n);
        cfi->used += n;
    }
    return 0;
}

static int put_word(struct cfi *cfi, const char *text)
{
    return put_text(cfi, text, strlen(text));
}

/* Writes a number of either base, with a character in front if it is not 0. */
static int put_number(struct cfi *cfi, char before, uint64_t number,
                      unsigned base)
{
    char text[NUMBER];
    size_t at = sizeof(text);

    do {
        text[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    if (before != '\0') {
        text[--at] = before;
    }
    return put_text(cfi, text + at, sizeof(text) - at);
}

static int put_hex(struct cfi *cfi, uint64_t number)
{
    return put_number(cfi, ' ', number, 16);
}

/* Ends the line, if there is one. */
static int end_line(struct cfi *cfi)
{
    if (!cfi->is_in_line) {
        return 0;
    }
    cfi->is_in_line = false;
    return put_text(cfi, "\n", 1);
}

static int begin_line(struct cfi *cfi, const char *keyword)
{
    int rc = end_line(cfi);

    cfi->is_in_line = true;
    cfi->is_correction = false;
    return rc != 0 ? rc : put_word(cfi, keyword);
}

static int put_sum(struct cfi *cfi, int64_t number, enum cfi_form form)
{
    uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char before = number < 0 ? '-' : '\0';

    if (form == CFI_BARE) {
        return 0;
    }
    return put_text(cfi, " ", 1) != 0 || put_number(cfi, before, size, 10) != 0
               ? -1
               : put_text(cfi, form == CFI_PLUS ? " +" : " -", 2);
}

static int put_rule(struct cfi *cfi, const struct cfi_register *target,
                    const struct cfi_register *base, int64_t number,
                    enum cfi_form form, bool is_at)
{
    if (cfi->is_correction) {
        return 0;
    }
    return put_text(cfi, " ", 1) != 0 ||
                   put_text(cfi, target->text, target->size) != 0 ||
                   put_text(cfi, ": ", 2) != 0 ||
                   put_text(cfi, base->text, base->size) != 0 ||
                   put_sum(cfi, number, form) != 0 ||
                   (is_at && put_text(cfi, " ^", 2) != 0)
               ? -1
               : 0;
}

static int put_win(struct cfi *cfi, uint64_t type, uint64_t start,
                   uint32_t size, const struct cficache_win *win,
                   const char *program, size_t program_size)
{
    if (begin_line(cfi, "STACK WIN") != 0 || put_hex(cfi, type) != 0 ||
        put_hex(cfi, start) != 0 || put_hex(cfi, size) != 0 ||
        put_hex(cfi, win->prolog) != 0 || put_hex(cfi, win->epilog) != 0 ||
        put_hex(cfi, win->params) != 0 ||
        put_hex(cfi, win->saved_registers) != 0 ||
        put_hex(cfi, win->locals) != 0 || put_hex(cfi, win->max_stack) != 0) {
        return -1;
    }
    return win->has_program
               ? (put_text(cfi, " 1 ", 3) != 0
                      ? -1
                      : put_text(cfi, program, program_size))
               : put_word(cfi, win->allocates_base_pointer ? " 0 1" : " 0 0");
}

/* records ----------------------------------------------------------------- */

static int check_status(struct cfi *cfi, enum symc_status status)
{
    return failure_writer(cfi->failure, status);
}

const struct cfi_register cfi_cfa = {".cfa", 4, CFICACHE_CFA};
const struct cfi_register cfi_ra = {".ra", 3, CFICACHE_RA};

int cfi_register(struct cfi *cfi, const char *text, struct cfi_register *reg)
{
    size_t size = strlen(text);

    memcpy(reg->text, text, size + 1);
    reg->size = (uint8_t)size;
    if (cfi->writer == NULL) {
        return 0;
    }
    text += text[0] == '$';
    return cficache_writer_name(cfi->writer, text, strlen(text), &reg->name)
               ? 0
               : failure_memory(cfi->failure);
}

int cfi_range(struct cfi *cfi, uint64_t start, uint64_t size)
{
    if (cfi->writer == NULL) {
        return begin_line(cfi, "STACK CFI INIT") != 0 ||
                       put_hex(cfi, start) != 0
                   ? -1
                   : put_hex(cfi, size);
    }
    return check_status(
        cfi, cficache_writer_range(cfi->writer, CFICACHE_RULES, start, size));
}

int cfi_correction(struct cfi *cfi, uint64_t start, uint64_t size)
{
    cfi->is_correction = true;
    return cfi->writer == NULL
               ? 0
               : check_status(cfi, cficache_writer_range(cfi->writer,
                                                         CFICACHE_CORRECTIONS,
                                                         start, size));
}

int cfi_correction_row(struct cfi *cfi, uint64_t address)
{
    return cfi->writer == NULL
               ? 0
               : check_status(cfi, cficache_writer_row(cfi->writer, address));
}

int cfi_row(struct cfi *cfi, const char *keyword, uint64_t address)
{
    if (cfi->writer == NULL) {
        return begin_line(cfi, keyword) != 0
                   ? -1
                   : put_number(cfi, '\0', address, 16);
    }
    return check_status(cfi, cficache_writer_row(cfi->writer, address));
}

/* Adds a rule whose number needs more than 32 bits, as a program. */
static int add_wide(struct cfi *cfi, const struct cficache_rule *rule,
                    int64_t number)
{
    struct cficache_code *code = &cfi->writer->code;
    enum symc_status status;

    code->size = 0;
    code->fails = false;
    status = rule->base == CFICACHE_CFA
                 ? cficache_code_operation(code, CFICACHE_PUSH_CFA)
                 : cficache_code_name(code, rule->base);
    if (status == SYMC_OK) {
        status = cficache_code_number(code, number);
    }
    if (status == SYMC_OK) {
        status = cficache_code_operation(code, CFICACHE_ADD);
    }
    if (status == SYMC_OK && rule->kind == CFICACHE_AT) {
        status = cficache_code_operation(code, CFICACHE_READ);
    }
    return check_status(cfi, status == SYMC_OK ? cficache_writer_code(
                                                     cfi->writer, rule->target)
                                               : status);
}

int cfi_rule(struct cfi *cfi, const struct cfi_register *target,
             const struct cfi_register *base, int64_t number,
             enum cfi_form form, bool is_at)
{
    struct cficache_rule rule;

    if (cfi->writer == NULL) {
        return put_rule(cfi, target, base, number, form, is_at);
    }
    rule.kind = is_at ? CFICACHE_AT : CFICACHE_VALUE;
    rule.target = target->name;
    rule.base = base->name;
    number = form == CFI_MINUS ? (int64_t)-(uint64_t)number : number;
    rule.number = (int32_t)number;
    return rule.number != number
               ? add_wide(cfi, &rule, number)
               : check_status(cfi, cficache_writer_rule(cfi->writer, &rule));
}

int cfi_rules(struct cfi *cfi, const char *text, size_t size)
{
    if (cfi->writer == NULL) {
        return put_text(cfi, " ", 1) != 0 ? -1 : put_text(cfi, text, size);
    }
    return check_status(cfi, cficache_writer_text(cfi->writer, text, size));
}

int cfi_win(struct cfi *cfi, uint64_t type, uint64_t start, uint32_t size,
            const struct cficache_win *win, const char *program,
            size_t program_size)
{
    if (cfi->writer == NULL) {
        return put_win(cfi, type, start, size, win, program, program_size);
    }
    if (type != (win->has_program ? 4 : 0)) {
        return 0; /* readers of the text leave it out */
    }
    return check_status(cfi, cficache_writer_win(cfi->writer, start, size,
                                                 *win, program, program_size));
}

/* the file ---------------------------------------------------------------- */

static int finish_result(struct cfi *cfi, struct debuginfo_result *result)
{
    memcpy(result->guid, cfi->identity.guid, sizeof(result->guid));
    result->age = cfi->identity.age;
    if (cfi->writer == NULL) {
        return end_line(cfi) != 0 ? -1 : flush_text(cfi);
    }
    return check_status(
        cfi, cficache_writer_finish(cfi->writer, &cfi->identity, cfi->sink));
}

int cfi_convert(cfi_read *read, bool is_text, const uint8_t *data, size_t size,
                const struct symc_sink *sink, struct debuginfo_result *result,
                struct failure *failure)
{
    int rc;
    struct cficache_writer *writer =
        is_text ? NULL : calloc(1, sizeof(*writer));
    struct cfi *cfi = calloc(1, sizeof(*cfi));

    if (cfi == NULL || (!is_text && writer == NULL)) {
        rc = failure_memory(failure);
    } else {
        cfi->writer = writer;
        cfi->sink = sink;
        cfi->failure = failure;
        rc = read(data, size, cfi, failure);
        rc = rc != 0 ? rc : finish_result(cfi, result);
    }
    if (writer != NULL) {
        cficache_writer_free(writer);
    }
    free(writer);
    free(cfi);
    return rc;
}
