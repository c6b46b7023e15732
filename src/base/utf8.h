/*
 * Copyright (C) the ngx_symcache authors
 *
 * Texts that came from elsewhere (a file.ptr, the stderr of a transcoder, a
 * name that was cut) go into JSON, which is UTF-8, and into the log, which
 * journals show only if it is.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

/* Each byte that is of no character, or of a C1 control, becomes "?". */
void utf8_mend(char *text);

#endif
