/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a worker does, by the kind of a body.
 */
#pragma once

#include "worker_pool/worker_pool.h"

/* Reads a form or a report.  Nothing is asked for: frames are in the report. */
void apple_work(const struct work_body *body);

void disassembly_work(const struct work_body *body);

/* A body of the kind LINKAGE_WORK: a name, whose limit is the language.  Its
 * result is the readable form; a name that has none is refused. */
void name_work(const struct work_body *body);

/* A body of the kind CRASH_MINIDUMP.  Its limit is the number of frames. */
void minidump_work(const struct work_body *body);

/* A body of the kind PROFILE_WORK.  Its limit is the number of modules. */
void profile_work(const struct work_body *body);
