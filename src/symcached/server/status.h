/*
 * Copyright (C) the ngx_symcache authors
 *
 * What /v1/jobs, /v1/sources and /v1/misses tell, in lines for the module's
 * status page, which has no JSON reader: a word, then fields behind tabs.
 *
 *   helper  total queued downloading transcoding waiters
 *   job     store key version state source ms waiters upgrade
 *   source  name type health not_asked_for found not_found unusable failed
 *           bytes failed_at failure
 *   miss    time store key version outcome reason
 */
#ifndef SYMCACHED_SERVER_STATUS_H
#define SYMCACHED_SERVER_STATUS_H

#include <cjson/cJSON.h>
#include <event2/buffer.h>

/*
 * The objects of the three pages; a field that one lacks is empty.  At most
 * 60 KB: of many jobs and sources the first, of long texts their begin.
 */
void status_print(struct evbuffer *buf, const cJSON *scheduler,
                  const cJSON *sources, const cJSON *misses);

#endif
