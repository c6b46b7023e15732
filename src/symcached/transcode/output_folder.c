/*
 * Copyright (C) the ngx_symcache authors
 */
#include "output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/path.h"

/* bounds of the search */
#define OUTPUT_DEPTH 16
#define OUTPUT_ENTRIES 10000

static bool name_parse(const char *name, const symcache_key_t *key,
                       symcache_version_t *version)
{
    char lower[NAME_MAX + 1];
    symcache_file_e file;
    size_t len = strlen(name), i;

    if (len >= sizeof(lower)) {
        return false;
    }
    for (i = 0; i < len; i++) {
        lower[i] =
            (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a'
                                                    : name[i]);
    }

    return symcache_path_name_parse(lower, len, key, version, &file) &&
           file == SYMCACHE_FILE_PLAIN;
}

static void take_output(struct output *output, const char *dir,
                        const char *name, off_t size)
{
    symcache_version_t version;

    if (!name_parse(name, output->key, &version)) {
        return;
    }

    output->files++;
    output->empty = size == 0;
    output->version = version;
    if (snprintf(output->file, sizeof(output->file), "%s/%s", dir, name) >=
        (int)sizeof(output->file)) {
        output->entries = OUTPUT_ENTRIES;
    }
}

static void walk_output(struct output *output, int fd, const char *path,
                        unsigned depth);

/* What was not looked at says nothing about the transcoder, unless it has
 * removed that or taken our rights. */
static void output_note_error(struct output *output, int errnum)
{
    if (errnum != ENOENT && errnum != ENOTDIR && errnum != ELOOP &&
        errnum != EACCES) {
        output->error = errnum;
    }
}

/* A folder that is too deep or not readable cannot be counted, so it counts as
 * too much. */
static void walk_below(struct output *output, int fd, const char *path,
                       const char *name, unsigned depth)
{
    char below[PATH_MAX];
    int sub =
        openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (sub >= 0 && depth > 0 &&
        snprintf(below, sizeof(below), "%s/%s", path, name) <
            (int)sizeof(below)) {
        walk_output(output, sub, below, depth - 1);
    } else if (sub >= 0) {
        close(sub);
        output->entries = OUTPUT_ENTRIES;
    } else if (errno == EACCES) {
        output->entries = OUTPUT_ENTRIES;
    } else {
        output_note_error(output, errno);
    }
}

/* Follows no symbolic link.  Takes fd over. */
static void walk_output(struct output *output, int fd, const char *path,
                        unsigned depth)
{
    struct dirent *entry;
    struct stat st;
    DIR *dir = fdopendir(fd);

    if (dir == NULL) {
        output_note_error(output, errno);
        close(fd);
        return;
    }

    for (errno = 0; output->entries < OUTPUT_ENTRIES &&
                    (entry = readdir(dir)) != NULL;
         errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0) {
            continue;
        }

        output->entries++;
        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            output_note_error(output, errno);
            continue;
        }
        output->bytes += (uint64_t)st.st_blocks * 512;
        if (S_ISREG(st.st_mode)) {
            take_output(output, path, entry->d_name, st.st_size);
        } else if (S_ISDIR(st.st_mode)) {
            walk_below(output, fd, path, entry->d_name, depth);
        }
    }

    if (errno != 0) {
        output_note_error(output, errno);
    }
    closedir(dir);
}

void output_folder_look(struct output *output, const char *folder,
                        const symcache_key_t *key)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int errnum = errno;

    memset(output, 0, sizeof(*output));
    output->key = key;
    if (fd >= 0) {
        walk_output(output, fd, folder, OUTPUT_DEPTH);
    } else {
        output_note_error(output, errnum);
    }
}

bool output_folder_is_endless(const struct output *output)
{
    return output->entries >= OUTPUT_ENTRIES;
}

const char *output_folder_judge(struct output *output, bool *of_machine)
{
    *of_machine = output->error != 0;
    if (*of_machine) {
        snprintf(output->why, sizeof(output->why),
                 "what the transcoder made cannot be looked at: %s",
                 strerror(output->error));
        return output->why;
    }
    if (output_folder_is_endless(output)) {
        return "the transcoder left more files than are looked at";
    }
    if (output->files == 0) {
        return "the transcoder succeeded without a file of the kind";
    }
    if (output->files > 1) {
        return "the transcoder left more than one file of the kind";
    }
    return output->empty ? "the transcoder left an empty file" : NULL;
}
