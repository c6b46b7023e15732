/*
 * Copyright (C) the ngx_symcache authors
 */
#include "image.h"

#include <string.h>

#include "base/utf8.h"
#include "debuginfo/supplement.h"
#include "sections.h"

#define LC_THREAD 0x4
#define LC_UNIXTHREAD 0x5
#define LC_LOAD_DYLIB 0xC
#define LC_ID_DYLIB 0xD
#define LC_LAZY_LOAD_DYLIB 0x20
#define LC_LOAD_WEAK_DYLIB 0x80000018
#define LC_RPATH 0x8000001C
#define LC_REEXPORT_DYLIB 0x8000001F
#define LC_LOAD_UPWARD_DYLIB 0x80000023
#define LC_MAIN 0x80000028

#define SYMTAB_COMMAND 24
#define DYLIB_COMMAND 24
#define RPATH_COMMAND 12
#define MAIN_COMMAND 24
#define THREAD_COMMAND 16
#define THREAD_WORDS_MAX 70

struct validated_image {
    const struct macho_image *image;
    uint64_t sections; /* that are read */
    uint64_t names;    /* bytes */
    bool has_main;
    bool has_text;
};

static const char *check_segment(struct validated_image *validated,
                                 const struct macho_command *command)
{
    uint64_t most;
    struct macho_segment segment;

    if (macho_segment_read(validated->image, command, &segment) < 0) {
        return "a segment is cut off";
    }
    if (!macho_segment_in_file(validated->image, &segment)) {
        return "a segment is not in the file: it was cut off";
    }
    validated->has_text |= memcmp(segment.name, "__TEXT", 7) == 0;
    most = validated->image->size / MACHO_SECTION_MIN;
    validated->sections +=
        segment.num_sections < most ? segment.num_sections : most;
    return NULL;
}

static const char *check_symtab(const struct validated_image *validated,
                                const struct macho_command *command)
{
    uint32_t symbols, strings;

    if (command->rest < SYMTAB_COMMAND) {
        return "the symbol table's command is cut off";
    }
    symbols = macho_u32(validated->image, command->data + 8);
    strings = macho_u32(validated->image, command->data + 16);
    return symbols <= validated->image->size && strings >= symbols
               ? NULL
               : "its symbol table is not in the file, or after its names";
}

/* The name of a library or path, at an offset from the command's start. */
static const char *check_name(struct validated_image *validated,
                              const struct macho_command *command, size_t size)
{
    uint32_t offset;
    size_t length;

    if (command->rest < size) {
        return "the name of a library is cut off";
    }
    offset = macho_u32(validated->image, command->data + 8);
    if (offset > command->rest) {
        return "the name of a library is not in the file";
    }
    length = strnlen((const char *)command->data + offset,
                     command->rest - offset);
    validated->names += length;
    return utf8_valid(command->data + offset, length) == length
               ? NULL
               : "the name of a library is not UTF-8";
}

static const char *check_thread(const struct validated_image *validated,
                                const struct macho_command *command)
{
    uint32_t words;

    if (command->rest < THREAD_COMMAND) {
        return "the state of a thread is cut off";
    }
    words = macho_u32(validated->image, command->data + 12);
    return words <= THREAD_WORDS_MAX &&
                   command->rest - THREAD_COMMAND >= 4 * (size_t)words
               ? NULL
               : "the state of a thread is too large";
}

static const char *check_command(struct validated_image *validated,
                                 const struct macho_command *command)
{
    switch (command->type) {
    case MACHO_SEGMENT:
    case MACHO_SEGMENT_64:
        return check_segment(validated, command);
    case MACHO_SYMTAB:
        return check_symtab(validated, command);
    case LC_LOAD_DYLIB:
    case LC_ID_DYLIB:
    case LC_LAZY_LOAD_DYLIB:
    case LC_LOAD_WEAK_DYLIB:
    case LC_REEXPORT_DYLIB:
    case LC_LOAD_UPWARD_DYLIB:
        return check_name(validated, command, DYLIB_COMMAND);
    case LC_RPATH:
        return check_name(validated, command, RPATH_COMMAND);
    case LC_THREAD:
    case LC_UNIXTHREAD:
        return check_thread(validated, command);
    case LC_MAIN:
        validated->has_main = true;
        return command->rest >= MAIN_COMMAND ? NULL : "LC_MAIN is cut off";
    default:
        return NULL;
    }
}

int macho_open_valid(struct macho_image *image, const uint8_t *data,
                     size_t size, struct failure *failure)
{
    char error[200];
    const char *wrong;
    struct validated_image validated = {.image = image};
    struct macho_command command = {.next = 0};

    if (macho_image_open(image, data, size, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    while (macho_image_command(image, &command)) {
        /* of which the reference takes what there is */
        if (!supplement_get()->is_like_symbolic &&
            macho_symbols_are_cut(image, &command)) {
            return failure_set(failure, FAILURE_TRUNCATED,
                               "is truncated: it ends before its symbols do");
        }
        wrong = check_command(&validated, &command);
        if (wrong != NULL) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is damaged: load command %u: %s",
                               command.number, wrong);
        }
        if (validated.sections / MACHO_TIMES >
                image->size / MACHO_SECTION_MIN ||
            validated.names / MACHO_TIMES > image->size) {
            return failure_work(failure);
        }
    }
    if (validated.has_main && !validated.has_text) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: a program without a segment __TEXT");
    }
    return 0;
}
