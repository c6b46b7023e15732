/*
 * Copyright (C) the ngx_symcache authors
 *
 * Subcommands that are one request: a page is asked for a JSON object, which
 * is printed.
 */
#pragma once

#include "client.h"

/*
 * Asks for a JSON object and prints it, as it is or with `print`; with --peers
 * one of each helper.  judge, which may be NULL, returns the exit code for an
 * answer.  Returns an exit code, after printing what is wrong.
 */
int json_request_show(const struct settings *settings, const char *method,
                      const char *path, long seconds,
                      void (*print)(const cJSON *answer),
                      int (*judge)(const cJSON *answer));

/* Asks for a JSON object and returns it in *object, which is NULL when
 * something is wrong that was printed.  Returns an exit code. */
int json_request_object(const struct settings *settings, const char *method,
                        const char *path, cJSON **object);

/* The same as json_request_show() for a request with a body of JSON. */
int json_request_post(const struct settings *settings, const char *path,
                      const char *body, void (*print)(const cJSON *answer),
                      int (*judge)(const cJSON *answer));
