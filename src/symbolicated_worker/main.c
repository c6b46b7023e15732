/*
 * Copyright (C) the ngx_symcache authors
 *
 * symbolicated-worker: reads the bodies that symbolicated does not trust, in a
 * process that has locked itself in.
 */

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "disassembly/disassembly.h"
#include "reports/crash/crash.h"
#include "reports/profile/profile.h"
#include "sandbox/sandbox.h"
#include "symbolication/symbolication.h"
#include "worker_pool/worker_pool.h"
#include "work_kinds.h"

#define NAME "symbolicated-worker"

/* Bytes of its own memory; files that are mapped do not count. */
#define OWN_MEMORY ((uint64_t)256 << 20)

/* Bytes that the C library takes at most beyond those that it is asked for. */
#define MARGIN ((uint64_t)2 << 20)

/* At the limit the body wants too much: another worker would not have more, and
 * its readers go on, to say so.  Below it, the machine has no more. */
static void on_lack(size_t size)
{
    const struct mallinfo2 heap = mallinfo2();
    uint64_t used = (uint64_t)heap.arena + heap.hblkhd + MARGIN;

    if (used <= OWN_MEMORY && size <= OWN_MEMORY - used) {
        work_cannot();
    }
}

/* Libseccomp without memory crashes, or computes without end. */
static void on_early_lack(size_t size)
{
    _exit(1);
}

int main(int argc, char **argv)
{
    static const struct work_kind kinds[] = {
        {CRASH_MINIDUMP, minidump_work},
        {CRASH_APPLE, apple_work},
        {PROFILE_WORK, profile_work},
        {DISASSEMBLY_WORK, disassembly_work},
        {LINKAGE_WORK, name_work}};
    char error[256];

    if (argc < 2 || strcmp(argv[1], "--serve") != 0) {
        fprintf(stderr, NAME " is for symbolicated itself\n");
        return 2;
    }
    /* it was started by a descriptor, of which the kernel makes its name */
    prctl(PR_SET_NAME, NAME);
    allocation_must_succeed(on_early_lack);
    (void)sandbox_prepare_receiving();
    work_fork();
    allocation_must_succeed(on_lack);
    if (sandbox_enter_receiving(OWN_MEMORY, error, sizeof(error)) != 0) {
        fprintf(stderr, NAME ": %s\n", error);
        work_cannot(); /* no body is to blame */
    }
    work_serve(kinds, sizeof(kinds) / sizeof(kinds[0]));
    return 0;
}
