/*
 * Copyright (C) the ngx_symcache authors
 */
#include "print_frames.h"

static const struct symc_string unknown = {"?", 1};

static const struct symc_string *name_of(const struct symc_frame *frame)
{
    return frame->function.name.data == NULL ? &unknown
                                             : &frame->function.name;
}

int frames_print(struct output *output, struct symc_frames *frames,
                 struct source_path *path, const char *indent, uint32_t max)
{
    uint32_t n;
    struct symc_frame frame;
    const struct symc_string *file;

    for (n = 0; symc_reader_next(frames, &frame); n++) {
        if (n > 0) {
            output_text(output, indent);
        }
        if (n == max) {
            output_text(output, "... and its callers\n");
            break;
        }
        file = source_path(path, frames->reader, frame.location.file);
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

int frames_print_json(struct output *output, struct symc_frames *frames,
                      struct source_path *path)
{
    int is_first;
    struct symc_frame frame;
    const struct symc_string *file;

    output_text(output, "[");
    for (is_first = 1; symc_reader_next(frames, &frame); is_first = 0) {
        file = source_path(path, frames->reader, frame.location.file);
        if (file == NULL) {
            return -1;
        }
        output_text(output,
                    is_first ? "{\"function\": " : ", {\"function\": ");
        output_json(output, name_of(&frame));
        output_text(output, ", \"entry\": ");
        if (frame.function.entry == SYMC_NONE) {
            output_text(output, "null");
        } else {
            output_text(output, "\"");
            output_hex(output, frame.function.entry, 1);
            output_text(output, "\"");
        }
        output_text(output, ", \"language\": \"");
        output_text(output, symc_language_name(frame.function.language));
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
