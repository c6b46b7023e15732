/*
 * Copyright (C) the ngx_symcache authors
 *
 * A connection whose request has been read and whose answer takes long.  For
 * evhttp a connection is over 2 KB, and there may be ten thousand; so it is
 * taken away from there, and its one answer is written here.
 */
#ifndef HTTP_DETACHED_H
#define HTTP_DETACHED_H

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

struct detached;

/*
 * Takes the connection of a request over; evhttp frees both without a word to
 * their callbacks.  gone is called when the client closes, or sends more.
 * Returns NULL if that is not possible: then nothing has changed.
 */
struct detached *detached_new(struct event_base *base,
                              struct evhttp_request *req,
                              void (*gone)(void *arg), void *arg);

/* Sends a whole answer, see reply.h; then closes the connection and frees. */
void detached_answer(struct detached *detached, struct evbuffer *answer);

/* Closes the connection and frees. */
void detached_free(struct detached *detached);

#endif
