/*
 * Copyright (C) the ngx_symcache authors
 *
 * UTF-8: one decoder and encoder for everything but src/proto, which must not
 * depend on this room, and only checks that names are well-formed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character at text, of which size (at least 1) bytes are left.
 * Returns the number of its bytes, 1 to 4, and the code point in *c.  Where
 * the bytes are not well-formed (Unicode 15, table 3-7: no overlong forms, no
 * surrogates, nothing beyond U+10FFFF), returns minus the number of bytes that
 * one U+FFFD stands for (the "maximal subpart" of section 3.9, at least one
 * byte); then *c is U+FFFD.
 */
int utf8_decode(const void *text, size_t size, uint32_t *c);

/* Writes one character and returns the number of its bytes.  A number that is
 * not a character, such as a surrogate, is written as U+FFFD. */
size_t utf8_encode(char out[4], uint32_t c);

/* The character that two units of UTF-16 stand for, or 0 if they are not a
 * surrogate pair. */
uint32_t utf16_pair(uint32_t first, uint32_t second);

/*
 * Writes a text in UTF-16 that begins with a byte order mark as UTF-8, which
 * takes 3 bytes for 2 at most, and returns the number of its bytes.  Half of a
 * pair becomes U+FFFD.  A text that begins with no such mark returns SIZE_MAX.
 */
size_t utf16_to_utf8(const void *text, size_t size, char *out);

/* Returns the length in bytes of the longest well-formed prefix. */
size_t utf8_valid(const void *text, size_t size);

/* Returns the length of the longest prefix that is ASCII. */
size_t utf8_ascii(const void *text, size_t size);

/* Puts one of ASCII in the place of the last character of a text, which is not
 * empty. */
void utf8_replace_last(char *text, char c);

/*
 * Makes a text fit for JSON and for the log by replacing bytes that are not
 * well-formed, and C1 control characters, with "?".  Texts that came from
 * elsewhere (a file.ptr, the stderr of a transcoder, a name that was cut off)
 * need it, because JSON is UTF-8 and journals hide lines that are not.
 */
void utf8_mend(char *text);

/* Returns whether a text is ASCII without control characters, as most are. */
bool utf8_is_printable(const char *text, size_t size);
