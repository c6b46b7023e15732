/*
 * Copyright (C) the ngx_symcache authors
 *
 * The protocols, one begin function each: what api_begin() says of it, for
 * paths that are the protocol's.
 */
#pragma once

#include "api.h"

/* POST /symbolicate/v4 and v5 of Mozilla's Eliot. */
struct api_call *mozilla_begin(const struct api_request *request,
                               struct api_reply *reply);

/* POST /source/v1: the text of a source file. */
struct api_call *mozilla_source_begin(const struct api_request *request,
                                      struct api_reply *reply);

/* POST /asm/v1: the instructions of a part of a program. */
struct api_call *mozilla_asm_begin(const struct api_request *request,
                                   struct api_reply *reply);

/*
 * Answers what is the same for all pages of Mozilla's service: CORS, OPTIONS,
 * and a method that is not method ("POST" or "GET").  Returns true when it
 * has answered.
 */
bool mozilla_service(const struct api_request *request, const char *method,
                     struct api_reply *reply);

/* The service's own pages, whose paths begin with two underscores, and the
 * answer to paths that no protocol has. */
void mozilla_page(const struct api_request *request, struct api_reply *reply);

/* {"title": "..."}, or as XML, or nothing, as the client accepts it. */
void mozilla_error(const struct api_request *request, struct api_reply *reply,
                   int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether the bodies of requests with this path are forms with a crash report,
 * which are read by workers. */
bool symbolicator_takes_form(const struct symbolication_config *config,
                             const char *path);

/* POST /symbolize/v1: addresses by the million, answered in parts. */
struct api_call *symbolize_begin(const struct api_request *request,
                                 struct api_reply *reply);

/* POST /profile, whose path profile_owns() knows: a profile with names. */
struct api_call *profile_begin(const struct api_request *request,
                               struct api_reply *reply);
bool profile_owns(const struct symbolication_config *config, const char *path);

/* Whether a path is one of Symbolicator's. */
bool symbolicator_owns(const struct symbolication_config *config,
                       const char *path);

/* POST /symbolicate of Sentry's Symbolicator, and what belongs to it. */
struct api_call *symbolicator_begin(const struct api_request *request,
                                    struct api_reply *reply);
