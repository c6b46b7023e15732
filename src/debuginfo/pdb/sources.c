/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where on the web the source files of a PDB are: what its streams of Source
 * Link and of the source server say, as a SourceCache without texts.
 *
 * A stream that cannot be read is as one that is not there, and costs no other
 * one: the names and lines of the module do not depend on it.
 */
#include "pdb.h"

#include <stdlib.h>
#include <string.h>

#include "debuginfo/sourcelink/sourcelink.h"
#include "derived/sourcecache/sourcecache.h"
#include "identity.h"
#include "info_stream.h"
#include "machine.h"
#include "msf.h"
#include "srcsrv.h"
#include "srcsrv_url.h"

#define FILES_MAX 1000000 /* entries of the source server */

struct sources {
    struct msf msf;
    struct info_stream info;
    struct srcsrv srcsrv;
    struct srcsrv_urls urls;
    struct source_links links;
    struct sourcecache_writer writer;
    struct failure *failure;
};

static int check_status(struct sources *sources, enum symc_status status)
{
    return failure_writer(sources->failure, status);
}

/* Source Link ------------------------------------------------------------- */

/* Without a byte order mark, and the zeros that fill the end up. */
static void strip_text(const uint8_t **text, uint32_t *size)
{
    if (*size >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
        *text += 3;
        *size -= 3;
    }
    while (*size > 0 && (*text)[*size - 1] == 0) {
        --*size;
    }
}

static void read_links(struct sources *sources)
{
    struct failure failure = {FAILURE_NONE, ""};
    struct msf_buffer buffer = {NULL, 0};
    const uint8_t *text;
    uint32_t size;
    unsigned i;

    for (i = 0; i < sources->info.num_sourcelinks; i++) {
        size = msf_stream_size(&sources->msf, sources->info.sourcelinks[i]);
        text = msf_view(&sources->msf, sources->info.sourcelinks[i], 0, size,
                        &buffer);
        if (text != NULL) {
            strip_text(&text, &size);
            (void)source_links_add(&sources->links, text, size, &failure);
        }
    }
    msf_buffer_free(&buffer);
}

/* Of equal patterns, those of later texts stay: the writer keeps the last. */
static int add_links(struct sources *sources)
{
    char *pattern = NULL;
    struct symc_text text;
    const struct source_link *link;
    size_t i, k;
    int rc = 0;

    if (sources->links.count > SOURCECACHE_LINKS_MAX) {
        return failure_set(sources->failure, FAILURE_LIMIT,
                           "has more than %d source links",
                           SOURCECACHE_LINKS_MAX);
    }
    for (i = 0; i < sources->links.count && rc == 0; i++) {
        link = &sources->links.links[i];
        text = link->pattern;
        pattern = malloc(text.size + 1);
        if (pattern == NULL) {
            return failure_memory(sources->failure);
        }
        for (k = 0; k < text.size; k++) {
            pattern[k] = text.data[k] == '\\' ? '/' : text.data[k];
        }
        text.data = pattern;
        rc = check_status(sources, sourcecache_writer_link(&sources->writer,
                                                           &text, &link->url));
        free(pattern);
    }
    return rc;
}

/* the source server ------------------------------------------------------- */

static int add_file(struct sources *sources, size_t entry, uint32_t *files)
{
    struct sourcecache_file file = {.type = SOURCECACHE_SOURCE};
    char url[SRCSRV_URL_MAX];

    if (!srcsrv_part(&sources->srcsrv, entry, 1, &file.path) ||
        !srcsrv_url(&sources->urls, entry, url, &file.url.size)) {
        return 0;
    }
    if (*files == FILES_MAX) {
        return failure_set(sources->failure, FAILURE_LIMIT,
                           "has more than %d files on a source server",
                           FILES_MAX);
    }
    file.url.data = url;
    if (check_status(sources,
                     sourcecache_writer_file(&sources->writer, &file)) != 0) {
        return -1;
    }
    sourcecache_writer_status(&sources->writer, (*files)++,
                              SOURCECACHE_LINKED);
    return 0;
}

/* Of entries with one path the last counts, here and with the writer. */
static int add_files(struct sources *sources)
{
    uint32_t files = 0;
    size_t i;

    if (srcsrv_read(&sources->srcsrv, &sources->msf, &sources->info, false) !=
        0) {
        return failure_memory(sources->failure);
    }
    srcsrv_urls_begin(&sources->urls, &sources->srcsrv);
    for (i = 0; i < sources->srcsrv.count; i++) {
        if (add_file(sources, i, &files) != 0) {
            return -1;
        }
        if (sources->urls.work == 0) {
            return failure_work(sources->failure);
        }
    }
    return 0;
}

static int write_pdb_sources(struct sources *sources,
                             const struct pdb_identity *id,
                             const struct symc_sink *sink)
{
    struct sourcecache_identity identity = {{0}, id->age};

    memcpy(identity.guid, id->guid, sizeof(identity.guid));
    if (info_stream_read(&sources->info, &sources->msf, sources->failure) !=
            0 ||
        check_status(sources, sourcecache_writer_begin(
                                  &sources->writer, &identity,
                                  SOURCECACHE_SLASHES | SOURCECACHE_FOLDS,
                                  sink)) != 0) {
        return -1;
    }
    read_links(sources);
    return add_links(sources) != 0 || add_files(sources) != 0
               ? -1
               : check_status(sources,
                              sourcecache_writer_finish(&sources->writer));
}

int pdb_convert_sources(const uint8_t *data, size_t size,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result,
                        struct failure *failure)
{
    struct sources sources = {.failure = failure};
    struct pdb_identity identity;
    char text[256];
    enum msf_status status;
    int rc;

    status = msf_open(&sources.msf, data, size, text, sizeof(text));
    if (status != MSF_OK) {
        return pdb_open_failed(status, text, failure);
    }
    rc = pdb_identity_read(data, size, &identity, text, sizeof(text)) == 0
             ? write_pdb_sources(&sources, &identity, sink)
             : failure_set(failure, FAILURE_DAMAGED, "%s", text);
    if (rc == 0) {
        memcpy(result->guid, identity.guid, sizeof(result->guid));
        result->age = identity.age;
        result->is_pdb = 1;
        result->publics_only = identity.stripped != 0;
        result->has_links = identity.has_links != 0;
    }
    sourcecache_writer_free(&sources.writer);
    source_links_free(&sources.links);
    srcsrv_free(&sources.srcsrv);
    info_stream_free(&sources.info);
    msf_close(&sources.msf);
    return rc;
}
