/*
 * Copyright (C) the ngx_symcache authors
 */
#include "minidump.h"

#include <string.h>

#include "base/byte_order.h"
#include "bytes.h"

#define HEADER 32
#define DIRECTORY_ENTRY 12
#define THREAD_ENTRY 48
#define NAME_ENTRY 12
#define EXCEPTION_SIZE 168
#define BREAKPAD_SIZE 12

#define SIGNATURE 0x504d444d /* "MDMP" */
#define VERSION 0xa793

static const char no_memory[] = "out of memory";
static const struct bytes_limit threads_limit = {MINIDUMP_THREADS, "threads"};

static const char *minidump_read_header(struct minidump *dump)
{
    uint64_t count, offset;

    if (dump->size < HEADER) {
        return "Missing minidump header (empty minidump?)";
    }
    dump->is_big_endian = byte_order_32(dump->data, true) == SIGNATURE;
    if (get32(dump, dump->data) != SIGNATURE) {
        return "Header mismatch";
    }
    if ((get32(dump, dump->data + 4) & 0xffff) != VERSION) {
        return "Minidump version mismatch";
    }
    count = get32(dump, dump->data + 8);
    offset = get32(dump, dump->data + 12);
    dump->time = get32(dump, dump->data + 20);
    if (count > 0 &&
        bytes_at(dump, offset, count * DIRECTORY_ENTRY).data == NULL) {
        return "Missing stream directory (heavily truncated minidump?)";
    }
    dump->cut = count > MINIDUMP_STREAMS ? "streams" : NULL;
    return NULL;
}

static void minidump_read_exception(struct minidump *dump)
{
    struct minidump_bytes stream = bytes_stream(dump, STREAM_EXCEPTION);
    struct minidump_exception *e = &dump->exception;
    const uint8_t *p = stream.data;
    unsigned i;

    if (stream.size < EXCEPTION_SIZE) {
        return;
    }
    dump->has_exception = true;
    e->thread = get32(dump, p);
    e->code = get32(dump, p + 8);
    e->flags = get32(dump, p + 12);
    e->address = get64(dump, p + 24);
    e->num_parameters = get32(dump, p + 32);
    for (i = 0; i < 15; i++) {
        e->parameters[i] = get64(dump, p + 40 + i * 8);
    }
    e->context = bytes_located(dump, p + 160);
    reason_write(dump);
}

/* Threads as BreakpadInfo describes them. */
struct roles {
    bool has_writer, has_requesting;
    uint32_t writer, requesting;
};

static void minidump_read_roles(const struct minidump *dump,
                                struct roles *roles)
{
    struct minidump_bytes stream = bytes_stream(dump, STREAM_BREAKPAD);
    uint32_t valid;

    memset(roles, 0, sizeof(*roles));
    if (stream.size >= BREAKPAD_SIZE) {
        valid = get32(dump, stream.data);
        roles->has_writer = (valid & 1) != 0;
        roles->has_requesting = (valid & 2) != 0;
        roles->writer = get32(dump, stream.data + 4);
        roles->requesting = get32(dump, stream.data + 8);
    }
    if (dump->has_exception) {
        roles->has_requesting = true;
        roles->requesting = dump->exception.thread;
    }
}

static void minidump_read_thread(struct minidump *dump,
                                 struct minidump_thread *t, const uint8_t *p)
{
    memset(t, 0, sizeof(*t));
    t->id = get32(dump, p);
    t->teb = get64(dump, p + 16);
    t->stack_start = get64(dump, p + 24);
    if (get32(dump, p + 32) != 0 && get32(dump, p + 36) != 0) {
        t->stack = bytes_located(dump, p + 32);
    }
    t->context = bytes_located(dump, p + 40);
}

/* A name that cannot be read leaves the thread without one. */
static void minidump_name_threads(struct minidump *dump)
{
    const uint8_t *p;
    const char *name;
    size_t i, j, count;

    if (!bytes_list(dump, bytes_stream(dump, STREAM_THREAD_NAMES), NAME_ENTRY,
                    &threads_limit, &p, &count)) {
        return;
    }
    for (i = 0; i < count; i++, p += NAME_ENTRY) {
        name = bytes_string(dump, get64(dump, p + 4));
        for (j = 0; name != NULL && j < dump->num_threads; j++) {
            if (dump->threads[j].id == get32(dump, p)) {
                dump->threads[j].name = name;
            }
        }
    }
}

static const char *minidump_read_threads(struct minidump *dump)
{
    const uint8_t *p;
    size_t i, count;
    struct roles roles;
    struct minidump_thread *t;

    if (!bytes_list(dump, bytes_stream(dump, STREAM_THREADS), THREAD_ENTRY,
                    &threads_limit, &p, &count)) {
        return "The thread list stream was not found";
    }
    dump->threads =
        arena_take(&dump->arena, (count + 1) * sizeof(*dump->threads));
    if (dump->threads == NULL) {
        return no_memory;
    }
    dump->num_threads = count;
    minidump_read_roles(dump, &roles);
    for (i = 0; i < count; i++, p += THREAD_ENTRY) {
        t = &dump->threads[i];
        minidump_read_thread(dump, t, p);
        t->is_writer = roles.has_writer && t->id == roles.writer;
        if (roles.has_requesting && t->id == roles.requesting &&
            !t->is_writer) {
            dump->requesting = i;
        }
    }
    return NULL;
}

/* Linux' /proc/PID/status has a line "Pid:" and a number. */
static void minidump_read_status(struct minidump *dump)
{
    static const char name[] = "\nPid:";
    struct minidump_bytes stream = bytes_stream(dump, STREAM_LINUX_STATUS);
    const uint8_t *p, *end;

    if (stream.data == NULL) {
        return;
    }
    end = stream.data + stream.size;
    p = memmem(stream.data, stream.size, name, sizeof(name) - 1);
    for (p = p != NULL ? p + sizeof(name) - 1 : end;
         p < end && (*p == ' ' || *p == '\t'); p++) {
    }
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        dump->has_process = true;
        dump->process = dump->process * 10 + (*p - '0');
    }
}

/* MiscInfo has the process's id and when it was started, if bits 0 and 1 of
 * its flags are set. */
static void minidump_read_process(struct minidump *dump)
{
    struct minidump_bytes stream = bytes_stream(dump, STREAM_MISC);
    uint32_t flags, begin;

    dump->uptime = -1;
    if (stream.size < 24) {
        minidump_read_status(dump);
        return;
    }
    flags = get32(dump, stream.data + 4);
    if ((flags & 1) != 0) {
        dump->has_process = true;
        dump->process = get32(dump, stream.data + 8);
    }
    if ((flags & 2) != 0) {
        begin = get32(dump, stream.data + 12);
        dump->uptime = dump->time > begin ? dump->time - begin : 0;
    }
}

const char *minidump_read(struct minidump *dump, const void *data, size_t size)
{
    const char *error;

    memset(dump, 0, sizeof(*dump));
    dump->data = data;
    dump->size = size;
    dump->requesting = SIZE_MAX;
    error = minidump_read_header(dump);
    if (error != NULL) {
        return error;
    }
    if (!system_read(dump)) {
        return "The system information stream was not found";
    }
    minidump_read_exception(dump);
    error = minidump_read_threads(dump);
    if (error != NULL) {
        return error;
    }
    stacks_read(dump);
    minidump_read_process(dump);
    if (!modules_read(dump) || !unloaded_read(dump) || !memory_read(dump)) {
        return no_memory;
    }
    minidump_name_threads(dump);
    return NULL;
}

void minidump_free(struct minidump *dump)
{
    arena_free(&dump->arena);
}

struct stackwalk minidump_walk(const struct minidump *dump,
                               const struct stackwalk_symbols *symbols)
{
    struct stackwalk walk = {.cpu = dump->cpu,
                             .is_windows = dump->os == MINIDUMP_WINDOWS,
                             .is_ios = dump->os == MINIDUMP_IOS,
                             .memory = dump->memory,
                             .num_memory = dump->num_memory,
                             .modules = dump->ranges,
                             .num_modules = dump->num_modules,
                             .symbols = symbols};

    return walk;
}
