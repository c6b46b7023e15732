/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symbolicated and its workers agree on about disassembly.
 *
 * The order's text is that of disassembly_order_print(); its body does not
 * count.  A worker asks once, and is given the module's CodeCache and SymCache
 * by these indexes.  Its result is the whole answer; if it refuses, with one of
 * these reasons, its text is a sentence for the client.
 */
#ifndef DISASSEMBLY_WORKER_PROTOCOL_H
#define DISASSEMBLY_WORKER_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
