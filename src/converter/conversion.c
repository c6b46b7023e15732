/*
 * Copyright (C) the ngx_symcache authors
 */
#include "conversion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd_close.h"

#include "output_file.h"
#include "parser_process.h"
#include "derived/derived.h"
#include "proto/key.h"
#include "proto/path.h"

bool conversion_output(const char *name, symcache_kind_e *output)
{
    return symcache_kind_parse(name, strlen(name), output) &&
           derived_is_made(*output);
}

bool conversion_has_files(const struct conversion *conversion)
{
    const char *const paths[] = {conversion->altlink, conversion->image,
                                 conversion->dwp, conversion->symbol_map,
                                 conversion->line_mapping};
    struct stat st;
    size_t i;

    for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (paths[i] == NULL) {
            continue;
        }
        errno = i > 0 && access(paths[i], R_OK) != 0 ? errno
                : paths[i] != conversion->dwp && stat(paths[i], &st) == 0 &&
                        S_ISDIR(st.st_mode)
                    ? EISDIR
                    : 0;
        if (errno != 0) {
            fprintf(stderr, "%s: %s: cannot be opened: %s\n",
                    conversion->program, paths[i], strerror(errno));
            return false;
        }
    }
    return true;
}

/* A name of the output that was not given ends as no input does. */
static int check_output(const struct conversion *conversion,
                        struct failure *failure)
{
    const char *const inputs[] = {
        conversion->input,       conversion->map, conversion->altlink,
        conversion->image,       conversion->dwp, conversion->symbol_map,
        conversion->line_mapping};

    return conversion->output == NULL || strcmp(conversion->output, "-") == 0
               ? 0
               : output_file_check(conversion->output, inputs,
                                   sizeof(inputs) / sizeof(inputs[0]),
                                   failure);
}

/* Makes the folders under the root at which WPA and the helper look for the
 * file, and writes their path after the root's. */
static int make_folder(const struct debuginfo_result *r, const char *name,
                       char *path, size_t size, struct failure *failure)
{
    size_t used = strlen(path);
    char folder[SYMCACHE_PATH_MAX + 1];
    symcache_key_t key;

    if (symcache_name_parse(name, strlen(name), &key) != SYMCACHE_OK) {
        return failure_set(failure, FAILURE_IO,
                           "output: \"%s\" is not a name for a PDB", name);
    }
    memcpy(key.guid, r->guid, sizeof(key.guid));
    key.age = r->age;
    symcache_path_dir(folder, &key);
    if ((size_t)snprintf(path + used, size - used, "/%s/", folder) >=
        size - used) {
        return failure_set(failure, FAILURE_IO, "output: name too long");
    }
    return output_file_make_directories(path, failure);
}

/* Makes the path of the output that was not named. */
static int make_path(const struct conversion *conversion,
                     const struct debuginfo_result *r, char *path, size_t size,
                     struct failure *failure)
{
    size_t n;
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    const char *name = basename(conversion->input);

    n = (size_t)snprintf(path, size, "%s%s", conversion->folder,
                         conversion->makes_tree ? "" : "/");
    if (n >= size) {
        return failure_set(failure, FAILURE_IO, "output: name too long");
    }
    if (conversion->makes_tree &&
        make_folder(r, name, path, size, failure) != 0) {
        return -1;
    }
    n = strlen(path);
    if (conversion->is_text) {
        return (size_t)snprintf(path + n, size - n, "%s.cfi", name) >= size - n
                   ? failure_set(failure, FAILURE_IO, "output: name too long")
                   : 0;
    }
    symcache_version_print(version, &derived_type(r->output)->written);
    if ((size_t)snprintf(path + n, size - n, "%s-v%s.%s", name, version,
                         symcache_kind_text(r->output)) >= size - n) {
        return failure_set(failure, FAILURE_IO, "output: name too long");
    }
    return 0;
}

/* Runs the parser, and once more if it has said that .dwo files are missing.
 * A transcoder's input lies alone. */
static int parse_in_process(const struct conversion *conversion,
                            struct parser_process_job *job,
                            const volatile sig_atomic_t *stop,
                            struct debuginfo_result *result,
                            struct failure *failure)
{
    if (parser_process_run(job, stop, result, failure) != 0) {
        return -1;
    }
    if (!result->lacks_split || !conversion->is_durable) {
        return 0;
    }
    if (ftruncate(job->output_fd, 0) != 0 ||
        lseek(job->output_fd, 0, SEEK_SET) != 0) {
        return failure_set(failure, FAILURE_IO, "output: %s", strerror(errno));
    }
    job->reads_dwo = true;
    return parser_process_run(job, stop, result, failure);
}

static int convert_checked(const struct conversion *conversion,
                           struct output_file *output,
                           struct parser_process_job *job,
                           const volatile sig_atomic_t *stop,
                           struct failure *failure)
{
    char made[PATH_MAX];
    const char *path = conversion->output;
    struct debuginfo_result result;

    if (check_output(conversion, failure) != 0 ||
        output_file_open(output, path, conversion->folder, failure) != 0) {
        return -1;
    }
    job->output_fd = output->fd;
    if (parse_in_process(conversion, job, stop, &result, failure) != 0) {
        return -1;
    }
    if (result.note[0] != '\0') {
        fprintf(stderr, "%s: %s: note: %s\n", conversion->program,
                conversion_shown(conversion), result.note);
    }
    if (path == NULL) {
        path = made;
        if (make_path(conversion, &result, made, sizeof(made), failure) != 0) {
            return -1;
        }
    }
    if (output_file_publish(output, path, conversion->is_durable, failure) !=
        0) {
        return -1;
    }
    if (conversion->check != NULL) {
        output_check_run(conversion->check, output->fd, &result);
    }
    return 0;
}

enum failure_code conversion_make(const struct conversion *conversion,
                                  int input, int map, int output,
                                  const volatile sig_atomic_t *stop,
                                  struct failure *failure)
{
    struct debuginfo_result result;
    const struct parser_process_job job = {.conversion = conversion,
                                           .input_fd = input,
                                           .map_fd = map,
                                           .output_fd = output};

    failure->code = FAILURE_NONE;
    failure->text[0] = '\0';
    if (parser_process_run(&job, stop, &result, failure) != 0) {
        return failure->code;
    }
    if (result.note[0] != '\0') {
        fprintf(stderr, "%s: %s: note: %s\n", conversion->program,
                conversion_shown(conversion), result.note);
    }
    return FAILURE_NONE;
}

/* Opens an original.  what completes its name in messages, or is "". */
static int open_input(const char *path, const char *what,
                      struct failure *failure)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        failure_set(failure, FAILURE_IO, "%s%scannot be opened: %s", what,
                    *what == '\0' ? "" : ": ", strerror(errno));
    }
    return fd;
}

enum failure_code conversion_run(const struct conversion *conversion,
                                 const volatile sig_atomic_t *stop)
{
    struct output_file output = {-1, 0, ""};
    struct parser_process_job job = {.conversion = conversion, .map_fd = -1};
    struct failure failure = {FAILURE_NONE, ""};

    job.input_fd = open_input(conversion->input, "", &failure);
    if (job.input_fd >= 0 && conversion->map != NULL) {
        job.map_fd = open_input(conversion->map, conversion->map, &failure);
    }
    if (failure.code == FAILURE_NONE) {
        convert_checked(conversion, &output, &job, stop, &failure);
    }
    fd_close(job.map_fd);
    fd_close(job.input_fd);
    output_file_close(&output);
    if (*stop == 0 && failure.text[0] != '\0') {
        fprintf(stderr, "%s: %s: %s\n", conversion->program,
                conversion_shown(conversion), failure.text);
    }
    return failure.code;
}
