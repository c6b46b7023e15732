/*
 * Copyright (C) the ngx_symcache authors
 *
 * Single lines of Apple's crash reports.  Each function says whether a line
 * has its form.  Lines have no blanks at their end.
 */
#pragma once

#include "apple.h"

/* What a line with the right form may have that makes the report unreadable;
 * NULL: nothing. */
typedef const char *line_error;

static inline bool line_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct apple_text line_trim(struct apple_text text);
bool line_starts(struct apple_text line, const char *text);
bool line_is(struct apple_text line, const char *text);

/* "Thread 7:", "Thread 7 Crashed:", and a name after it, before which macOS
 * writes another colon; if it is lenient, that is none of the name, and the
 * thread that the report is about may be "Attributed" or "Highlighted". */
bool parse_thread_line(struct apple_text text, bool is_lenient,
                       struct apple_thread *thread, line_error *error);

/* The next one of "0x180001234 0x180005678". */
bool parse_address(struct apple_text *rest, uint64_t *address,
                   line_error *error);

/* "Thread 7 name:  a name   Dispatch queue: a queue". */
bool parse_thread_name_line(struct apple_text text, uint64_t *id,
                            struct apple_text *name, line_error *error);

/* "Thread 7 crashed with X86-64 Thread State:"; if it is lenient, with the
 * number of bits. */
bool is_thread_state_line(struct apple_text text, bool is_lenient);

/* The next "name: 0x12" in what is left of a line. */
bool parse_register(struct apple_text *rest, struct apple_register *found,
                    line_error *error);

/* "3   Foundation    0x00007fff349f45ad -[NSString length] + 12"; if it is
 * lenient, also with the address "000000000000000000". */
bool parse_frame_line(struct apple_text text, bool is_lenient,
                      struct apple_frame *frame, line_error *error);

/* "0x1000 - 0x1fff +name x86_64 (1.0) <UUID> /a/path"; if it is lenient, also
 * without the architecture. */
bool parse_image_line(struct apple_text text, bool is_lenient,
                      struct apple_image *image, line_error *error);

/* A UUID in any of its usual forms. */
bool parse_uuid(struct apple_text text, uint8_t uuid[16]);

/* "2019-01-09 17:42:22.123 +0100". */
bool parse_time(struct apple_text text, int64_t *seconds);

/* A number of at most 32 bits in digits. */
bool line_number(struct apple_text text, uint32_t *number);
