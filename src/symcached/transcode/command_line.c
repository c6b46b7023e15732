/*
 * Copyright (C) the ngx_symcache authors
 */
#include "command_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program_path.h"

bool command_begins_ours(char *const *command)
{
    const char *slash = strrchr(command[0], '/');

    return strcmp(slash != NULL ? slash + 1 : command[0], "pdb2symcache") == 0;
}

bool command_is_ours(char *const *command)
{
    while (*command != NULL && !command_begins_ours(command)) {
        command++;
    }
    return *command != NULL;
}

/* arguments --------------------------------------------------------------- */

/* Replaces {pdb} and {out} in one argument.  NULL = out of memory. */
static char *command_argument(const struct command_paths *paths,
                              const char *argument)
{
    size_t size = 1, longest, n = 0;
    const char *p, *value;
    char *result;

    longest = strlen(paths->pdb) > strlen(paths->out) ? strlen(paths->pdb)
                                                      : strlen(paths->out);
    for (p = argument; *p != '\0'; p++) {
        size += *p == '{' ? longest + 1 : 1;
    }

    result = malloc(size);
    if (result == NULL) {
        return NULL;
    }

    for (p = argument; *p != '\0';) {
        value = strncmp(p, "{pdb}", 5) == 0   ? paths->pdb
                : strncmp(p, "{out}", 5) == 0 ? paths->out
                                              : NULL;
        if (value == NULL) {
            result[n++] = *p++;
        } else {
            memcpy(result + n, value, strlen(value));
            n += strlen(value);
            p += 5;
        }
    }

    result[n] = '\0';
    return result;
}

static int fill_argv(struct command *command, char *const *arguments,
                     const struct command_paths *paths)
{
    size_t n, i, argc = 0;
    bool is_map;

    for (n = 0; arguments[n] != NULL; n++) {
        continue;
    }

    command->argv = calloc(n + 1, sizeof(*command->argv));
    for (i = 0; command->argv != NULL && i < n; i++) {
        is_map = strcmp(arguments[i], "{map}") == 0;
        if (is_map && paths->seconds[SECOND_FILE] == NULL) {
            continue;
        }
        command->argv[argc] = is_map ? strdup(paths->seconds[SECOND_FILE])
                                     : command_argument(paths, arguments[i]);
        if (command->argv[argc++] == NULL) {
            return -1;
        }
    }

    return command->argv != NULL ? 0 : -1;
}

/* environment ------------------------------------------------------------- */

/* Returns the place of a variable in env: its own, or else the end. */
static char **command_variable(char **env, const char *name, size_t len)
{
    while (*env != NULL &&
           (strncmp(*env, name, len) != 0 || (*env)[len] != '=')) {
        env++;
    }
    return env;
}

/* Sets a variable in env; without a value, it is left out. */
static int set_variable(char **env, const char *name, const char *value)
{
    char *variable, **place;

    if (value == NULL) {
        return 0;
    }
    if (asprintf(&variable, "%s=%s", name, value) < 0) {
        return -1;
    }

    place = command_variable(env, name, strlen(name));
    free(*place);
    *place = variable;
    return 0;
}

/*
 * The rest of our environment is not passed on, since it holds the tokens of
 * sources.  The locale is fixed, because in another one a program may read the
 * bytes of a name as other characters, a slash among them.
 */
static int fill_env(struct command *command,
                    const struct transcoder_config *transcoder,
                    const struct command_paths *paths)
{
    static char *const none[SECONDS];
    char *const *seconds =
        command_is_ours(transcoder->command) ? paths->seconds : none;
    const char *path = getenv("PATH");
    const char *base[][2] = {
        {"PATH", path != NULL ? path : PROGRAM_PATH},
        {"HOME", getenv("HOME")},
        {"LANG", getenv("LANG")},
        {"LC_ALL", "C.UTF-8"},
        {"_NT_SYMCACHE_PATH", paths->out},
        {"_NT_SYMBOL_PATH", paths->symbols},
        {"PDB2SYMCACHE_WORK",
         command_is_ours(transcoder->command) ? "yes" : NULL},
        {"PDB2SYMCACHE_CHECK", paths->check},
        {"PDB2SYMCACHE_ADDRESSES",
         command_is_ours(transcoder->command) && paths->has_file_addresses
             ? "file"
             : NULL},
        {"PDB2SYMCACHE_SECOND", seconds[SECOND_FILE]},
        {"PDB2SYMCACHE_UUID_MAP", seconds[SECOND_UUID_MAP]},
        {"PDB2SYMCACHE_SYMBOL_MAP", seconds[SECOND_SYMBOL_MAP]},
        {"PDB2SYMCACHE_LINE_MAPPING", seconds[SECOND_LINE_MAPPING]},
        {"PDB2SYMCACHE_DWP", seconds[SECOND_DWP]},
    };
    size_t i, n = sizeof(base) / sizeof(base[0]);

    command->env = calloc(n + transcoder->nenv + 1, sizeof(*command->env));
    if (command->env == NULL) {
        return -1;
    }

    for (i = 0; i < n; i++) {
        if (set_variable(command->env, base[i][0], base[i][1]) != 0) {
            return -1;
        }
    }
    for (i = 0; i < transcoder->nenv; i++) {
        if (set_variable(command->env, transcoder->env[i].name,
                         transcoder->env[i].value) != 0) {
            return -1;
        }
    }
    return 0;
}

/* life -------------------------------------------------------------------- */

int command_fill(struct command *command,
                 const struct transcoder_config *transcoder,
                 const struct command_paths *paths, char *error, size_t size)
{
    if (fill_argv(command, transcoder->command, paths) != 0 ||
        fill_env(command, transcoder, paths) != 0) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    if (strchr(command->argv[0], '/') == NULL) {
        return program_path_find(command->argv[0], command->program, error,
                                 size);
    }

    /* not looked for here, as its disk may hang: the new process finds out */
    if (snprintf(command->program, PATH_MAX, "%s", command->argv[0]) >=
        PATH_MAX) {
        snprintf(error, size, "no transcoder: \"%.150s\": %s",
                 command->argv[0], strerror(ENAMETOOLONG));
        return -1;
    }
    return 0;
}

void command_replace(struct command *command, const char *program, char **argv)
{
    snprintf(command->program, PATH_MAX, "%s", program);
    config_free_list(command->argv);
    command->argv = argv;
}

void command_clear(struct command *command)
{
    config_free_list(command->argv);
    config_free_list(command->env);
}
