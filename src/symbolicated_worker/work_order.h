/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a worker is ordered to do with a body: reports/crash/crash.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "worker_pool/worker_pool.h"

/* Texts are NULL if their lines are absent; they are the order's own. */
struct order {
    char *text;
    const char *boundary;
    const char *coding;
    const char *rewrite;
    unsigned corrections;
    bool has_sources; /* lists of clients count */
    uint64_t unpacked;
    uint64_t answer;
};

/* Reads an order; to be freed.  Returns 0, or -1 without memory. */
int order_read(struct order *order, const char *text);
void order_free(struct order *order);

/* Ends the process, as symbolicated expects of one that has taken too much. */
_Noreturn void out_of_memory(void);

/* There is no result, for a reason of enum crash_refusal or profile_refusal.
 */
void refuse_work(struct work_service *service, uint32_t why, const char *text);
