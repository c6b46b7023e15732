/*
 * Copyright (C) the ngx_symcache authors
 *
 * The string section of a SymCache: each distinct string once, in order of
 * first insertion, LEB128 length before its bytes.  The section itself is the
 * only copy; an index of offsets finds a string again.
 */
#ifndef SYMCACHE_STRINGS_H
#define SYMCACHE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct symfile_strings {
    uint8_t *data; /* the section */
    size_t size;
    size_t room;
    struct symfile_string_index *index; /* of the strings, by number */
    size_t index_room;
    uint32_t *slots;  /* number + 1 in the low bits, bits of the hash above */
    size_t num_slots; /* a power of two, or 0 */
    size_t count;
    uint8_t *lossy; /* work space for repairing UTF-8 */
    size_t lossy_room;
};

/* A text to be inserted. */
struct symfile_name {
    const char *data; /* any bytes; not ended by NUL */
    uint32_t size;
    uint32_t hash; /* 0: not known yet, nor whether */
    int is_ascii;
};

/* Starts from all zero. */
void symfile_strings_free(struct symfile_strings *strings);

/*
 * Inserts bytes; what is not UTF-8 becomes U+FFFD, one for each maximal part
 * of a sequence.  Returns 0 and the offset, or -1 when memory or the 4 GiB of
 * the section are used up.
 */
int symfile_strings_insert(struct symfile_strings *strings, const char *text,
                           size_t len, uint32_t *offset);

/* Hashes a name, and has the memory that inserting it will need brought to
 * the cache. */
void symfile_strings_expect(const struct symfile_strings *strings,
                            struct symfile_name *name);

/* As symfile_strings_insert(), for a name that was expected. */
int symfile_strings_insert_name(struct symfile_strings *strings,
                                const struct symfile_name *name,
                                uint32_t *offset);

/* Gives up what only inserting needs. */
void symfile_strings_forget(struct symfile_strings *strings);

#endif
