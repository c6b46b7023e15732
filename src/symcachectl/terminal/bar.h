/*
 * Copyright (C) the ngx_symcache authors
 *
 * A progress bar on standard error, where that is a terminal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bar {
    int is_shown; /* on a terminal */
    uint64_t at;  /* when it was last drawn, in milliseconds */
};

/* Milliseconds of a monotonic clock. */
uint64_t bar_clock(void);

void bar_init(struct bar *bar);

/* Draws the bar, at most ten times a second.  text must be the program's
 * own.  With all = 0 the total is unknown, and only the text is drawn. */
void bar_draw(struct bar *bar, size_t done, size_t all, const char *text);

/* Prints a line in place of the bar.  The part in the middle may come from
 * others and is made printable. */
void bar_line(const char *before, const char *text, const char *after);

/* Removes the bar, so that other text can be printed. */
void bar_clear(struct bar *bar);
