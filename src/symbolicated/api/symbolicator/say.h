/*
 * Copyright (C) the ngx_symcache authors
 *
 * Short answers of Symbolicator's protocol.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_SAY_H
#define SYMBOLICATED_API_SYMBOLICATOR_SAY_H

#include "symbolicated/api/api.h"

#define SAY_JSON_TYPE "application/json"

/* A text. */
void say(struct api_reply *reply, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* {"detail": ...} */
void say_detail(struct api_reply *reply, int status, const char *detail);

/* This process cannot answer now. */
void say_later(struct api_reply *reply, const char *detail);
void say_busy(struct api_reply *reply);

/* {"status": ...}, with the id of a request that is pending unless that is
 * NULL. */
void say_status(struct api_reply *reply, const char *status, const char *id);

/* The request of this id is pending; NULL: there is no room for that. */
void say_pending(struct api_reply *reply, const char *id);

#endif
