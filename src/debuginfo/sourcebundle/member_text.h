/*
 * Copyright (C) the ngx_symcache authors
 *
 * The text of a member of an archive.
 */
#pragma once

#include <stddef.h>

#include "debuginfo/zip/zip.h"
#include "derived/sourcecache/sourcecache.h"

/* All zero at first; it is used again, and its data is to be freed. */
struct member_text {
    char *data;
    size_t size;
    size_t room;
};

/*
 * Unpacks the member that was read last, of at most most bytes.  Its size must
 * be the one that the directory states.  Returns SOURCECACHE_TEXT, or what is
 * wrong; text->size is what was unpacked.
 */
enum sourcecache_status member_text_read(struct member_text *text,
                                         struct zip *zip,
                                         const struct zip_member *member,
                                         size_t most);

/* Finds the reference to a source map in a script: the text after the last
 * "sourceMappingURL=" of a comment, as far as a blank, "?" or "#". */
struct symc_text script_map(const char *text, size_t size);
