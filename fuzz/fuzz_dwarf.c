/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: sections of DWARF, without an object file around them, which
 * mutations would mostly break.  The input is a byte of options and records of
 * {u8 section, u16 little-endian size, bytes}; the last may end early.  What
 * comes of them is the same whether a second thread writes functions or not.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/format.h"
#include "debuginfo/second_thread.h"
#include "image.h"
#include "derived/symcache/symcache.h"

#define IS_BIG 1
#define IS_RELOCATABLE 2
#define HAS_SYMBOLS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const uint8_t *data, size_t size,
                  struct dwarf_object *object)
{
    size_t n;
    static const struct debuginfo_symbol symbols[] = {
        {0x1100, "second", 6, 0},
        {0x1000, "first", 5, 0},
        {0x1010, NULL, 0, 0}};
    static const uint64_t addresses[] = {(uint64_t)0x1000 << 32 | 1,
                                         (uint64_t)0x1010 << 32 | 2,
                                         (uint64_t)0x1100 << 32};

    memset(object, 0, sizeof(*object));
    if (size > 0) {
        object->is_big = data[0] & IS_BIG;
        object->is_relocatable = (data[0] & IS_RELOCATABLE) != 0;
        object->load_address = data[0] & 0xF0;
        if (data[0] & HAS_SYMBOLS) {
            object->symbols = symbols;
            object->addresses = addresses;
            object->num_addresses = sizeof(addresses) / sizeof(addresses[0]);
        }
        data++;
        size--;
    }
    while (size >= 3) {
        n = data[1] | (size_t)data[2] << 8;
        n = n < size - 3 ? n : size - 3;
        object->sections[data[0] % DWARF_SECTIONS].data = data + 3;
        object->sections[data[0] % DWARF_SECTIONS].size = n;
        data += 3 + n;
        size -= 3 + n;
    }
}

/* An output: its bytes go on to the sink, and are counted and hashed. */
struct output {
    const struct symc_sink *sink; /* NULL: they have been there */
    size_t size;
    uint64_t hash;
};

static int write_output(void *context, const void *data, size_t size)
{
    size_t i;
    const uint8_t *bytes = data;
    struct output *o = context;

    for (i = 0; i < size; i++) {
        o->hash = (o->hash ^ bytes[i]) * 0x100000001b3;
    }
    o->size += size;
    return o->sink == NULL ? 0 : o->sink->write(o->sink->context, data, size);
}

static int convert_object(const struct dwarf_object *object,
                          struct output *output,
                          struct debuginfo_result *result,
                          struct failure *failure)
{
    int rc;
    struct symc_writer writer;
    struct symc_identity identity = {{0}, 0, 0};
    struct symc_sink sink = {write_output, output};

    symc_writer_init(&writer);
    rc = dwarf_convert(object, &writer, failure) != 0
             ? -1
             : format_finish(&writer, &identity, &sink, result, failure);
    symc_writer_free(&writer);
    return rc;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

/* The task of the second thread while it is to do nothing else. */
static void hold(void *unused)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

static int convert(const uint8_t *data, size_t size,
                   const struct symc_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    struct dwarf_object object;
    struct output alone = {sink, 0, 0}, beside = {NULL, 0, 0};
    struct debuginfo_result other = *result;
    struct failure why = {FAILURE_NONE, ""};

    second_thread_start();
    parse(data, size, &object);
    pthread_mutex_lock(&held);
    if (!second_thread_run(hold, NULL)) {
        abort(); /* there is no thread */
    }
    rc = convert_object(&object, &alone, result, failure);
    pthread_mutex_unlock(&held);
    second_thread_wait();
    if (convert_object(&object, &beside, &other, &why) != rc ||
        alone.size != beside.size || alone.hash != beside.hash ||
        failure->code != why.code || strcmp(failure->text, why.text) != 0) {
        abort();
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct debuginfo_result result = {0};
    static const struct debuginfo_maker maker = {.convert = convert};

    image_check(&maker, data, size, &result);
    return 0;
}
