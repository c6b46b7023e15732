/*
 * Copyright (C) the ngx_symcache authors
 *
 * The records of a mapping, one after the other.  Lines end at LF or CR.  The
 * grammar is that of the "proguard" library: a record that does not fit loses
 * its whole line, and reading goes on.
 *
 *   original.Class -> renamed:
 *       type field -> renamed
 *       1:2:type class.method(arguments):3:4 -> renamed
 *       # {"id":"sourceFile","fileName":"Class.kt"}
 *
 * Texts point into the mapping, without a NUL at the end, and are UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proguard_text {
    const char *data; /* NULL: it is absent */
    size_t size;
};

enum proguard_record_kind {
    PROGUARD_BAD,
    PROGUARD_HEADER,  /* a comment; nothing of it is kept */
    PROGUARD_COMMENT, /* one of R8, in JSON, which was not looked at */
    PROGUARD_CLASS,
    PROGUARD_FIELD,
    PROGUARD_METHOD
};

struct proguard_record {
    enum proguard_record_kind kind;
    struct proguard_text json;     /* of a COMMENT */
    struct proguard_text original; /* of a method its name alone */
    struct proguard_text renamed;
    struct proguard_text class;     /* of a METHOD that is another's */
    struct proguard_text arguments; /* of a METHOD */
    bool has_range, has_original, has_original_end;
    uint64_t start, end;                   /* lines of the program */
    uint64_t original_start, original_end; /* lines of the source file */
};

/* The text that is not read yet. */
struct proguard_records {
    const char *at;
    const char *end;
    const char *text; /* behind blanks, which at may be among; or NULL */
    bool is_bad;      /* it does not fit */
};

/* Gets the next record.  Returns false if there is none. */
bool proguard_next(struct proguard_records *records,
                   struct proguard_record *record);

/* Is a file a mapping?  Among its first 50 records there must be a class, and a
 * field or method after it. */
bool proguard_sniff(const uint8_t *data, size_t size);
