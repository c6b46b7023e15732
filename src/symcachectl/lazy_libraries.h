/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

/*
 * Loads the libraries that unpack and hash.  A command that enters a sandbox
 * and calls them there must do so before, as libraries cannot be loaded
 * inside. The first call of one that is missing ends the process.
 */
void lazy_libraries_load(void);
