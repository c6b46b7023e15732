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
    uint64_t left;     /* bytes of texts that may still be unpacked */
    struct failure *failure;
};

static int bundle_status(struct sourcebundle_convert *convert,
                         enum symc_status status)
{
    return failure_writer(convert->failure, status);
}

static int add_all(struct sourcebundle_convert *convert)
{
    const struct manifest *m = &convert->manifest;
    size_t i;
    int rc = 0;

    for (i = 0; i < m->num_files && rc == 0; i++) {
        rc = bundle_status(
            convert, sourcecache_writer_file(&convert->writer, &m->files[i]));
    }
    for (i = 0; i < m->num_links && rc == 0; i++) {
        rc = bundle_status(convert, sourcecache_writer_link(
                                        &convert->writer, &m->links[i].name,
                                        &m->links[i].value));
    }
    for (i = 0; i < m->num_attributes && rc == 0; i++) {
        rc = bundle_status(
            convert, sourcecache_writer_attribute(&convert->writer,
                                                  &m->attributes[i].name,
                                                  &m->attributes[i].value));
    }
    return rc;
}

/* Of two members with one name the last in the directory counts. */
static int find_bundle_members(struct sourcebundle_convert *convert)
{
    struct zip_member member;
    uint64_t i, n = zip_count(convert->zip);
    ptrdiff_t file;

    convert->members =
        calloc(convert->manifest.num_files + 1, sizeof(*convert->members));
    if (convert->members == NULL) {
        return failure_memory(convert->failure);
    }
    for (i = 1; i <= n && zip_next(convert->zip, &member) == 1; i++) {
        file = manifest_find(&convert->manifest, member.name);
        if (file >= 0) {
            convert->members[file] = i;
        }
    }
    zip_rewind(convert->zip);
    return 0;
}

static int add_bundle_text(struct sourcebundle_convert *convert, uint32_t file,
                           const struct zip_member *member)
{
    const struct sourcecache_file *f = &convert->manifest.files[file];
    size_t most = convert->left < SOURCECACHE_TEXT_MAX ? (size_t)convert->left
                                                       : SOURCECACHE_TEXT_MAX;
    enum sourcecache_status status =
        member_text_read(&convert->text, convert->zip, member, most);
    struct symc_text map;

    convert->left -= convert->text.size; /* also of what is damaged */
    if (status != SOURCECACHE_TEXT) {
        sourcecache_writer_status(&convert->writer, file, status);
        return 0;
    }
    if (bundle_status(convert, sourcecache_writer_text(
                                   &convert->writer, file, convert->text.data,
                                   convert->text.size)) != 0) {
        return -1;
    }
    if (!sourcecache_writer_has_text(&convert->writer, file) ||
        (f->type != SOURCECACHE_ANY && f->type != SOURCECACHE_SOURCE &&
         f->type != SOURCECACHE_MINIFIED)) {
        return 0;
    }
    map = script_map(convert->text.data, convert->text.size);
    return bundle_status(
        convert,
        sourcecache_writer_map(&convert->writer, file, map.data, map.size));
}

static int add_texts(struct sourcebundle_convert *convert)
{
    struct zip_member member;
    uint64_t i, n = zip_count(convert->zip);
    ptrdiff_t file;

    for (i = 1; i <= n && zip_next(convert->zip, &member) == 1; i++) {
        file = manifest_find(&convert->manifest, member.name);
        if (file >= 0 && convert->members[file] == i &&
            add_bundle_text(convert, (uint32_t)file, &member) != 0) {
            return -1;
        }
    }
    return 0;
}

static int convert_sourcebundle(const uint8_t *data, size_t size,
                                const struct symc_sink *sink,
                                struct debuginfo_result *result,
                                struct failure *failure)
{
    struct sourcebundle_convert convert = {.left = SOURCEBUNDLE_TEXTS_MAX,
                                           .failure = failure};
    int rc = -1;

    convert.zip = zip_open(data, size);
    if (convert.zip == NULL) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: a source bundle without an archive");
    }
    if (manifest_read(&convert.manifest, convert.zip, failure) == 0 &&
        bundle_status(&convert,
                      sourcecache_writer_begin(
                          &convert.writer, &convert.manifest.identity,
                          SOURCECACHE_SLASHES, sink)) == 0 &&
        add_all(&convert) == 0 && find_bundle_members(&convert) == 0 &&
        add_texts(&convert) == 0) {
        rc = bundle_status(&convert,
                           sourcecache_writer_finish(&convert.writer));
    }
    memcpy(result->guid, convert.manifest.identity.guid, sizeof(result->guid));
    result->age = convert.manifest.identity.age;
    sourcecache_writer_free(&convert.writer);
    manifest_free(&convert.manifest);
    free(convert.members);
    free(convert.text.data);
    zip_close(convert.zip);
    return rc;
}

static const struct debuginfo_maker makes[] = {
    {.output = SYMCACHE_KIND_SOURCECACHE, .convert = convert_sourcebundle},
};

const struct debuginfo_format sourcebundle_format = {
    .sniff = sourcebundle_sniff,
    .makes = makes,
    .num_makes = sizeof(makes) / sizeof(makes[0]),
};
