/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bundle_writer.h"

#include <errno.h>
#include <minizip/zip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "json/json.h"

#define HEAD "SYSB\2\0\0" /* and the zero after it */
#define DOS_DATE 0x00210000u /* 1980-01-01 00:00 */
#define CHUNK (1u << 20)
#define NUMBER_MAX 12 /* bytes of a number after a name */

struct bundle_writer {
    zipFile zip;
    struct json_writer manifest;
    bool has_files; /* the manifest has come to "files" */
    struct table names; /* of members: allocated texts */
    char **list;        /* the same, to be freed */
    size_t count;
    size_t room;
};

struct bundle_writer *bundle_writer_new(const char *file)
{
    struct bundle_writer *writer = calloc(1, sizeof(*writer));
    FILE *f = fopen(file, "wb");
    bool is_written = f != NULL && fwrite(HEAD, 1, sizeof(HEAD), f) ==
                                       sizeof(HEAD);

    if ((f != NULL && fclose(f) != 0) || !is_written || writer == NULL) {
        free(writer);
        return NULL;
    }
    errno = 0;
    writer->zip = zipOpen64(file, APPEND_STATUS_CREATEAFTER);
    if (writer->zip == NULL) {
        errno = errno != 0 ? errno : EIO;
        free(writer);
        return NULL;
    }
    json_write_open(&writer->manifest, '{');
    return writer;
}

static bool has_name(const struct bundle_writer *writer, const char *name)
{
    size_t at = 0;
    uint64_t hash = table_hash((uintptr_t)writer, name, strlen(name));
    const char *other;

    while ((other = (const char *)table_next(&writer->names, hash, &at)) !=
           NULL) {
        if (strcmp(other, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes the name of a member after "files/": ":" and slashes of both kinds
 * become one slash. */
static void clean_name(char *to, const char *path)
{
    const char *p;
    bool is_first = true;

    while (*path != '\0') {
        p = path + (*path == ':');
        if (*p != '/' && *p != '\\') {
            *to++ = *path++;
            is_first = false;
            continue;
        }
        path = p + strspn(p, "/\\");
        if (!is_first) {
            *to++ = '/';
        }
        is_first = false;
    }
    *to = '\0';
}

/* Makes the name of a member, which no other has.  NULL without memory. */
static const char *make_name(struct bundle_writer *writer, const char *path)
{
    static const char folder[] = "files/";
    size_t size = sizeof(folder) + strlen(path) + NUMBER_MAX, n;
    char *name = malloc(size);
    unsigned i;

    if (name == NULL ||
        array_need(&writer->list, &writer->room, writer->count + 1,
                   sizeof(writer->list[0])) != 0) {
        free(name);
        return NULL;
    }
    memcpy(name, folder, sizeof(folder));
    clean_name(name + sizeof(folder) - 1, path);
    n = strlen(name);
    for (i = 1; has_name(writer, name); i++) {
        snprintf(name + n, size - n, ".%u", i);
    }
    writer->list[writer->count++] = name;
    return table_add(&writer->names,
                     table_hash((uintptr_t)writer, name, strlen(name)),
                     (uintptr_t)name) == 0
               ? name
               : NULL;
}

static int add_member(struct bundle_writer *writer, const char *name,
                      const char *text, size_t size)
{
    const zip_fileinfo info = {.dosDate = DOS_DATE};
    size_t at, n;

    errno = 0;
    if (zipOpenNewFileInZip64(writer->zip, name, &info, NULL, 0, NULL, 0, NULL,
                              Z_DEFLATED, Z_DEFAULT_COMPRESSION,
                              size >= UINT32_MAX) != ZIP_OK) {
        return -1;
    }
    for (at = 0; at < size; at += n) {
        n = size - at < CHUNK ? size - at : CHUNK;
        if (zipWriteInFileInZip(writer->zip, text + at, (unsigned)n) !=
            ZIP_OK) {
            return -1;
        }
    }
    return zipCloseFileInZip(writer->zip) == ZIP_OK ? 0 : -1;
}

void bundle_writer_set(struct bundle_writer *writer, const char *name,
                       const char *value)
{
    json_put_text(&writer->manifest, name, value);
}

static void begin_files(struct bundle_writer *writer)
{
    if (!writer->has_files) {
        json_put_open(&writer->manifest, "files", '{');
        writer->has_files = true;
    }
}

int bundle_writer_add(struct bundle_writer *writer, const char *path,
                      const char *text, size_t size)
{
    const char *name = make_name(writer, path);
    struct json_writer *manifest = &writer->manifest;

    if (name == NULL) {
        errno = ENOMEM;
        return -1;
    }
    begin_files(writer);
    json_write_name(manifest, name, strlen(name));
    json_write_open(manifest, '{');
    json_put_text(manifest, "type", "source");
    json_put_text(manifest, "path", path);
    json_write_close(manifest, '}');
    return add_member(writer, name, text, size);
}

static int finish_bundle(struct bundle_writer *writer)
{
    struct json_writer *manifest = &writer->manifest;

    begin_files(writer);
    json_write_close(manifest, '}');
    json_write_close(manifest, '}');
    if (manifest->has_failed) {
        errno = ENOMEM;
        return -1;
    }
    return add_member(writer, "manifest.json", manifest->data, manifest->size);
}

int bundle_writer_close(struct bundle_writer *writer, bool is_finished)
{
    int rc = is_finished ? finish_bundle(writer) : 0, error = errno;

    if (zipClose(writer->zip, NULL) != ZIP_OK && rc == 0) {
        error = errno;
        rc = -1;
    }
    while (writer->count > 0) {
        free(writer->list[--writer->count]);
    }
    free(writer->list);
    free(writer->manifest.data);
    table_free(&writer->names);
    free(writer);
    errno = error != 0 ? error : EIO;
    return rc;
}
