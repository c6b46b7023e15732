/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers whose parts are sent when they are there: in chunks (RFC 9112, 7.1),
 * or up to the end of a connection of HTTP/1.0.
 */
#include <stdio.h>
#include "connection.h"
#include "reply_head.h"

#define CHUNK_HEAD_MAX 32

/* Begins the answer with its head.  Returns the size of that. */
static size_t begin_streamed_reply(struct http_connection *c,
                                   const struct http_reply *part, char *head)
{
    c->is_streamed = true;
    c->in_chunks = !c->head.is_http10;
    c->closes = c->closes || c->server->is_stopping || !c->in_chunks;
    return http_reply_head(head, part, c->server->date,
                           c->in_chunks ? HTTP_IN_CHUNKS : HTTP_UNTIL_CLOSED,
                           c->closes);
}

void http_reply_part(struct http_request *request,
                     const struct http_reply *part, void (*sent)(void *arg),
                     void *arg)
{
    struct http_connection *c = (struct http_connection *)request;
    char head[HTTP_REPLY_HEAD_MAX + CHUNK_HEAD_MAX];
    bool is_first = !c->is_streamed;
    size_t size = is_first ? begin_streamed_reply(c, part, head) : 0;

    c->is_broken = is_first && size == 0;
    if (c->in_chunks) {
        size += (size_t)snprintf(head + size, CHUNK_HEAD_MAX, "%s%zx\r\n",
                                 is_first ? "" : "\r\n", part->size);
    }
    c->output.parts[0] = (struct http_output_part){.data = head, .size = size};
    c->output.parts[1] =
        (struct http_output_part){.data = part->body, .size = part->size};
    if (!http_output_keep(&c->output, c->server->unsent)) {
        c->is_broken = true;
    }
    c->sent = sent;
    c->sent_arg = arg;
    c->state = STREAMS;
    http_connection_watch(c, EV_WRITE);
}

void http_connection_stream(struct http_connection *c)
{
    int rc = c->is_broken
                 ? -1
                 : http_output_send(&c->output, event_get_fd(&c->event));

    if (rc == -1) {
        http_connection_leave_request(c);
        return;
    }
    c->active = c->server->now;
    if (rc == 1) {
        http_output_release(&c->output);
        c->state = RUNS;
        http_connection_watch(c, EV_READ);
        c->sent(c->sent_arg);
    }
}

void http_reply_end(struct http_request *request)
{
    static char end[] = "\r\n0\r\n\r\n";
    struct http_connection *c = (struct http_connection *)request;

    c->closes = c->closes || c->server->is_stopping;
    c->output.parts[0] = (struct http_output_part){
        .data = end, .size = c->in_chunks ? sizeof(end) - 1 : 0};
    http_connection_answered(c);
}

void http_reply_abort(struct http_request *request)
{
    http_connection_free((struct http_connection *)request);
}
