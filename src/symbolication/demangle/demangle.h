/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of functions and data in readable form: as Microsoft's compilers
 * decorate them ("?f@C@@QAEHPBD@Z" is "C::f(char const*)"), and as linkers of
 * Unix know them (linkage_name.h).
 */
#pragma once

#include <stdbool.h>

#include "linkage_name.h"
#include "derived/symcache/symcache.h"

/* The memory for one name; this also bounds the time. */
#define DEMANGLE_ROOM 32768

/*
 * Writes the readable form of a name into room, which has DEMANGLE_ROOM bytes,
 * and sets readable to a part of it.  Returns false for a name that is not
 * decorated, not understood, or too deep or long; readable is the name then.
 * The language is that of the function, or SYMC_NONE if it is not known: a
 * function of C, for example, has no such name.
 *
 * The form of Microsoft's names is Symbolicator's: parameters, "(void)" where
 * there are none, qualifiers of the object; no return types but those of
 * function pointers, no types of data, and no words for access, storage,
 * calling conventions or the kind of a class.  Where a type that is not told
 * ends after the name, as pointers to functions do, its end is told, as
 * there.  Sources: of the grammar what compilers emit and public descriptions
 * of it, of the form what the "symbolic" library answers.
 */
bool demangle(const struct symc_string *name, uint32_t language, char *room,
              struct symc_string *readable);
