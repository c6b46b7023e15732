/*
 * Copyright (C) the ngx_symcache authors
 *
 * Walks the stack of a thread from its registers: no files, no allocation.
 * The frames are those of Symbolicator, whose walker is that of the "minidump"
 * crates, version 0.26.1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu.h"
#include "derived/cficache/cficache.h"

#define STACKWALK_NO_MODULE SIZE_MAX

/* Frames of a thread, unless the caller sets another limit. */
#define STACKWALK_FRAMES 1024

/* Candidates for return addresses of which a walk finds out whether there is a
 * function; from then on they are all accepted. */
#define STACKWALK_CHECKS 20000

/* How a frame was found. */
enum stackwalk_trust {
    STACKWALK_CONTEXT, /* the thread's registers */
    STACKWALK_CFI,     /* the unwind rules of the callee's module */
    STACKWALK_FP,      /* the chain of frame pointers */
    STACKWALK_SCAN /* a word of the stack that can be a return address */
};

/* Bytes of the process at an address. */
struct stackwalk_memory {
    const uint8_t *data;
    uint64_t start;
    uint64_t size;
    bool is_big_endian;
};

struct stackwalk_module {
    uint64_t base;
    uint64_t size; /* not 0 */
};

/* The data of modules, by their indexes. */
struct stackwalk_symbols {
    /* Returns the CFI of a module, or NULL. */
    const struct cficache_reader *(*cfi)(void *context, size_t module);

    /* Returns false if the names of a module are known, but none at this offset
     * in it. */
    bool (*has_function)(void *context, size_t module, uint64_t offset);
    void *context;
};

struct stackwalk {
    enum stackwalk_cpu cpu;
    bool is_windows;
    bool is_ios;
    /* Use what our CFI has better than upstream's. */
    bool is_corrected;
    /* A function that CFI describes may leave the stack pointer as it is, if
     * its caller does not.  Upstream allows it in the first frame only. */
    bool keeps_sp;
    const struct stackwalk_memory *stack; /* or NULL; a walk can go on in
                                             another range */
    const struct stackwalk_memory *memory; /* ascending, without overlaps */
    size_t num_memory;
    const struct stackwalk_module *modules; /* ascending, without overlaps */
    size_t num_modules;
    const struct stackwalk_symbols *symbols;
    unsigned max_frames; /* 0: STACKWALK_FRAMES */
    unsigned checks;     /* that were made; counts over several threads */
};

struct stackwalk_frame {
    enum stackwalk_trust trust;
    uint64_t address; /* the return address; of the first frame, and of one
                         that was interrupted, the pc */
    uint64_t lookup;  /* an address in the instruction that runs */
    size_t module;    /* of the lookup address, or STACKWALK_NO_MODULE */
    bool is_interrupted; /* by a signal; what it called is the handler's
                            trampoline */
    bool has_kept_sp; /* its stack pointer is that of its callee */
    struct stackwalk_registers registers;
};

/* Finds the range of memory at an address, or NULL. */
const struct stackwalk_memory *
stackwalk_memory_at(const struct stackwalk_memory *memory, size_t count,
                    uint64_t address);

/* Finds the module at an address, or STACKWALK_NO_MODULE. */
size_t stackwalk_module_at(const struct stackwalk *walk, uint64_t address);

/*
 * Calls found for each frame of a thread with these registers, the innermost
 * one first.  The frame is valid during the call.  Returns false if there are
 * more than the limit allows, and the rest was left out.
 */
bool stackwalk_run(struct stackwalk *walk,
                   const struct stackwalk_registers *registers,
                   void (*found)(void *context,
                                 const struct stackwalk_frame *frame),
                   void *context);
