/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process's report about the files of an upload.  It writes lines
 * into a descriptor of its own, with a tab after each part:
 *
 *   form    1 for a try build or 0, bytes of the archive, its name
 *   file    number of the output, bytes, name, id, file, what the client calls
 *           it, the name of its module or "", its format and features as
 *           "%d:%x", ids to ask for it by
 *   debugid one by which files of a bundle are known, before its file
 *   next    there is more in the archive, from this place on
 *   end     all of it has been said
 *   refuse  status and reason: nothing of the upload can be taken
 *
 * The process has read untrusted files, so everything that it reports is
 * checked before it is believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "debuginfo/identity/identity.h"

/* Files that one process can write, and the descriptors that it has. */
#define UPLOAD_OUTS 32
#define UPLOAD_IN_FD CHILD_FD
#define UPLOAD_REPORT_FD (CHILD_FD + 1)
#define UPLOAD_SCRATCH_FD (CHILD_FD + 2)
#define UPLOAD_OUT_FD (CHILD_FD + 3)

/* Members of an archive. */
#define UPLOAD_FILES_MAX 20000

#define UPLOAD_TEXT_SIZE 2048

/* Debug ids of a bundle. */
#define UPLOAD_DEBUG_IDS 4000

/* The file of a chunk, in the folder of its SHA-1. */
#define UPLOAD_CHUNK "_.chunk"

/* Fields of a line for a file before its ids. */
#define UPLOAD_REPORT_FILE_FIELDS 9

struct upload_report_file {
    unsigned out; /* which output */
    uint64_t size;
    struct symstore_path place;
    char member[1024];
};

struct upload_report {
    bool is_try;
    uint64_t archive_size;
    char archive[256];
    struct upload_report_file files[UPLOAD_OUTS];
    size_t nfiles;
    char *debug_ids; /* a line each, to be freed; or NULL */
    size_t debug_ids_size;
    char doubts[UPLOAD_TEXT_SIZE + 64]; /* about files of artifacts; or "" */
    char next[48]; /* "" if there is no more */
    int status;    /* 0, or what the answer is */
    char text[UPLOAD_TEXT_SIZE];
};

/*
 * Finds the ids by which a stored file may be asked for, by the folders that it
 * lies in.  Returns false if they are not as they are made here.
 */
bool upload_report_place(struct symstore_path *place, const char *name,
                         const char *id);

/*
 * Adds the profiler's id of an open ELF file to such a place, which then has
 * only the debug id of the file's byte order.  Adds none if the file cannot be
 * read.  That of a kernel needs a parser, so it is only known of new uploads.
 */
void upload_report_profiler_id(struct symstore_path *place, int fd,
                               uint64_t size);

/*
 * Reads the ids of a place that has a name, and adds those that follow from
 * them.  Returns false if they are none.
 */
bool upload_report_ids(struct symstore_path *place, const char *const *ids,
                       size_t n);

/* Writes them, each behind the other text, which has at most 4 bytes. */
#define UPLOAD_REPORT_IDS_SIZE                                                \
    (SYMSTORE_PATH_IDS * (SYMCACHE_ID_TEXT_MAX + 4) + 1)
void upload_report_print_ids(char text[UPLOAD_REPORT_IDS_SIZE],
                             const struct symstore_path *place,
                             const char *before);

/*
 * Reads a report of len bytes, which is NUL-terminated and will be changed.
 * One that is wrong or not complete becomes a refusal with status 500.
 */
void upload_report_read(struct upload_report *report, char *text, size_t len);
