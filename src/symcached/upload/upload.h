/*
 * Copyright (C) the ngx_symcache authors
 *
 * Original files that clients send: the body of a request becomes files below
 * "uploads.root", after a sandboxed child process has unpacked it and read
 * what the files are.  Then everything known about them before is dropped:
 * negative entries, and SymCaches made from other files.
 *
 * Knows nothing of connections.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "base/build_list.h"
#include "symcached/upload_index/upload_index.h"
#include "assembly.h"
#include "nginx_body_file.h"
#include "peers.h"
#include "publication.h"
#include "removal.h"

struct config;
struct event_base;
struct scheduler;
struct uploads;

/* Parts that a symbfile may be sent in. */
#define UPLOAD_PARTS_MAX 10000

/* The texts are copied. */
struct upload_request {
    const char *body; /* path of the body, which nginx named; NULL: */
    int body_fd;      /* a file that is open, of which a copy is taken */

    /* a file of its own: name, id and file of its path */
    const char *name; /* NULL: a form with an archive */
    const char *id;
    const char *file;

    const char *boundary; /* of the form */
    bool is_package;      /* the archive is a package of NuGet */
    bool is_mappings;     /* or has mappings, each called <UUID>.txt */
    bool is_chunks;       /* the form has chunks of files (assembly.h) */

    bool is_artifacts; /* a bundle of scripts; its path is believed */
    bool is_object; /* a file that has only a name, and says what it is */

    /* such a file of chunks, which are uploads, and its SHA-1; the sums stay
     * until done is called */
    const struct upload_sum *chunks;
    size_t nchunks;
    struct upload_sum sum;

    /* of a symbfile, whose body may be one of several parts */
    bool is_symbfile;
    unsigned part; /* from 0 on */
    unsigned parts;

    bool only_try; /* whatever the form says */
    bool replace;
    bool warm; /* what is made of it is made at once */
    unsigned expires; /* seconds from now on; 0 = never */
    struct build_labels labels; /* of the build that has the files */
    const char *user;           /* of the token; or NULL */
};

struct upload_result {
    int status;       /* 200: all was there already; 201; or of an error */
    const char *text; /* of an error, what the client is told */
    const struct upload_file *files;
    size_t nfiles;
    const char *untold; /* machines that do not know yet, with commas; "" */
    bool is_try;
    uint64_t archive_size;
    const char *archive; /* its name, or NULL */
    const char *debug_ids; /* of artifacts, a line each; or NULL */
    const char *doubts;    /* about files of these, a sentence; or NULL */
    const struct config *config; /* of a file that is stored */
};

typedef void (*upload_done_fn)(void *arg, const struct upload_result *result);

/* Returns NULL when out of memory. */
struct uploads *uploads_new(struct event_base *base,
                            struct scheduler *scheduler);

/* The configuration is another one. */
void uploads_configure(struct uploads *uploads);

/* Takes an upload.  done is called once, perhaps from inside this function. */
void uploads_take(struct uploads *uploads,
                  const struct upload_request *request, upload_done_fn done,
                  void *arg);

/* Whether one more would begin now, and not wait. */
bool uploads_are_taken(const struct uploads *uploads);

/* Of peers_count_untold(). */
size_t uploads_count_untold(const struct uploads *uploads);

/* Does an upload that runs store a file at this path, "<name>/<id>/<file>"? */
bool uploads_store(const struct uploads *uploads, const char *path,
                   bool is_try);

/* Another machine has changed the file at that path: uploads that run and store
 * it give their copies up when they end. */
void uploads_overtake(struct uploads *uploads, const char *path, bool is_try);

/* Files that come in chunks. */
struct assemblies *uploads_assemblies(const struct uploads *uploads);

/* failure: a sentence, or NULL. */
typedef void (*bundle_listed_fn)(void *arg, const char *failure);

/* Another machine has a bundle of this list (base/artifact_list.h): stores
 * drop what they know of it.  done is called once, perhaps from inside this
 * function.
 */
void uploads_list_changed(struct uploads *uploads, const char *list,
                          bool is_try, bundle_listed_fn done, void *arg);

/* Unix time after which a file that is there is of no use; 0 = never. */
time_t upload_expires(const char *path);

/* Does sending a file that is there once more change whose it is?  With labels
 * one more build gets it, and without labels a file that only builds have
 * stays when they go. */
bool upload_is_of_builds(const char *path, const struct build_labels *labels);

/* Would a file that is there stay no longer if it was sent once more?  A client
 * can skip only such files. */
bool upload_is_kept(const char *path, const struct build_labels *labels);

/* Builds with labels, as of the last pass of cleaning. */
size_t uploads_builds(const struct uploads *uploads);

/* How files are removed again. */
struct removals *uploads_removals(const struct uploads *uploads);

/* Ends what runs, with status 503, and takes nothing more. */
void uploads_stop(struct uploads *uploads);
bool uploads_are_stopped(const struct uploads *uploads);

/* Why nobody can be told that a file is not there, or NULL. */
const char *uploads_are_unknown(const struct uploads *uploads,
                                const struct config *config);

/* NULL is allowed. */
void uploads_free(struct uploads *uploads);

/* digest: as in proto/digest.h; NULL: errnum says why. */
typedef void (*stored_digest_done_fn)(void *arg, const char *digest,
                                      uint64_t size, int errnum);

/*
 * Reports the digest of the file stored under a path, so that a client need not
 * send it again.  Reads it in a thread, unless its digest is noted; that counts
 * as a use of it.  done is called once, never from inside this function, and
 * arg is freed behind it.  Returns 0, or an errno, when arg stays the caller's:
 * EBUSY where enough files are read.
 */
int stored_digest_start(struct event_base *base, const char *path,
                        stored_digest_done_fn done, void *arg);

/* What an operator sees of uploads that are not taken. */

struct upload;

/* Prints that something is larger than an upload can be. */
void refusal_print_size(char *text, size_t size, const struct config *config,
                        const char *what);

/* Logs that there is no room for one, if it was not said just before.  A thread
 * looks at the disk, which may hang. */
void refusal_log_space(const struct upload *upload);

/* Counts one that is refused with this status. */
void refusal_count(int status);

/* All that were counted, without those that are only to come again. */
uint64_t refusals_counted(void);
