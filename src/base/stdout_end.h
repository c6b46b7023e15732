/*
 * Copyright (C) the ngx_symcache authors
 *
 * The end of a program that prints: a result that a full disk swallowed is
 * none.
 */
#pragma once

/* Returns code, or, after a line on standard error, failure if standard output
 * did not take all that was printed. */
int stdout_end(const char *program, int code, int failure);
