/*
 * Copyright (C) the ngx_symcache authors
 */

#include "layout.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct choice {
    const char *name;
    int value;
};

/* Returns the value of one of the names, or -1 with an error that lists them.
 */
static int choose(struct config_reader *r, const cJSON *item,
                  const struct choice *choices, size_t n, const char *names)
{
    const char *text = cJSON_GetStringValue(item);
    size_t i;

    for (i = 0; i < n && text != NULL; i++) {
        if (strcmp(text, choices[i].name) == 0) {
            return choices[i].value;
        }
    }
    return config_error(r, item, "must be %s", names);
}

int config_layout(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    static const struct choice choices[] = {
        {"symstore", LAYOUT_SYMSTORE}, {"two_tier", LAYOUT_TWO_TIER},
        {"ssqp", LAYOUT_SSQP},         {"unified", LAYOUT_UNIFIED},
        {"flat", LAYOUT_FLAT},         {"breakpad", LAYOUT_BREAKPAD},
    };
    struct source_config *source = at;
    int value = choose(r, item, choices, COUNT(choices),
                       "\"symstore\", \"two_tier\", \"ssqp\", "
                       "\"unified\", \"flat\" or \"breakpad\"");

    if (value < 0) {
        return -1;
    }
    source->layout = (enum source_layout)value;
    return 0;
}

int config_casing(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at)
{
    /* the longer names are those that Symbolicator uses */
    static const struct choice choices[] = {
        {"default", CASING_DEFAULT}, {"lower", CASING_LOWER},
        {"lowercase", CASING_LOWER}, {"upper", CASING_UPPER},
        {"uppercase", CASING_UPPER},
    };
    struct source_config *source = at;
    int value = choose(r, item, choices, COUNT(choices),
                       "\"default\", \"lower\" or \"upper\"");

    if (value < 0) {
        return -1;
    }
    source->casing = (enum source_casing)value;
    return 0;
}

static int read_form(struct config_reader *r, const cJSON *item,
                     struct source_config *source)
{
    static const struct choice choices[] = {
        {"plain", FORM_PLAIN},
        {"packed", FORM_PACKED},
        {"pointer", FORM_POINTER},
    };
    int value = choose(r, item, choices, COUNT(choices),
                       "\"plain\", \"packed\" or \"pointer\"");
    size_t i;

    if (value < 0) {
        return -1;
    }
    for (i = 0; i < source->nforms; i++) {
        if ((int)source->forms[i] == value) {
            return config_error(r, item, "named twice");
        }
    }
    source->forms[source->nforms++] = (enum layout_form)value;
    return 0;
}

int config_forms(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at)
{
    const cJSON *child;

    if (!cJSON_IsArray(item) || item->child == NULL) {
        return config_error(r, item, "must be a list of forms");
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (read_form(r, child, at) != 0) {
            return -1;
        }
    }
    return 0;
}

const char *config_form_name(enum layout_form form)
{
    static const char *const names[] = {"plain", "packed", "pointer",
                                        "index2"};

    return names[form];
}

enum original_format config_layout_format(enum source_layout layout)
{
    switch (layout) {
    case LAYOUT_BREAKPAD:
        return FORMAT_BREAKPAD;
    case LAYOUT_SYMSTORE:
    case LAYOUT_TWO_TIER:
    case LAYOUT_SSQP:
    case LAYOUT_UNIFIED:
    case LAYOUT_FLAT:
        break;
    }
    return FORMAT_PDB;
}

bool config_layout_has_form(enum source_layout layout, enum layout_form form)
{
    switch (layout) {
    case LAYOUT_UNIFIED:
        return form == FORM_PLAIN;
    case LAYOUT_FLAT:
    case LAYOUT_BREAKPAD:
        return form != FORM_POINTER;
    default:
        return true;
    }
}

int config_layout_check(struct config_reader *r, const cJSON *item,
                        const struct source_config *source)
{
    size_t i;

    for (i = 0; i < source->nforms; i++) {
        if (!config_layout_has_form(source->layout, source->forms[i])) {
            return config_error(
                r, cJSON_GetObjectItemCaseSensitive(item, "forms"),
                "the layout has no form \"%s\"",
                config_form_name(source->forms[i]));
        }
    }
    return 0;
}
