/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests that a bucket of S3 gets for a call, for the files that make them.
 */
#pragma once

#include "call.h"

struct tier_s3_request {
    const char *method;
    const char *query; /* behind the object's URL, "" or "?..." */
    struct s3_headers *headers;
    int fd;             /* has the body: */
    uint64_t from;      /* its first byte, */
    uint64_t size;      /* and how many; 0: none */
    uint64_t waits_for; /* bytes that the store works on before it answers */
};

/* Returns NULL with errno. */
struct send *tier_s3_send(struct tier_call *call,
                          const struct tier_s3_request *request,
                          send_done_fn done, void *arg);

/* The meaning of an answer with this <Code>. */
enum tier_reply tier_s3_judge(const struct fetch_response *response,
                              const char *code);

/* Sets status and refusal of the call. */
void tier_s3_take_status(struct tier_call *call,
                         const struct fetch_response *response,
                         const char *code);

/* Ends a put after a failed answer, or begins it again with other keys. */
void tier_s3_refuse(struct tier_call *call, enum tier_reply reply,
                    const char *text, const struct fetch_response *response);

/* s3_parts.c: stores what is larger than a part.  As put() of struct
 * tier_type. */
int tier_s3_put_parts(struct tier_call *call);
