/*
 * Copyright (C) the ngx_symcache authors
 */
#include "transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "line_mapping.h"
#include "symbol_map.h"

struct files {
    struct symbol_map symbols;
    struct line_mapping *lines;
    char *path; /* room for that of a source */
    size_t room;
};

static void replace_text(void *arg, const char **text, uint32_t *size)
{
    const struct files *files = arg;

    (void)symbol_map_resolve(&files->symbols, text, size);
}

static struct symc_string part(struct files *files,
                               const struct symc_text *text)
{
    struct symc_text t = *text;

    if (t.data == NULL) {
        return (struct symc_string){"", 0};
    }
    replace_text(files, &t.data, &t.size);
    return (struct symc_string){t.data, t.size};
}

static struct symc_source *
replace_line(void *arg, const struct symc_source *source, uint32_t *line)
{
    struct files *files = arg;
    struct symc_string comp = part(files, &source->comp_dir);
    struct symc_string directory = part(files, &source->directory);
    struct symc_string name = part(files, &source->name);

    return symc_array_need(&files->path, &files->room,
                           symc_path_room(&comp, &directory, &name), 1) == 0
               ? line_mapping_find(
                     files->lines, files->path,
                     symc_path_join(&comp, &directory, &name, files->path),
                     line)
               : NULL;
}

bool transform_take(struct supplement *s, char *error, size_t size)
{
    static struct files files;
    static struct symc_transform transform;
    char why[160];
    bool is_good = true;

    if (s->symbol_map.data != NULL) {
        if (symbol_map_open(&files.symbols, s->symbol_map.data,
                            s->symbol_map.size, why, sizeof(why)) == 0) {
            transform.text = replace_text;
        } else {
            snprintf(error, size, "the symbol map %s", why);
            is_good = false;
        }
    }
    if (s->line_mapping.data != NULL) {
        files.lines = line_mapping_open(
            s->line_mapping.data, s->line_mapping.size, why, sizeof(why));
        if (files.lines != NULL) {
            transform.line = replace_line;
        } else {
            snprintf(error, size, "the line mapping %s", why);
            is_good = false;
        }
    }
    transform.arg = &files;
    s->transform = &transform;
    return is_good;
}
