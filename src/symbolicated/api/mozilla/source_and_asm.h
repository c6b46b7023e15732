/*
 * Copyright (C) the ngx_symcache authors
 *
 * What /source/v1 and /asm/v1 share: requests with members that are texts, for
 * files of one module, and refusals.
 */
#pragma once

#include "symbolicated/api/protocols.h"

/* Answers {"error": "..."}; with status 503, the client may try again. */
enum api_next mozilla_refuse(struct api_reply *reply, int status,
                             const char *error);

/* Why a request is refused with which nothing is wrong. */
extern const char mozilla_no_memory[];

/* Gets a member of the whole, which is a text in the body.  Returns false if
 * there is none. */
bool mozilla_member_text(const struct json *json, const char *name,
                         struct symc_string *text);

/* Reads "0x" and up to 16 digits. */
bool mozilla_read_hex(const struct symc_string *text, uint64_t *value);

/* Makes a module of a name and a debug id, in this kind.  Returns false if one
 * of them is none. */
bool mozilla_set_module(struct api_module *module, symcache_kind_e kind,
                        const struct symc_string *name,
                        const struct symc_string *id);
