/*
 * Copyright (C) the ngx_symcache authors
 */

#include "bar.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "printable.h"

#define WIDTH 30
#define EVERY_MS 100

uint64_t bar_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void bar_init(struct bar *bar)
{
    bar->is_shown = isatty(STDERR_FILENO);
    bar->at = 0;
}

void bar_draw(struct bar *bar, size_t done, size_t all, const char *text)
{
    char hashes[WIDTH + 1];
    size_t i, filled;

    if (!bar->is_shown || (bar->at != 0 && bar_clock() - bar->at < EVERY_MS &&
                           (done < all || all == 0))) {
        return;
    }
    bar->at = bar_clock();
    if (all == 0) {
        fprintf(stderr, "\r%s\033[K", text);
        return;
    }
    filled = done * WIDTH / all;
    for (i = 0; i < WIDTH; i++) {
        hashes[i] = i < filled ? '#' : '.';
    }
    hashes[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3zu %% %s\033[K", hashes, done * 100 / all, text);
}

void bar_clear(struct bar *bar)
{
    if (bar->is_shown && bar->at != 0) {
        fputs("\r\033[K", stderr);
        bar->at = 0;
    }
}

void bar_line(const char *before, const char *text, const char *after)
{
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
    fputs(before, stderr);
    printable_put(stderr, text);
    fprintf(stderr, "%s\n", after);
}
