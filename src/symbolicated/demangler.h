/*
 * Copyright (C) the ngx_symcache authors
 *
 * A worker that makes names of linkers readable, for demangle().  Such names
 * are from files of anybody, and what takes them apart may crash or find no
 * end (see symbolication/demangle/linkage_name.h).
 *
 *   threads  --name-->  symbolicated-worker, without rights
 *
 * A worker that has crashed, or has used too much time, is replaced by the
 * spawner; that name stays as it is.  What threads were answered is remembered,
 * so that a function costs a question once and not once a frame.
 */
#pragma once

/* Before there are threads.  The socket is one of spawner_start(), and is taken
 * over. */
void demangler_start(int spawner);

/* Ends it, when there are no threads any more. */
void demangler_stop(void);
