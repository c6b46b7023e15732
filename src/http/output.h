/*
 * Copyright (C) the ngx_symcache authors
 *
 * An answer on its way to a socket that does not block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_output_part {
    char *data;
    size_t at; /* what is sent already */
    size_t size;
    void (*release)(char *data, size_t size); /* NULL: it is not ours */
};

/* All zero at first, and when it is released. */
struct http_output {
    struct http_output_part parts[2]; /* head and body */
};

/* Returns 1 if all has been sent, 0 if the socket takes no more, and -1 on an
 * error. */
int http_output_send(struct http_output *output, int fd);

/*
 * Copies unsent data that belongs to others.  Returns false if there is no
 * memory, or if all copies would have more than most bytes together; one alone
 * may have.
 */
bool http_output_keep(struct http_output *output, uint64_t most);

void http_output_release(struct http_output *output);

/* Tells a client that waits for it to send its body.  Returns false if that
 * fails. */
bool http_output_continue(int fd);

/* Has the client closed both directions? */
bool http_output_is_hung_up(int fd);
