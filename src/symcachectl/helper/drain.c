/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl drain: has the helper refuse lookups that need a new job, so that
 * a front asks another machine, or, with --end, take them again.
 */
#include <stdio.h>

#include "json_request.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

static void print_drain(const cJSON *answer)
{
    printf("%s: jobs %.0f, waiting requests %.0f\n",
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "draining"))
               ? "draining"
               : "not draining",
           printable_number(answer, "total"),
           printable_number(answer, "waiters"));
}

int drain_command(int argc, char **argv)
{
    struct settings settings = {0};
    int end = 0;
    const struct option_spec specs[] = {CLIENT_OPTIONS(settings),
                                        {"--end", &end, NULL}};

    argc = options_parse("drain", specs, COUNT(specs), argc, argv);
    if (argc != 0) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("drain", "no operands", argv[0]);
    }
    return json_request_show(&settings, "POST",
                             end ? "/v1/undrain" : "/v1/drain", CLIENT_SECONDS,
                             print_drain, NULL);
}
