/*
 * Copyright (C) the ngx_symcache authors
 *
 * Machine code becomes text, for /asm/v1 of samply and the Firefox Profiler.
 * The code is that of a CodeCache; libcapstone takes the instructions apart,
 * which is why this runs in a worker (worker_pool.h).
 */
#ifndef DISASSEMBLY_H
#define DISASSEMBLY_H

#include <stdbool.h>

#include "derived/codecache/codecache.h"
#include "derived/symcache/symcache.h"
#include "json/json.h"
#include "worker_protocol.h"

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

#endif
