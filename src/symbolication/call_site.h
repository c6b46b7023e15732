/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where to look an address of a stack up.  All frames but the innermost have
 * return addresses, which belong to what comes after the call: the next line,
 * or even the next function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum call_site_wish {
    CALL_SITE_AUTOMATIC,
    CALL_SITE_ADJUST, /* a return address */
    CALL_SITE_KEEP    /* the address of an instruction */
};

struct call_site {
    uint64_t address;
    size_t index;             /* in the stack; 0 is the innermost */
    enum call_site_wish wish; /* the frame's own setting */
    bool has_wishes;          /* some frame of the stack says something */
    uint32_t signal;          /* that ended the process; 0: none is known */
    bool has_ip;
    uint64_t ip; /* the instruction pointer of the thread */
};

/*
 * The address to look up.  The innermost frame has a return address too if the
 * signal says that the processor stopped at an instruction (SIGILL, SIGBUS or
 * SIGSEGV) and the instruction pointer is elsewhere.  arch is a number of the
 * SymCache format; it tells how long instructions are and how they are
 * aligned.
 */
uint64_t call_site_address(const struct call_site *site, uint32_t arch);

/* The register that is the instruction pointer, or NULL: not known. */
const char *call_site_ip_register(uint32_t arch);
