/*
 * Copyright (C) the ngx_symcache authors
 *
 * A source bundle becomes a SourceCache.  A file that cannot be read says why,
 * and costs no other one.
 */
#include "sourcebundle.h"

#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "manifest.h"
#include "member_text.h"

struct sourcebundle_convert {
    struct zip *zip;
    struct manifest manifest;
    struct sourcecache_writer writer;
    struct member_text text;
    uint64_t *members; /* by file: the number of the last one of its name */
    uint64_t left;     /* bytes of texts that may still be written */
    struct failure *failure;
};

static int check_status(struct sourcebundle_convert *c,
                        enum symc_status status)
{
    return failure_writer(c->failure, status);
}

static int add_all(struct sourcebundle_convert *c)
{
    const struct manifest *m = &c->manifest;
    size_t i;
    int rc = 0;

    for (i = 0; i < m->num_files && rc == 0; i++) {
        rc =
            check_status(c, sourcecache_writer_file(&c->writer, &m->files[i]));
    }
    for (i = 0; i < m->num_links && rc == 0; i++) {
        rc = check_status(c, sourcecache_writer_link(&c->writer,
                                                     &m->links[i].name,
                                                     &m->links[i].value));
    }
    for (i = 0; i < m->num_attributes && rc == 0; i++) {
        rc = check_status(
            c, sourcecache_writer_attribute(&c->writer, &m->attributes[i].name,
                                            &m->attributes[i].value));
    }
    return rc;
}

/* Of two members with one name the last in the directory counts. */
static int find_members(struct sourcebundle_convert *c)
{
    struct zip_member member;
    uint64_t i, n = zip_count(c->zip);
    ptrdiff_t file;

    c->members = calloc(c->manifest.num_files + 1, sizeof(*c->members));
    if (c->members == NULL) {
        return failure_memory(c->failure);
    }
    for (i = 1; i <= n && zip_next(c->zip, &member) == 1; i++) {
        file = manifest_find(&c->manifest, member.name);
        if (file >= 0) {
            c->members[file] = i;
        }
    }
    zip_rewind(c->zip);
    return 0;
}

static int add_text(struct sourcebundle_convert *c, uint32_t file,
                    const struct zip_member *member)
{
    const struct sourcecache_file *f = &c->manifest.files[file];
    size_t most = c->left < SOURCECACHE_TEXT_MAX ? (size_t)c->left
                                                 : SOURCECACHE_TEXT_MAX;
    enum sourcecache_status status =
        member_text_read(&c->text, c->zip, member, most);
    struct symc_text map;

    if (status != SOURCECACHE_TEXT) {
        sourcecache_writer_status(&c->writer, file, status);
        return 0;
    }
    c->left -= c->text.size;
    if (check_status(c, sourcecache_writer_text(&c->writer, file, c->text.data,
                                                c->text.size)) != 0) {
        return -1;
    }
    if (!sourcecache_writer_has_text(&c->writer, file) ||
        (f->type != SOURCECACHE_ANY && f->type != SOURCECACHE_SOURCE &&
         f->type != SOURCECACHE_MINIFIED)) {
        return 0;
    }
    map = script_map(c->text.data, c->text.size);
    return check_status(
        c, sourcecache_writer_map(&c->writer, file, map.data, map.size));
}

static int add_texts(struct sourcebundle_convert *c)
{
    struct zip_member member;
    uint64_t i, n = zip_count(c->zip);
    ptrdiff_t file;

    for (i = 1; i <= n && zip_next(c->zip, &member) == 1; i++) {
        file = manifest_find(&c->manifest, member.name);
        if (file >= 0 && c->members[file] == i &&
            add_text(c, (uint32_t)file, &member) != 0) {
            return -1;
        }
    }
    return 0;
}

static int convert(const uint8_t *data, size_t size,
                   const struct symc_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    struct sourcebundle_convert c = {.left = SOURCEBUNDLE_TEXTS_MAX,
                                     .failure = failure};
    int rc = -1;

    c.zip = zip_open(data, size);
    if (c.zip == NULL) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: a source bundle without an archive");
    }
    if (manifest_read(&c.manifest, c.zip, failure) == 0 &&
        check_status(
            &c, sourcecache_writer_begin(&c.writer, &c.manifest.identity,
                                         SOURCECACHE_SLASHES, sink)) == 0 &&
        add_all(&c) == 0 && find_members(&c) == 0 && add_texts(&c) == 0) {
        rc = check_status(&c, sourcecache_writer_finish(&c.writer));
    }
    memcpy(result->guid, c.manifest.identity.guid, sizeof(result->guid));
    result->age = c.manifest.identity.age;
    sourcecache_writer_free(&c.writer);
    manifest_free(&c.manifest);
    free(c.members);
    free(c.text.data);
    zip_close(c.zip);
    return rc;
}

static const struct debuginfo_maker makes[] = {
    {.output = SYMCACHE_KIND_SOURCECACHE, .convert = convert},
};

const struct debuginfo_format sourcebundle_format = {
    .sniff = sourcebundle_sniff,
    .makes = makes,
    .num_makes = sizeof(makes) / sizeof(makes[0]),
};
