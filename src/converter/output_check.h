/*
 * Copyright (C) the ngx_symcache authors
 *
 * A check of the output, for a caller that would otherwise start a process of
 * its own for that: what the process wrote that parsed the input, another one
 * reads.  That is the parent, which knows nothing of the input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "debuginfo/format.h"

/* the report to the caller about a sound output, a line each */
#define CHECK_SOUND "sound\n"
/* and of its input: that is a PDB with the id that was asked for */
#define CHECK_FULL "full\n"
#define CHECK_PUBLICS "publics\n" /* with public symbols only */
/* and besides: that says where source files are */
#define CHECK_LINKS "links\n"

struct output_check {
    int fd;           /* that is told of a sound output */
    uint8_t guid[16]; /* that the output must have */
    uint32_t age;
};

/* Reads "<descriptor>:<id>", the value of PDB2SYMCACHE_CHECK, or NULL. Returns
 * false if there is nothing to be checked. */
bool output_check_read(struct output_check *check, const char *value);

/*
 * Enters a sandbox, which this process never leaves, and verifies the file.
 * The descriptor gets a report only if the file is sound; without a report,
 * the caller finds out itself what is wrong.  The result is the one reported
 * by the process that parsed the input.
 */
void output_check_run(const struct output_check *check, int fd,
                      const struct debuginfo_result *result);
