/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symcachectl says of itself: the usage of all commands, and their
 * sections, each of which begins with the name of its command.
 */
#pragma once

#include <stdbool.h>

extern const char help_text[];

/* Prints what the text says of one command: its lines of the usage, and its
 * section. */
void help_print_command(const char *name);

/* Do the arguments of a command ask for help? */
bool help_is_asked(int argc, char **argv);
