/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names in a store and among its downloads that this release does not know,
 * but whose form says that a later one has given them: of other kinds of
 * files, or of other types of ids.  The forms are those of proto/path.h.
 * Pure functions: no I/O.
 */
#pragma once

#include <stdbool.h>

/*
 * Can it be the folder of an id?  That is a word, a hyphen and at least 16
 * hex digits, as those of build ids and hashes are.  Ids of debug information
 * have no word; a folder like these is one that this release knows, or
 * nobody's.
 */
bool newer_release_name_is_id(const char *folder);

/*
 * Can it be a file of a key with this name, of whatever kind?  In a store it
 * is <name>-v<M.m.p>.<word>, and perhaps another word such as "gz"; among the
 * downloads it is <name>, or <name>.<word>.  A word has at most 16 small
 * letters and digits, of which the first is a letter.
 */
bool newer_release_name_is_file(const char *file, const char *name,
                                bool downloads);
