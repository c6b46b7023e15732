/*
 * Copyright (C) the ngx_symcache authors
 */
#include <stdlib.h>

#include "frames.h"
#include "symcache/symcache.h"

static const struct symfile_string unknown = {"?", 1};

const struct symfile_string *frames_path(const struct symfile_reader *reader,
                                         uint32_t file,
                                         struct frames_path *path)
{
    char *data;
    size_t room;
    struct symfile_file_parts parts;

    if (path->file == file + 1 && path->file != 0) {
        return &path->path;
    }
    symfile_reader_file(reader, file, &parts);
    room = symfile_path_room(&parts.comp_dir, &parts.directory, &parts.name);
    if (room > path->room) {
        data = realloc(path->data, 2 * room);
        if (data == NULL) {
            return NULL;
        }
        path->data = data;
        path->room = 2 * room;
    }
    path->path.data = path->data;
    path->path.size = symfile_path_join(&parts.comp_dir, &parts.directory,
                                        &parts.name, path->data);
    path->file = file + 1;
    return &path->path;
}

static const struct symfile_string *name_of(const struct symfile_frame *frame)
{
    return frame->function.name.data == NULL ? &unknown
                                             : &frame->function.name;
}

int frames_print(struct output *output, struct symfile_frames *frames,
                 struct frames_path *path, const char *indent, uint32_t max)
{
    uint32_t n;
    struct symfile_frame frame;
    const struct symfile_string *file;

    for (n = 0; symfile_reader_next(frames, &frame); n++) {
        if (n > 0) {
            output_text(output, indent);
        }
        if (n == max) {
            output_text(output, "... and its callers\n");
            break;
        }
        file = frames_path(frames->reader, frame.location.file, path);
        if (file == NULL) {
            return -1;
        }
        output_string(output, name_of(&frame));
        output_text(output, " at ");
        output_string(output, file->size == 0 ? &unknown : file);
        output_text(output, ":");
        output_decimal(output, frame.location.line);
        output_text(output, frame.is_inlined ? " (inlined)\n" : "\n");
    }
    return 0;
}

int frames_print_json(struct output *output, struct symfile_frames *frames,
                      struct frames_path *path)
{
    int is_first;
    struct symfile_frame frame;
    const struct symfile_string *file;

    output_text(output, "[");
    for (is_first = 1; symfile_reader_next(frames, &frame); is_first = 0) {
        file = frames_path(frames->reader, frame.location.file, path);
        if (file == NULL) {
            return -1;
        }
        output_text(output,
                    is_first ? "{\"function\": " : ", {\"function\": ");
        output_json(output, name_of(&frame));
        output_text(output, ", \"entry\": ");
        if (frame.function.entry == SYMFILE_NONE) {
            output_text(output, "null");
        } else {
            output_text(output, "\"");
            output_hex(output, frame.function.entry, 1);
            output_text(output, "\"");
        }
        output_text(output, ", \"language\": \"");
        output_text(output, symfile_language_name(frame.function.language));
        output_text(output, "\", \"file\": ");
        if (file->size == 0) {
            output_text(output, "null");
        } else {
            output_json(output, file);
        }
        output_text(output, ", \"line\": ");
        output_decimal(output, frame.location.line);
        output_text(output, frame.is_inlined ? ", \"inlined\": true}"
                                             : ", \"inlined\": false}");
    }
    output_text(output, "]");
    return 0;
}
