/*
 * Copyright (C) the ngx_symcache authors
 */
#include "compile.h"

#include <string.h>

#include "base/array.h"
#include "base/le.h"

#define NAME_MAX_SIZE 255

static const char operators[] = "+-*/%@^";
static const uint8_t operations[] = {
    CFICACHE_ADD,       CFICACHE_SUBTRACT, CFICACHE_MULTIPLY, CFICACHE_DIVIDE,
    CFICACHE_REMAINDER, CFICACHE_ALIGN,    CFICACHE_READ};

bool cficache_name(struct cficache_names *names, const char *text, size_t size,
                   uint8_t *name, bool *out_of_memory)
{
    size_t at = 0;
    uint64_t hash;
    uintptr_t found;

    if (size > NAME_MAX_SIZE) {
        return false;
    }
    hash = table_hash((uintptr_t)names, text, size);
    while ((found = table_next(&names->table, hash, &at)) != 0) {
        if (names->sizes[found - 1] == size &&
            memcmp(names->texts[found - 1], text, size) == 0) {
            *name = (uint8_t)(found - 1);
            return true;
        }
    }
    if (names->count == CFICACHE_NAMES) {
        return false;
    }
    if (table_add(&names->table, hash, names->count + 1) != 0) {
        *out_of_memory = true;
        return false;
    }
    *name = (uint8_t)names->count++;
    names->sizes[*name] = (uint8_t)size;
    memcpy(names->texts[*name], text, size);
    return true;
}

static bool compile_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

bool cficache_word(const char **text, size_t *size, const char **word,
                   size_t *word_size)
{
    while (*size > 0 && compile_is_blank(**text)) {
        (*text)++;
        (*size)--;
    }
    *word = *text;
    while (*size > 0 && !compile_is_blank(**text)) {
        (*text)++;
        (*size)--;
    }
    *word_size = (size_t)(*text - *word);
    return *word_size > 0;
}

static enum symc_status compile_append(struct cficache_code *code,
                                       const uint8_t *data, size_t size)
{
    if (code->size + size > CFICACHE_CODE_MAX) {
        code->fails = true;
        return SYMC_OK;
    }
    if (array_need(&code->data, &code->room, code->size + size, 1) != 0) {
        return SYMC_NO_MEMORY;
    }
    memcpy(code->data + code->size, data, size);
    code->size += size;
    return SYMC_OK;
}

enum symc_status cficache_code_operation(struct cficache_code *code,
                                         enum cficache_operation operation)
{
    uint8_t data = (uint8_t)operation;

    return compile_append(code, &data, 1);
}

enum symc_status cficache_code_number(struct cficache_code *code,
                                      int64_t number)
{
    uint8_t data[9] = {CFICACHE_NUMBER};

    le32_store(data + 1, (uint32_t)number);
    le32_store(data + 5, (uint32_t)((uint64_t)number >> 32));
    return compile_append(code, data, sizeof(data));
}

enum symc_status cficache_code_name(struct cficache_code *code, uint8_t name)
{
    uint8_t data[2] = {CFICACHE_NAME, name};

    return compile_append(code, data, sizeof(data));
}

enum symc_status cficache_code_copy(struct cficache_code *code, size_t start,
                                    size_t size)
{
    if (array_need(&code->data, &code->room, code->size + size, 1) != 0) {
        return SYMC_NO_MEMORY; /* now, as compile_append() would move what it
                                  copies */
    }
    return compile_append(code, code->data + start, size);
}

static enum symc_status compile_append_name(struct cficache_names *names,
                                            struct cficache_code *code,
                                            const char *text, size_t size)
{
    uint8_t name;
    bool out_of_memory = false;

    if (cficache_name(names, text, size, &name, &out_of_memory)) {
        return cficache_code_name(code, name);
    }
    code->fails = true;
    return out_of_memory ? SYMC_NO_MEMORY : SYMC_OK;
}

/* Reads a decimal number with an optional sign, as Rust's from_str() does. */
static bool compile_read_number(const char *text, size_t size, int64_t *number)
{
    size_t i = text[0] == '-' || text[0] == '+';
    int64_t n = 0;
    bool is_negative = text[0] == '-';

    if (i == size) {
        return false;
    }
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' ||
            __builtin_mul_overflow(n, 10, &n) ||
            (is_negative ? __builtin_sub_overflow(n, text[i] - '0', &n)
                         : __builtin_add_overflow(n, text[i] - '0', &n))) {
            return false;
        }
    }
    *number = n;
    return true;
}

static const uint8_t *compile_find_operator(const char *word, size_t size)
{
    const char *p = size == 1 ? strchr(operators, word[0]) : NULL;

    return p != NULL && *p != '\0' ? &operations[p - operators] : NULL;
}

static bool compile_is(const char *word, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(word, text, size) == 0;
}

enum symc_status cficache_compile_value(struct cficache_names *names,
                                        struct cficache_code *code,
                                        const char *text, size_t size)
{
    int64_t number;
    size_t n;
    const char *word, *dollar;
    const uint8_t *operation;
    enum symc_status status = SYMC_OK;

    code->size = 0;
    code->fails = false;
    while (status == SYMC_OK && !code->fails &&
           cficache_word(&text, &size, &word, &n)) {
        operation = compile_find_operator(word, n);
        dollar = memchr(word, '$', n);
        if (operation != NULL) {
            status = cficache_code_operation(code, *operation);
        } else if (compile_is(word, n, ".cfa")) {
            status = cficache_code_operation(code, CFICACHE_PUSH_CFA);
        } else if (compile_is(word, n, ".undef")) {
            code->fails = true;
        } else if (dollar != NULL) {
            status = compile_append_name(names, code, dollar + 1,
                                         n - (size_t)(dollar + 1 - word));
        } else if (compile_read_number(word, n, &number)) {
            status = cficache_code_number(code, number);
        } else {
            status = compile_append_name(names, code, word, n);
        }
    }
    return status;
}

static enum symc_status compile_win_word(struct cficache_names *names,
                                         struct cficache_code *code,
                                         const char *word, size_t size)
{
    int64_t number;
    const uint8_t *operation = compile_find_operator(word, size);

    if (operation != NULL) {
        return cficache_code_operation(code, *operation);
    }
    if (compile_is(word, size, "=")) {
        return cficache_code_operation(code, CFICACHE_ASSIGN);
    }
    if (compile_is(word, size, ".undef")) {
        return cficache_code_operation(code, CFICACHE_UNDEFINED);
    }
    if (word[0] == '$' || word[0] == '.') {
        return compile_append_name(names, code, word, size);
    }
    if (compile_read_number(word, size, &number) &&
        number == (int32_t)number) {
        return cficache_code_number(code, number);
    }
    code->fails = true;
    return SYMC_OK;
}

enum symc_status cficache_compile_win(struct cficache_names *names,
                                      struct cficache_code *code,
                                      const char *text, size_t size)
{
    size_t n;
    const char *word;
    enum symc_status status = SYMC_OK;

    code->size = 0;
    code->fails = false;
    while (status == SYMC_OK && !code->fails &&
           cficache_word(&text, &size, &word, &n)) {
        if (n > 1 && word[0] == '=') { /* some compilers forget the blank */
            status = cficache_code_operation(code, CFICACHE_ASSIGN);
            word++;
            n--;
        }
        if (status == SYMC_OK) {
            status = compile_win_word(names, code, word, n);
        }
    }
    return status;
}

/* Reads the operations of one of: base; base, number, "+" or "-".  Returns
 * where they end, or 0. */
static size_t compile_read_sum(const struct cficache_code *code,
                               struct cficache_rule *rule)
{
    size_t at = 1;
    int64_t number;
    const uint8_t *p = code->data;

    rule->number = 0;
    if (code->size >= 2 && p[0] == CFICACHE_NAME) {
        rule->base = p[at++];
    } else if (code->size >= 1 && p[0] == CFICACHE_PUSH_CFA) {
        rule->base = CFICACHE_CFA;
    } else {
        return 0;
    }
    if (code->size - at < 10 || p[at] != CFICACHE_NUMBER) {
        return at;
    }
    number = (int64_t)le64(p + at + 1);
    if (number <= INT32_MIN || number > INT32_MAX ||
        (p[at + 9] != CFICACHE_ADD && p[at + 9] != CFICACHE_SUBTRACT)) {
        return at;
    }
    rule->number =
        p[at + 9] == CFICACHE_ADD ? (int32_t)number : -(int32_t)number;
    return at + 10;
}

bool cficache_simplify(const struct cficache_code *code, unsigned num_names,
                       struct cficache_rule *rule)
{
    size_t end;

    if (code->fails ||
        cficache_program_check(CFICACHE_PROGRAM_VALUE, code->data, code->size,
                               num_names) != NULL) {
        rule->kind = CFICACHE_FAILS;
        rule->base = 0;
        rule->number = 0;
        return true;
    }
    end = compile_read_sum(code, rule);
    if (end > 0 && end == code->size) {
        rule->kind = CFICACHE_VALUE;
        return true;
    }
    if (end > 0 && end + 1 == code->size && code->data[end] == CFICACHE_READ) {
        rule->kind = CFICACHE_AT;
        return true;
    }
    return false;
}
