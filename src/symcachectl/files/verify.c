/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl verify: checks whether a file of a derived kind is intact.
 */
#include <unistd.h>

#include "symcachectl/files/kinds/kinds.h"
#include "symcachectl/command.h"
#include "input.h"

int verify_command(int argc, char **argv)
{
    int rc;
    char error[256];
    const char *file;
    struct input input;
    static struct output output;

    file = command_file("verify", argc, argv);
    if (file == NULL) {
        return COMMAND_USAGE;
    }
    rc = input_open(file, COMMAND_NOT_FOUND, &input);
    if (rc != COMMAND_OK) {
        return rc;
    }
    switch (derived_type(input.kind)
                ->verify(&input.reader, error, sizeof(error))) {
    case SYMC_SOUND:
        break;
    case SYMC_VIOLATED:
        return command_fail(COMMAND_NOT_FOUND, file, error);
    case SYMC_NOT_VERIFIED:
        return command_fail(COMMAND_IO, file, error);
    }
    output_init(&output, STDOUT_FILENO);
    output_text(&output, file);
    output_text(&output, ": sound: ");
    kind_printer(input.kind)->counts(&output, &input.reader);
    return output_finish(&output, COMMAND_OK);
}
