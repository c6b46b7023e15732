/*
 * Copyright (C) the ngx_symcache authors
 *
 * A profiler knows of a caller only where the call returns to, and looks up the
 * address before that.  There is a return pad for each call instruction, which
 * has the functions at the call.
 */
#include "from_symcache.h"

#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "from_symcache_chain.h"
#include "writer.h"

struct pads {
    const struct symc_reader *symcache;
    uint64_t base;
    const struct code *code;
    csh disassembler;
    cs_insn *insn;
    unsigned step;     /* over bytes that are not an instruction */
    uint32_t function; /* the outermost one, or SYMC_NONE */
    uint64_t at;       /* of the next instruction */
    struct inline_chain chain;
    struct symbfile_frame frames[INLINE_CHAIN_MAX];
    struct arena arena; /* paths of one pad */
    struct symbfile_writer writer;
    struct failure *failure;
};

static int open_disassembler(struct pads *p)
{
    cs_err status = CS_ERR_ARCH;

    p->step = 1;
    switch (p->code->arch) {
    case SYMC_ARCH_X86:
        status = cs_open(CS_ARCH_X86, CS_MODE_32, &p->disassembler);
        break;
    case SYMC_ARCH_AMD64:
        status = cs_open(CS_ARCH_X86, CS_MODE_64, &p->disassembler);
        break;
    case SYMC_ARCH_ARM64:
        p->step = 4;
        status = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN,
                         &p->disassembler);
        break;
    default:
        break;
    }
    if (status == CS_ERR_ARCH || p->code->num_parts == 0) {
        return failure_set(p->failure, FAILURE_NOT_PDB,
                           "has no instructions of x86 or arm64, of which "
                           "return pads are made");
    }
    p->insn = status == CS_ERR_OK ? cs_malloc(p->disassembler) : NULL;
    return p->insn != NULL ? 0 : failure_memory(p->failure);
}

static bool is_call(const struct pads *p)
{
    unsigned id = p->insn->id;

    if (p->code->arch == SYMC_ARCH_ARM64) {
        return id == ARM64_INS_BL || id == ARM64_INS_BLR ||
               id == ARM64_INS_SVC;
    }
    return id == X86_INS_CALL || id == X86_INS_LCALL ||
           id == X86_INS_SYSCALL || id == X86_INS_INT || id == X86_INS_INTO;
}

/* Reads the instruction at p->at.  Returns its size, or 0. */
static size_t read_instruction(struct pads *p)
{
    size_t left;
    uint64_t address = p->at;
    const uint8_t *bytes = code_at(p->code, p->at, &left);

    return bytes != NULL && cs_disasm_iter(p->disassembler, &bytes, &left,
                                           &address, p->insn)
               ? p->insn->size
               : 0;
}

static int put_pad(struct pads *p, size_t size, size_t count, bool has_place)
{
    size_t i;
    struct symbfile_frame *frame;
    struct symbfile_record r = {.is_pad = true,
                                .address = p->base + p->at + size - 1,
                                .frames = p->frames,
                                .num_frames = count};

    for (i = 0; i < count; i++) {
        frame = &p->frames[i];
        memset(frame, 0, sizeof(*frame));
        frame->func = p->chain.links[i].name;
        if (has_place) {
            frame->line = p->chain.links[i].line;
            if (inline_chain_path(p->symcache, p->chain.links[i].file,
                                  &p->arena, &frame->file, p->failure) != 0) {
                return -1;
            }
        }
    }
    if (symbfile_writer_add(&p->writer, &r) != 0) {
        return -1;
    }
    arena_reset(&p->arena);
    return 0;
}

/* Stacks of Go end in the middle of a function that calls nothing: the address
 * after its first instruction is put there as if it were returned to. */
static bool is_end_of_go(const struct symc_string *name)
{
    static const char text[] = "runtime.goexit";

    return name->size >= sizeof(text) - 1 &&
           memcmp(name->data, text, sizeof(text) - 1) == 0 &&
           (name->size == sizeof(text) - 1 ||
            (name->size == sizeof(text) + 4 &&
             memcmp(name->data + sizeof(text) - 1, ".abi0", 5) == 0));
}

static int begin_function(struct pads *p, uint64_t begin)
{
    size_t size;

    p->function = p->chain.links[0].function;
    p->at = begin;
    size = read_instruction(p);
    return is_end_of_go(&p->chain.links[0].name) && size > 0
               ? put_pad(p, size, 1, false)
               : 0;
}

/* Reads the instructions of a range of the SymCache.  They follow those of the
 * range before, if it is of the same function. */
static int take_pad_range(struct pads *p, uint64_t begin, uint64_t end)
{
    size_t size, left;

    if (p->chain.count == 0) {
        p->function = SYMC_NONE;
        return 0;
    }
    if (p->function != p->chain.links[0].function &&
        begin_function(p, begin) != 0) {
        return -1;
    }
    while (p->at < end && code_at(p->code, p->at, &left) != NULL) {
        size = read_instruction(p);
        if (size > 0 && is_call(p) &&
            put_pad(p, size, p->chain.count, true) != 0) {
            return -1;
        }
        p->at += size > 0 ? size : p->step;
    }
    p->at = p->at < end ? end : p->at;
    return 0;
}

static int take_pad_ranges(struct pads *p)
{
    uint32_t i, n = p->symcache->num_ranges;
    uint64_t end;

    p->function = SYMC_NONE;
    for (i = 0; i < n; i++) {
        end = i + 1 < n ? symc_reader_range(p->symcache, i + 1)
                        : (uint64_t)UINT32_MAX + 1;
        if (inline_chain_read(p->symcache,
                              symc_reader_range_location(p->symcache, i),
                              &p->chain, p->failure) != 0 ||
            take_pad_range(p, symc_reader_range(p->symcache, i), end) != 0) {
            return -1;
        }
    }
    return 0;
}

int symbfile_pads_from_symcache(const struct symc_reader *symcache,
                                uint64_t base, const struct code *code,
                                const struct symc_sink *sink,
                                struct failure *failure)
{
    int rc;
    struct pads *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        return failure_memory(failure);
    }
    p->symcache = symcache;
    p->base = base;
    p->code = code;
    p->failure = failure;
    rc = open_disassembler(p) != 0 ||
                 symbfile_writer_begin(&p->writer, sink, failure) != 0 ||
                 take_pad_ranges(p) != 0 ||
                 symbfile_writer_finish(&p->writer) != 0
             ? -1
             : 0;
    if (p->insn != NULL) {
        cs_free(p->insn, 1);
    }
    if (p->disassembler != 0) {
        cs_close(&p->disassembler);
    }
    symbfile_writer_free(&p->writer);
    arena_free(&p->arena);
    free(p);
    return rc;
}
