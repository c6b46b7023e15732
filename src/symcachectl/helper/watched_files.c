/*
 * Copyright (C) the ngx_symcache authors
 */
#include "watched_files.h"

#include "symcachectl/command.h"

uint64_t watched_files_key(const struct watched_files *files,
                           const struct stat *st)
{
    const uint64_t parts[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino,
                              (uint64_t)st->st_ctim.tv_sec,
                              (uint64_t)st->st_ctim.tv_nsec};

    return table_hash((uintptr_t)files, parts, sizeof(parts));
}

void watched_files_begin(struct watched_files *files)
{
    table_free(&files->before);
    files->before = files->done;
    files->done = (struct table){0};
}

/* Of 64 bits, which nobody can choose, a hash is as good as the key. */
static bool has(const struct table *table, uint64_t key)
{
    size_t at = 0;

    return table_next(table, key, &at) != 0;
}

void watched_files_add(struct watched_files *files, uint64_t key)
{
    if (!has(&files->done, key) && table_add(&files->done, key, 1) != 0) {
        command_no_memory();
    }
}

bool watched_files_meet(struct watched_files *files, uint64_t key)
{
    bool is_done = has(&files->done, key) || has(&files->before, key);

    if (is_done) {
        watched_files_add(files, key);
    }
    return is_done;
}
