/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcached-sandboxed: what symcached does in processes that lock themselves
 * in.
 */

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "child/child.h"
#include "symcached/intake/intake.h"
#include "symcached/store/store.h"
#include "symcached/transcode/transcode.h"

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    /* it was started by a descriptor, of which the kernel makes its name */
    prctl(PR_SET_NAME, SANDBOX_PROGRAM);

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
