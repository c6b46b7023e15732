/*
 * Copyright (C) the ngx_symcache authors
 */
#include "script_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "base/percent.h"
#include "converter/converter.h"
#include "symbolication/js/js.h"
#include "symcachectl/command.h"

#define COMMENT_MAX (1u << 20) /* bytes at the end of a script */

static const volatile sig_atomic_t never;

/* Opens a regular file; -1: there is none. */
static int open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Copies what a script refers to as its map, if that is a name and no URL.
 * Returns 1; 0 if the map is in the script; -1 if there is no reference. */
static int read_reference(int script, char *to, size_t room)
{
    off_t size = lseek(script, 0, SEEK_END);
    size_t n = size < COMMENT_MAX ? (size_t)size : COMMENT_MAX;
    char *text = malloc(n + 1);
    ssize_t got;
    int rc = -1;
    struct symc_string url;

    if (text == NULL) {
        command_no_memory();
    }
    got = pread(script, text, n, size - (off_t)n);
    url = js_source_mapping_url(text, got > 0 ? (size_t)got : 0);
    if (url.data != NULL && js_is_data_url(url)) {
        rc = 0;
    } else if (url.data != NULL && url.size < room &&
               memmem(url.data, url.size, "://", 3) == NULL) {
        memcpy(to, url.data, url.size);
        to[url.size] = '\0';
        rc = 1;
    } else if (got == (ssize_t)COMMENT_MAX) {
        rc = 0; /* a map in the script may be longer than what was read */
    }
    free(text);
    return rc;
}

/* Opens the map of the script at a path: what it refers to, or what has its
 * name with ".map".  Returns -1 if there is none; *is_inside: it may be in the
 * script. */
static int open_map(const char *path, int script, bool *is_inside)
{
    char reference[PATH_MAX], map[2 * PATH_MAX + 8];
    const char *slash = strrchr(path, '/');
    int fd = -1, rc = -1, folder = slash != NULL ? (int)(slash - path) + 1 : 0;

    if (script >= 0) {
        rc = read_reference(script, reference, sizeof(reference));
    }
    if (rc > 0) {
        snprintf(map, sizeof(map), "%.*s%s", reference[0] == '/' ? 0 : folder,
                 path, reference);
        fd = open_file(map);
    }
    if (fd < 0) {
        snprintf(map, sizeof(map), "%s.map", path);
        fd = open_file(map);
    }
    *is_inside = fd < 0 && rc == 0;
    return fd;
}

/* Makes a JsCache of open files, and maps it. */
static bool make_jscache(const char *path, int script, int map,
                         struct jscache_reader *reader)
{
    int out = memfd_create("jscache", MFD_CLOEXEC);
    int empty = script < 0 ? memfd_create("script", MFD_CLOEXEC) : -1;
    const struct conversion c = {.program = "symcachectl",
                                 .input = path,
                                 .has_sandbox = true,
                                 .has_wanted = true,
                                 .wanted = SYMCACHE_KIND_JSCACHE};
    struct failure failure;
    char error[200];
    off_t size;
    void *data;
    bool ok = false;

    if (conversion_make(&c, script >= 0 ? script : empty, map, out, &never,
                        &failure) != FAILURE_NONE) {
        if (failure.text[0] != '\0') {
            fprintf(stderr, "symcachectl: %s: %s\n", path, failure.text);
        }
    } else {
        size = lseek(out, 0, SEEK_END);
        data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, out, 0);
        ok = data != MAP_FAILED &&
             jscache_reader_open(reader, data, (size_t)size, error,
                                 sizeof(error)) == SYMC_OPENED &&
             jscache_verify(reader, error, sizeof(error)) == SYMC_SOUND;
    }
    fd_close(empty);
    close(out);
    return ok;
}

/* Makes the JsCache of the script at a path; *is_there: there is a script or
 * map. */
static bool try_path(const char *path, struct jscache_reader *reader,
                     bool *is_there)
{
    bool is_inside, ok = false;
    int script = open_file(path);
    int map = open_map(path, script, &is_inside);

    *is_there = script >= 0 || map >= 0;
    if (map >= 0 || is_inside) {
        ok = make_jscache(path, script, map, reader);
    }
    fd_close(script);
    fd_close(map);
    return ok;
}

/* Is a part of a path one that leads elsewhere? */
static bool leads_out(const char *path)
{
    return strstr(path, "/../") != NULL || strncmp(path, "../", 3) == 0;
}

/* Looks in a folder for a path, then for less and less of its end. */
static bool try_folder(const char *folder, const char *path,
                       struct jscache_reader *reader)
{
    char at[2 * PATH_MAX];
    bool is_there;

    if (leads_out(path)) {
        path = strrchr(path, '/') + 1;
    }
    while (path != NULL && *path != '\0') {
        path += *path == '/';
        snprintf(at, sizeof(at), "%s/%s", folder, path);
        if (try_path(at, reader, &is_there)) {
            return true;
        }
        if (is_there) {
            return false;
        }
        path = strchr(path, '/');
    }
    return false;
}

/* Makes a path of this machine of one in a URL, in place: blanks and others
 * are encoded there, as Node and browsers print it. */
static void decode_path(char *path)
{
    if (strstr(path, "%00") == NULL) {
        path[percent_decode(path, path, strlen(path))] = '\0';
    }
}

/* The same of one of Windows, "C:\a\b" or "\\server\a\b". */
static void turn_backslashes(char *path)
{
    if (path[0] != '\\' && (path[0] == '\0' || path[1] != ':')) {
        return;
    }
    while ((path = strchr(path, '\\')) != NULL) {
        *path = '/';
    }
}

/* Makes a JsCache of what a URL leads to on this machine. */
static bool find_jscache(const char *maps, struct symc_string url,
                         struct jscache_reader *reader)
{
    char path[PATH_MAX];
    size_t i;
    bool is_there, is_local;
    struct symc_string in_url = js_path(url);

    for (i = 0;
         i < in_url.size && in_url.data[i] != '?' && in_url.data[i] != '#';
         i++) {
    }
    if (i >= sizeof(path)) {
        return false;
    }
    memcpy(path, in_url.data, i);
    path[i] = '\0';
    if (memmem(url.data, url.size, "://", 3) != NULL) {
        decode_path(path);
    } else {
        turn_backslashes(path);
    }
    if (maps != NULL) {
        return try_folder(maps, path, reader);
    }
    is_local = url.data[0] == '/' ||
               (url.size > 7 && memcmp(url.data, "file://", 7) == 0);
    return is_local && try_path(path, reader, &is_there);
}

const struct jscache_reader *script_files_find(struct script_files *files,
                                               const char *url, size_t size)
{
    size_t i;
    struct script_file *file;
    const struct symc_string text = {url, size};

    for (i = 0; i < files->count; i++) {
        file = &files->files[i];
        if (strncmp(file->url, url, size) == 0 && file->url[size] == '\0') {
            return file->is_there ? &file->reader : NULL;
        }
    }
    if (files->count == SCRIPT_FILES_MAX) {
        return NULL;
    }
    file = &files->files[files->count++];
    file->url = strndup(url, size);
    if (file->url == NULL) {
        command_no_memory();
    }
    file->is_there = find_jscache(files->maps, text, &file->reader);
    return file->is_there ? &file->reader : NULL;
}
