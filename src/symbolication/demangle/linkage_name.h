/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names as linkers of Unix know them, in readable form: of C++, after the
 * Itanium ABI ("_ZN1C1fEPKc" is "C::f(char const*)"), of Rust, in the older
 * form, which looks like C++, and the one of RFC 2603 ("_R..."), of D
 * ("_D3app3fooFZv"), and of Swift from 5 on ("$s4main3FooV3baryySiF" is
 * "Foo.bar(Int)"), which are ours to read.
 *
 * libiberty of GCC takes the others apart.  It is in C, which nothing keeps
 * from endless work or from running off its stack, and names come from files
 * of anybody.  So who demangles says who calls it: a daemon has it called in
 * another process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

#define LINKAGE_NAME_MAX 8192     /* bytes of longer names stay as they are */
#define LINKAGE_WORK 32           /* the kind of a worker's body that is one */
#define LINKAGE_READABLE_MAX 4096 /* and those whose readable form is longer */

/* Could this be such a name, for a function of this language (SYMC_NONE:
 * unknown)?  This looks at its first characters only. */
bool linkage_sniff(const struct symc_string *name, uint32_t language);

/*
 * Writes the readable form of a name that was sniffed into room, which has
 * LINKAGE_READABLE_MAX bytes, and its length to *size.  Returns false if the
 * name is not understood or its form too long.
 */
bool linkage_demangle(const struct symc_string *name, uint32_t language,
                      char *room, size_t *size);

/* The same, but that a name which takes 50 ms of processor time has no form
 * (linkage_failed()).  For a process with a single thread; SIGVTALRM and its
 * timer are this function's. */
bool linkage_demangle_here(const struct symc_string *name, uint32_t language,
                           char *room, size_t *size);

/* Has demangle() call this: linkage_demangle_here(), or what calls it
 * elsewhere.  To be set before there are threads; until then, and with NULL,
 * such names stay as they are. */
typedef bool (*linkage_function)(const struct symc_string *name,
                                 uint32_t language, char *room, size_t *size);
void linkage_by(linkage_function function);

/*
 * A name that never ends has a process ended, which takes a tenth of a second.
 * So that a client's names cannot keep a thread for long, after
 * LINKAGE_FAILED_MAX such names all others of the thread stay as they are,
 * from one linkage_begin() to the next.  Who has names made readable elsewhere
 * tells of each by linkage_failed().
 */
#define LINKAGE_FAILED_MAX 8
void linkage_begin(void);
void linkage_failed(void);

/* Calls what was set.  Arguments and result are those of linkage_demangle().
 */
bool linkage_ask(const struct symc_string *name, uint32_t language, char *room,
                 size_t *size);
