/*
 * Copyright (C) the ngx_symcache authors
 */
#include "image.h"

#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"

#define MAGIC_32 0xFEEDFACE
#define MAGIC_64 0xFEEDFACF
#define HEADER_32 28
#define HEADER_64 32
#define COMMAND_MIN 8
#define UUID_COMMAND 24
#define CAPABILITIES 0xFF000000

static bool read_magic(const uint8_t *p, bool *is_big_endian, bool *is_64)
{
    uint32_t little = le32(p), big = __builtin_bswap32(little);

    *is_big_endian = big == MAGIC_32 || big == MAGIC_64;
    *is_64 = little == MAGIC_64 || big == MAGIC_64;
    return *is_big_endian || *is_64 || little == MAGIC_32;
}

bool macho_image_sniff(const uint8_t *data, size_t size)
{
    bool is_big_endian, is_64;

    return size >= 4 && read_magic(data, &is_big_endian, &is_64);
}

uint32_t macho_u32(const struct macho_image *image, const uint8_t *p)
{
    return byte_order_32(p, image->is_big_endian);
}

uint64_t macho_u64(const struct macho_image *image, const uint8_t *p)
{
    return byte_order_64(p, image->is_big_endian);
}

static int cut_off(char *error, size_t size)
{
    snprintf(error, size, "is damaged: its load commands are cut off");
    return -1;
}

int macho_image_open(struct macho_image *image, const uint8_t *data,
                     size_t size, char *error, size_t error_size)
{
    uint32_t all, i = 0;
    struct macho_command command = {.next = 0};

    memset(image, 0, sizeof(*image));
    image->data = data;
    image->size = size;
    if (size < HEADER_32 ||
        !read_magic(data, &image->is_big_endian, &image->is_64)) {
        snprintf(error, error_size, "is not a Mach-O file");
        return -1;
    }
    image->commands = image->is_64 ? HEADER_64 : HEADER_32;
    image->cpu_type = macho_u32(image, data + 4);
    image->cpu_subtype = macho_u32(image, data + 8);
    image->file_type = macho_u32(image, data + 12);
    image->num_commands = macho_u32(image, data + 16);
    all = macho_u32(image, data + 20);
    if (size < image->commands || all > size ||
        image->num_commands > all / COMMAND_MIN) {
        return cut_off(error, error_size);
    }
    while (macho_image_command(image, &command)) {
        i++;
    }
    return i == image->num_commands ? 0 : cut_off(error, error_size);
}

bool macho_image_command(const struct macho_image *image,
                         struct macho_command *command)
{
    size_t at;
    uint32_t size;

    at = command->next == 0 ? image->commands : command->next;
    if (command->number == image->num_commands || at > image->size ||
        image->size - at < COMMAND_MIN) {
        return false;
    }
    command->data = image->data + at;
    command->rest = image->size - at;
    command->type = macho_u32(image, command->data);
    size = macho_u32(image, command->data + 4);
    if (size > command->rest) {
        return false;
    }
    command->number++;
    command->next = at + size;
    return true;
}

bool macho_image_uuid(const struct macho_image *image, uint8_t uuid[16])
{
    struct macho_command command = {.next = 0};

    memset(uuid, 0, 16);
    while (macho_image_command(image, &command)) {
        if (command.type == MACHO_UUID && command.rest >= UUID_COMMAND) {
            memcpy(uuid, command.data + 8, 16);
            return true;
        }
    }
    return false;
}

/* Subtypes are of a processor family; the first of each family's row stands
 * for those that have no number of their own. */
static const struct {
    uint32_t cpu_type;
    uint32_t others;
    struct {
        uint32_t cpu_subtype;
        uint32_t arch;
    } known[10];
} archs[] = {
    {7, 199, {{3, 101}}},
    {0x01000007, 299, {{3, 201}, {8, 202}}},
    {12,
     399,
     {{0, 301},
      {7, 302},
      {6, 303},
      {14, 304},
      {9, 305},
      {10, 306},
      {11, 307},
      {12, 308},
      {15, 309},
      {16, 310}}},
    {0x0100000C, 499, {{0, 401}, {1, 402}, {2, 403}}},
    {0x0200000C, 999, {{0, 901}, {1, 902}}},
    {18, 0, {{0, 501}}},
    {0x01000012, 0, {{0, 601}}},
};

uint32_t macho_arch(uint32_t cpu_type, uint32_t cpu_subtype)
{
    size_t i, j;

    cpu_subtype &= ~CAPABILITIES;
    for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        if (archs[i].cpu_type != cpu_type) {
            continue;
        }
        for (j = 0; j < 10 && archs[i].known[j].arch != 0; j++) {
            if (archs[i].known[j].cpu_subtype == cpu_subtype) {
                return archs[i].known[j].arch;
            }
        }
        return archs[i].others;
    }
    return 0;
}
