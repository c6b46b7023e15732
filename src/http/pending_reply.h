/*
 * Copyright (C) the ngx_symcache authors
 *
 * A connection whose request has been read and whose answer takes long.  There
 * may be ten thousand of them, and evhttp needs over 2 KB for each.  So they
 * are taken away from evhttp, and their single answer is written here.
 */
#pragma once

#include <stdbool.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

struct pending_reply;

/*
 * Takes over the connection of a request.  evhttp frees both without calling
 * their callbacks.  gone is called when the client closes the connection or
 * sends more.  Returns NULL if this is not possible; then nothing has changed.
 */
struct pending_reply *pending_reply_new(struct event_base *base,
                                        struct evhttp_request *req,
                                        void (*gone)(void *arg), void *arg);

/*
 * Sends a part of an answer.  Returns false if not all of it fits into the
 * socket's buffer, or the client is gone: then nothing more is to be sent.
 */
bool pending_reply_send(struct pending_reply *pending, struct evbuffer *part);

/* Sends a whole answer (see reply.h), then closes the connection and frees it.
 */
void pending_reply_answer(struct pending_reply *pending,
                          struct evbuffer *answer);

/* The same; with its first byte goes a descriptor, on a Unix socket.  It stays
 * the caller's; -1: there is none. */
void pending_reply_hand(struct pending_reply *pending, struct evbuffer *answer,
                        int fd);

/* Closes the connection and frees it. */
void pending_reply_free(struct pending_reply *pending);
