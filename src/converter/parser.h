/*
 * Copyright (C) the ngx_symcache authors
 *
 * The process that parses: a child that maps the input, gives up what it does
 * not need, converts and ends.  Its parent never looks into the file.
 */
#ifndef CONVERTER_PARSER_H
#define CONVERTER_PARSER_H

#include <signal.h>

#include "debuginfo/format.h"

struct parser_job {
    const char *input; /* path, for messages */
    int input_fd;
    int output_fd;
    int has_sandbox;
};

/*
 * Runs the job.  Returns 0 and the result, or -1 with failure set; the child
 * has then written its message to standard error if failure.text is empty.
 * When *stop becomes true (a signal), the child is killed.
 */
int parser_run(const struct parser_job *job, const volatile sig_atomic_t *stop,
               struct debuginfo_result *result, struct failure *failure);

#endif
