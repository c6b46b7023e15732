/*
 * Copyright (C) the ngx_symcache authors
 *
 * Expressions in rules of frames (DWARF 5, section 2.5), compiled to the
 * programs of a CfiCache.
 */
#pragma once

#include "cursor.h"
#include "frame_registers.h"

/*
 * Compiles an expression into code, which is emptied first.  The rule of a
 * register begins with the CFA on the stack.  What no program can do, such as
 * a jump, becomes one that fails.
 */
int frame_expression_compile(struct frame_registers *registers,
                             const struct cursor *expression, bool has_cfa,
                             struct cficache_code *code);
