/*
 * Copyright (C) the ngx_symcache authors
 *
 * Stack traces as text, as the JVM and Android's log have them: frames,
 * exceptions, "Caused by", "Suppressed"; what is none of these stays as it is.
 * The output is that of R8's retrace.
 */
#pragma once

#include "remap.h"

/* The parts of a line of a trace. */
enum jvm_line_kind { JVM_LINE_OTHER, JVM_LINE_FRAME, JVM_LINE_EXCEPTION };

struct jvm_line {
    enum jvm_line_kind kind;
    struct symc_string before; /* in front of the class */
    struct symc_string class;
    struct symc_string method; /* of a FRAME */
    const char *open;          /* the same: its first parenthesis */
    uint32_t line;
    bool has_line;   /* there is one, which may be 0 */
    struct symc_string behind; /* what follows the class of an EXCEPTION, or
                                * the parentheses of a FRAME */
};

/* Receives the output in order. */
struct jvm_output_text {
    void (*write)(void *context, const char *data, size_t size);
    void *context;
};

/* Takes a line apart, which is without its line end. */
void jvm_line_read(struct jvm_line *line, struct symc_string text);

/* Is a text a stack trace?  Among its first lines there must be a frame. */
bool jvm_is_trace(const char *text, size_t size);

/* So much is written at most: for a trace, and for each byte of it more. */
#define JVM_RETRACED_MAX ((uint64_t)64 << 20)
#define JVM_RETRACED_FACTOR 16

enum jvm_retraced {
    JVM_RETRACED,
    JVM_RETRACED_NO_MEMORY,
    JVM_RETRACED_TOO_LARGE /* the rest was not written */
};

/* Writes a text with original names. */
enum jvm_retraced
jvm_retrace(const struct proguardcache_reader *reader, const char *text,
            size_t size, const struct jvm_output_text *output);
