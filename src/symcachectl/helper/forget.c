/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl forget: drops negative entries.  Either those of a PDB, of one
 * build or of all, for a build pipeline that has just published it; or all
 * malformed entries since a certain time, for an operator who has repaired a
 * transcoder.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "json_request.h"
#include "symcachectl/command.h"
#include "symcachectl/operands.h"
#include "symcachectl/terminal/printable.h"

/* symcached allows a walk through a store an hour. */
#define WALK_SECONDS 3660

/* Appends a time.  "2026-11-21 07:50[:12]" is local time, as "why" prints
 * it.  Any other text is passed on for the helper to judge. */
static void parse_since(char *path, const char *text)
{
    static const char *const formats[] = {"%Y-%m-%d %H:%M:%S",
                                          "%Y-%m-%d %H:%M"};
    char seconds[32];
    struct tm tm;
    size_t i;

    for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const char *end;

        memset(&tm, 0, sizeof(tm));
        tm.tm_isdst = -1;
        end = strptime(text, formats[i], &tm);
        if (end != NULL && *end == '\0') {
            snprintf(seconds, sizeof(seconds), "%lld", (long long)mktime(&tm));
            text = seconds;
            break;
        }
    }
    client_query(path, "malformed_since", text);
}

/* Prints the path for all builds of a PDB or for one of them.  Returns 0,
 * or -1 after printing what is wrong. */
static int forget_path(char *path, const struct settings *s, int count,
                       char **operands)
{
    struct identity identity;
    symcache_status_e status;
    size_t size;

    if (count == 1 && strchr(operands[0], '/') == NULL) {
        size = strlen(operands[0]);
        status = symcache_name_parse(operands[0], size, &identity.key);
        if (status != SYMCACHE_OK) {
            command_usage("forget", symcache_status_text(status), operands[0]);
            return -1;
        }
        client_path(path, "forget", settings_store(s), operands[0], NULL);
        return 0;
    }
    if (operands_original("forget", count, operands, &identity) != 0) {
        return -1;
    }
    client_path(path, "forget", settings_store(s), identity.name, identity.id);
    return 0;
}

static void forget_print(const cJSON *answer)
{
    printf("forgotten entries: %.0f\n", printable_number(answer, "forgotten"));
}

int forget_command(int argc, char **argv)
{
    struct settings settings = {0};
    const char *malformed_since = NULL;
    const struct option_spec specs[] = {
        CLIENT_PEERS_OPTIONS(settings),
        {"--malformed-since", NULL, &malformed_since}};
    char path[CLIENT_PATH_MAX];

    argc = options_parse("forget", specs, COUNT(specs), argc, argv);
    if (argc > 0 && malformed_since != NULL) {
        return command_usage("forget", "no operands with --malformed-since",
                             argv[0]);
    }
    if (argc == 0 && malformed_since != NULL) {
        client_path(path, "forget", settings_store(&settings), NULL, NULL);
        parse_since(path, malformed_since);
        return json_request_show(&settings, "POST", path, WALK_SECONDS,
                                 forget_print, NULL);
    }
    if (argc < 0 || forget_path(path, &settings, argc, argv) != 0) {
        return COMMAND_USAGE;
    }
    return json_request_show(&settings, "POST", path, CLIENT_SECONDS,
                             forget_print, NULL);
}
