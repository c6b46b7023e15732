/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const struct symc_string *source_path(struct source_path *path,
                                      const struct symc_reader *reader,
                                      uint32_t file)
{
    size_t room;
    struct symc_file_parts parts;

    if (path->reader == reader && path->file == file) {
        return &path->path;
    }
    symc_reader_file(reader, file, &parts);
    room = symc_path_room(&parts.comp_dir, &parts.directory, &parts.name);
    if (array_need(&path->data, &path->room, room, 1) != 0) {
        return NULL;
    }
    path->path.data = path->data;
    path->path.size = symc_path_join(&parts.comp_dir, &parts.directory,
                                     &parts.name, path->data);
    path->reader = reader;
    path->file = file;
    return &path->path;
}

void source_path_free(struct source_path *path)
{
    free(path->data);
    memset(path, 0, sizeof(*path));
}

struct symc_string source_path_name(const struct symc_string *path)
{
    const char *begin, *slash;
    size_t size;
    struct symc_string name;

    begin = path->data;
    size = path->size;
    slash = size > 0 ? memrchr(begin, '\\', size) : NULL;
    if (slash != NULL) {
        begin = slash + 1;
        size = path->size - (size_t)(begin - path->data);
    }
    slash = size > 0 ? memrchr(begin, '/', size) : NULL;
    if (slash != NULL) {
        begin = slash + 1;
    }
    name.data = begin;
    name.size = path->size - (size_t)(begin - path->data);
    return name;
}
