/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes to standard output in large pieces.  Strings of a SymCache are never
 * written as they are: control characters are escaped, so that a hostile name
 * can neither forge a line nor control the terminal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

struct output {
    int fd;
    int error; /* errno of the first error; nothing more is written then */
    size_t used;
    char data[65536];
};

void output_init(struct output *output, int fd);

/* Writes text of the program itself. */
void output_text(struct output *output, const char *text);

/* Writes UTF-8; control characters (C0, DEL, C1) become \x1b or \u0085. */
void output_string(struct output *output, const struct symc_string *string);

/* Writes the same as a JSON string, with its quotes. */
void output_json(struct output *output, const struct symc_string *string);

void output_decimal(struct output *output, uint64_t number);

/* Writes 0x and at least so many digits. */
void output_hex(struct output *output, uint64_t number, int digits);

void output_flush(struct output *output);

/* Flushes.  Returns code, or COMMAND_IO after printing why that failed. */
int output_finish(struct output *output, int code);
