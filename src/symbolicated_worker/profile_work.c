/*
 * Copyright (C) the ngx_symcache authors
 *
 * Profiles, which get names.
 */
#include "work_kinds.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "json/json.h"
#include "reports/profile/profile.h"
#include "packed_body.h"
#include "work_order.h"

#define GZIP_LEVEL 6
#define ZSTD_LEVEL 3

struct module_names {
    struct symc_reader *readers; /* of modules */
    bool *is_found;
    uint32_t *asked; /* modules, in the order of the question */
    size_t nasked;
};

/* names -------------------------------------------------------------------- */

static void have_profile_file(void *arg, const struct work_file *file,
                              const uint8_t *data, size_t size)
{
    struct module_names *names = arg;
    uint32_t module;
    char error[200];

    if (file->index < names->nasked && data != NULL) {
        module = names->asked[file->index];
        names->is_found[module] =
            symc_reader_open(&names->readers[module], data, size, error,
                             sizeof(error)) == SYMC_OPENED;
    }
}

static void ask_for_names(const struct profile *profile,
                          struct module_names *names,
                          struct work_service *service)
{
    struct json_writer w = {0};
    size_t i;

    json_write_open(&w, '{');
    json_put_open(&w, "modules", '[');
    for (i = 0; i < profile->nmodules; i++) {
        if (!profile->modules[i].is_wanted) {
            continue;
        }
        names->asked[names->nasked++] = (uint32_t)i;
        json_write_open(&w, '{');
        json_put_known(&w, "id", profile->modules[i].id);
        json_put_known(&w, "name", profile->modules[i].name);
        json_put_known(&w, "code", profile->modules[i].code);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    if (w.has_failed) {
        out_of_memory();
    }
    work_say(service, w.data, w.size);
    work_ask(service, have_profile_file, names);
    free(w.data);
}

static const struct symc_reader *profile_reader_of(void *arg, uint32_t module)
{
    struct module_names *names = arg;

    return names->is_found[module] ? &names->readers[module] : NULL;
}

/* Finds the names.  Returns false without memory. */
static bool find_names(struct profile *profile, struct work_service *service)
{
    struct module_names names = {
        .readers = calloc(profile->nmodules + 1, sizeof(*names.readers)),
        .is_found = calloc(profile->nmodules + 1, sizeof(*names.is_found)),
        .asked = calloc(profile->nmodules + 1, sizeof(*names.asked))};
    bool is_done = false;

    if (names.readers != NULL && names.is_found != NULL &&
        names.asked != NULL) {
        if (profile->nplaces > 0) {
            ask_for_names(profile, &names, service);
        }
        linkage_by(linkage_demangle_here); /* as this process has nothing */
        linkage_begin();
        is_done = profile_find_names(profile, profile_reader_of, &names) == 0;
    }
    free(names.readers);
    free(names.is_found);
    free(names.asked);
    return is_done;
}

/* the result --------------------------------------------------------------- */

/* Names can make a small profile a large one, and its size is not known before
 * it is written. */
static void refuse_large(struct work_service *service)
{
    refuse_work(
        service, PROFILE_LARGE,
        "the profile with names is larger than "
        "\"symbolication.limits.answer_size\", or than the memory of the "
        "process that writes it");
}

static void say_gzip(struct work_service *service, const char *data,
                     size_t size, size_t most)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)data};
    struct profile_output packed = {.most = most};
    static unsigned char room[65536];
    int rc = Z_OK;

    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, MAX_WBITS + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        out_of_memory();
    }
    while (rc != Z_STREAM_END && !packed.has_failed) {
        if (z.avail_in == 0) {
            z.avail_in = (uInt)(size < UINT_MAX ? size : UINT_MAX);
            size -= z.avail_in;
        }
        z.next_out = room;
        z.avail_out = sizeof(room);
        rc = deflate(&z, size == 0 ? Z_FINISH : Z_NO_FLUSH);
        profile_put(&packed, room, sizeof(room) - z.avail_out);
    }
    deflateEnd(&z);
    if (packed.has_failed) {
        refuse_large(service);
    } else {
        work_say(service, packed.data, packed.size);
        work_done(service);
    }
    free(packed.data);
}

static void say_zstd(struct work_service *service, const char *data,
                     size_t size, size_t most)
{
    size_t room = ZSTD_compressBound(size);
    char *packed = malloc(room);

    room = packed != NULL
               ? ZSTD_compress(packed, room, data, size, ZSTD_LEVEL)
               : 0;
    if (room == 0 || ZSTD_isError(room) || room > most) {
        refuse_large(service);
    } else {
        work_say(service, packed, room);
        work_done(service);
    }
    free(packed);
}

static void answer_profile(const struct profile *profile, enum packing packing,
                           size_t most, struct work_service *service)
{
    struct profile_output out = {
        .most = packing == PACKED_NOT ? most : 0};

    profile_write(profile, &out);
    if (out.has_failed) {
        free(out.data); /* to say so takes memory, too */
        out.data = NULL;
        refuse_large(service);
    } else if (packing == PACKED_GZIP) {
        say_gzip(service, out.data, out.size, most);
    } else if (packing == PACKED_ZSTD) {
        say_zstd(service, out.data, out.size, most);
    } else {
        work_say(service, out.data, out.size);
        work_done(service);
    }
    free(out.data);
}

static void read_profile(struct work_service *service, uint32_t most,
                         uint64_t answer_size, const struct bytes *bytes,
                         enum packing packing)
{
    struct profile profile = {0};
    char error[PROFILE_ERROR];

    if (!profile_read(&profile, bytes->data, bytes->size, error)) {
        refuse_work(service,
                    profile.is_without_memory ? PROFILE_LARGE : PROFILE_BAD,
                    profile.is_without_memory
                        ? "the profile takes more memory than the process "
                          "that reads it may have"
                        : error);
    } else if (profile.nmodules > most) {
        refuse_work(service, PROFILE_LARGE,
                    "the profile has too many modules");
    } else if (!find_names(&profile, service)) {
        out_of_memory();
    } else {
        answer_profile(&profile, packing, answer_size, service);
    }
    profile_free(&profile);
}

/* Undoes a packing.  Returns false when it has refused. */
static bool undo_profile_packing(struct packed_room *room,
                                 enum packing packing, struct bytes *bytes)
{
    if (packing == PACKED_NOT) {
        return true;
    }
    if (packing == PACKED_OTHER) {
        refuse_work(room->service, PROFILE_CODING,
                    "Content-Encoding must be gzip or zstd");
        return false;
    }
    switch (packed_undo(room, packing, bytes)) {
    case PACKED_DONE:
        return true;
    case PACKED_LARGE:
        refuse_work(room->service, PROFILE_LARGE,
                    "the unpacked profile is larger than "
                    "\"symbolication.limits.crash_size\"");
        return false;
    default:
        refuse_work(room->service, PROFILE_BAD,
                    "the packed profile is damaged");
        return false;
    }
}

void profile_work(const struct work_body *body)
{
    struct packed_room room = {.service = body->service};
    struct bytes bytes = {body->data, body->size};
    enum packing packing;
    struct order order;

    if (order_read(&order, body->text) != 0) {
        out_of_memory();
    }
    room.most = order.unpacked;
    if (undo_profile_packing(&room, packed_by_name(order.coding), &bytes)) {
        packing = packed_by_content(&bytes);
        if (undo_profile_packing(&room, packing, &bytes)) {
            read_profile(body->service, body->limit, order.answer, &bytes,
                         packing);
        }
    }
    packed_free(&room);
    order_free(&order);
}
