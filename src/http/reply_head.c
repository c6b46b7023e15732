/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reply_head.h"

#include <stdint.h>
#include <string.h>
#include "base/decimal.h"
#include "base/http_status.h"

struct text {
    char *at;
    char *end;
    bool is_full;
};

static void add_header_text(struct text *text, const char *s, size_t size)
{
    if ((size_t)(text->end - text->at) < size) {
        text->is_full = true;
        return;
    }
    memcpy(text->at, s, size);
    text->at += size;
}

static void end_line(struct text *text)
{
    add_header_text(text, "\r\n", 2);
}

static void add_field(struct text *text, const char *name, const char *value)
{
    size_t size = strcspn(value, "\r\n");

    text->is_full = text->is_full || value[size] != '\0';
    add_header_text(text, name, strlen(name));
    add_header_text(text, ": ", 2);
    add_header_text(text, value, size);
    end_line(text);
}

/* Returns where the number's digits begin. */
static const char *print_number(char text[DECIMAL_MAX + 1], uint64_t number)
{
    text[DECIMAL_MAX] = '\0';
    return decimal_before(text + DECIMAL_MAX, number);
}

size_t http_reply_head(char *head, const struct http_reply *reply,
                       const char *date, enum http_framing framing,
                       bool closes)
{
    struct text text = {head, head + HTTP_REPLY_HEAD_MAX, false};
    const char *reason = http_status_text(reply->status);
    char number[DECIMAL_MAX + 1];
    unsigned i;

    add_header_text(&text, "HTTP/1.1 ", 9);
    add_header_text(&text, print_number(number, (uint64_t)reply->status), 3);
    add_header_text(&text, " ", 1);
    add_header_text(&text, reason, strlen(reason));
    end_line(&text);
    for (i = 0; i < reply->nfields; i++) {
        add_field(&text, reply->fields[i].name, reply->fields[i].value);
    }
    if (reply->type != NULL) {
        add_field(&text, "Content-Type", reply->type);
    }
    add_field(&text, "Date", date);
    if (framing == HTTP_IN_CHUNKS) {
        add_field(&text, "Transfer-Encoding", "chunked");
    } else if (framing == HTTP_SIZED && reply->status != 204) {
        add_field(&text, "Content-Length", print_number(number, reply->size));
    }
    if (closes) {
        add_field(&text, "Connection", "close");
    }
    end_line(&text);
    return text.is_full ? 0 : (size_t)(text.at - head);
}
