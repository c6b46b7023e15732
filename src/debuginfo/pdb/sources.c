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

static int check_status(struct sources *s, enum symc_status status)
{
    return failure_writer(s->failure, status);
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

static void read_links(struct sources *s)
{
    struct failure failure = {FAILURE_NONE, ""};
    struct msf_buffer buffer = {NULL, 0};
    const uint8_t *text;
    uint32_t size;
    unsigned i;

    for (i = 0; i < s->info.num_sourcelinks; i++) {
        size = msf_stream_size(&s->msf, s->info.sourcelinks[i]);
        text = msf_view(&s->msf, s->info.sourcelinks[i], 0, size, &buffer);
        if (text != NULL) {
            strip_text(&text, &size);
            (void)source_links_add(&s->links, text, size, &failure);
        }
    }
    msf_buffer_free(&buffer);
}

/* Of equal patterns, those of later texts stay: the writer keeps the last. */
static int add_links(struct sources *s)
{
    char *pattern = NULL;
    struct symc_text text;
    const struct source_link *link;
    size_t i, k;
    int rc = 0;

    if (s->links.count > SOURCECACHE_LINKS_MAX) {
        return failure_set(s->failure, FAILURE_LIMIT,
                           "has more than %d source links",
                           SOURCECACHE_LINKS_MAX);
    }
    for (i = 0; i < s->links.count && rc == 0; i++) {
        link = &s->links.links[i];
        text = link->pattern;
        pattern = malloc(text.size + 1);
        if (pattern == NULL) {
            return failure_memory(s->failure);
        }
        for (k = 0; k < text.size; k++) {
            pattern[k] = text.data[k] == '\\' ? '/' : text.data[k];
        }
        text.data = pattern;
        rc = check_status(
            s, sourcecache_writer_link(&s->writer, &text, &link->url));
        free(pattern);
    }
    return rc;
}

/* the source server ------------------------------------------------------- */

static int add_file(struct sources *s, size_t entry, uint32_t *files)
{
    struct sourcecache_file file = {.type = SOURCECACHE_SOURCE};
    char url[SRCSRV_URL_MAX];

    if (!srcsrv_part(&s->srcsrv, entry, 1, &file.path) ||
        !srcsrv_url(&s->urls, entry, url, &file.url.size)) {
        return 0;
    }
    if (*files == FILES_MAX) {
        return failure_set(s->failure, FAILURE_LIMIT,
                           "has more than %d files on a source server",
                           FILES_MAX);
    }
    file.url.data = url;
    if (check_status(s, sourcecache_writer_file(&s->writer, &file)) != 0) {
        return -1;
    }
    sourcecache_writer_status(&s->writer, (*files)++, SOURCECACHE_LINKED);
    return 0;
}

/* Of entries with one path the last counts, here and with the writer. */
static int add_files(struct sources *s)
{
    uint32_t files = 0;
    size_t i;

    if (srcsrv_read(&s->srcsrv, &s->msf, &s->info, false) != 0) {
        return failure_memory(s->failure);
    }
    srcsrv_urls_begin(&s->urls, &s->srcsrv);
    for (i = 0; i < s->srcsrv.count; i++) {
        if (add_file(s, i, &files) != 0) {
            return -1;
        }
        if (s->urls.work == 0) {
            return failure_work(s->failure);
        }
    }
    return 0;
}

static int write_all(struct sources *s, const struct pdb_identity *id,
                     const struct symc_sink *sink)
{
    struct sourcecache_identity identity = {{0}, id->age};

    memcpy(identity.guid, id->guid, sizeof(identity.guid));
    if (info_stream_read(&s->info, &s->msf, s->failure) != 0 ||
        check_status(s, sourcecache_writer_begin(
                            &s->writer, &identity,
                            SOURCECACHE_SLASHES | SOURCECACHE_FOLDS, sink)) !=
            0) {
        return -1;
    }
    read_links(s);
    return add_links(s) != 0 || add_files(s) != 0
               ? -1
               : check_status(s, sourcecache_writer_finish(&s->writer));
}

int pdb_convert_sources(const uint8_t *data, size_t size,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result,
                        struct failure *failure)
{
    struct sources s = {.failure = failure};
    struct pdb_identity identity;
    char text[256];
    enum msf_status status;
    int rc;

    status = msf_open(&s.msf, data, size, text, sizeof(text));
    if (status != MSF_OK) {
        return pdb_open_failed(status, text, failure);
    }
    rc = pdb_identity_read(data, size, &identity, text, sizeof(text)) == 0
             ? write_all(&s, &identity, sink)
             : failure_set(failure, FAILURE_DAMAGED, "%s", text);
    if (rc == 0) {
        memcpy(result->guid, identity.guid, sizeof(result->guid));
        result->age = identity.age;
        result->is_pdb = 1;
        result->publics_only = identity.stripped != 0;
        result->has_links = identity.has_links != 0;
    }
    sourcecache_writer_free(&s.writer);
    source_links_free(&s.links);
    srcsrv_free(&s.srcsrv);
    info_stream_free(&s.info);
    msf_close(&s.msf);
    return rc;
}
