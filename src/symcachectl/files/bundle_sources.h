/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes a source bundle of a debug file.
 */
#pragma once

/*
 * Writes what the debug file at the path `file` names, and this disk has, to
 * the file `bundle`; `name` is what messages and the bundle call the debug
 * file, and `folder` is a temporary one.  Returns COMMAND_OK; or an exit code
 * after printing what is wrong, COMMAND_NOT_FOUND if there is no source file.
 */
int bundle_sources(const char *file, const char *name, const char *folder,
                   const char *bundle);
