/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of functions in frames.
 */
#pragma once

#include "derived/jscache/jscache.h"

/*
 * The name of the function of a frame that a token was found for.  own is the
 * one that the frame came with; caller is the name of the token of the frame
 * that called it, which is how it was called there, if that frame has one:
 * either is absent, if its data is NULL.  Write the result by js_fold().
 */
struct symc_string js_frame_function(const struct jscache_token *token,
                                     struct symc_string own,
                                     struct symc_string caller);

/*
 * Writes a name of which parts between dots that are repeated are told once,
 * with their number: "a.b.b.c" becomes "a.{b#2}.c".  The last part stays as it
 * is.  Writes at most room bytes, without a NUL, and returns how many there
 * are, which is more than room if they do not fit; 3 * name.size + 16 always
 * do.
 */
size_t js_fold(struct symc_string name, char *to, size_t room);
