/*
 * Copyright (C) the ngx_symcache authors
 *
 * Objects of uploads in a tier belong to the machine that was sent the file
 * last.  A machine has its id as an extended attribute of "uploads.root"; all
 * that share this folder are one.
 */
#pragma once

#include "proto/upload.h"

/* Writes the id, which is made at the first call; or "" if the file system has
 * no such attributes. */
void machine_id(char id[SYMCACHE_UPLOAD_MACHINE_DIGITS + 1], const char *root);
