/*
 * Copyright (C) the ngx_symcache authors
 */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "name_pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* A pattern that needs more steps for a name of 255 bytes is a mistake. */
#define PATTERN_MATCH_LIMIT 100000

static int read_pattern(struct config_reader *r, const cJSON *item,
                        const struct config_field *field,
                        struct pattern_config *pattern)
{
    PCRE2_UCHAR reason[128];
    PCRE2_SIZE offset;
    int code;

    if (field_string(r, item, field, &pattern->text) != 0) {
        return -1;
    }

    pattern->code =
        pcre2_compile((PCRE2_SPTR)pattern->text, PCRE2_ZERO_TERMINATED,
                      PCRE2_CASELESS, &code, &offset, NULL);
    if (pattern->code == NULL) {
        pcre2_get_error_message(code, reason, sizeof(reason));
        return field_error(r, item, "%s at offset %zu", (char *)reason,
                           offset);
    }
    return 0;
}

int config_patterns(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at)
{
    struct patterns_config *patterns = at;
    const cJSON *child;
    int n = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 1;

    if (n == 0) {
        return field_error(r, item, "is an empty list");
    }
    patterns->list = calloc((size_t)n, sizeof(patterns->list[0]));
    if (patterns->list == NULL) {
        return field_error(r, item, "out of memory");
    }

    if (!cJSON_IsArray(item)) {
        return read_pattern(r, item, field, &patterns->list[patterns->n++]);
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (read_pattern(r, child, field, &patterns->list[patterns->n++]) !=
            0) {
            return -1;
        }
    }
    return 0;
}

static bool match_pattern(const struct pattern_config *pattern,
                          const char *text, bool doubt)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int rc = PCRE2_ERROR_NOMEMORY;

    if (context != NULL && data != NULL) {
        pcre2_set_match_limit(context, PATTERN_MATCH_LIMIT);
        rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, 0,
                         data, context);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);

    return rc >= 0 || (rc != PCRE2_ERROR_NOMATCH && doubt);
}

bool config_patterns_match(const struct patterns_config *patterns,
                           const char *text, bool doubt)
{
    size_t i;

    for (i = 0; i < patterns->n; i++) {
        if (match_pattern(&patterns->list[i], text, doubt)) {
            return true;
        }
    }
    return false;
}

void config_patterns_clear(struct patterns_config *patterns)
{
    size_t i;

    for (i = 0; i < patterns->n; i++) {
        pcre2_code_free(patterns->list[i].code);
        free(patterns->list[i].text);
    }
    free(patterns->list);
}
