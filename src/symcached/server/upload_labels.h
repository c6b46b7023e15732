/*
 * Copyright (C) the ngx_symcache authors
 *
 * The labels of an upload, by a header that every dialect can have.
 */
#pragma once

#include "base/build_list.h"

struct evhttp_request;

/*
 * Reads the header SYMCACHE_HEADER_LABELS of a request, written as a query is:
 * "product=app&branch=nightly&build=17", and adds its labels.  An empty value
 * of a label counts as none, so that nginx can write the header out of
 * variables.  Returns what is wrong, or NULL.
 */
const char *upload_labels_read(struct evhttp_request *req,
                               struct build_labels *labels);
