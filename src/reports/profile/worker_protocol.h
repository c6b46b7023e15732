/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symbolicated and its workers agree on about profiles.
 *
 * The order's text has lines as that of a crash report
 * (reports/crash/crash.h), of which "coding" and "unpacked" count, and
 * "answer N": a result of more bytes is refused, unless it is packed by gzip.
 * A worker asks once, with
 *
 *   {"modules": [{"id": ID, "name": NAME, "code": BUILD ID}, ...]}
 *
 * where name and code may be absent, and is given SymCaches by the indexes of
 * modules.  Its result is the profile with names, packed as it was.
 */
#ifndef REPORTS_PROFILE_WORKER_PROTOCOL_H
#define REPORTS_PROFILE_WORKER_PROTOCOL_H

#define PROFILE_WORK 16 /* the kind of such a body */

/* Why there is no result; the text is a sentence. */
enum profile_refusal { PROFILE_BAD = 1, PROFILE_LARGE, PROFILE_CODING };

#endif
