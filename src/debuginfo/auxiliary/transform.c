/*
 * Copyright (C) the ngx_symcache authors
 */
#include "transform.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "line_mapping.h"
#include "proto/key.h"
#include "symbol_map.h"
#include "uuid_map.h"

/* Unity's generated files lie below such a folder, and its own below another
 * one with that in its name. */
#define IL2CPP "il2cpp"

struct auxiliary_files {
    struct symbol_map symbols;
    struct line_mapping *lines;
    char *path; /* room for that of a source */
    size_t room;
    bool has_hidden; /* names were written that no map resolves */
    bool has_il2cpp;
};

static void transform_replace(void *arg, const char **text, uint32_t *size)
{
    struct auxiliary_files *files = arg;

    if (!symbol_map_resolve(&files->symbols, text, size) &&
        symbol_map_hides(*text, *size)) {
        files->has_hidden = true;
    }
}

static void transform_see_path(void *arg, const char *text, uint32_t size)
{
    struct auxiliary_files *files = arg;
    size_t i;

    for (i = 0; !files->has_il2cpp && i + sizeof(IL2CPP) - 1 <= size; i++) {
        files->has_il2cpp =
            (text[i] | 0x20) == IL2CPP[0] &&
            strncasecmp(text + i, IL2CPP, sizeof(IL2CPP) - 1) == 0;
    }
}

static struct symc_string transform_part(struct auxiliary_files *files,
                                         const struct symc_text *text)
{
    struct symc_text t = *text;

    if (t.data == NULL) {
        return (struct symc_string){"", 0};
    }
    transform_replace(files, &t.data, &t.size);
    return (struct symc_string){t.data, t.size};
}

static struct symc_source *
replace_line(void *arg, const struct symc_source *source, uint32_t *line)
{
    struct auxiliary_files *files = arg;
    struct symc_string comp = transform_part(files, &source->comp_dir);
    struct symc_string directory = transform_part(files, &source->directory);
    struct symc_string name = transform_part(files, &source->name);

    return array_need(&files->path, &files->room,
                      symc_path_room(&comp, &directory, &name), 1) == 0
               ? line_mapping_find(
                     files->lines, files->path,
                     symc_path_join(&comp, &directory, &name, files->path),
                     line)
               : NULL;
}

static struct auxiliary_files files; /* of the one conversion */

/* Appends a sentence to a note: what a file is, and what is said of it. */
static void transform_add(char *note, size_t size, const char *what,
                          const char *said)
{
    size_t n = strlen(note);

    snprintf(note + n, size - n, "%s%s%.200s", n > 0 ? "; " : "", what, said);
}

void transform_note(const struct supplement *s, char *note, size_t size)
{
    const struct supplement_file *map = &s->uuid_map;
    uint8_t uuid[16];
    char why[160];
    size_t n, i;

    if (s->is_like_symbolic) {
        return;
    }
    if (files.has_hidden && s->symbol_map.data == NULL) {
        if (map->data == NULL) {
            transform_add(note, size, HIDDEN_NOTE, "");
        } else if (uuid_map_read(map->data, map->size, uuid, why,
                                 sizeof(why)) != 0) {
            transform_add(note, size, UUID_MAP_SAYS, why);
        } else {
            transform_add(note, size, "", "");
            n = strlen(note);
            n += (size_t)snprintf(note + n, size - n, SYMBOL_MAP_NOTE);
            for (i = 0; i < sizeof(uuid) && n + 3 <= size; i++) {
                n += (size_t)snprintf(note + n, size - n, "%02x", uuid[i]);
            }
        }
    }
    if (files.has_il2cpp && s->line_mapping.data == NULL) {
        transform_add(note, size, IL2CPP_NOTE, "");
    }
}

/* One that names another module is used all the same, as the "symbolic"
 * library does: its id is there to tell the files of architectures apart. */
static void transform_tell_of_id(const struct supplement *s, char *note,
                                 size_t size)
{
    uint8_t guid[16];
    uint32_t age;
    size_t length;
    const char *id =
        line_mapping_id(s->line_mapping.data, s->line_mapping.size, &length);
    char said[160];

    if (id != NULL && s->wanted_id != NULL &&
        symcache_debug_id_read(id, length, guid, &age) &&
        memcmp(guid, s->wanted_id, sizeof(guid)) != 0) {
        snprintf(said, sizeof(said), "is used, but names the module %.*s",
                 (int)length, id);
        transform_add(note, size, LINE_MAPPING_SAYS, said);
    }
}

void transform_take(struct supplement *s, char *note, size_t size)
{
    static struct symc_transform transform;
    char why[160];

    if (!s->is_like_symbolic) {
        transform.text = transform_replace;
        transform.see = transform_see_path;
    }
    if (s->symbol_map.data != NULL) {
        if (symbol_map_open(&files.symbols, s->symbol_map.data,
                            s->symbol_map.size, why, sizeof(why)) == 0) {
            transform.text = transform_replace;
        } else {
            transform_add(note, size, SYMBOL_MAP_SAYS, why);
        }
    }
    if (s->line_mapping.data != NULL) {
        files.lines = line_mapping_open(
            s->line_mapping.data, s->line_mapping.size, why, sizeof(why));
        if (files.lines != NULL) {
            transform.line = replace_line;
            transform_tell_of_id(s, note, size);
        } else {
            transform_add(note, size, LINE_MAPPING_SAYS, why);
        }
    }
    transform.arg = &files;
    s->transform = &transform;
}
