/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of Swift 5 and later ("$s4main3FooV3baryySiF") in readable form:
 * "Foo.bar(Int)".  The grammar is that of docs/ABI/Mangling.rst in the
 * compiler's sources; the form is that of swift-demangle, and t/unit/swift.c
 * compares it with the cases of the compiler's own test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Could this be such a name?  This looks at its first characters only. */
bool swift_sniff(const char *name, size_t size);

/*
 * Writes the readable form into room: without modules and results, unless
 * is_full asks for the full form, as swift-demangle writes it.  Returns its
 * length; or 0 for a name that is not understood, too deep or too large, or
 * whose form does not fit.
 */
size_t swift_demangle(const char *name, size_t size, bool is_full, char *room,
                      size_t room_size);
