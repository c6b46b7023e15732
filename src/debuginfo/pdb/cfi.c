/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the frame data of a PDB: how functions of x86 use the stack.
 *
 * There are two streams, both ascending by address: records of FPO_DATA, which
 * only have numbers, and newer ones with programs.  They are merged as in the
 * "symbolic" library; where both begin, the newer one counts.
 */
#include "pdb.h"

#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "base/array.h"
#include "base/le.h"
#include "dbi.h"
#include "debuginfo/cfi.h"
#include "info_stream.h"
#include "machine.h"
#include "msf.h"

#define FPO_SIZE 16
#define FRAME_SIZE 32
#define TYPE_PROGRAM 4
#define SIZE_MAX_USED 0x7FFFFFFF /* larger functions are left out */

/* Limits the parts of ranges that were looked at, in total. */
#define WORK_BASE 1000000

struct cfi_frame {
    uint32_t type; /* as in STACK WIN */
    uint32_t start;
    uint32_t size;
    uint32_t prolog;
    uint32_t program; /* offset in /names */
    struct cficache_win win;
};

/* The parts of a range in the image, in ascending order. */
struct pdb_cfi_parts {
    struct address_range *data;
    size_t count;
    size_t room;
};

struct pdb_cfi_reader {
    struct cfi *cfi;
    struct failure *failure;
    struct msf msf;
    struct info_stream info;
    struct dbi dbi;
    struct address_map addresses;
    struct msf_buffer buffers[2];
    struct pdb_cfi_parts prolog; /* of the last record */
    struct pdb_cfi_parts code;
    uint64_t work; /* steps that are left */
    bool has_last; /* a record was written */
    struct cfi_frame last;
};

static void cfi_read_fpo(const uint8_t *p, struct cfi_frame *f)
{
    uint16_t flags = le16(p + 14);

    memset(f, 0, sizeof(*f));
    f->start = le32(p);
    f->size = le32(p + 4);
    f->win.locals = le32(p + 8) * 4;
    f->win.params = (uint32_t)le16(p + 12) * 4;
    f->prolog = flags & 0xF;
    f->win.saved_registers = (uint32_t)(flags >> 8 & 7) * 4;
    f->win.allocates_base_pointer = (flags >> 10 & 1) != 0;
    f->type = flags >> 14;
}

static void cfi_read_frame(const uint8_t *p, struct cfi_frame *f)
{
    memset(f, 0, sizeof(*f));
    f->type = TYPE_PROGRAM;
    f->start = le32(p);
    f->size = le32(p + 4);
    f->win.locals = le32(p + 8);
    f->win.params = le32(p + 12);
    f->win.max_stack = le32(p + 16);
    f->program = le32(p + 20);
    f->prolog = le16(p + 24);
    f->win.saved_registers = le16(p + 26);
    f->win.has_program = true;
}

/* A stream of records, or none. */
struct cfi_records {
    const uint8_t *at;
    const uint8_t *end;
};

static int open_records(struct pdb_cfi_reader *cfi, unsigned slot,
                        uint32_t record_size, struct msf_buffer *buffer,
                        struct cfi_records *records)
{
    uint32_t size, stream = cfi->dbi.slots[slot];

    records->at = records->end = NULL;
    if (stream == MSF_NO_STREAM) {
        return 0;
    }
    size = msf_stream_size(&cfi->msf, stream);
    records->at = msf_view(&cfi->msf, stream, 0, size, buffer);
    if (!msf_stream_exists(&cfi->msf, stream) || records->at == NULL ||
        size % record_size != 0) {
        return failure_at(cfi->failure, stream, size, "frame data");
    }
    records->end = records->at + size;
    return 0;
}

/* Takes the next record of both streams.  Returns false at their end. */
static bool cfi_next_frame(struct cfi_records *old, struct cfi_records *new,
                           struct cfi_frame *f)
{
    bool has_old = old->at < old->end, has_new = new->at < new->end;

    if (has_new && (!has_old || le32(new->at) <= le32(old->at))) {
        if (has_old && le32(new->at) == le32(old->at)) {
            old->at += FPO_SIZE;
        }
        cfi_read_frame(new->at, f);
        new->at += FRAME_SIZE;
        return true;
    }
    if (has_old) {
        cfi_read_fpo(old->at, f);
        old->at += FPO_SIZE;
    }
    return has_old;
}

/* Gets the program of a record, without blanks around it. */
static int find_program(struct pdb_cfi_reader *cfi, const struct cfi_frame *f,
                        const char **text, uint32_t *size)
{
    *text = "";
    *size = 0;
    if (!f->win.has_program || !cfi->info.has_table) {
        return 0;
    }
    if (info_stream_text(&cfi->info, f->program, text, size) != 0) {
        return failure_set(cfi->failure, FAILURE_DAMAGED,
                           "is damaged: frame data with a program outside of "
                           "/names (0x%lx)",
                           (unsigned long)f->program);
    }
    while (*size > 0 && (*text)[*size - 1] == ' ') {
        (*size)--;
    }
    while (*size > 0 && **text == ' ') {
        (*text)++;
        (*size)--;
    }
    return 0;
}

static int write_frame(struct pdb_cfi_reader *cfi, const struct cfi_frame *f,
                       uint32_t start, uint32_t size, uint32_t prolog)
{
    uint32_t program_size;
    const char *program;
    struct cficache_win win = f->win;

    win.prolog = prolog;
    return find_program(cfi, f, &program, &program_size) != 0
               ? -1
               : cfi_win(cfi->cfi, f->type, start, size, &win, program,
                         program_size);
}

static bool is_like(const struct cfi_frame *a, const struct cfi_frame *b)
{
    return a->type == b->type && a->start == b->start && a->size == b->size &&
           a->prolog == b->prolog;
}

static int compare_frames(const void *a, const void *b)
{
    const struct address_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Finds the parts of a range.  Those that touch are one. */
static int find_cfi_parts(struct pdb_cfi_reader *cfi, uint32_t start,
                          uint32_t end, struct pdb_cfi_parts *parts)
{
    struct address_range part;

    parts->count = 0;
    while (address_part(&cfi->addresses, &start, end, &part)) {
        if (cfi->work-- == 0) {
            return failure_work(cfi->failure);
        }
        if (parts->count > 0 &&
            parts->data[parts->count - 1].end == part.start) {
            parts->data[parts->count - 1].end = part.end;
            continue;
        }
        if (array_need(&parts->data, &parts->room, parts->count + 1,
                       sizeof(part)) != 0) {
            return failure_memory(cfi->failure);
        }
        parts->data[parts->count++] = part;
    }
    if (parts->count > 1) {
        qsort(parts->data, parts->count, sizeof(part), compare_frames);
    }
    return 0;
}

static int write_parts(struct pdb_cfi_reader *cfi, const struct cfi_frame *f,
                       const struct pdb_cfi_parts *parts, bool is_prolog)
{
    size_t i;
    int rc = 0;
    uint32_t size;

    for (i = 0; i < parts->count && rc == 0; i++) {
        size = parts->data[i].end - parts->data[i].start;
        rc = write_frame(cfi, f, parts->data[i].start, size,
                         is_prolog ? size : 0);
    }
    return rc;
}

static int take_frame(struct pdb_cfi_reader *cfi, const struct cfi_frame *f)
{
    uint32_t start = f->start, middle = start + f->prolog;
    uint32_t end = start + f->size;
    struct pdb_cfi_parts *prolog = &cfi->prolog, *code = &cfi->code;

    if (f->size > SIZE_MAX_USED || (cfi->has_last && is_like(f, &cfi->last))) {
        return 0;
    }
    if (find_cfi_parts(cfi, start, middle, prolog) != 0 ||
        find_cfi_parts(cfi, middle, end, code) != 0) {
        return -1;
    }
    cfi->has_last = cfi->has_last || prolog->count + code->count > 0;
    if (prolog->count + code->count > 0) {
        cfi->last = *f;
    }
    if (prolog->count == 1 && code->count == 1 &&
        prolog->data[0].end == code->data[0].start) {
        start = prolog->data[0].start;
        return write_frame(cfi, f, start, code->data[0].end - start,
                           prolog->data[0].end - start);
    }
    return write_parts(cfi, f, prolog, true) != 0
               ? -1
               : write_parts(cfi, f, code, false);
}

static int cfi_read_frames(struct pdb_cfi_reader *cfi)
{
    int rc = 0;
    struct cfi_frame f;
    struct cfi_records old, new;

    if (info_stream_read(&cfi->info, &cfi->msf, cfi->failure) != 0 ||
        dbi_read(&cfi->dbi, &cfi->msf, cfi->failure) != 0 ||
        address_read(&cfi->addresses, &cfi->msf, &cfi->dbi, cfi->failure) !=
            0 ||
        open_records(cfi, DBI_FPO, FPO_SIZE, &cfi->buffers[0], &old) != 0 ||
        open_records(cfi, DBI_FRAME_DATA, FRAME_SIZE, &cfi->buffers[1],
                     &new) != 0) {
        return -1;
    }
    memcpy(cfi->cfi->identity.guid, cfi->info.guid, sizeof(cfi->info.guid));
    cfi->cfi->identity.age = cfi->dbi.age != 0 ? cfi->dbi.age : cfi->info.age;
    cfi->cfi->identity.arch = pdb_arch(cfi->dbi.machine);
    while (rc == 0 && cfi_next_frame(&old, &new, &f)) {
        rc = take_frame(cfi, &f);
    }
    return rc;
}

int pdb_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                 struct failure *failure)
{
    int rc;
    char text[256];
    enum msf_status status;
    struct pdb_cfi_reader *r = calloc(1, sizeof(*r));

    if (r == NULL) {
        return failure_memory(failure);
    }
    r->cfi = cfi;
    r->failure = failure;
    r->work = WORK_BASE + size;
    status = msf_open(&r->msf, data, size, text, sizeof(text));
    rc = status == MSF_OK ? cfi_read_frames(r)
                          : pdb_open_failed(status, text, failure);
    address_free(&r->addresses);
    dbi_free(&r->dbi);
    info_stream_free(&r->info);
    msf_buffer_free(&r->buffers[0]);
    msf_buffer_free(&r->buffers[1]);
    free(r->prolog.data);
    free(r->code.data);
    if (status == MSF_OK) {
        msf_close(&r->msf);
    }
    free(r);
    return rc;
}
