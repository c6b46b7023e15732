/*
 * Copyright (C) the ngx_symcache authors
 */
#include "from_symcache_chain.h"

#include <ctype.h>
#include <string.h>

/* Removes a suffix that has a number after it, or none.  Returns false if the
 * name does not end so. */
static bool cut_suffix(struct symc_string *name, const char *suffix,
                       bool has_number)
{
    size_t end = name->size, len = strlen(suffix);

    if (has_number) {
        while (end > 0 && isdigit((unsigned char)name->data[end - 1])) {
            end--;
        }
        if (end == name->size) {
            return false;
        }
    }
    if (end <= len || memcmp(name->data + end - len, suffix, len) != 0) {
        return false;
    }
    name->size = end - len;
    return true;
}

static void cut_suffixes(struct symc_string *name)
{
    while (cut_suffix(name, ".clone.", true) ||
           cut_suffix(name, ".constprop.", true) ||
           cut_suffix(name, ".llvm.", true) ||
           cut_suffix(name, ".isra.", true) ||
           cut_suffix(name, ".part.", true) ||
           cut_suffix(name, ".cold", false)) {
    }
}

static void reverse_chain(struct inline_chain *chain)
{
    size_t i;
    struct inline_chain_link link;

    for (i = 0; i < chain->count / 2; i++) {
        link = chain->links[i];
        chain->links[i] = chain->links[chain->count - 1 - i];
        chain->links[chain->count - 1 - i] = link;
    }
}

int inline_chain_read(const struct symc_reader *symcache, uint32_t location,
                      struct inline_chain *chain, struct failure *failure)
{
    size_t i;
    struct symc_frames frames;
    struct symc_frame frame;
    struct inline_chain_link *link;

    chain->count = 0;
    symc_reader_frames(symcache, location, &frames);
    while (symc_reader_next(&frames, &frame)) {
        if (chain->count == INLINE_CHAIN_MAX) {
            return failure_writer(failure, SYMC_TOO_DEEP);
        }
        link = &chain->links[chain->count++];
        link->function = frame.location.function;
        link->file = frame.location.file;
        link->line = frame.location.line;
        link->name = frame.function.name;
        if (link->name.data != NULL) {
            cut_suffixes(&link->name);
        }
    }
    reverse_chain(chain);
    for (i = 0; i < chain->count && chain->links[i].name.data != NULL &&
                chain->links[i].name.size > 0;
         i++) {
    }
    chain->count = i;
    return 0;
}

int inline_chain_path(const struct symc_reader *symcache, uint32_t index,
                      struct arena *arena, struct symc_string *path,
                      struct failure *failure)
{
    char *text;
    struct symc_file_parts file;

    path->data = NULL;
    path->size = 0;
    if (symc_reader_file(symcache, index, &file) != 0) {
        return 0;
    }
    text = arena_take(arena, 1 + symc_path_room(&file.comp_dir,
                                                &file.directory, &file.name));
    if (text == NULL) {
        return failure_memory(failure);
    }
    path->size =
        symc_path_join(&file.comp_dir, &file.directory, &file.name, text);
    path->data = path->size > 0 ? text : NULL;
    return 0;
}
