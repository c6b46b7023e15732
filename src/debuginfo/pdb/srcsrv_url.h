/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the source server stream leads to on the web: the value of SRCSRVTRG,
 * in which variables stand for what the line of a file has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "srcsrv.h"

#define SRCSRV_URL_MAX 512
#define SRCSRV_VARIABLES 100 /* further ones are unknown */

struct srcsrv_urls {
    const struct srcsrv *srcsrv;
    struct {
        struct symc_text name, value;
    } variables[SRCSRV_VARIABLES];
    size_t count;
    uint64_t work; /* that is left: bytes written and variables looked at */
};

/* Reads the variables.  The srcsrv must stay as long as it is used. */
void srcsrv_urls_begin(struct srcsrv_urls *urls, const struct srcsrv *srcsrv);

/*
 * Writes the URL of an entry to url and its size, without a NUL, to *size.
 * Returns false if it has none: its target is no URL, too long, or made of
 * variables that are unknown, as those of the environment are.  No command is
 * ever looked at.
 */
bool srcsrv_url(struct srcsrv_urls *urls, size_t entry,
                char url[SRCSRV_URL_MAX], uint32_t *size);
