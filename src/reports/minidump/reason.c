/*
 * Copyright (C) the ngx_symcache authors
 *
 * Why a process crashed, in the words of the "minidump" crate.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "bytes.h"
#include "reason_names.h"

#define ACCESS_VIOLATION 0xc0000005
#define IN_PAGE_ERROR 0xc0000006
#define STACK_BUFFER_OVERRUN 0xc0000409
#define LAST_ERROR 13 /* pointers before it in a thread's block (TEB) */

static void reason_write_text(struct minidump *dump, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void reason_write_text(struct minidump *dump, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(dump->reason, sizeof(dump->reason), format, args);
    va_end(args);
}

/* Writes a name with a text in front of it, or else the code. */
static void reason_write_code(struct minidump *dump, const char *before,
                              enum reason_names_table table, uint64_t code)
{
    const char *name = reason_names_find(table, code);

    if (name != NULL) {
        reason_write_text(dump, "%s%s", before, name);
    } else {
        reason_write_text(dump, "%s0x%08" PRIx64, before, code);
    }
}

/* Windows ----------------------------------------------------------------- */

static const char *reason_exception_name(uint32_t code)
{
    switch (code) {
    case 0xe0000008:
        return "Out of Memory";
    case 0xe06d7363:
        return "Unhandled C++ Exception";
    case 0x0517a7ed:
        return "Simulated Exception";
    default:
        return reason_names_find(NAMES_EXCEPTION, code);
    }
}

/* The name of a code that is not an exception's. */
static void reason_windows_error(char text[MINIDUMP_REASON], uint32_t code)
{
    const char *facility, *name = reason_names_find(NAMES_WIN_ERROR, code);

    name = name != NULL ? name : reason_names_find(NAMES_NTSTATUS, code);
    if (name != NULL) {
        snprintf(text, MINIDUMP_REASON, "%s", name);
        return;
    }
    facility = (code & 0xf0000000) != 0
                   ? reason_names_find(NAMES_FACILITY, code >> 16 & 0xfff)
                   : NULL;
    name = reason_names_find(NAMES_WIN_ERROR, code & 0xffff);
    if (facility != NULL && name != NULL) {
        snprintf(text, MINIDUMP_REASON, "%s / %s", facility, name);
    } else {
        snprintf(text, MINIDUMP_REASON, "unknown 0x%08x", code);
    }
}

static void reason_windows(struct minidump *dump)
{
    const struct minidump_exception *e = &dump->exception;
    const char *name = reason_exception_name(e->code);
    const char *kind = reason_names_find(NAMES_ACCESS, e->parameters[0]);
    char before[64];

    if (e->code == ACCESS_VIOLATION && e->num_parameters >= 1 &&
        kind != NULL) {
        reason_write_text(dump, "EXCEPTION_ACCESS_VIOLATION_%s", kind);
    } else if (e->code == IN_PAGE_ERROR && e->num_parameters >= 3 &&
               kind != NULL) {
        snprintf(before, sizeof(before), "EXCEPTION_IN_PAGE_ERROR_%s / ",
                 kind);
        reason_write_code(dump, before, NAMES_NTSTATUS,
                          (uint32_t)e->parameters[2]);
    } else if (e->code == STACK_BUFFER_OVERRUN && e->num_parameters >= 1) {
        reason_write_code(dump, "EXCEPTION_STACK_BUFFER_OVERRUN / ",
                          NAMES_FAST_FAIL, (uint32_t)e->parameters[0]);
    } else if (name != NULL) {
        reason_write_text(dump, "%s", name);
    } else {
        reason_windows_error(dump->reason, e->code);
    }
}

bool minidump_last_error(const struct minidump *dump, size_t thread,
                         char text[MINIDUMP_REASON])
{
    const struct stackwalk_memory *memory;
    uint64_t teb = dump->threads[thread].teb, address;

    if (dump->cpu == STACKWALK_UNKNOWN) {
        return false;
    }
    address = teb + LAST_ERROR * stackwalk_cpus[dump->cpu].word;
    memory = address >= teb ? memory_at(dump, address) : NULL;
    if (memory == NULL || memory->size - (address - memory->start) < 4) {
        return false;
    }
    reason_windows_error(
        text, get32(dump, memory->data + (address - memory->start)));
    return true;
}

/* Linux ------------------------------------------------------------------- */

static void reason_unix_signal(struct minidump *dump)
{
    static const struct {
        uint32_t signal;
        enum reason_names_table kinds;
    } refined[] = {{4, NAMES_SIGILL},  {5, NAMES_SIGTRAP}, {7, NAMES_SIGBUS},
                   {8, NAMES_SIGFPE},  {11, NAMES_SIGSEGV},
                   {31, NAMES_SIGSYS}};
    const struct minidump_exception *e = &dump->exception;
    const char *kind = NULL, *name = reason_names_find(NAMES_SIGNAL, e->code);
    size_t i;

    if (name == NULL) {
        return;
    }
    for (i = 0; i < sizeof(refined) / sizeof(refined[0]); i++) {
        if (refined[i].signal == e->code) {
            kind = reason_names_find(refined[i].kinds, e->flags);
        }
    }
    kind = kind != NULL ? kind : reason_names_find(NAMES_SICODE, e->flags);
    if (e->flags == 0) { /* SI_USER */
        reason_write_text(dump, "%s", name);
    } else if (kind != NULL) {
        reason_write_text(dump, "%s / %s", name, kind);
    } else {
        reason_write_text(dump, "%s / 0x%08x", name, e->flags);
    }
}

/* Apple ------------------------------------------------------------------- */

static void reason_mach_resource(struct minidump *dump, uint32_t type,
                                 const char *name)
{
    uint64_t code = dump->exception.parameters[1];
    uint64_t more = dump->exception.parameters[2];
    const char *flavor =
        reason_names_find(NAMES_RESOURCE_CPU + (type - 1), code >> 58 & 7);
    char text[128];

    if (flavor == NULL) {
        reason_write_text(
            dump, "EXC_RESOURCE / %s / 0x%016" PRIx64 " / 0x%016" PRIx64, name,
            code, more);
        return;
    }
    switch (type) {
    case 1:
        snprintf(text, sizeof(text),
                 " interval: %" PRIu64 "s CPU limit: %" PRIu64
                 "%% CPU consumed: %" PRIu64 "%%",
                 code >> 7 & 0x1ffffff, code & 7, more & 7);
        break;
    case 2:
        snprintf(text, sizeof(text),
                 " interval: %" PRIu64 "s wakeups permitted: %" PRIu64
                 " wakeups observed: %" PRIu64,
                 code >> 20 & 0xfffff, code & 0xfff, more & 0xfff);
        break;
    case 3:
        snprintf(text, sizeof(text), " high watermark limit: %" PRIu64 "MiB",
                 code & 0x1fff);
        break;
    case 4:
        snprintf(text, sizeof(text),
                 " interval: %" PRIu64 "s I/O limit: %" PRIu64
                 "%% I/O observed: %" PRIu64 "%%",
                 code >> 15 & 0x1ffff, code & 0x7fff, more & 0x7fff);
        break;
    default:
        snprintf(text, sizeof(text), " high watermark limit: %" PRIu64,
                 code & 0x7fff);
        break;
    }
    reason_write_text(dump, "EXC_RESOURCE / %s / %s%s", name, flavor, text);
}

static void reason_mach_guarded(struct minidump *dump, uint32_t type,
                                const char *name)
{
    enum { NONE, MACH_PORT, FD, USER, VN, VIRT_MEMORY, REJECTED_SC };
    static const enum reason_names_table flavors[] = {
        [MACH_PORT] = NAMES_GUARDED_MACH_PORT,
        [FD] = NAMES_GUARDED_FD,
        [VN] = NAMES_GUARDED_VN,
        [VIRT_MEMORY] = NAMES_GUARDED_VIRT_MEMORY,
        [REJECTED_SC] = NAMES_GUARDED_REJECTED_SC};
    uint64_t code = dump->exception.parameters[1], low = code & 0xfffffff;
    uint64_t more = dump->exception.parameters[2];
    const char *flavor = NULL;
    char text[128] = "";

    if (type != NONE && type != USER) {
        flavor = reason_names_find(flavors[type], code >> 32 & 0x1fffffff);
        if (flavor == NULL) {
            reason_write_text(
                dump, "EXC_GUARD / %s / 0x%016" PRIx64 " / 0x%016" PRIx64,
                name, code, more);
            return;
        }
    }
    switch (type) {
    case MACH_PORT:
        snprintf(text, sizeof(text),
                 more != 0 ? " port name: %" PRIu64 " subcode: %" PRIu64
                           : " port name: %" PRIu64,
                 low, more);
        break;
    case FD:
        snprintf(text, sizeof(text),
                 " file descriptor: %" PRIu64 " guard identifier: %" PRIu64,
                 low, more);
        break;
    case USER:
        snprintf(text, sizeof(text),
                 "/ namespace: %" PRIu64 " guard identifier: %" PRIu64,
                 code & 0xffffffff, more);
        break;
    case VN:
        snprintf(text, sizeof(text),
                 " pid: %" PRIu64 " guard identifier: %" PRIu64, low, more);
        break;
    case VIRT_MEMORY:
        snprintf(text, sizeof(text), " offset: %" PRIu64, more);
        break;
    case REJECTED_SC:
        snprintf(text, sizeof(text), " syscall: %" PRIu64, more);
        break;
    default:
        break;
    }
    reason_write_text(dump, "EXC_GUARD / %s%s%s%s", name,
                      flavor != NULL ? " / " : "",
                      flavor != NULL ? flavor : "", text);
}

/* The name of an exception's flags, or NULL. */
static const char *reason_mach_kind(const struct minidump *dump)
{
    const struct minidump_exception *e = &dump->exception;
    unsigned cpu;
    const char *kind;

    switch (dump->cpu) {
    case STACKWALK_ARM64:
        cpu = 0;
        break;
    case STACKWALK_PPC:
        cpu = 1;
        break;
    case STACKWALK_X86:
    case STACKWALK_AMD64:
        cpu = 2;
        break;
    default:
        cpu = 3;
        break;
    }
    if (e->code == 5) {
        return reason_names_find(NAMES_SOFTWARE, e->flags);
    }
    kind = e->code == 1 ? reason_names_find(NAMES_KERN, e->flags) : NULL;
    if (kind != NULL || cpu > 2) {
        return kind;
    }
    switch (e->code) {
    case 1:
        return reason_names_find(NAMES_BAD_ACCESS_ARM + cpu, e->flags);
    case 2:
        return reason_names_find(NAMES_BAD_INSTRUCTION_ARM + cpu, e->flags);
    case 3:
        return reason_names_find(NAMES_ARITHMETIC_ARM + cpu, e->flags);
    case 6:
        return reason_names_find(NAMES_BREAKPOINT_ARM + cpu, e->flags);
    default:
        return NULL;
    }
}

static void reason_mach(struct minidump *dump)
{
    const struct minidump_exception *e = &dump->exception;
    const char *name = reason_names_find(NAMES_MACH, e->code);
    const char *kind = reason_mach_kind(dump), *type = NULL;
    uint32_t number = e->flags >> 29;

    if (name == NULL) {
        return;
    }
    if (e->code == 11) {
        type = reason_names_find(NAMES_RESOURCE, number);
    } else if (e->code == 12) {
        type = reason_names_find(NAMES_GUARDED, number);
    }
    if (e->code == 0x43507378) {
        reason_write_text(dump, "Simulated Exception");
    } else if (type != NULL && e->code == 11) {
        reason_mach_resource(dump, number, type);
    } else if (type != NULL) {
        reason_mach_guarded(dump, number, type);
    } else if (kind != NULL) {
        reason_write_text(dump, "%s / %s", name, kind);
    } else {
        reason_write_text(dump, "%s / 0x%08x", name, e->flags);
    }
}

static uint64_t reason_crash_address(const struct minidump *dump)
{
    const struct minidump_exception *e = &dump->exception;
    uint64_t address = e->address;

    if (dump->os == MINIDUMP_WINDOWS && e->num_parameters >= 2 &&
        (e->code == ACCESS_VIOLATION || e->code == IN_PAGE_ERROR)) {
        address = e->parameters[1];
    }
    return dump->cpu != STACKWALK_UNKNOWN && stackwalk_cpus[dump->cpu].word == 4
               ? (uint32_t)address
               : address;
}

void reason_write(struct minidump *dump)
{
    switch (dump->os) {
    case MINIDUMP_WINDOWS:
        reason_windows(dump);
        break;
    case MINIDUMP_MACOS:
    case MINIDUMP_IOS:
        reason_mach(dump);
        break;
    case MINIDUMP_LINUX:
    case MINIDUMP_ANDROID:
        reason_unix_signal(dump);
        break;
    default:
        break;
    }
    if (dump->reason[0] == '\0') {
        reason_write_text(dump, "unknown 0x%08x / 0x%08x",
                          dump->exception.code, dump->exception.flags);
    }
    dump->crash_address = reason_crash_address(dump);
}
