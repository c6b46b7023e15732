/*
 * Copyright (C) the ngx_symcache authors
 *
 * One run of a transcoder by its contract: it has a work directory and a
 * process group of its own and limits on time and memory, the end of its output
 * is kept, and its result is exactly one
 * <out>/.../<name of {pdb}>-v<M.m.p>.symcache.  The name of {pdb} is the
 * key's, or a fixed one if some program might take the key's for more than a
 * name.
 *
 * Knows nothing of jobs, sources or HTTP.
 */
#pragma once

#include "command_line.h"
#include "config/config.h"
#include "good_pdb.h"
#include "converter_check.h"
#include "proto/key.h"
#include "transcoder_health.h"
#include "validate.h"

struct event_base;

struct transcode_result {
    bool ok;
    bool system; /* could not be started, was killed by somebody else, says
                    itself that it is not the file's fault, ... */
    enum converter_check
        proof;   /* of what our converter took and made, if ok */
    bool full;   /* and system: there was no room beside cache.min_free */
    symcache_version_t version; /* read from the name, if ok */
    const char *file;           /* the result, inside the work directory */
    const char *error;          /* one line: exit code, signal, limit, ... */
    const char *tail;           /* the last 4 KiB of what it wrote */
    unsigned ms;
};

typedef void (*transcode_done_fn)(void *arg,
                                  const struct transcode_result *result);

struct transcode;

/* Is it our own converter, without a profile?  It needs to read {pdb} only, and
 * notices when that changes meanwhile. */
bool transcode_is_ours(const struct transcoder_config *transcoder);

/* Is it, and does it also say what it has checked, see converter_check.h? */
bool transcode_proves(const struct transcoder_config *transcoder);

/* Is {pdb} the absolute path itself, of the original of that name?  Otherwise
 * it is a link to that in the work directory, which may be a hard one. */
bool transcode_takes_path(const struct transcoder_config *transcoder,
                          const char *path, const char *name);

/*
 * Runs transcoder->command on pdb (absolute path), and on the files that are
 * used besides, or NULL, by enum second.  work is an existing empty
 * directory that the caller removes after done; it holds {out} and the
 * process's working directory.  done is called exactly once, never from
 * inside this function; the strings in result live during the call.
 * Returns NULL when out of memory.
 */
struct transcode *transcode_start(struct event_base *base,
                                  const struct config *config,
                                  const struct transcoder_config *transcoder,
                                  const symcache_key_t *key, const char *pdb,
                                  char *const seconds[SECONDS],
                                  const char *work, transcode_done_fn done,
                                  void *arg);

/* One line of why a run failed and of what the transcoder wrote last. */
void transcode_describe(const struct transcode_result *result, char *buf,
                        size_t size);

/* Kills the process group; no callback comes afterwards. */
void transcode_cancel(struct transcode *transcode);

struct source_type;

/*
 * "symcached --transcoders": runs the transcoders of a configuration once, as
 * symcached would, and tells what each gave and took.  The command line:
 * --transcoders [--init] [-c FILE] [NAME].  NAME is the program of a transcoder
 * without its folder; none means all.  With --init, the program is run with
 * this one argument and the transcoder's environment, so that it makes what it
 * needs.  As root, both are done as the owner of the store's root.  Returns an
 * exit code: 0; 1 if the configuration is wrong or one failed; 2 for a wrong
 * command line.
 */
int transcoders_command(int argc, char **argv,
                        const struct source_type *const *types,
                        const char *default_config);
