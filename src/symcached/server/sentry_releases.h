/*
 * Copyright (C) the ngx_symcache authors
 *
 * Releases of Sentry's protocol.  One is here nothing but a name that a bundle
 * of scripts comes with, but the commands of a build make it, change it and say
 * where it was deployed, and end if they are refused.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

struct evhttp_request;

#define SENTRY_RELEASE_MAX 250 /* bytes of it, and of a dist, as Sentry's */

/* Is it the name of a release or dist that Sentry takes as well, or absent? */
bool sentry_is_release(const char *text);

/* Answers one that is made, or, with the version of its path, is changed. */
void sentry_releases_change(const cJSON *asked, const char *version,
                            struct evhttp_request *req);

/* Answers one that was deployed. */
void sentry_releases_deploy(const cJSON *asked, struct evhttp_request *req);
