/*
 * Copyright (C) the ngx_symcache authors
 *
 * Opens a SymCache or PpdbCache, and enters the sandbox before it is read.
 *
 * A regular file is mapped, because a lookup needs only a few pages of it,
 * however large it is.  Files in a store are replaced by rename, so the
 * mapping stays intact.  If somebody truncates the file nevertheless, the
 * process says so and exits with COMMAND_IO, instead of being killed by
 * SIGBUS.  Anything else ("-" is standard input) is read into memory.
 */
#pragma once

#include "derived/derived.h"

/* The limit for input that cannot be mapped. */
#define INPUT_MAX_READ (1ull << 30)

/* Why a CfiCache is nothing for a command that is about names. */
#define INPUT_HAS_NO_NAMES "is a file that has no names by address"

/* A file, and the reader of its kind. */
struct input {
    symcache_kind_e kind;
    union derived_reader reader;
};

/* A whole file in memory, which is kept until the process ends. */
struct input_bytes {
    uint8_t *data;
    size_t size;
};

/* Nothing can be opened from now on; or warns. */
void input_enter_sandbox(void);

/* Loads a file of any kind and enters the sandbox.  Returns COMMAND_OK, or an
 * exit code after printing what is wrong. */
int input_load(const char *file, struct input_bytes *bytes);

/*
 * Makes UTF-8 of a text in UTF-16 behind a byte order mark, as PowerShell
 * writes it, with a NUL after its *size bytes.  Returns NULL for another text.
 */
char *input_as_utf8(const char *text, size_t *size);

/*
 * Opens the file and enters the sandbox, in which no other descriptors can be
 * opened.  Returns COMMAND_OK; or an exit code after printing what is wrong,
 * which is damaged_code for an incomplete file.  The memory is kept until
 * the process ends.
 */
int input_open(const char *file, int damaged_code, struct input *input);
