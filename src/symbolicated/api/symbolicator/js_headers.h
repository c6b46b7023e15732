/*
 * Copyright (C) the ngx_symcache authors
 *
 * "scraping.headers" of a request: what is sent with the questions for files
 * that are scraped.
 */
#pragma once

#include "js_request.h"

#define JS_HEADER_SIZE 4096 /* bytes of a value, of a token, of cookies */

/* May a text become a header, and pass through the text of a configuration, in
 * which "@/" begins the name of a file? */
bool js_header_is_value(struct symc_string text);

/* NULL, or a static sentence about what is wrong with the headers. */
const char *js_headers_mistake(const struct js_request *request);

/* Writes a member with the headers, which are right, sorted by their names, so
 * that equal ones are equal texts; nothing if there are none. */
void js_headers_write(const struct js_request *request, struct json_writer *w);
