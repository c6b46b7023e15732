/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whether this machine is one that requests should be sent to.
 */
#pragma once

#include <cjson/cJSON.h>

struct event_base;
struct evhttp_request;
struct evict;
struct ready;
struct scheduler;

/*
 * Looks at the disks of stores, downloads and uploads now and every few
 * seconds, in threads, since one that hangs would block the loop.  Calls
 * uploads_back() when that of uploads takes files again.  Returns NULL when out
 * of memory.
 */
struct ready *ready_new(struct event_base *base, struct scheduler *scheduler,
                        void (*uploads_back)(void *arg), void *arg);

/* ready may be NULL. */
void ready_free(struct ready *ready);

/*
 * Returns NULL, or one word that says why requests are better sent elsewhere:
 * "draining"; "no-room", if a disk is full or has less than cache.min_free;
 * "no-disk", if one is read-only, fails or is silent; "starting", until the
 * disks were looked at.
 */
const char *ready_why_not(const struct ready *ready);

/*
 * Returns NULL, or "no-room" or "no-disk" where "uploads.root" takes no files,
 * and "no-tier" where their tier has lately taken none: uploads are refused
 * then, and lookups are not.
 */
const char *ready_why_no_uploads(const struct ready *ready);

/*
 * The folders of stores, downloads and uploads, as the disks were looked at
 * last: an array of
 *
 *   {"kind": "store", "store": "default", "path": "/var/cache/symcache",
 *    "failure": "", "size": 1, "free": 1, "kept": 1,
 *    "files": 1, "bytes": 1, "counted": 1}
 *
 * with why no file can be written there, or ""; with size and free bytes of the
 * file system and those that cache.min_free keeps free, 0 where it fails; and
 * with what evict counted there and the Unix time of that, 0 before its first
 * pass.  "kind" is "store", "downloads" (of all stores) or "uploads", which are
 * not counted; for these two "store" is empty.  The caller frees the array.
 */
cJSON *ready_disks(const struct ready *ready, const struct evict *evict);

/* Answers /readyz. */
void ready_page(const struct ready *ready, struct evhttp_request *req);
