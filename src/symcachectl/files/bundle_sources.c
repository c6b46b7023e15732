/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl bundle-sources: collects the source files that a debug file names
 * into a source bundle.  The debug file becomes a SymCache or a PpdbCache
 * first, whose files are those that frames will have; both are read in
 * children without rights.
 */
#include "bundle_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utf8.h"
#include "bundle_writer.h"
#include "run_conversion.h"
#include "input.h"
#include "module_file.h"
#include "symbolication/symbolication.h"
#include "symcachectl/command.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/output.h"
#include "symcachectl/terminal/printable.h"

#define NAME "bundle-sources"
#define FILE_MAX (64l << 20) /* as readers take them */
#define SOURCE_PATHS_MAX (256u << 20) /* bytes of all paths */
#define SHOWN 5 /* files that are not there, which are named */

/* A child's report on a debug file: texts, each with a NUL after it. */
struct source_paths {
    char *data; /* the processor, the debug id, then paths */
    size_t size;
    const char **paths; /* in byte order, each once */
    size_t count;
};

struct bundle_text {
    char *data;
    size_t size;
    size_t room;
};

/* the child -------------------------------------------------------------- */

static void bundle_say(struct output *out, const char *text, size_t size)
{
    size_t i;

    for (i = 0; i < size && out->error == 0; i++) {
        if (out->used == sizeof(out->data)) {
            output_flush(out);
        }
        out->data[out->used++] = text[i];
    }
}

static void bundle_say_text(struct output *out, const char *text)
{
    bundle_say(out, text, strlen(text) + 1);
}

static void bundle_say_id(struct output *out, const uint8_t guid[16],
                          uint32_t age)
{
    char text[SYMCACHE_DEBUG_TEXT_MAX + 1];

    symcache_debug_id_write(text, guid, age);
    bundle_say_text(out, text);
}

static void bundle_say_path(struct output *out, const struct symc_string *path)
{
    if (path->size > 0 && memchr(path->data, '\0', path->size) == NULL) {
        bundle_say(out, path->data, path->size);
        bundle_say(out, "", 1);
    }
}

static void bundle_say_symcache(struct output *out,
                                const struct symc_reader *r)
{
    struct source_path path = {0};
    const struct symc_string *text;
    uint32_t i;

    bundle_say_text(out, symc_arch_name(le32(r->data + SYMC_AT_ARCH)));
    bundle_say_id(out, r->data + SYMC_AT_GUID, le32(r->data + SYMC_AT_AGE));
    for (i = 0; i < r->num_files; i++) {
        text = source_path(&path, r, i);
        if (text != NULL) {
            bundle_say_path(out, text);
        }
    }
    source_path_free(&path);
}

static void bundle_say_ppdbcache(struct output *out,
                                 const struct ppdbcache_reader *r)
{
    struct symc_string name;
    uint32_t i, language;

    bundle_say_text(out, "any");
    bundle_say_id(out, r->data + PPDBCACHE_AT_GUID,
                  le32(r->data + PPDBCACHE_AT_STAMP));
    for (i = 0; i < r->num_files; i++) {
        (void)ppdbcache_reader_file(r, i, &name, &language);
        bundle_say_path(out, &name);
    }
}

static _Noreturn void write_source_paths(const char *cache, int fd)
{
    static struct output out;
    struct input input;
    int rc;

    output_init(&out, fd);
    rc = input_open(cache, COMMAND_FOREIGN, &input);
    if (rc == COMMAND_OK && input.kind == SYMCACHE_KIND_PPDBCACHE) {
        bundle_say_ppdbcache(&out, &input.reader.ppdbcache);
    } else if (rc == COMMAND_OK) {
        bundle_say_symcache(&out, &input.reader.symcache);
    }
    output_flush(&out);
    _exit(rc != COMMAND_OK ? rc : out.error != 0 ? COMMAND_IO : COMMAND_OK);
}

/* the list --------------------------------------------------------------- */

static int bundle_compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Splits what the child said.  Returns false if that is too little. */
static bool split_source_paths(struct source_paths *list)
{
    size_t at, i, n = 0;

    if (list->size == 0 || list->data[list->size - 1] != '\0') {
        return false;
    }
    for (at = 0; at < list->size; at += strlen(list->data + at) + 1) {
        n++;
    }
    if (n < 2) {
        return false;
    }
    list->paths = calloc(n + 1, sizeof(list->paths[0]));
    if (list->paths == NULL) {
        command_no_memory();
    }
    for (at = 0, i = 0; at < list->size; at += strlen(list->data + at) + 1) {
        if (i++ >= 2) {
            list->paths[list->count++] = list->data + at;
        }
    }
    qsort(list->paths, list->count, sizeof(list->paths[0]),
          bundle_compare_paths);
    for (i = n = 0; i < list->count; i++) {
        if (n == 0 || strcmp(list->paths[n - 1], list->paths[i]) != 0) {
            list->paths[n++] = list->paths[i];
        }
    }
    list->count = n;
    return true;
}

static void bundle_read_all(int fd, struct source_paths *list)
{
    size_t room = 0;
    ssize_t n = 1;

    while (n > 0 && list->size < SOURCE_PATHS_MAX) {
        if (array_need(&list->data, &room, list->size + 65536, 1) != 0) {
            command_no_memory();
        }
        n = read(fd, list->data + list->size, 65536);
        if (n < 0 && errno == EINTR) {
            n = 1;
        } else {
            list->size += n > 0 ? (size_t)n : 0;
        }
    }
}

/* Reads the files of a cache in a child.  Returns COMMAND_OK, or an exit code
 * after the error was printed. */
static int read_source_paths(const char *file, const char *cache,
                             struct source_paths *list)
{
    int fds[2], status;
    pid_t pid;

    if (pipe(fds) != 0 || (pid = fork()) < 0) {
        return command_fail(COMMAND_IO, file, strerror(errno));
    }
    if (pid == 0) {
        close(fds[0]);
        write_source_paths(cache, fds[1]);
    }
    close(fds[1]);
    bundle_read_all(fds[0], list);
    close(fds[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status)) {
        return command_fail(COMMAND_IO, file, "its reader was killed");
    }
    if (WEXITSTATUS(status) != COMMAND_OK) {
        return WEXITSTATUS(status);
    }
    return split_source_paths(list)
               ? COMMAND_OK
               : command_fail(COMMAND_FOREIGN, file, "has no id");
}

/* source files ----------------------------------------------------------- */

/* Reads a source file.  Returns NULL, or why it is left out. */
static const char *read_source(const char *path, struct bundle_text *text)
{
    struct stat st;
    const char *why = NULL;
    ssize_t n = 1;
    int fd = path[0] == '<' ? -1
                            : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    text->size = 0;
    if (fd < 0) {
        return "is not there";
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        why = "is not a file";
    } else if (st.st_size > FILE_MAX) {
        why = "has more than 64 MiB";
    }
    while (why == NULL && n > 0 && text->size <= (size_t)FILE_MAX) {
        if (array_need(&text->data, &text->room, text->size + 65536, 1) != 0) {
            command_no_memory();
        }
        n = read(fd, text->data + text->size, 65536);
        text->size += n > 0 ? (size_t)n : 0;
        why = n < 0 ? strerror(errno) : NULL;
    }
    close(fd);
    return why != NULL ? why
           : utf8_valid(text->data, text->size) != text->size
               ? "is not UTF-8"
               : NULL;
}

/* Of ELF and Mach-O the build id, which the debug id has only a part of. */
static void set_code_id(struct bundle_writer *bundle, const char *file)
{
    static const char build[] = "buildid-";
    char error[MODULE_FILE_ERROR];
    struct identity identity = {0};
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return;
    }
    if (module_file_read(file, fd, &identity, error) == MODULE_FILE_FOUND &&
        strncmp(identity.code_id, build, sizeof(build) - 1) == 0) {
        bundle_writer_set(bundle, "code_id",
                          identity.code_id + sizeof(build) - 1);
    }
    close(fd);
}

/* Adds what is there.  Returns how many files that were, or -1 with errno. */
static ssize_t add_sources(struct bundle_writer *bundle,
                           const struct source_paths *list)
{
    struct bundle_text text = {0};
    const char *why;
    size_t i, left_out = 0;
    int rc = 0;

    for (i = 0; i < list->count && rc == 0; i++) {
        why = read_source(list->paths[i], &text);
        if (why == NULL) {
            rc = bundle_writer_add(bundle, list->paths[i], text.data,
                                   text.size);
        } else if (left_out++ < SHOWN) {
            (void)command_fail(0, list->paths[i], why);
        }
    }
    free(text.data);
    return rc != 0 ? -1 : (ssize_t)(list->count - left_out);
}

/* Writes the bundle as bundle_tmp, and renames it.  Returns an exit code. */
static int write_bundle(const char *file, const char *name,
                        const struct source_paths *list,
                        const char *bundle_tmp, const char *bundle)
{
    struct bundle_writer *w = bundle_writer_new(bundle_tmp);
    ssize_t n;
    char text[100];
    int rc;

    if (w == NULL) {
        return command_fail(COMMAND_IO, bundle, strerror(errno));
    }
    bundle_writer_set(w, "arch", list->data);
    bundle_writer_set(w, "debug_id", list->data + strlen(list->data) + 1);
    set_code_id(w, file);
    bundle_writer_set(w, "object_name", basename(name));
    n = add_sources(w, list);
    rc = bundle_writer_close(w, n > 0) == 0 && n >= 0 &&
                 (n == 0 || rename(bundle_tmp, bundle) == 0)
             ? 0
             : -1;
    if (rc != 0) {
        (void)command_fail(0, bundle, strerror(errno));
    }
    if (rc != 0 || n == 0) {
        (void)unlink(bundle_tmp);
    }
    if (list->count == 0) {
        snprintf(text, sizeof(text),
                 "names no source files, as if its debug information were in "
                 "another file: there is no bundle");
    } else {
        snprintf(text, sizeof(text),
                 "%zd of %zu source files are on this disk%s", n, list->count,
                 n == 0 ? ": there is no bundle" : "");
    }
    (void)(rc == 0 ? command_fail(0, name, text) : 0);
    return rc != 0 ? COMMAND_IO : n == 0 ? COMMAND_NOT_FOUND : COMMAND_OK;
}

/* the command ------------------------------------------------------------ */

int bundle_sources(const char *file, const char *name, const char *folder,
                   const char *bundle)
{
    char cache[PATH_MAX], bundle_tmp[PATH_MAX];
    const struct conversion c = {
        .program = "symcachectl", .input = file, .output = cache,
        .folder = folder, .has_sandbox = true};
    struct source_paths list = {0};
    struct failure failure = {FAILURE_NONE, ""};
    char *text;
    int rc;

    if (output_file_check(bundle, &file, 1, &failure) != 0) {
        text = printable(failure.text, strlen(failure.text));
        rc = command_fail(COMMAND_IO, name, text);
        free(text);
        return rc;
    }
    if ((size_t)snprintf(cache, sizeof(cache), "%s/cache", folder) >=
            sizeof(cache) ||
        (size_t)snprintf(bundle_tmp, sizeof(bundle_tmp), "%s.%ld.tmp", bundle,
                         (long)getpid()) >= sizeof(bundle_tmp)) {
        return command_fail(COMMAND_IO, bundle, strerror(ENAMETOOLONG));
    }
    rc = run_conversion(&c);
    if (rc == COMMAND_OK) {
        rc = read_source_paths(file, cache, &list);
    }
    (void)unlink(cache);
    if (rc == COMMAND_OK) {
        rc = write_bundle(file, name, &list, bundle_tmp, bundle);
    }
    free(list.data);
    free(list.paths);
    return rc;
}

/* The name of the bundle in a folder: crash.src.zip of crash.pdb. */
static int print_name(char to[PATH_MAX], const char *output, const char *file)
{
    const char *name = basename(file), *dot = strrchr(name, '.');
    size_t size = dot != NULL && dot != name ? (size_t)(dot - name)
                                             : strlen(name);

    return (size_t)snprintf(to, PATH_MAX, "%s/%.*s.src.zip", output, (int)size,
                            name) < PATH_MAX
               ? 0
               : -1;
}

/* Has one of n files, of which those without a bundle are NULL, the bundle of
 * this name? */
static bool is_made(const char *bundle, const char *output, char **files,
                    int n)
{
    char other[PATH_MAX];
    int i;

    for (i = 0; i < n; i++) {
        if (files[i] != NULL && print_name(other, output, files[i]) == 0 &&
            strcmp(other, bundle) == 0) {
            return true;
        }
    }
    return false;
}

/* Makes the bundle of one of several files.  Returns an exit code. */
static int bundle_into(const char *output, const char *folder, char **files,
                       int i)
{
    char to[PATH_MAX];

    if (print_name(to, output, files[i]) != 0) {
        return command_fail(COMMAND_IO, files[i], strerror(ENAMETOOLONG));
    }
    if (is_made(to, output, files, i)) {
        return command_fail(COMMAND_USAGE, files[i],
                            "its bundle would replace that of a file before "
                            "it: it needs another folder");
    }
    return bundle_sources(files[i], files[i], folder, to);
}

int bundle_sources_command(int argc, char **argv)
{
    const char *output = NULL;
    const struct option_spec specs[] = {{"-o", NULL, &output}};
    char folder[] = "/tmp/symcachectl-XXXXXX";
    struct stat st;
    bool is_folder;
    int i, rc = COMMAND_OK, one;

    argc = options_parse(NAME, specs, 1, argc, argv);
    if (argc < 1 || output == NULL) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage(NAME, argc == 0 ? "no FILE" : "no -o",
                                        NULL);
    }
    is_folder = stat(output, &st) == 0 && S_ISDIR(st.st_mode);
    if (argc > 1 && !is_folder) {
        return command_usage(NAME, "-o is not a folder for several bundles",
                             output);
    }
    if (mkdtemp(folder) == NULL) {
        return command_fail(COMMAND_IO, folder, strerror(errno));
    }
    for (i = 0; i < argc && rc != COMMAND_INTERRUPTED; i++) {
        one = is_folder ? bundle_into(output, folder, argv, i)
                        : bundle_sources(argv[i], argv[i], folder, output);
        if (one != COMMAND_OK) {
            rc = one;
            argv[i] = NULL;
        }
    }
    (void)rmdir(folder);
    return rc;
}
