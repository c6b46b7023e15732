/*
 * Copyright (C) the ngx_symcache authors
 */
#include "script_files.h"

#include <dirent.h>
#include <errno.h>
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
#include "debuginfo/wasm/wasm.h"
#include "input.h"
#include "json/json.h"
#include "report_child.h"
#include "symbolication/js/js.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

#define PATH_ROOM (2 * PATH_MAX)
#define COMMENT_MAX (1u << 20) /* bytes at the end of a script */
#define V8_URL "wasm://wasm/" /* of a module, whose name and hash follow */
#define HASH 8                /* digits */

static const volatile sig_atomic_t never;

/* Opens a regular file; -1: there is none, or after a message if it cannot be
 * read. */
static int open_script_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && (errno == EACCES || errno == EIO)) {
        (void)command_fail(COMMAND_IO, path, strerror(errno));
    }
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Copies what a script refers to as its map, if that is a name and no URL.
 * Returns 1; 0 if the map is in the script; -1 if there is no reference. */
static int read_script_reference(int script, char *to, size_t room)
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

/* Opens the file that another one refers to by a relative path, and writes its
 * path.  One that begins with a slash is a web server's, or another machine's.
 */
static int open_script_reference(const char *path, const char *reference,
                                 char at[PATH_ROOM])
{
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash - path) + 1 : 0;
    size_t size = strlen(reference);

    if (size == 0 || size >= PATH_MAX || reference[0] == '/' ||
        strstr(reference, "://") != NULL) {
        return -1;
    }
    snprintf(at, PATH_ROOM, "%.*s%s", folder, path, reference);
    return open_script_file(at);
}

/* Opens the map that has the name of a script or module with ".map", unless
 * that was tried. */
static int open_script_map_beside(const char *path, const char *tried)
{
    char map[2 * PATH_MAX + 8];

    snprintf(map, sizeof(map), "%s.map", path);
    return strcmp(map, tried) != 0 ? open_script_file(map) : -1;
}

/* Opens the map of the script at a path: what it refers to, or what has its
 * name.  Returns -1 if there is none; *is_inside: it may be in the script. */
static int open_script_map(const char *path, int script, bool *is_inside)
{
    char reference[PATH_MAX], at[PATH_ROOM] = "";
    int fd = -1, rc = -1;

    if (script >= 0) {
        rc = read_script_reference(script, reference, sizeof(reference));
    }
    if (rc > 0) {
        fd = open_script_reference(path, reference, at);
    }
    if (fd < 0) {
        fd = open_script_map_beside(path, at);
    }
    *is_inside = fd < 0 && rc == 0;
    return fd;
}

/* What a module of WebAssembly refers to; -1: there is none. */
struct script_module {
    int map;
    int debug;      /* the file with its debug information */
    uint64_t shift; /* of an offset in the module, to one in that file */
    char debug_path[PATH_ROOM];
};

static void put_script_link(struct json_writer *w, const char *name,
                            const struct wasm_bytes *link)
{
    if (link->at != NULL) {
        json_put_string(w, name, (const char *)link->at,
                        (size_t)(link->end - link->at));
    }
}

/* In the child: what a module of WebAssembly refers to, and where its code
 * is. */
static int read_script_links(void *arg, FILE *out)
{
    const int *module = arg;
    struct json_writer w = {0};
    struct wasm_identity found;
    off_t size = lseek(*module, 0, SEEK_END);
    void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, *module, 0);
    char error[200];

    input_enter_sandbox();
    if (data == MAP_FAILED || wasm_identity_read(data, (size_t)size, &found,
                                                 error, sizeof(error)) != 0) {
        return COMMAND_NOT_FOUND; /* who converts it says what is wrong */
    }
    json_write_open(&w, '{');
    put_script_link(&w, "map", &found.source_map);
    if (!found.has_debug_info) {
        put_script_link(&w, "debug", &found.debug_file);
    }
    json_put_hex(&w, "code", found.code);
    json_write_close(&w, '}');
    if (w.has_failed) {
        command_no_memory();
    }
    fwrite(w.data, 1, w.size, out);
    return COMMAND_OK;
}

static uint64_t script_code_offset(const cJSON *links)
{
    return strtoull(printable_field(links, "code"), NULL, 16);
}

/* Opens the file with the debug information of a module, if it is another one.
 * Its code may begin elsewhere: a tool that strips a module may write the sizes
 * of its sections in more bytes. */
static void open_script_debug_file(const char *path, const cJSON *links,
                                   struct script_module *parts)
{
    cJSON *found;
    int code;

    parts->debug = open_script_reference(path, printable_field(links, "debug"),
                                         parts->debug_path);
    if (parts->debug >= 0) {
        found = report_child_read(parts->debug_path, read_script_links,
                                  &parts->debug, &code);
        parts->shift = script_code_offset(found) - script_code_offset(links);
        cJSON_Delete(found);
    }
}

/* Returns false if the file is no module of WebAssembly. */
static bool open_script_module(const char *path, int module,
                               struct script_module *parts)
{
    uint8_t head[8];
    char at[PATH_ROOM] = "";
    cJSON *links;
    int code;

    if (module < 0 || pread(module, head, sizeof(head), 0) != sizeof(head) ||
        !wasm_sniff(head, sizeof(head))) {
        return false;
    }
    links = report_child_read(path, read_script_links, &module, &code);
    parts->map =
        open_script_reference(path, printable_field(links, "map"), at);
    parts->map =
        parts->map >= 0 ? parts->map : open_script_map_beside(path, at);
    open_script_debug_file(path, links, parts);
    cJSON_Delete(links);
    return true;
}

/* Opens and checks the cache in memory. */
static enum script_kind read_script_cache(struct script_file *file,
                                          symcache_kind_e kind,
                                          const void *data, size_t size)
{
    char error[200];

    if (kind == SYMCACHE_KIND_JSCACHE) {
        return jscache_reader_open(&file->map, data, size, error,
                                   sizeof(error)) == SYMC_OPENED &&
                       jscache_verify(&file->map, error, sizeof(error)) ==
                           SYMC_SOUND
                   ? SCRIPT_MAP
                   : SCRIPT_NONE;
    }
    return symc_reader_open(&file->module, data, size, error,
                            sizeof(error)) == SYMC_OPENED &&
                   symc_verify(&file->module, error, sizeof(error)) ==
                       SYMC_SOUND
               ? SCRIPT_MODULE
               : SCRIPT_NONE;
}

/* Makes a cache of open files, and maps it. */
static void make_script_cache(const char *path, int input, int map,
                              symcache_kind_e kind, struct script_file *file)
{
    int out = memfd_create("cache", MFD_CLOEXEC);
    int empty = input < 0 ? memfd_create("script", MFD_CLOEXEC) : -1;
    const struct conversion c = {.program = "symcachectl",
                                 .input = path,
                                 .has_sandbox = true,
                                 .has_wanted = true,
                                 .wanted = kind};
    struct failure failure;
    off_t size;
    void *data;

    if (conversion_make(&c, input >= 0 ? input : empty, map, out, &never,
                        &failure) != FAILURE_NONE) {
        if (failure.text[0] != '\0') {
            fprintf(stderr, "symcachectl: %s: %s\n", path, failure.text);
        }
    } else {
        size = lseek(out, 0, SEEK_END);
        data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, out, 0);
        if (data != MAP_FAILED) {
            file->kind = read_script_cache(file, kind, data, (size_t)size);
        }
    }
    fd_close(empty);
    close(out);
}

/* Makes the cache of the script or module at a path.  Returns whether there is
 * a script, module or map. */
static bool try_script_path(const char *path, struct script_file *file)
{
    bool is_inside = false;
    int script = open_script_file(path);
    struct script_module parts = {.map = -1, .debug = -1};
    bool is_module = open_script_module(path, script, &parts);

    if (!is_module) {
        parts.map = open_script_map(path, script, &is_inside);
    }
    if (parts.map >= 0 || is_inside) {
        make_script_cache(path, is_module ? -1 : script, parts.map,
                          SYMCACHE_KIND_JSCACHE, file);
    } else if (parts.debug >= 0) {
        make_script_cache(parts.debug_path, parts.debug, -1,
                          SYMCACHE_KIND_SYMCACHE, file);
        file->shift = file->kind == SCRIPT_MODULE ? parts.shift : 0;
    }
    if (is_module && file->kind == SCRIPT_NONE) {
        make_script_cache(path, script, -1, SYMCACHE_KIND_SYMCACHE, file);
    }
    fd_close(script);
    fd_close(parts.map);
    fd_close(parts.debug);
    return script >= 0 || parts.map >= 0;
}

static bool script_ends_with(const char *text, const char *with)
{
    size_t size = strlen(text), n = strlen(with);

    return size >= n && strcmp(text + size - n, with) == 0;
}

/* Is a part of a path one that leads elsewhere? */
static bool script_leads_out(const char *path)
{
    return strstr(path, "/../") != NULL || strncmp(path, "../", 3) == 0;
}

/* Looks in a folder for a path, then for less and less of its end. */
static void try_script_folder(const char *folder, const char *path,
                              struct script_file *file)
{
    char at[2 * PATH_MAX];

    if (script_leads_out(path)) {
        path = strrchr(path, '/') + 1;
    }
    while (path != NULL && *path != '\0') {
        path += *path == '/';
        snprintf(at, sizeof(at), "%s/%s", folder, path);
        if (try_script_path(at, file)) {
            return;
        }
        path = strchr(path, '/');
    }
}

/* Takes the only module in a folder; one with debug information beside it is
 * no other one. */
static void try_only_script_module(const char *folder,
                                   struct script_file *file)
{
    char at[2 * PATH_MAX];
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;

    if (dir == NULL) {
        (void)command_fail(COMMAND_IO, folder, strerror(errno));
    }
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (script_ends_with(entry->d_name, ".wasm") &&
            !script_ends_with(entry->d_name, ".debug.wasm")) {
            snprintf(at, sizeof(at), "%s/%s", folder, entry->d_name);
            count++;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (count == 1) {
        try_script_path(at, file);
    } else if (count > 1) {
        fprintf(stderr,
                "symcachectl: %s: has several modules of WebAssembly, and "
                "the trace does not say which\n",
                folder);
    }
}

/* Makes a path of this machine of one in a URL, in place: blanks and others
 * are encoded there, as Node and browsers print it. */
static void decode_script_path(char *path)
{
    if (strstr(path, "%00") == NULL) {
        path[percent_decode(path, path, strlen(path))] = '\0';
    }
}

/* The same of one of Windows, "C:\a\b" or "\\server\a\b". */
static void turn_script_backslashes(char *path)
{
    if (path[0] != '\\' && (path[0] == '\0' || path[1] != ':')) {
        return;
    }
    while ((path = strchr(path, '\\')) != NULL) {
        *path = '/';
    }
}

/* Is a module in no file, to the trace?  V8 then has its name, if any, and a
 * hash, and Firefox the script that made it. */
static bool is_nameless_script(const struct jstrace_text *url)
{
    const struct symc_string text = {url->data, url->size};

    return js_begins(text, V8_URL) ||
           memmem(url->data, url->size, " > ", 3) != NULL;
}

/* Makes the usual file of a module's name, in place, without the hash. */
static void take_script_module_name(char *path)
{
    size_t size = strlen(path);

    if (size > HASH + 1 && path[size - HASH - 1] == '-') {
        size -= HASH + 1;
        path[size] = '\0';
    }
    if (!script_ends_with(path, ".wasm")) {
        memcpy(path + size, ".wasm", 6);
    }
}

/* Makes the cache of what a URL leads to on this machine. */
static void find_script_file(const char *maps, struct symc_string url,
                             struct script_file *file)
{
    char path[PATH_MAX + 6];
    size_t i;
    struct symc_string in_url = js_path(url);

    for (i = 0;
         i < in_url.size && in_url.data[i] != '?' && in_url.data[i] != '#';
         i++) {
    }
    if (i >= PATH_MAX) {
        return;
    }
    memcpy(path, in_url.data, i);
    path[i] = '\0';
    if (js_begins(url, V8_URL)) {
        take_script_module_name(path);
    } else if (memmem(url.data, url.size, "://", 3) != NULL) {
        decode_script_path(path);
    } else {
        turn_script_backslashes(path);
    }
    if (maps != NULL) {
        try_script_folder(maps, path, file);
    } else if (url.data[0] == '/' || js_begins(url, "file://")) {
        try_script_path(path, file);
    }
}

static bool is_same_script(const struct jstrace_text *a,
                           const struct jstrace_text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

void script_files_note(struct script_files *files,
                       const struct jstrace_frame *frame)
{
    if (!frame->is_wasm || !is_nameless_script(&frame->url)) {
        return;
    }
    files->has_nameless =
        files->nameless.data == NULL ||
        (files->has_nameless && is_same_script(&frame->url, &files->nameless));
    files->nameless = frame->url;
}

const struct script_file *script_files_find(struct script_files *files,
                                            const struct jstrace_frame *frame)
{
    size_t i;
    struct script_file *file;
    const struct symc_string url = {frame->url.data, frame->url.size};

    for (i = 0; i < files->count; i++) {
        file = &files->files[i];
        if (strncmp(file->url, url.data, url.size) == 0 &&
            file->url[url.size] == '\0') {
            return file->kind != SCRIPT_NONE ? file : NULL;
        }
    }
    if (files->count == SCRIPT_FILES_MAX) {
        return NULL;
    }
    file = &files->files[files->count++];
    file->url = strndup(url.data, url.size);
    if (file->url == NULL) {
        command_no_memory();
    }
    find_script_file(files->maps, url, file);
    if (file->kind == SCRIPT_NONE && files->maps != NULL &&
        files->has_nameless && is_same_script(&frame->url, &files->nameless)) {
        try_only_script_module(files->maps, file);
    }
    return file->kind != SCRIPT_NONE ? file : NULL;
}
