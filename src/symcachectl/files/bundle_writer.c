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
    struct bundle_writer *w = calloc(1, sizeof(*w));
    FILE *f = fopen(file, "wb");
    bool is_written = f != NULL && fwrite(HEAD, 1, sizeof(HEAD), f) ==
                                       sizeof(HEAD);

    if ((f != NULL && fclose(f) != 0) || !is_written || w == NULL) {
        free(w);
        return NULL;
    }
    errno = 0;
    w->zip = zipOpen64(file, APPEND_STATUS_CREATEAFTER);
    if (w->zip == NULL) {
        errno = errno != 0 ? errno : EIO;
        free(w);
        return NULL;
    }
    json_write_open(&w->manifest, '{');
    return w;
}

static bool has_name(const struct bundle_writer *w, const char *name)
{
    size_t at = 0;
    uint64_t hash = table_hash((uintptr_t)w, name, strlen(name));
    const char *other;

    while ((other = (const char *)table_next(&w->names, hash, &at)) != NULL) {
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
static const char *make_name(struct bundle_writer *w, const char *path)
{
    static const char folder[] = "files/";
    size_t size = sizeof(folder) + strlen(path) + NUMBER_MAX, n;
    char *name = malloc(size);
    unsigned i;

    if (name == NULL || array_need(&w->list, &w->room, w->count + 1,
                                   sizeof(w->list[0])) != 0) {
        free(name);
        return NULL;
    }
    memcpy(name, folder, sizeof(folder));
    clean_name(name + sizeof(folder) - 1, path);
    n = strlen(name);
    for (i = 1; has_name(w, name); i++) {
        snprintf(name + n, size - n, ".%u", i);
    }
    w->list[w->count++] = name;
    return table_add(&w->names,
                     table_hash((uintptr_t)w, name, strlen(name)),
                     (uintptr_t)name) == 0
               ? name
               : NULL;
}

static int add_member(struct bundle_writer *w, const char *name,
                      const char *text, size_t size)
{
    const zip_fileinfo info = {.dosDate = DOS_DATE};
    size_t at, n;

    errno = 0;
    if (zipOpenNewFileInZip64(w->zip, name, &info, NULL, 0, NULL, 0, NULL,
                              Z_DEFLATED, Z_DEFAULT_COMPRESSION,
                              size >= UINT32_MAX) != ZIP_OK) {
        return -1;
    }
    for (at = 0; at < size; at += n) {
        n = size - at < CHUNK ? size - at : CHUNK;
        if (zipWriteInFileInZip(w->zip, text + at, (unsigned)n) != ZIP_OK) {
            return -1;
        }
    }
    return zipCloseFileInZip(w->zip) == ZIP_OK ? 0 : -1;
}

void bundle_writer_set(struct bundle_writer *w, const char *name,
                       const char *value)
{
    json_put_text(&w->manifest, name, value);
}

static void begin_files(struct bundle_writer *w)
{
    if (!w->has_files) {
        json_put_open(&w->manifest, "files", '{');
        w->has_files = true;
    }
}

int bundle_writer_add(struct bundle_writer *w, const char *path,
                      const char *text, size_t size)
{
    const char *name = make_name(w, path);
    struct json_writer *manifest = &w->manifest;

    if (name == NULL) {
        errno = ENOMEM;
        return -1;
    }
    begin_files(w);
    json_write_name(manifest, name, strlen(name));
    json_write_open(manifest, '{');
    json_put_text(manifest, "type", "source");
    json_put_text(manifest, "path", path);
    json_write_close(manifest, '}');
    return add_member(w, name, text, size);
}

static int finish_bundle(struct bundle_writer *w)
{
    struct json_writer *manifest = &w->manifest;

    begin_files(w);
    json_write_close(manifest, '}');
    json_write_close(manifest, '}');
    if (manifest->has_failed) {
        errno = ENOMEM;
        return -1;
    }
    return add_member(w, "manifest.json", manifest->data, manifest->size);
}

int bundle_writer_close(struct bundle_writer *w, bool is_finished)
{
    int rc = is_finished ? finish_bundle(w) : 0, error = errno;

    if (zipClose(w->zip, NULL) != ZIP_OK && rc == 0) {
        error = errno;
        rc = -1;
    }
    while (w->count > 0) {
        free(w->list[--w->count]);
    }
    free(w->list);
    free(w->manifest.data);
    table_free(&w->names);
    free(w);
    errno = error != 0 ? error : EIO;
    return rc;
}
