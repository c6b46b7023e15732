/*
 * Copyright (C) the ngx_symcache authors
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "rewrite_module.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

#define RULES_MAX 64
#define VALUES_MAX (1 + 5 * (size_t)RULES_MAX)
/* Bytes of the patterns of all rules: a class of a few, whose case does not
 * matter, compiles for some 10 ms. */
#define PATTERNS_MAX 8192
#define NAME_MAX_BYTES 4096 /* of the name that a rule makes */

/* Steps from one place of the name, nested groups and KiB of memory of a
 * match. */
#define MATCH_LIMIT 100000
#define DEPTH_LIMIT 1000
#define HEAP_LIMIT 4096

/* Of all rules together, from all places.  An item of a pattern costs as many
 * as the name has bytes, which is what one item may look at. */
#define COST_MAX 500000000
#define ITEM_COST 64

struct rewrite_module_rule {
    pcre2_code *code;
    uint32_t to; /* value */
};

struct rewrite {
    struct json json;
    char *text;
    size_t patterns; /* bytes */
    size_t count;
    struct rewrite_module_rule rules[RULES_MAX];
};

static int fail_rewrite(char error[REWRITE_ERROR], const char *reason)
{
    snprintf(error, REWRITE_ERROR, "%s", reason);
    return -1;
}

/* In the words of the library that Symbolicator uses, where there are some. */
static int fail_pattern(char error[REWRITE_ERROR], const char *pattern,
                        int code, size_t offset)
{
    static const struct {
        int code;
        const char *text;
    } words[] = {
        {PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS, "unclosed group"},
        {PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS, "unopened group"},
        {PCRE2_ERROR_MISSING_SQUARE_BRACKET, "unclosed character class"},
        {PCRE2_ERROR_QUANTIFIER_INVALID,
         "repetition operator missing expression"},
    };
    PCRE2_UCHAR reason[128];
    size_t i;

    pcre2_get_error_message(code, reason, sizeof(reason));
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].code == code) {
            snprintf((char *)reason, sizeof(reason), "%s", words[i].text);
        }
    }
    offset = offset < 100 ? offset : 100;
    snprintf(error, REWRITE_ERROR,
             "regex parse error:\n    %.150s\n    %*s^\nerror: %s", pattern,
             (int)offset, "", (char *)reason);
    return -1;
}

static int rewrite_read_rule(struct rewrite *rewrite, uint32_t value,
                             char error[REWRITE_ERROR])
{
    const struct json *json = &rewrite->json;
    uint32_t from = json_member(json, value, "from");
    struct rewrite_module_rule *rule = &rewrite->rules[rewrite->count];
    PCRE2_SIZE offset;
    char pattern[PATTERNS_MAX];
    int code;

    rule->to = json_member(json, value, "to");
    if (from == 0 || rule->to == 0) {
        return fail_rewrite(error, from == 0 ? "missing field `from`"
                                             : "missing field `to`");
    }
    if (json->values[from].type != JSON_STRING ||
        json->values[rule->to].type != JSON_STRING) {
        return fail_rewrite(error, "invalid type, expected a string");
    }
    rewrite->patterns += json->values[from].size;
    if (rewrite->patterns >= sizeof(pattern)) {
        return fail_rewrite(error, "the patterns are too long");
    }
    snprintf(pattern, sizeof(pattern), "%.*s", (int)json->values[from].size,
             json_text(json, from));
    rule->code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY |
                          PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
                      &code, &offset, NULL);
    if (rule->code == NULL) {
        return fail_pattern(error, pattern, code, offset);
    }
    rewrite->count++;
    return 0;
}

static int rewrite_read_rules(struct rewrite *rewrite, size_t size,
                              char error[REWRITE_ERROR])
{
    struct json *json = &rewrite->json;
    struct json_error wrong;
    uint32_t i;

    if (json_read(json, rewrite->text, size, VALUES_MAX, &wrong) == 0) {
        return fail_rewrite(error, wrong.reason);
    }
    if (json->values[0].type != JSON_ARRAY) {
        return fail_rewrite(error, "invalid type, expected a sequence");
    }
    if (json->values[0].size > RULES_MAX) {
        return fail_rewrite(error, "there are too many rules");
    }
    for (i = 1; i < json->values[0].end; i = json->values[i].end) {
        if (rewrite_read_rule(rewrite, i, error) != 0) {
            return -1;
        }
    }
    return 0;
}

int rewrite_read(struct rewrite **rewrite, const struct bytes *json,
                 char error[REWRITE_ERROR])
{
    struct rewrite *rules;

    *rewrite = NULL;
    if (json->data == NULL) {
        return 0;
    }
    rules = calloc(1, sizeof(*rules));
    if (rules == NULL || (rules->text = malloc(json->size + 1)) == NULL) {
        free(rules);
        return fail_rewrite(error, "out of memory");
    }
    memcpy(rules->text, json->data, json->size);
    *rewrite = rules;
    if (rewrite_read_rules(rules, json->size, error) != 0) {
        rewrite_free(rules);
        *rewrite = NULL;
        return -1;
    }
    return 0;
}

/* The bytes of a name that is growing. */
struct text {
    char data[NAME_MAX_BYTES + 1];
    size_t size;
};

static void rewrite_append_text(struct text *text, const char *data,
                                size_t size)
{
    if (size > NAME_MAX_BYTES - text->size) {
        size = NAME_MAX_BYTES - text->size;
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

/* A match of a rule in a name. */
struct rewrite_module_match {
    const struct rewrite_module_rule *rule;
    const char *name;
    pcre2_match_data *data;
};

/* Appends a group, by its number or name; one that is not there is empty. */
static void rewrite_append_group(struct text *text,
                                 const struct rewrite_module_match *match,
                                 const char *group, size_t size)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(match->data);
    char name[64];
    size_t number = 0, i;

    if (size >= sizeof(name)) {
        return;
    }
    memcpy(name, group, size);
    name[size] = '\0';
    for (i = 0; i < size && i < 6 && isdigit((unsigned char)name[i]); i++) {
        number = number * 10 + (size_t)(name[i] - '0');
    }
    if (i < size) {
        int found = pcre2_substring_number_from_name(match->rule->code,
                                                     (PCRE2_SPTR)name);

        if (found < 0) {
            return;
        }
        number = (size_t)found;
    }
    if (number < pcre2_get_ovector_count(match->data) &&
        at[2 * number] != PCRE2_UNSET) {
        rewrite_append_text(text, match->name + at[2 * number],
                            at[2 * number + 1] - at[2 * number]);
    }
}

/* The name of a group at p, after a dollar; its size, or 0: there is none. */
static size_t rewrite_group_at(const char *p, const char *end,
                               const char **name)
{
    bool has_brace = p < end && *p == '{';
    const char *q;

    *name = p += has_brace;
    for (q = p;
         q < end && (has_brace ? *q != '}'
                               : isalnum((unsigned char)*q) != 0 || *q == '_');
         q++) {
    }
    return has_brace && q == end ? 0 : (size_t)(q - p);
}

/* A replacement has $name, $1, ${name}, and $$ for a dollar. */
static void rewrite_expand_match(struct text *text,
                                 const struct rewrite_module_match *match,
                                 const char *to, size_t size)
{
    const char *p = to, *end = to + size, *name;
    size_t n;

    while (p < end) {
        n = *p == '$' ? rewrite_group_at(p + 1, end, &name) : 0;
        if (n > 0) {
            rewrite_append_group(text, match, name, n);
            p = name + n + (name[-1] == '{');
            continue;
        }
        rewrite_append_text(text, p, 1);
        p += *p == '$' && p + 1 < end && p[1] == '$' ? 2 : 1;
    }
}

static char *rewrite_replace_match(const struct rewrite *rewrite,
                                   const struct rewrite_module_match *match)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(match->data);
    uint32_t to = match->rule->to;
    struct text text = {.size = 0};

    if (at[0] > at[1]) { /* \K can do that */
        return NULL;
    }
    rewrite_append_text(&text, match->name, at[0]);
    rewrite_expand_match(&text, match, json_text(&rewrite->json, to),
                         rewrite->json.values[to].size);
    rewrite_append_text(&text, match->name + at[1],
                        strlen(match->name) - at[1]);
    return strndup(text.data, text.size);
}

/* An item of a pattern is to be matched.  Returns 0, or what ends the match.
 */
static int rewrite_pay_for_match(pcre2_callout_block *item, void *arg)
{
    uint64_t *left = arg, cost = ITEM_COST + item->subject_length;

    if (cost > *left) {
        *left = 0;
        return PCRE2_ERROR_CALLOUT;
    }
    *left -= cost;
    return 0;
}

char *rewrite_name(const struct rewrite *rewrite, const char *name)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    struct rewrite_module_match match = {.name = name};
    uint64_t left = COST_MAX;
    char *rewritten = NULL;
    size_t i;

    if (limits == NULL) {
        return NULL;
    }
    pcre2_set_match_limit(limits, MATCH_LIMIT);
    pcre2_set_depth_limit(limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(limits, HEAP_LIMIT);
    pcre2_set_callout(limits, rewrite_pay_for_match, &left);
    for (i = 0; rewritten == NULL && i < rewrite->count; i++) {
        match.rule = &rewrite->rules[i];
        match.data =
            pcre2_match_data_create_from_pattern(match.rule->code, NULL);
        if (match.data != NULL &&
            pcre2_match(match.rule->code, (PCRE2_SPTR)name, strlen(name), 0, 0,
                        match.data, limits) >= 0) {
            rewritten = rewrite_replace_match(rewrite, &match);
        }
        pcre2_match_data_free(match.data);
    }
    pcre2_match_context_free(limits);
    return rewritten;
}

void rewrite_free(struct rewrite *rewrite)
{
    size_t i;

    if (rewrite != NULL) {
        for (i = 0; i < rewrite->count; i++) {
            pcre2_code_free(rewrite->rules[i].code);
        }
        json_free(&rewrite->json);
        free(rewrite->text);
        free(rewrite);
    }
}
