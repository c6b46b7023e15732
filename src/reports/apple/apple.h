/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads Apple's crash reports: as text, which systems wrote before iOS 15 and
 * macOS 12, and which Console still shows, and as JSON (.ips).  Which lines of
 * a text count, and what makes it unreadable as a whole, is as in the crate
 * apple-crash-report-parser 0.6, which Symbolicator reads it with.
 *
 * Bytes in, structures out, and JSON of these: no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"

/* What is read of one report at most; the rest is left out. */
#define APPLE_THREADS 2048
#define APPLE_IMAGES 10000
#define APPLE_REGISTERS 128
#define APPLE_INFORMATION ((size_t)1 << 16) /* bytes */

/* A text that the report or its reader owns; data is NULL: there is none. */
struct apple_text {
    const char *data;
    size_t size;
};

struct apple_register {
    struct apple_text name;
    uint64_t value;
};

struct apple_frame {
    uint64_t address;
    struct apple_text module; /* as it is printed, which may be short */
    struct apple_text symbol; /* the report's own name */
    struct apple_text file;
    uint32_t line; /* 0: unknown */
    bool is_inlined; /* into the next one, which has the same address */
};

struct apple_thread {
    uint64_t id;
    struct apple_text name;
    struct apple_text queue; /* of .ips: its dispatch queue */
    bool has_crashed;
    bool is_exception; /* no thread, but where the exception was thrown */
    size_t first; /* of its frames, innermost first */
    size_t num_frames;
};

struct apple_image {
    uint64_t base;
    uint64_t size; /* 0: unknown */
    uint8_t uuid[16];
    bool has_id;
    bool is_none; /* only there for its number */
    struct apple_text name; /* of .ips */
    struct apple_text path;
};

/* Lines of the head by which something is answered. */
enum apple_header {
    APPLE_CODE_TYPE,
    APPLE_OS_VERSION,
    APPLE_MODEL,
    APPLE_EXCEPTION_TYPE,
    APPLE_EXCEPTION_MESSAGE,
    APPLE_EXCEPTION_SUBTYPE,
    APPLE_EXCEPTION_CODES,
    APPLE_HEADERS
};

/* Where the text is read better than by Symbolicator. */
enum apple_correction {
    APPLE_STATES = 1,  /* registers of "Thread State (64-bit):" */
    APPLE_MAC = 2,     /* images without an architecture */
    APPLE_LENIENT = 4, /* an invalid line, such as a date, does not make the
                          whole report invalid */
    APPLE_NAMES = 8,   /* has_names, also for texts */
    APPLE_EXCEPTION = 16, /* "Last Exception Backtrace:" */
    APPLE_QUOTED = 32     /* lines that are indented or quoted */
};

/* The system as it is answered. */
struct apple_system {
    struct apple_text name;
    struct apple_text version;
    struct apple_text build;
};

struct apple_report {
    struct apple_system system;
    struct apple_text headers[APPLE_HEADERS];
    int64_t time; /* seconds since 1970 */
    bool has_time;
    struct apple_thread *threads;
    size_t num_threads;
    struct apple_frame *frames;
    size_t num_frames;
    struct apple_image *images;
    size_t num_images;
    struct apple_register registers[APPLE_REGISTERS]; /* of the first thread
                                                         that has crashed */
    size_t num_registers;
    char *information; /* what the application itself said */
    size_t information_size;
    const char *cut; /* what there is too much of, as
                        reports/crash/crash.h has it; or NULL */
    bool has_names; /* its symbols are used for frames that have no others */
    char error[160];
    /* of the readers */
    char *text;   /* a copy, which JSON is read in */
    char *blanks; /* one of a text, in which all blanks are of ASCII */
    char *mended; /* one of a text, in which all bytes are UTF-8 */
    char *rest; /* the part of it after the header */
    size_t rest_size;
    char *reason; /* APPLE_EXCEPTION_TYPE, if it was put together */
    size_t max_frames;
    unsigned corrections;
    size_t threads_room, frames_room, images_room;
};

/*
 * Reads a report, of which max_frames frames count; corrections is a set.  The
 * report refers to the data.  Returns 0, or -1 with the reason in its error,
 * which names the line.  With 0, and no threads, the error may say what a text
 * behind the header of .ips is instead.  To be freed in either case.
 */
int apple_read(struct apple_report *report, const void *data, size_t size,
               size_t max_frames, unsigned corrections);
void apple_free(struct apple_report *report);

/* Is a text likely to be such a report? */
bool apple_is_report(const char *text, size_t size);

/* Writes it as members of the object that reports/crash/crash.h describes. */
void apple_write_json(const struct apple_report *report,
                      struct json_writer *w);

/* The crash in more words; its data is NULL: there are none. */
struct apple_text apple_details(const struct apple_report *report);
