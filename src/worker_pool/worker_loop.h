/*
 * Copyright (C) the ngx_symcache authors
 *
 * The worker's side: a program that reads bodies.
 */
#pragma once

#include <stdint.h>

#include "message.h"

/* The descriptor of the socket by which a worker is spoken to. */
#define WORK_SOCKET 3

struct work_service;

/* A body, for the function of its kind. */
struct work_body {
    const uint8_t *data; /* only to be read */
    uint64_t size;
    const char *text; /* of the order, with a NUL after it */
    uint32_t limit;
    struct work_service *service;
};

struct work_kind {
    uint32_t kind;
    /* Reads a body; ends with work_done() or work_refuse(). */
    void (*read)(const struct work_body *body);
};

/*
 * To be called first.  The program is started once, by the spawner, and this
 * returns in copies of it: one for each worker, which costs a tenth of a
 * program that is started and linked anew.  The first process reads nothing
 * but the spawner's orders, so all copies are alike.
 */
void work_fork(void);

/* Serves bodies until the other side closes the socket.  No error can be
 * recovered from: the process ends. */
void work_serve(const struct work_kind *kinds, size_t n);

/* Adds to the text that the next of the functions below ends. */
void work_say(struct work_service *service, const void *text, size_t size);

/* Asks for the files that the text names, and calls have for each file in the
 * answer. data is NULL if there is none; else it stays mapped for as long as
 * the process lives. */
void work_ask(struct work_service *service,
              void (*have)(void *arg, const struct work_file *file,
                           const uint8_t *data, size_t size),
              void *arg);

/* The text is the result. */
void work_done(struct work_service *service);

/* Ends the process, as it lacks what the body is not to blame for.  Takes no
 * memory. */
_Noreturn void work_cannot(void);

/* There is no result; the text and status tell why. */
void work_refuse(struct work_service *service, uint32_t status);
