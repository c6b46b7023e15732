/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads minidumps: bytes in, structures out, no I/O.  What is kept and what is
 * refused follows the "minidump" crate, version 0.26.1, as it is what
 * Symbolicator reads them with.
 *
 * Every location in a dump is checked.  Only what crash reports need is read:
 * dumps hold command lines, environments and passwords.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "stackwalk/stackwalk.h"

/* What is read at most; the rest is left out, and cut set. */
#define MINIDUMP_STREAMS 1024
#define MINIDUMP_THREADS 4096
#define MINIDUMP_MODULES 4096
#define MINIDUMP_RANGES (1u << 20)
#define MINIDUMP_TEXT 65536 /* bytes of a string in the dump */
#define MINIDUMP_TEXTS (16u << 20) /* of all strings, the modules' first */
#define MINIDUMP_FRAMES 200000 /* of all threads */

/* The word for parts that lie behind the end of the file. */
#define MINIDUMP_CUT_OFF "bytes"

#define MINIDUMP_REASON 256
#define MINIDUMP_DEBUG_ID 46

enum minidump_os {
    MINIDUMP_OTHER_OS,
    MINIDUMP_WINDOWS,
    MINIDUMP_MACOS,
    MINIDUMP_IOS,
    MINIDUMP_LINUX,
    MINIDUMP_SOLARIS,
    MINIDUMP_ANDROID,
    MINIDUMP_PS3,
    MINIDUMP_NACL
};

/* Bytes of the dump: one of its streams, or what a location says. */
struct minidump_bytes {
    const uint8_t *data; /* NULL: there are none */
    size_t size;
};

/* All strings are UTF-8, and live as long as the dump. */
struct minidump_module {
    uint32_t number; /* in the dump's list; the first one is the program */
    uint64_t base;
    uint32_t size;
    uint32_t checksum;
    uint32_t time;
    const char *code_file;
    const char *debug_file; /* NULL: none */
    char *code_id;          /* lower case; NULL: none */
    bool has_debug_id;
    uint8_t guid[16]; /* of the debug id, in text order */
    uint32_t age;
    /* The debug id, as Symbolicator writes it, or "". */
    char debug_id[MINIDUMP_DEBUG_ID];
    char version[48]; /* or "" */
};

struct minidump_unloaded {
    uint64_t base;
    uint32_t size;
    uint32_t time;
    const char *code_file;
};

struct minidump_thread {
    uint32_t id;
    const char *name; /* NULL: none */
    struct minidump_bytes context;
    struct minidump_bytes stack; /* where the dump says that it is */
    uint64_t stack_start;
    uint64_t teb;   /* address of its block, on Windows */
    bool is_writer; /* it wrote the dump, and is not walked */
    const uint8_t *own_frames; /* for minidump_own_frame() */
    uint32_t num_own_frames;
};

/* A frame that the process has found itself. */
struct minidump_own_frame {
    uint64_t address;
    struct minidump_bytes function; /* its name; perhaps not UTF-8 */
};

struct minidump_exception {
    uint32_t thread;
    uint32_t code;
    uint32_t flags;
    uint64_t address;
    uint32_t num_parameters;
    uint64_t parameters[15];
    struct minidump_bytes context;
};

struct minidump {
    const uint8_t *data;
    size_t size;
    bool is_big_endian;
    const char *cut; /* what there is too much of, or MINIDUMP_CUT_OFF: a word
                        of crash_limits; or NULL */
    uint32_t time; /* seconds since 1970 */
    size_t text_size; /* bytes of the strings that were read */
    struct arena arena;

    enum minidump_os os;
    uint32_t platform; /* its number in the dump */
    uint16_t arch; /* as the dump has it */
    enum stackwalk_cpu cpu;
    const char *cpu_name; /* Symbolicator's word; NULL: unknown */
    const char *os_version;
    const char *os_build; /* "" if there is none */
    unsigned num_cpus;
    char cpu_info[192]; /* of x86, amd64 and arm; or "" */
    uint32_t process; /* its id, if has_process */
    bool has_process;
    int64_t uptime; /* of the process, in seconds, or -1 */

    struct minidump_thread *threads;
    size_t num_threads;
    const uint8_t *own_text; /* names in own frames */
    /* Index of the thread that crashed or asked for the dump, or SIZE_MAX. */
    size_t requesting;

    struct minidump_module *modules; /* ascending, without overlaps */
    struct stackwalk_module *ranges; /* the same for the walk */
    size_t num_modules;
    size_t num_overlapping; /* modules behind these, in no order */
    struct minidump_unloaded *unloaded; /* ascending */
    size_t num_unloaded;

    struct stackwalk_memory *memory; /* ascending, without overlaps */
    size_t num_memory;

    bool has_exception;
    struct minidump_exception exception;
    uint64_t crash_address;
    char reason[MINIDUMP_REASON]; /* "" without exception */
};

/*
 * Reads a dump in memory, which must stay there.  Returns NULL, or why there is
 * nothing to report, in the words of the crate; then, too, the dump is to be
 * freed.
 */
const char *minidump_read(struct minidump *dump, const void *data, size_t size);

void minidump_free(struct minidump *dump);

/*
 * Finds the registers and the stack that a thread is walked from.  Returns
 * false if it has no frames.  *stack has no data if it has one frame.
 */
bool minidump_thread(const struct minidump *dump, size_t thread,
                     struct stackwalk_registers *registers,
                     struct stackwalk_memory *stack);

/* Writes the name of what GetLastError() would have returned in a thread of
 * Windows.  Returns false if the dump does not have it. */
bool minidump_last_error(const struct minidump *dump, size_t thread,
                         char text[MINIDUMP_REASON]);

/* Reads one of the thread's own frames, below num_own_frames. */
struct minidump_own_frame
minidump_own_frame(const struct minidump *dump,
                   const struct minidump_thread *thread, uint32_t frame);

/* A walk of this dump; the stack is the caller's to set. */
struct stackwalk minidump_walk(const struct minidump *dump,
                               const struct stackwalk_symbols *symbols);

/* "Windows", "macOS", ... as Symbolicator answers it; "" for others. */
const char *minidump_os_name(enum minidump_os os);
