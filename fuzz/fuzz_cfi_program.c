/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the code of a postfix program, behind a byte of its kind.  What
 * the check accepts finds all that it needs when it runs.
 */
#include <stdlib.h>
#include <string.h>

#include "cfi.h"

#define NAMES 8
#define ROOM 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_word(void *context, uint64_t address, uint64_t *word)
{
    (void)context;
    *word = address;
    return true;
}

/* Can a program fail that finds all it needs?  Some operations do for some
 * values, and variables may be unset. */
static bool may_fail(const uint8_t *code, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        if (code[i] == CFICACHE_NUMBER) {
            i += 8;
        } else if (code[i] == CFICACHE_NAME) {
            i++;
        } else if (code[i] == CFICACHE_UNDEFINED ||
                   (code[i] >= CFICACHE_DIVIDE && code[i] <= CFICACHE_ALIGN)) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned i;
    bool is_good, has_run;
    uint64_t value;
    uint8_t file[CFICACHE_PROGRAM_HEADER + ROOM] = {0};
    struct cficache_reader reader = {.data = file};
    struct cficache_rule rule = {CFICACHE_PROGRAM, CFICACHE_RA, 0, 0};
    struct cficache_win win = {.program = 1};
    static struct cficache_registers registers = {.has_cfa = true};
    static struct cficache_variables variables;
    static const struct cficache_memory memory = {read_word, NULL};

    if (size == 0 || size > ROOM) {
        return 0;
    }
    for (i = 0; i < NAMES; i++) {
        registers.is_valid[i] = variables.is_set[i] = true;
    }
    file[0] = data[0] % 2 + 1;
    size--;
    memcpy(file + CFICACHE_PROGRAM_HEADER, data + 1, size);
    file[2] = (uint8_t)size;
    file[3] = (uint8_t)(size >> 8);
    reader.program_bytes = (uint32_t)(CFICACHE_PROGRAM_HEADER + size);
    is_good = cficache_program_check(file[0], data + 1, size, NAMES) == NULL;
    has_run =
        file[0] == CFICACHE_PROGRAM_VALUE
            ? cficache_evaluate(&reader, &rule, &registers, &memory, &value)
            : cficache_evaluate_win(&reader, &win, &variables, &memory);
    if (is_good && !has_run && !may_fail(data + 1, size)) {
        abort();
    }
    return 0;
}
