/*
 * Copyright (C) the ngx_symcache authors
 */
#include "converter.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory_output.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/symbfile/symbfile.h"
#include "input_format.h"

/* What a SymCache of an ELF file has left out of its addresses. */
static uint64_t base_of(const uint8_t *data, size_t size)
{
    char error[200];
    struct elf_identity identity;

    return elf_sniff(data, size) &&
                   elf_identity_read(data, size, &identity, error,
                                     sizeof(error)) == 0
               ? identity.load_address
               : 0;
}

typedef int make_symbfile(const struct symc_reader *symcache,
                          const uint8_t *data, size_t size,
                          const struct symc_sink *sink,
                          struct failure *failure);

static int make_ranges(const struct symc_reader *symcache, const uint8_t *data,
                       size_t size, const struct symc_sink *sink,
                       struct failure *failure)
{
    return symbfile_ranges_from_symcache(symcache, base_of(data, size), sink,
                                         failure);
}

static int make_pads(const struct symc_reader *symcache, const uint8_t *data,
                     size_t size, const struct symc_sink *sink,
                     struct failure *failure)
{
    struct code code;
    int rc = elf_sniff(data, size) ? elf_instructions_read(data, size, &code)
                                   : pe_instructions_read(data, size, &code);

    rc = rc != 0 ? failure_memory(failure)
                 : symbfile_pads_from_symcache(symcache, base_of(data, size),
                                               &code, sink, failure);
    code_free(&code);
    return rc;
}

/* Makes a symbfile of a SymCache in memory, which was made of a file. */
static int make(make_symbfile *make_of, const void *symcache,
                size_t symcache_size, const uint8_t *data, size_t size,
                const struct symc_sink *sink, struct failure *failure)
{
    char error[512];
    struct symc_reader reader;

    if (symc_reader_open(&reader, symcache, symcache_size, error,
                         sizeof(error)) != SYMC_OPENED ||
        symc_verify(&reader, error, sizeof(error)) != SYMC_SOUND) {
        return failure_set(failure, FAILURE_DAMAGED, "is damaged: %s", error);
    }
    return make_of(&reader, data, size, sink, failure);
}

static int output(make_symbfile *make_of, const uint8_t *data, size_t size,
                  const struct symc_sink *sink,
                  struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    struct memory_output memory = {NULL, 0, 0};
    const struct symc_sink to_memory = {memory_output_write, &memory};
    const symcache_kind_e wanted = SYMCACHE_KIND_SYMCACHE;
    const struct debuginfo_maker *maker;

    if (size >= 4 && memcmp(data, "SYMC", 4) == 0) {
        return make(make_of, data, size, data, size, sink, failure);
    }
    maker = input_maker(data, size, &wanted);
    if (maker == NULL) {
        return failure_set(failure, FAILURE_PORTABLE,
                           "is of .NET: a symbfile cannot be made of it");
    }
    rc = maker->convert(data, size, &to_memory, result, failure);
    if (rc == 0) {
        rc = make(make_of, memory.data, memory.size, data, size, sink,
                  failure);
    }
    free(memory.data);
    return rc;
}

int symbfile_output(const uint8_t *data, size_t size,
                    const struct symc_sink *sink,
                    struct debuginfo_result *result, struct failure *failure)
{
    return output(make_ranges, data, size, sink, result, failure);
}

int symbfile_output_pads(const uint8_t *data, size_t size,
                         const struct symc_sink *sink,
                         struct debuginfo_result *result,
                         struct failure *failure)
{
    return output(make_pads, data, size, sink, result, failure);
}
