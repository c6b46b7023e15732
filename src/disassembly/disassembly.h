/*
 * Copyright (C) the ngx_symcache authors
 *
 * Machine code becomes text, for /asm/v1 of samply and the Firefox Profiler.
 * The code is that of a CodeCache; libcapstone takes the instructions apart,
 * which is why this runs in a worker (worker_pool.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "derived/codecache/codecache.h"
#include "derived/symcache/symcache.h"
#include "json/json.h"

/*
 * What symbolicated and its workers agree on about disassembly.
 *
 * The order's text is that of disassembly_order_print(); its body does not
 * count.  A worker asks once, and is given the module's CodeCache and SymCache
 * by these indexes.  Its result is the whole answer; if it refuses, with one of
 * these reasons, its text is a sentence for the client.
 */

#define DISASSEMBLY_WORK 48 /* the kind of such a body */

#define DISASSEMBLY_QUESTION "files"

enum disassembly_file { DISASSEMBLY_CODE, DISASSEMBLY_NAMES };

enum disassembly_refusal {
    DISASSEMBLY_REFUSED = 1,
    DISASSEMBLY_LACKS_CODE /* it was not given the CodeCache */
};

struct disassembly_order {
    uint32_t start;
    uint32_t size;           /* bytes of code from there on */
    uint32_t most;           /* of them, whatever the size is */
    bool has_whole_function; /* and on to the end of the function */
    uint64_t answer;         /* bytes of the answer, at which it ends */
};

#define DISASSEMBLY_ORDER_MAX 128

void disassembly_order_print(char text[DISASSEMBLY_ORDER_MAX],
                             const struct disassembly_order *order);

/* Returns false if the text is none of those that are printed. */
bool disassembly_order_read(struct disassembly_order *order, const char *text);

#define DISASSEMBLY_ERROR 200

/* What is wanted.  Addresses are relative to the start of the module. */
struct disassembly {
    const struct codecache_reader *code;
    const struct symc_reader *names; /* of the same module; or NULL */
    struct disassembly_order order;
};

/*
 * Writes the answer:
 *
 *   {"startAddress": "0x...", "size": "0x...", "arch": "x86_64",
 *    "syntax": ["Intel"], "instructions": [[OFFSET, TEXT]...]}
 *
 * An instruction that begins below the end is in it whole; bytes that are none
 * are ".byte".  Behind the target of a branch stands its function in "<>", if
 * it has a name.  Returns false, and a sentence in error, if there is no
 * answer: no code at the address, an unknown processor, or no memory.
 */
bool disassemble(const struct disassembly *d, struct json_writer *w,
                 char error[DISASSEMBLY_ERROR]);
