/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcached-sandboxed: what symcached does in processes that lock themselves
 * in.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "child/child.h"
#include "sandbox/sandbox.h"
#include "symcached/intake/intake.h"
#include "symcached/store/store.h"
#include "symcached/transcode/transcode.h"

/* libseccomp without memory crashes, or computes without end.  In the sandbox,
 * which does not have prctl(), allocations may fail. */
static void sandboxed_on_lack(size_t size)
{
    static const char text[] = "out of memory\n";

    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0) {
        if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
            /* the exit code says it, too */
        }
        _exit(2);
    }
    errno = ENOMEM;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    /* it was started by a descriptor, of which the kernel makes its name */
    prctl(PR_SET_NAME, SANDBOX_PROGRAM);
    allocation_must_succeed(sandboxed_on_lack);

    if (strcmp(what, "--unpack") == 0) {
        return unpack_main(argc, argv);
    }
    if (strcmp(what, "--upload") == 0) {
        return upload_main(argc, argv);
    }
    if (strcmp(what, "--validate") == 0) {
        return validate_main(argc, argv);
    }
    if (strcmp(what, "--gzip") == 0) {
        return gzip_file_main(argc, argv);
    }
    if (strcmp(what, "--gunzip") == 0) {
        return gunzip_file_main(argc, argv);
    }
    fprintf(stderr, SANDBOX_PROGRAM " is for symcached itself\n");
    return 2;
}
