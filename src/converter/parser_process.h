/*
 * Copyright (C) the ngx_symcache authors
 *
 * The process that parses: a child that maps the input, enters the sandbox,
 * converts and ends.  Its parent never reads the file's content.
 */
#pragma once

#include "conversion.h"

struct parser_process_job {
    const struct conversion *conversion;
    int input_fd;
    int map_fd; /* a script's source map; or -1 */
    int output_fd;
    bool reads_dwo; /* .dwo files, which are looked for */
};

/*
 * Runs the job.  Returns 0 with *result filled, or -1 with failure set.  If
 * failure.text is empty then, the child has already written its message to
 * standard error.  The child is killed when a signal sets *stop.
 */
int parser_process_run(const struct parser_process_job *job,
                       const volatile sig_atomic_t *stop,
                       struct debuginfo_result *result,
                       struct failure *failure);
