/*
 * Copyright (C) the ngx_symcache authors
 *
 * What symbolicated and its workers agree on about crash reports.
 *
 * The worker's texts are JSON, as a body of POST /symbolicate has it.  When it
 * asks, "stacktraces" has a frame in each module whose files it needs.  The
 * result has besides:
 *
 *   "report": {}               members of the answer in front of its threads
 *   modules[].unwind_status    as in the answer
 */
#ifndef REPORTS_CRASH_CRASH_H
#define REPORTS_CRASH_CRASH_H

enum crash_kind { CRASH_MINIDUMP = 1 };

/* Files that a worker is given, by the index of their module in its list. */
enum crash_file { CRASH_NAMES, CRASH_CFI };

enum crash_file_state {
    CRASH_FOUND,
    CRASH_MISSING,
    CRASH_MALFORMED,
    CRASH_FETCHING_FAILED,
    CRASH_OTHER
};

/* Why a worker has no result. */
enum crash_refusal {
    CRASH_FAILED = 1, /* the report cannot be used: its text is the message */
    CRASH_NO_FORM,    /* the body is no form */
    CRASH_BAD_PART,   /* 400 */
    CRASH_LARGE_PART, /* 413 */
    CRASH_NO_MEMORY
};

#endif
