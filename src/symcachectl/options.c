/*
 * Copyright (C) the ngx_symcache authors
 */

#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const struct option_spec *find_option(const struct option_spec *specs,
                                             size_t count, const char *arg)
{
    size_t i, len;

    for (i = 0; i < count; i++) {
        len = strlen(specs[i].name);
        if (strncmp(arg, specs[i].name, len) != 0) {
            continue;
        }
        if (arg[len] == '\0' ||
            (arg[len] == '=' && specs[i].text != NULL && len > 2)) {
            return &specs[i];
        }
    }
    return NULL;
}

/* Takes the option argv[*i] with its value.  Returns 0 or -1. */
static int options_take(const char *command, const struct option_spec *spec,
                        int argc, char **argv, int *i)
{
    const char *arg = argv[*i];

    if (spec->flag != NULL) {
        *spec->flag = 1;
        return 0;
    }
    arg += strlen(spec->name);
    if (*arg == '=') {
        *spec->text = arg + 1;
        return 0;
    }
    if (*i + 1 == argc) {
        command_usage(command, "no value", spec->name);
        return -1;
    }
    *spec->text = argv[++*i];
    return 0;
}

int options_parse(const char *command, const struct option_spec *specs,
                  size_t count, int argc, char **argv)
{
    int i, n, is_over;
    const struct option_spec *spec;

    n = is_over = 0;
    for (i = 0; i < argc; i++) {
        if (is_over || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[n++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            is_over = 1;
            continue;
        }
        spec = find_option(specs, count, argv[i]);
        if (spec == NULL) {
            command_usage(command, "unknown option", argv[i]);
            return -1;
        }
        if (options_take(command, spec, argc, argv, &i) != 0) {
            return -1;
        }
    }
    return n;
}

int options_number(const char *command, const char *name, const char *text,
                   unsigned min, unsigned max, unsigned *number)
{
    char what[96], *end;
    unsigned long n;

    if (text == NULL) {
        return COMMAND_OK;
    }
    errno = 0;
    n = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        n < min || n > max) {
        snprintf(what, sizeof(what), "%s is a number from %u to %u", name, min,
                 max);
        return command_usage(command, what, text);
    }
    *number = (unsigned)n;
    return COMMAND_OK;
}
