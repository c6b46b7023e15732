/*
 * Copyright (C) the ngx_symcache authors
 */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/pdb/pdb.h"
#include "derived/symcache/writer.h"
#include "derived/symcache/verify.h"

#define BLOCK 512
#define ROOM (8u << 20)
#define STREAMS 14
#define OUTPUT_ROOM (16u << 20)
#define LIST(...) ((const uint8_t[]){__VA_ARGS__})
#define W(n) (uint8_t)(n), (uint8_t)((n) >> 8)
#define D(n) W(n), (uint8_t)((n) >> 16), (uint8_t)((n) >> 24)

enum stream {
    S_OLD,
    S_INFO,
    S_TYPES,
    S_DBI,
    S_IDS,
    S_RECORDS,
    S_NAMES,
    S_SECTIONS,
    S_MODULE,
    S_MODULE2,
    S_OMAP_TO,
    S_OMAP_FROM,
    S_ORIGINAL,
    S_SRCSRV
};

static const char magic[] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
                            "DS\0\0";

static const uint8_t info[] = {
    D(20000404), D(1), D(1),        1,     2,          3,    4,    5,
    6,           7,    8,           9,     10,         11,   12,   13,
    14,          15,   16,          D(14), '/',        'n',  'a',  'm',
    'e',         's',  0,           's',   'r',        'c',  's',  'r',
    'v',         0,    D(2),        D(4),  D(1),       D(3), D(0), D(0),
    D(S_NAMES),  D(7), D(S_SRCSRV), D(0),  D(20140508)};

static const uint8_t names[] = {
    D(0xEFFEEFFE), D(1), D(36), 0,   'c', ':', '\\', 'a', '\\', 'm',
    '.',           'c',  0,     '/', 'b', '/', 'm',  '.', 'h',  0,
    'a',           '.',  'o',   'b', 'j', 0,   'b',  '.', 'o',  'b',
    'j',           0,    'x',   0,   0,   0,   0,    0,   0,    D(0)};

/* 1000 arguments (int, 1004*), 1001 procedure, 1002 class "C", 1003 this
 * pointer, 1004 const C, 1005 method, 1006 array, 1007 enum, 1008 union */
static const uint8_t types[] = {
    W(14),     W(0x1201),  D(2),      D(0x74),   D(0x1009), W(14),
    W(0x1008), D(3),       0,         0,         W(2),      D(0x1000),
    W(22),     W(0x1504),  W(0),      W(0),      D(0),      D(0),
    D(0),      W(4),       'C',       0,         W(10),     W(0x1002),
    D(0x1004), D(0x1000c), W(8),      W(0x1001), D(0x1002), W(1),
    W(26),     W(0x1009),  D(3),      D(0x1002), D(0x1003), 0,
    0,         W(2),       D(0x1000), D(0),      W(14),     W(0x1503),
    D(0x74),   D(0x22),    W(24),     0,         0xf1,      W(16),
    W(0x1507), W(0),       W(0),      D(0x74),   D(0),      'E',
    0,         W(14),      W(0x1506), W(0),      W(0),      D(0),
    W(4),      'U',        0,         W(10),     W(0x1002), D(0x1006),
    D(0x1000c)};

/* 1000 text "ns", 1001 ns::f, 1002 C::m */
static const uint8_t ids[] = {
    W(10),     W(0x1605), D(0),      'n',       's', 0, 0xf1,
    W(12),     W(0x1601), D(0x1000), D(0x1001), 'f', 0, W(12),
    W(0x1602), D(0x1002), D(0x1005), 'm',       0};

static const uint8_t records[] = {
    W(18), W(0x110E), D(2), D(0x10),  W(1), '_', 'p', '@', '4', 0, 0,
    W(18), W(0x110E), D(2), D(0x300), W(1), '?', 'q', 0,   0,   0, 0};

static const uint8_t sections[] = {
    '.',       't',       'e',  'x',  't',  0,    0,    0,
    D(0x1000), D(0x1000), D(0), D(0), D(0), D(0), D(0), D(0x60000020),
    '.',       'd',       'a',  't',  'a',  0,    0,    0,
    D(0x1000), D(0x2000), D(0), D(0), D(0), D(0), D(0), D(0xC0000040)};

/* f at 1:10, size 60, with a site of 1001 that has one of 1002 inside */
static const uint8_t symbols[] = {
    W(42),     W(0x1110), D(0),      D(0), D(0), D(0x60),   D(0),  D(0),
    D(0x1001), D(0x10),   W(1),      0,    'f',  0,         0,     0,
    0,         W(22),     W(0x114D), D(0), D(0), D(0x1001), 0x03,  0x08,
    0x04,      0x20,      0x06,      0x02, 0x0b, 0x23,      W(18), W(0x114D),
    D(0),      D(0),      D(0x1002), 0x03, 0x10, 0x04,      0x08,  W(2),
    W(0x114E), W(2),      W(0x114E), W(2), W(6)};

static const uint8_t lines[] = {D(0xF4),
                                D(16),
                                D(1),
                                0,
                                0,
                                0,
                                0,
                                D(10),
                                0,
                                0,
                                0,
                                0,
                                D(0xF2),
                                D(48),
                                D(0x10),
                                W(1),
                                W(0),
                                D(0x60),
                                D(0),
                                D(3),
                                D(36),
                                D(0),
                                D(0x8000000A),
                                D(0x10),
                                D(0x8000000B),
                                D(0x40),
                                D(0x8000000C),
                                D(0xF6),
                                D(28),
                                D(0),
                                D(0x1001),
                                D(8),
                                D(3),
                                D(0x1002),
                                D(8),
                                D(30)};

static const struct image_bytes sound[IMAGE_PARTS] = {
    [IMAGE_INFO] = {info, sizeof(info)},
    [IMAGE_NAMES] = {names, sizeof(names)},
    [IMAGE_TYPES] = {types, sizeof(types)},
    [IMAGE_IDS] = {ids, sizeof(ids)},
    [IMAGE_RECORDS] = {records, sizeof(records)},
    [IMAGE_SECTIONS] = {sections, sizeof(sections)},
    [IMAGE_SYMBOLS] = {symbols, sizeof(symbols)},
    [IMAGE_LINES] = {lines, sizeof(lines)},
};

static uint8_t *file;
static uint32_t next_block;
static uint32_t stream_sizes[STREAMS];
static uint32_t stream_places[STREAMS]; /* in work */
static uint8_t *work;
static uint8_t *output;
static uint32_t work_size;

static void put32(uint8_t *p, uint32_t n)
{
    p[0] = (uint8_t)n;
    p[1] = (uint8_t)(n >> 8);
    p[2] = (uint8_t)(n >> 16);
    p[3] = (uint8_t)(n >> 24);
}

static void begin(enum stream stream)
{
    stream_places[stream] = work_size;
    stream_sizes[stream] = 0;
}

static void append(enum stream stream, const void *data, uint32_t size)
{
    if (size > 0) {
        memcpy(work + work_size, data, size);
    }
    work_size += size;
    stream_sizes[stream] += size;
}

static void append32(enum stream stream, uint32_t n)
{
    uint8_t word[4];

    put32(word, n);
    append(stream, word, sizeof(word));
}

static void append_part(enum stream stream, struct image_bytes part)
{
    append(stream, part.data, part.size);
}

/* Records of a type stream, so that the header can count them. */
static uint32_t count_records(struct image_bytes part)
{
    uint32_t n, at;

    n = 0;
    for (at = 0; at + 4 <= part.size; n++) {
        at += 2 + (part.data[at] | (uint32_t)part.data[at + 1] << 8);
    }
    return n;
}

static void put_types(enum stream stream, struct image_bytes part)
{
    begin(stream);
    append32(stream, 20040203);
    append32(stream, 56);
    append32(stream, 0x1000);
    append32(stream, 0x1000 + count_records(part));
    append32(stream, part.size);
    append(stream, LIST(W(0xFFFF), W(0xFFFF), D(4), D(0x1000)), 12);
    while (stream_sizes[stream] < 56) {
        append32(stream, 0);
    }
    append_part(stream, part);
}

static void put_module(enum stream stream, struct image_bytes syms,
                       struct image_bytes c13)
{
    begin(stream);
    append32(stream, 4);
    append_part(stream, syms);
    append_part(stream, c13);
    append32(stream, 0); /* no global references */
}

static void put_module_info(enum stream module, uint32_t syms, uint32_t c13,
                            const char name[5])
{
    static const uint8_t zero[36];

    append(S_DBI, zero, 34);
    append(S_DBI, LIST(W(module)), 2);
    append32(S_DBI, syms + 4);
    append32(S_DBI, 0);
    append32(S_DBI, c13);
    append(S_DBI, zero, 16);
    append(S_DBI, name, 6);
    append(S_DBI, "a.lib", 6);
}

static void put_dbi(const struct image *image, const struct image_bytes *parts)
{
    int has_omap;
    uint32_t i, start;
    const uint16_t none = 0xFFFF;
    uint16_t slots[11];

    begin(S_DBI);
    if (parts[IMAGE_DBI].data != NULL) {
        append_part(S_DBI, parts[IMAGE_DBI]);
        return;
    }
    append32(S_DBI, 0xFFFFFFFF);
    append32(S_DBI, 19990903);
    append32(S_DBI, 1);
    append(S_DBI, LIST(W(0xFFFF), W(0), W(0xFFFF), W(0), W(S_RECORDS), W(0)),
           12);
    start = stream_places[S_DBI];
    for (i = 24; i < 64; i += 4) {
        append32(S_DBI, 0);
    }
    put_module_info(S_MODULE, parts[IMAGE_SYMBOLS].size,
                    parts[IMAGE_LINES].size, "a.obj");
    put_module_info(S_MODULE2, parts[IMAGE_SYMBOLS2].size,
                    parts[IMAGE_LINES2].size, "b.obj");
    put32(work + start + 24, stream_sizes[S_DBI] - 64);
    append32(S_DBI, 0xF12EBA2D); /* no section contributions */
    put32(work + start + 28, 4);
    append32(S_DBI, 0); /* no section map */
    put32(work + start + 32, 4);
    append(S_DBI, LIST(W(2), W(0), W(0), W(1), W(0), W(0)), 12);
    put32(work + start + 36, 12);
    has_omap = parts[IMAGE_OMAP_FROM].data != NULL;
    for (i = 0; i < 11; i++) {
        slots[i] = none;
    }
    slots[5] = S_SECTIONS;
    if (has_omap) {
        slots[3] = S_OMAP_TO;
        slots[4] = S_OMAP_FROM;
        slots[10] = S_ORIGINAL;
    }
    append(S_DBI, slots, sizeof(slots));
    put32(work + start + 48, sizeof(slots));
    put32(work + start + 56, image->machine << 16);
}

static uint32_t take_block(void)
{
    uint32_t block;

    if (next_block % BLOCK == 1) {
        next_block += 2;
    }
    block = next_block++;
    return block;
}

static void write_blocks(const uint8_t *data, uint32_t size, uint8_t *list,
                         uint32_t shuffle)
{
    uint32_t i, n, block, piece;

    n = (size + BLOCK - 1) / BLOCK;
    for (i = 0; i < n; i++) {
        if (shuffle != 0 && i % 3 == shuffle % 3) {
            take_block(); /* a hole */
        }
        block = take_block();
        piece = size - i * BLOCK < BLOCK ? size - i * BLOCK : BLOCK;
        memset(file + (size_t)block * BLOCK, 0, BLOCK);
        memcpy(file + (size_t)block * BLOCK, data + (size_t)i * BLOCK, piece);
        put32(list + 4 * i, block);
    }
}

static void put_streams(const struct image *image,
                        const struct image_bytes *parts)
{
    work_size = 0;
    begin(S_OLD);
    begin(S_INFO);
    append_part(S_INFO, parts[IMAGE_INFO]);
    put_types(S_TYPES, parts[IMAGE_TYPES]);
    put_types(S_IDS, parts[IMAGE_IDS]);
    put_dbi(image, parts);
    begin(S_RECORDS);
    append_part(S_RECORDS, parts[IMAGE_RECORDS]);
    begin(S_NAMES);
    append_part(S_NAMES, parts[IMAGE_NAMES]);
    begin(S_SECTIONS);
    append_part(S_SECTIONS, parts[IMAGE_SECTIONS]);
    put_module(S_MODULE, parts[IMAGE_SYMBOLS], parts[IMAGE_LINES]);
    put_module(S_MODULE2, parts[IMAGE_SYMBOLS2], parts[IMAGE_LINES2]);
    begin(S_OMAP_TO);
    append_part(S_OMAP_TO, parts[IMAGE_OMAP_TO]);
    begin(S_OMAP_FROM);
    append_part(S_OMAP_FROM, parts[IMAGE_OMAP_FROM]);
    begin(S_ORIGINAL);
    append_part(S_ORIGINAL, parts[IMAGE_SECTIONS]);
    begin(S_SRCSRV);
    append_part(S_SRCSRV, parts[IMAGE_SRCSRV]);
}

void image_init(struct image *image)
{
    memset(image, 0, sizeof(*image));
    image->machine = 0x8664;
}

void image_parse(struct image *image, const uint8_t *data, size_t size)
{
    uint32_t n;
    uint8_t part;

    if (size > 0) {
        image->shuffle = data[0] & 3;
        image->machine = data[0] & 4 ? 0x14C : 0x8664;
        data++;
        size--;
    }
    while (size >= 3) {
        part = data[0] % IMAGE_PARTS;
        n = data[1] | (uint32_t)data[2] << 8;
        data += 3;
        size -= 3;
        n = n < size ? n : (uint32_t)size;
        image->parts[part].data = data;
        image->parts[part].size = n;
        data += n;
        size -= n;
    }
}

size_t image_print(const struct image *image, uint8_t *to, size_t room)
{
    size_t n;
    uint32_t i;
    const struct image_bytes *part;

    if (room == 0) {
        return 0;
    }
    to[0] = (uint8_t)(image->shuffle | (image->machine == 0x14C ? 4 : 0));
    n = 1;
    for (i = 0; i < IMAGE_PARTS; i++) {
        part = &image->parts[i];
        if (part->data == NULL) {
            continue;
        }
        if (part->size > 0xFFFF || room - n < part->size + 3) {
            return 0;
        }
        to[n] = (uint8_t)i;
        to[n + 1] = (uint8_t)part->size;
        to[n + 2] = (uint8_t)(part->size >> 8);
        memcpy(to + n + 3, part->data, part->size);
        n += part->size + 3;
    }
    return n;
}

const uint8_t *image_build(const struct image *image, size_t *size)
{
    uint32_t i, n, at;
    struct image_bytes parts[IMAGE_PARTS];
    static uint8_t list[64 * 1024];
    static uint8_t blocks[64 * 1024];

    if (file == NULL) {
        file = malloc(ROOM);
        work = malloc(ROOM / 4);
        if (file == NULL || work == NULL) {
            abort();
        }
    }
    for (i = 0; i < IMAGE_PARTS; i++) {
        parts[i] = image->parts[i].data != NULL ? image->parts[i] : sound[i];
        parts[i].size = parts[i].size < 0x10000 ? parts[i].size : 0x10000;
    }
    put_streams(image, parts);
    next_block = 3;
    put32(list, STREAMS);
    at = 4 + 4 * STREAMS;
    for (i = 0; i < STREAMS; i++) {
        put32(list + 4 + 4 * i, stream_sizes[i]);
        write_blocks(work + stream_places[i], stream_sizes[i], list + at,
                     image->shuffle);
        at += 4 * ((stream_sizes[i] + BLOCK - 1) / BLOCK);
    }
    write_blocks(list, at, blocks, 0);
    n = (at + BLOCK - 1) / BLOCK;
    write_blocks(blocks, 4 * n, list, 0);
    memset(file, 0, 3 * BLOCK);
    memcpy(file, magic, 32);
    put32(file + 32, BLOCK);
    put32(file + 36, 1);
    put32(file + 40, next_block);
    put32(file + 44, at);
    memcpy(file + 52, list, 4 * ((4 * n + BLOCK - 1) / BLOCK));
    *size = (size_t)next_block * BLOCK;
    return file;
}

static int write_output(void *context, const void *data, size_t size)
{
    uint32_t *total;

    total = context;
    if (size > OUTPUT_ROOM - *total) {
        return -1;
    }
    memcpy(output + *total, data, size);
    *total += (uint32_t)size;
    return 0;
}

static void check_output(uint32_t size)
{
    char error[200];
    struct symc_reader reader;

    if (symc_reader_open(&reader, output, size, error, sizeof(error)) !=
            SYMC_OPENED ||
        symc_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        fprintf(stderr, "output: %s\n", error);
        abort();
    }
}

int image_check(const struct debuginfo_maker *maker, const uint8_t *data,
                size_t size, struct debuginfo_result *result)
{
    int rc;
    uint32_t written;
    struct failure failure;
    struct symc_sink sink = {write_output, &written};

    if (output == NULL) {
        output = malloc(OUTPUT_ROOM);
        if (output == NULL) {
            abort();
        }
    }
    written = 0;
    memset(result, 0, sizeof(*result)); /* the converter's part of it */
    memset(&failure, 0, sizeof(failure));
    rc = maker->convert(data, size, &sink, result, &failure);
    if (rc == 0) {
        check_output(written);
    } else if (failure.text[0] == '\0' || failure.code == FAILURE_NONE) {
        abort();
    }
    return rc;
}

void image_convert(const struct image *image)
{
    size_t size;
    const uint8_t *data;
    struct debuginfo_result result = {0};

    data = image_build(image, &size);
    (void)image_check(pdb_format.makes, data, size, &result);
}

void image_convert_part(enum image_part part, const uint8_t *data, size_t size)
{
    struct image image;

    if (size > UINT16_MAX) {
        return;
    }
    image_init(&image);
    image.parts[part].data = data;
    image.parts[part].size = (uint32_t)size;
    image_convert(&image);
}
