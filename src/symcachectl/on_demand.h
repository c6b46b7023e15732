/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMCACHECTL_ON_DEMAND_H
#define SYMCACHECTL_ON_DEMAND_H

/*
 * Loads the libraries that unpack and hash.  A command that enters a sandbox
 * and calls them there must do so before, as libraries cannot be loaded
 * inside. The first call of one that is missing ends the process.
 */
void on_demand_load(void);

#endif
