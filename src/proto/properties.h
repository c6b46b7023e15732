
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a file at a URL has beside its bytes, in an extended attribute of the
 * file: lines "<name>: <value>", each with a line feed.  Names are those of
 * headers, in lower case:
 *
 *   sourcemap      the URL of the source map, from the header SourceMap, or
 *                  X-SourceMap
 *
 * Where the file system has no such attributes nothing is known.
 */


#ifndef _SYMCACHE_PROPERTIES_H_INCLUDED_
#define _SYMCACHE_PROPERTIES_H_INCLUDED_


#define SYMCACHE_PROPERTIES_ATTRIBUTE  "user.symcached.properties"
#define SYMCACHE_PROPERTIES_MAX        4096

#define SYMCACHE_PROPERTY_SOURCEMAP    "sourcemap"


#endif /* _SYMCACHE_PROPERTIES_H_INCLUDED_ */
