/*
 * Copyright (C) the ngx_symcache authors
 *
 * A progress bar on standard error, where that is a terminal.
 */
#ifndef SYMCACHECTL_BAR_H
#define SYMCACHECTL_BAR_H

#include <stddef.h>
#include <stdint.h>

struct bar {
    int is_shown; /* on a terminal */
    uint64_t at;  /* when it was drawn last, ms */
};

/* Milliseconds of a clock that only goes forward. */
uint64_t bar_clock(void);

void bar_init(struct bar *bar);

/* Draws at most ten times a second; text is of the program itself.  all 0:
 * nobody knows, and there is only the text. */
void bar_draw(struct bar *bar, size_t done, size_t all, const char *text);

/* A line of text, of which the middle is somebody else's, in its place. */
void bar_line(const char *before, const char *text, const char *after);

/* Makes room for other text. */
void bar_clear(struct bar *bar);

#endif
