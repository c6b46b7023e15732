/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMCACHECTL_FILES_RETRACE_H
#define SYMCACHECTL_FILES_RETRACE_H

/*
 * Prints a stack trace of the JVM, from a file or standard input ("-"), with
 * the names that a mapping has, or a ProguardCache, or that mapping of a
 * folder which the trace names.  The process has no rights
 * afterwards.  Returns an exit code.
 */
int retrace_show(const char *mapping, const char *file);

#endif
