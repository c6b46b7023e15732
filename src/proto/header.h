
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names on the wire: headers of the SymCache protocol, and of the helper's
 * socket.
 */


#ifndef _SYMCACHE_HEADER_H_INCLUDED_
#define _SYMCACHE_HEADER_H_INCLUDED_


/* from a SymCache client */
#define SYMCACHE_HEADER_EXCEEDS       "If-Version-Exceeds"
/* the published text has the first name, the published sample the second */
#define SYMCACHE_HEADER_ALLOW_RETRY   "Allow-Retry-After"
#define SYMCACHE_HEADER_ACCEPT_RETRY  "Accept-Retry-After"

/* the ids of the helpers that a request has gone through, by ", " */
#define SYMCACHE_HEADER_VIA           "X-Symcache-Via"

/* from the helper */
#define SYMCACHE_HEADER_VERSION       "X-Symcache-Version"
#define SYMCACHE_HEADER_PATH          "X-Symcache-Path"
#define SYMCACHE_HEADER_REASON        "X-Symcache-Reason"
#define SYMCACHE_HEADER_VALID         "X-Symcache-Valid"

/* of a 503: another helper may be there in a moment */
#define SYMCACHE_REASON_STOPPING      "stopping"

/* of a 503: symcache_store names none of the helper's */
#define SYMCACHE_REASON_STORE         "unknown-store"

/* the longest wait= that the helper's socket takes, seconds */
#define SYMCACHE_WAIT_MAX             86400

/* bytes of the name of a store, a part of the paths there */
#define SYMCACHE_STORE_MAX            64

#define SYMCACHE_DEFAULT_TYPE         "application/vnd.ms-symcache"


#endif /* _SYMCACHE_HEADER_H_INCLUDED_ */
