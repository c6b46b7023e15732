/*
 * Copyright (C) the ngx_symcache authors
 *
 * Short answers of Symbolicator's protocol.
 */
#pragma once

#include "symbolicated/api/api.h"

#define ANSWER_JSON_TYPE "application/json"

/* A text. */
void answer_text(struct api_reply *reply, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A body that is not JSON (400), or not of the shape that it has to have
 * (422), with the reader's sentence; for any other status there is no memory.
 */
void answer_unreadable(struct api_reply *reply, int status, const char *error);

/* {"detail": ...} */
void answer_detail(struct api_reply *reply, int status, const char *detail);

/* This process cannot answer now. */
void answer_later(struct api_reply *reply, const char *detail);
void answer_busy(struct api_reply *reply);

/* {"status": ...}, with the id of a request that is pending unless that is
 * NULL. */
void answer_status(struct api_reply *reply, const char *status,
                   const char *id);

/* Some module did not come within the time of the call. */
void answer_late(const struct api_call *call, struct api_reply *reply);

/* The request of this id is pending; NULL: there is no room for that. */
void answer_pending(struct api_reply *reply, const char *id);
