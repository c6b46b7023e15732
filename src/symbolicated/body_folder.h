/*
 * Copyright (C) the ngx_symcache authors
 *
 * The folder of large bodies, if one is configured; for the main thread.
 */
#pragma once

#include <stddef.h>
#include "config/config.h"

/* Opens it, before the sandbox.  Returns 0, or -1 with a sentence in error. */
int body_folder_open(const struct config *config, char *error, size_t size);

/* The open one, or -1: there is none. */
int body_folder_descriptor(void);

/* From now on bodies are there.  Returns 0, or -1 with a sentence in error. */
int body_folder_use(char *error, size_t size);

/* Leaves the folder if another one has its path. */
void body_folder_check(void);
