/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the STACK records of a Breakpad file.
 *
 * Which bad records are skipped, and which make the whole file unusable, is as
 * in the "symbolic" library.
 */
#include "breakpad.h"

#include <string.h>

#include "debuginfo/cfi.h"
#include "identity.h"
#include "lexer.h"

#define CFI "STACK CFI "
#define INIT "STACK CFI INIT "
#define WIN "STACK WIN "

struct cfi_reader {
    struct lines lines;
    struct cfi *cfi;
    struct failure *failure;
    bool is_in_range; /* records without INIT belong to one with it */
};

static int wrong_cfi_record(struct cfi_reader *r, const char *record,
                            const char *what)
{
    return failure_set(r->failure, FAILURE_DAMAGED,
                       "is damaged: line %llu: bad STACK %s record (%s)",
                       (unsigned long long)r->lines.number, record, what);
}

static int take_init(struct cfi_reader *r, struct span *line)
{
    uint64_t start, size;
    struct fields f;
    struct span rules;

    if (!fields_begin_trimmed(&f, line, sizeof(INIT) - 1)) {
        return wrong_cfi_record(r, "CFI INIT", "not UTF-8");
    }
    start = fields_hex(&f, "address");
    size = fields_hex(&f, "size");
    rules = fields_rest(&f);
    if (f.wrong != NULL) {
        return wrong_cfi_record(r, "CFI INIT", f.wrong);
    }
    r->is_in_range = true;
    return cfi_range(r->cfi, start, size) != 0
               ? -1
               : cfi_rules(r->cfi, rules.data, rules.size);
}

/* Reads a record without INIT.  A bad one is skipped. */
static int take_row(struct cfi_reader *r, struct span *line)
{
    uint64_t address;
    struct fields f;
    struct span rules;

    if (!fields_begin_trimmed(&f, line, sizeof(CFI) - 1)) {
        return 0;
    }
    address = fields_hex(&f, "address");
    rules = fields_rest(&f);
    if (f.wrong != NULL) {
        return 0;
    }
    return cfi_row(r->cfi, CFI, address) != 0
               ? -1
               : cfi_rules(r->cfi, rules.data, rules.size);
}

static int take_win(struct cfi_reader *r, struct span *line)
{
    bool is_wide;
    uint64_t type, start, size;
    uint64_t n[6];
    unsigned i;
    struct cficache_win win = {0};
    struct fields f;
    struct span rest;

    if (!fields_begin_trimmed(&f, line, sizeof(WIN) - 1)) {
        return wrong_cfi_record(r, "WIN", "not UTF-8");
    }
    type = fields_hex(&f, "type");
    start = fields_hex(&f, "address");
    size = fields_hex(&f, "size");
    for (i = 0; i < 6; i++) {
        n[i] = fields_hex(&f, "numbers");
    }
    win.has_program = fields_hex(&f, "flag") != 0;
    rest = fields_rest(&f);
    is_wide = (n[0] | n[1] | n[3]) > UINT16_MAX ||
              (start | size | n[2] | n[4] | n[5]) > UINT32_MAX;
    if (f.wrong != NULL || is_wide) {
        return wrong_cfi_record(r, "WIN",
                                f.wrong != NULL ? f.wrong : "large numbers");
    }
    win.prolog = (uint32_t)n[0];
    win.epilog = (uint32_t)n[1];
    win.params = (uint32_t)n[2];
    win.saved_registers = (uint32_t)n[3];
    win.locals = (uint32_t)n[4];
    win.max_stack = (uint32_t)n[5];
    win.allocates_base_pointer = rest.size == 1 && rest.data[0] == '1';
    return cfi_win(r->cfi, type, start, (uint32_t)size, &win, rest.data,
                   rest.size);
}

int breakpad_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                      struct failure *failure)
{
    int rc = 0;
    char text[256];
    struct span line;
    struct breakpad_identity module;
    struct cfi_reader r = {{(const char *)data, (const char *)data + size, 0},
                           cfi,
                           failure,
                           false};

    if (breakpad_identity_read(data, size, &module, text, sizeof(text)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", text);
    }
    memcpy(cfi->identity.guid, module.guid, sizeof(module.guid));
    cfi->identity.age = module.age;
    cfi->identity.arch = module.arch;
    while (rc == 0 && lines_next(&r.lines, &line)) {
        if (span_begins(&line, INIT)) {
            rc = take_init(&r, &line);
        } else if (span_begins(&line, CFI)) {
            rc = r.is_in_range ? take_row(&r, &line) : 0;
        } else {
            r.is_in_range = false;
            rc = span_begins(&line, WIN) ? take_win(&r, &line) : 0;
        }
    }
    return rc;
}
