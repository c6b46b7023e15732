/*
 * Copyright (C) the ngx_symcache authors
 *
 * The folders of stores, and of tenants, that the process has open.  They stay
 * open for ever: one that has locked itself in cannot open others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the descriptor of a folder, which is opened if it is not open yet,
 * unless the process has locked itself in.  -1 with a sentence in error, for
 * which `whose` is "store NAME".
 */
int store_root_open(const char *path, const char *whose, bool locked,
                    char *error, size_t size);

/* The folders that are open; returns their number. */
size_t store_roots_list(const int **roots);

/*
 * Returns whether another folder has the path of this one now, which nothing
 * in a process that has locked itself in can open; for threads that may wait
 * for a disk.
 */
bool directory_is_replaced(int fd, const char *path);

/* Looks so at a folder of store_roots_list(). */
void store_root_check(int root);

/* Whether one was found replaced. */
bool store_root_is_lost(void);
