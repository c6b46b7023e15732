/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl forget: what is remembered against a PDB, of all its builds or
 * of one.  For a build pipeline that has just published it.
 */
#include <string.h>

#include "client.h"
#include "command.h"
#include "operands.h"
#include "printable.h"

/* All builds of one PDB, or one.  Returns 0, or -1 after a complaint. */
static int path_of(char *path, const struct settings *s, int count,
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
    if (operands_identity("forget", count, operands, &identity) != 0) {
        return -1;
    }
    client_path(path, "forget", settings_store(s), identity.name, identity.id);
    return 0;
}

static void print(const cJSON *answer)
{
    printf("forgotten: %.0f entries\n", printable_number(answer, "forgotten"));
}

int forget_command(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option_spec specs[] = {CLIENT_OPTIONS(settings)};
    char path[CLIENT_PATH_MAX];

    argc = options_parse("forget", specs, sizeof(specs) / sizeof(specs[0]),
                         argc, argv);
    if (argc < 0 || path_of(path, &settings, argc, argv) != 0) {
        return COMMAND_USAGE;
    }
    return client_show(&settings, "POST", path, print, NULL);
}
