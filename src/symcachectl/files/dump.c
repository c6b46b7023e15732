/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl dump: prints a whole file of a derived kind as text, for
 * comparisons.  Records are identified by their content and not by their
 * number, so that one more source file changes one line and not all that
 * follow.
 */
#include <unistd.h>

#include "symcachectl/files/kinds/kinds.h"
#include "symcachectl/command.h"
#include "input.h"

int dump_command(int argc, char **argv)
{
    int rc;
    const char *file;
    const struct kind_printer *printer;
    static struct input input;
    static struct output output;

    file = command_file("dump", argc, argv);
    if (file == NULL) {
        return COMMAND_USAGE;
    }
    rc = input_open(file, COMMAND_FOREIGN, &input);
    if (rc != COMMAND_OK) {
        return rc;
    }
    printer = kind_printer(input.kind);
    if (printer->dump == NULL) {
        return command_fail(COMMAND_FOREIGN, file, INPUT_HAS_NO_NAMES);
    }
    output_init(&output, STDOUT_FILENO);
    if (printer->dump(&output, &input.reader) != 0) {
        output_flush(&output);
        return command_fail(COMMAND_IO, file, "no memory for a path");
    }
    return output_finish(&output, COMMAND_OK);
}
