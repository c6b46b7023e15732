/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes a source bundle: "SYSB", a version, and a ZIP archive with a
 * manifest.  Equal files in an equal order make equal bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bundle_writer;

/* Begins a bundle in a new file.  NULL: errno says why. */
struct bundle_writer *bundle_writer_new(const char *file);

/* Sets an attribute of the bundle, before files are added. */
void bundle_writer_set(struct bundle_writer *writer, const char *name,
                       const char *value);

/* Adds a source file under its path in the debug information.  Returns 0, or
 * -1 with errno. */
int bundle_writer_add(struct bundle_writer *writer, const char *path,
                      const char *text, size_t size);

/* Writes the manifest if it is to be finished, and frees the writer.  Returns
 * 0; or -1 with errno: then the file is worthless. */
int bundle_writer_close(struct bundle_writer *writer, bool is_finished);
