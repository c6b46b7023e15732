
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The properties of a file that came with the answer in which it was received.
 * They are in an extended attribute of the file: lines "<name>: <value>", each
 * with a line feed.  Names are those of headers, in lower case.  Of a file at
 * a URL:
 *
 *   sourcemap      the URL of the source map, from the header SourceMap, or
 *                  X-SourceMap
 *
 * Of a file with a build id, from a server of debuginfod:
 *
 *   x-debuginfod-file          its path there
 *   x-debuginfod-archive       the package that it is in
 *   x-debuginfod-imasignature  its signature for the kernel's IMA, in hex
 *
 * Where the file system has no such attributes nothing is known.
 */


#ifndef _SYMCACHE_PROPERTIES_H_INCLUDED_
#define _SYMCACHE_PROPERTIES_H_INCLUDED_


#define SYMCACHE_PROPERTIES_ATTRIBUTE  "user.symcached.properties"
#define SYMCACHE_PROPERTIES_MAX        4096

#define SYMCACHE_PROPERTY_SOURCEMAP    "sourcemap"

/* The headers of debuginfod begin so. */
#define SYMCACHE_PROPERTY_DEBUGINFOD   "x-debuginfod-"


#endif /* _SYMCACHE_PROPERTIES_H_INCLUDED_ */
