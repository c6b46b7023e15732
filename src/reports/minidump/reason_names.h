/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of exceptions, signals and what comes with them.
 */
#pragma once

#include <stdint.h>

/* Tables of reason_names.inc.  Those that end with a processor are in the
 * order ARM, PPC, X86. */
enum reason_names_table {
    NAMES_EXCEPTION,
    NAMES_FACILITY,
    NAMES_FAST_FAIL,
    NAMES_ACCESS,
    NAMES_SIGNAL,
    NAMES_SICODE,
    NAMES_SIGILL,
    NAMES_SIGTRAP,
    NAMES_SIGFPE,
    NAMES_SIGSEGV,
    NAMES_SIGBUS,
    NAMES_SIGSYS,
    NAMES_MACH,
    NAMES_KERN,
    NAMES_BAD_ACCESS_ARM,
    NAMES_BAD_ACCESS_PPC,
    NAMES_BAD_ACCESS_X86,
    NAMES_BAD_INSTRUCTION_ARM,
    NAMES_BAD_INSTRUCTION_PPC,
    NAMES_BAD_INSTRUCTION_X86,
    NAMES_ARITHMETIC_ARM,
    NAMES_ARITHMETIC_PPC,
    NAMES_ARITHMETIC_X86,
    NAMES_BREAKPOINT_ARM,
    NAMES_BREAKPOINT_PPC,
    NAMES_BREAKPOINT_X86,
    NAMES_SOFTWARE,
    NAMES_RESOURCE,
    NAMES_RESOURCE_CPU,
    NAMES_RESOURCE_WAKEUPS,
    NAMES_RESOURCE_MEMORY,
    NAMES_RESOURCE_IO,
    NAMES_RESOURCE_THREADS,
    NAMES_GUARDED,
    NAMES_GUARDED_MACH_PORT,
    NAMES_GUARDED_FD,
    NAMES_GUARDED_VN,
    NAMES_GUARDED_VIRT_MEMORY,
    NAMES_GUARDED_REJECTED_SC,
    NAMES_WIN_ERROR,
    NAMES_NTSTATUS
};

/* Returns the name of a code in a table, or NULL. */
const char *reason_names_find(enum reason_names_table table, uint64_t code);
