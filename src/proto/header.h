
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names that are sent over HTTP: the headers of the SymCache protocol, and
 * those of the helper's socket.
 */


#ifndef _SYMCACHE_HEADER_H_INCLUDED_
#define _SYMCACHE_HEADER_H_INCLUDED_


/* Sent by a SymCache client. */
#define SYMCACHE_HEADER_EXCEEDS       "If-Version-Exceeds"
/* The first name is of the published text, the second of the sample. */
#define SYMCACHE_HEADER_ALLOW_RETRY   "Allow-Retry-After"
#define SYMCACHE_HEADER_ACCEPT_RETRY  "Accept-Retry-After"

/* The ids of the helpers that passed the request on, in lower hex with ", "
 * between: fewer bytes than that. */
#define SYMCACHE_HEADER_VIA           "X-Symcache-Via"
#define SYMCACHE_VIA_MAX              512

/* Sent to symbol servers: SYMCACHE_HINT_CHECKSUM. */
#define SYMCACHE_HEADER_CHECKSUM      "SymbolChecksum"

/* The code id of a module, sent by a client that knows it:
 * SYMCACHE_HINT_CODE_ID. */
#define SYMCACHE_HEADER_CODE_ID       "X-Symcache-Code-Id"

/* Sent by the helper. */
#define SYMCACHE_HEADER_VERSION       "X-Symcache-Version"
#define SYMCACHE_HEADER_PATH          "X-Symcache-Path"
#define SYMCACHE_HEADER_REASON        "X-Symcache-Reason"
#define SYMCACHE_HEADER_VALID         "X-Symcache-Valid"

/* The reason of a 503: another helper may be running in a moment. */
#define SYMCACHE_REASON_STOPPING      "stopping"

/* The reason of a 503: an operator has this helper start no new job. */
#define SYMCACHE_REASON_DRAINING      "draining"

/* The reason of a 503: the helper has no store of that symcache_store. */
#define SYMCACHE_REASON_STORE         "unknown-store"

/* The reason of a 503: it is absent, unless a server has it through which the
 * question came, by its SYMCACHE_HEADER_VIA. */
#define SYMCACHE_REASON_LOOP          "loop"

/* The longest wait= in seconds that the helper accepts. */
#define SYMCACHE_WAIT_MAX             86400

/* So many lookups may stand in one request, in a body of so many bytes. */
#define SYMCACHE_LOOKUPS_MAX          64
#define SYMCACHE_LOOKUPS_SIZE         2097152

/* The longest name of a store in bytes; it is a part of paths. */
#define SYMCACHE_STORE_MAX            64

#define SYMCACHE_DEFAULT_TYPE         "application/vnd.ms-symcache"


#endif /* _SYMCACHE_HEADER_H_INCLUDED_ */
