
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the helper and symcachectl agree on about uploaded files: extended
 * attributes that say how long one is kept, headers, and fields of forms.
 */


#ifndef _SYMCACHE_UPLOAD_H_INCLUDED_
#define _SYMCACHE_UPLOAD_H_INCLUDED_


/* Unix seconds in decimal digits: the file is removed after this time. */
#define SYMCACHE_UPLOAD_EXPIRES  "user.symcached.expires"

/* The longest time, in seconds, from its upload on: a hundred years. */
#define SYMCACHE_UPLOAD_EXPIRES_MAX  (100u * 366 * 24 * 60 * 60)

/* In the answer to HEAD the same time, as an HTTP date. */
#define SYMCACHE_HEADER_SUNSET   "Sunset"

/* Of an upload: its labels, as in the query of a URL. */
#define SYMCACHE_HEADER_LABELS   "X-Symcached-Labels"

/* The field of a form that has a text of Breakpad's. */
#define SYMCACHE_UPLOAD_SYMBOL_FIELD  "symbol_file"

/* With any value: the file stays until it is removed by name. */
#define SYMCACHE_UPLOAD_PINNED   "user.symcached.pinned"

/*
 * With any value: all uploads of the file were labelled, so that it is of no
 * use without one of its builds.
 */
#define SYMCACHE_UPLOAD_LABELLED  "user.symcached.labelled"

/* Who has sent the file first, as the tokens have it. */
#define SYMCACHE_UPLOAD_USER     "user.symcached.user"

/* Which file it is, as its machine writes it, of one whose upload is complete:
 * all have been told, so the same bytes tell nobody anything new. */
#define SYMCACHE_UPLOAD_COMPLETE  "user.symcached.complete"

/* Of the folder of all uploads: the id of its machine, to which what it was
 * sent last belongs in a tier. */
#define SYMCACHE_UPLOAD_MACHINE  "user.symcached.machine"

/* Lower-case hex digits of that id. */
#define SYMCACHE_UPLOAD_MACHINE_DIGITS  32


#endif /* _SYMCACHE_UPLOAD_H_INCLUDED_ */
