/*
 * Copyright (C) the ngx_symcache authors
 *
 * A worker disassembles: disassembly/worker_protocol.h.
 */
#ifndef SYMBOLICATED_WORKER_DISASSEMBLY_WORK_H
#define SYMBOLICATED_WORKER_DISASSEMBLY_WORK_H

#include "worker_pool/worker_pool.h"

void disassembly_work(const struct work_body *body);

#endif
