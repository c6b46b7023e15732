/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the guest helper tells the symcached that started it, for its status
 * and metrics: a message after each change, at most ten a second.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

#define GUESTS_REPORT_MAX 65536

struct event_base;
struct guests_report;

/* Counts since the start of the helper; they are members of a message. */
struct guests_counts {
    uint64_t started;
    uint64_t refused;
    uint64_t removed;
};

/* Takes fd over, a socket that keeps messages apart.  get() makes a message,
 * an object.  NULL without memory. */
struct guests_report *guests_report_new(struct event_base *base, int fd,
                                        cJSON *(*get)(void *arg), void *arg);

void guests_report_changed(struct guests_report *report);

void guests_report_free(struct guests_report *report); /* NULL is allowed */
