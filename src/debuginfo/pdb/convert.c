/*
 * Copyright (C) the ngx_symcache authors
 *
 * The streams that are read are 1 (info), 2 and 4 (types and ids, as far as
 * names need them), 3 (DBI), /names, srcsrv, section headers, OMAP, the
 * symbols and the C13 part of each module, and the symbol records.  The
 * conversion needs neither stream 0 nor hash streams, section contributions,
 * exception and frame data, or injected sources, so they are never touched.
 */

#include "pdb.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "dbi.h"
#include "lines.h"
#include "info_stream.h"
#include "machine.h"
#include "msf.h"
#include "publics.h"
#include "function_name.h"
#include "source_files.h"
#include "srcsrv.h"
#include "symbols.h"
#include "base/array.h"
#include "base/le.h"
#include "base/prefetch.h"
#include "debuginfo/supplement.h"
#include "derived/symcache/symcache.h"

/* Limits how often line records, types and so on may be looked at, in total.
 * Real files need less than one such step for every 20 bytes. */
#define WORK_PER_BYTE 1
#define WORK_BASE 1000000

#define SMALL_FILE ((size_t)16 << 20)

/* What is prefetched: of so many modules, so many headers. */
#define MODULES_AHEAD 8
#define HEADERS_AHEAD 6

struct pdb_convert {
    struct msf msf;
    struct info_stream info;
    struct dbi dbi;
    struct address_map addresses;
    struct srcsrv srcsrv;
    struct source_files sources;
    struct lines lines;
    struct type_names names;
    struct pdb_symbols symbols;
    struct symc_writer writer;
    struct msf_buffer module;
    uint64_t module_bytes; /* read so far */
};

static int prepare_streams(struct pdb_convert *convert,
                           struct failure *failure)
{
    struct type_names *s;

    if (info_stream_read(&convert->info, &convert->msf, failure) != 0 ||
        dbi_read(&convert->dbi, &convert->msf, failure) != 0 ||
        address_read(&convert->addresses, &convert->msf, &convert->dbi,
                     failure) != 0) {
        return -1;
    }
    if (!msf_stream_exists(&convert->msf, convert->dbi.symbol_stream)) {
        return failure_at(failure, convert->dbi.symbol_stream, 0,
                          "no stream of symbol records");
    }
    s = &convert->names;
    if (types_open(&s->types, &convert->msf, TPI_STREAM, failure) != 0 ||
        types_open(&s->ids, &convert->msf, IPI_STREAM, failure) != 0) {
        return -1;
    }
    if (srcsrv_read(&convert->srcsrv, &convert->msf, &convert->info, true) !=
        0) {
        return failure_memory(failure);
    }
    s->crossref.msf = &convert->msf;
    s->crossref.dbi = &convert->dbi;
    s->crossref.info = &convert->info;
    s->forward.types = &s->types;
    s->pointer_size = pdb_pointer_size(convert->dbi.machine);
    convert->sources.info = &convert->info;
    convert->sources.srcsrv = &convert->srcsrv;
    convert->lines.addresses = &convert->addresses;
    convert->lines.sources = &convert->sources;
    convert->symbols.addresses = &convert->addresses;
    convert->symbols.names = s;
    convert->symbols.lines = &convert->lines;
    convert->symbols.writer = &convert->writer;
    convert->symbols.work_limit =
        WORK_BASE + WORK_PER_BYTE * (uint64_t)convert->msf.size;
    return 0;
}

/* Allocates the table of inlined functions by id.  A record has at least four
 * bytes, so the size of the stream limits their number. */
static int prepare_id_functions(struct pdb_convert *convert,
                                struct failure *failure)
{
    size_t n;
    const struct types *ids;

    ids = &convert->names.ids;
    n = ids->end - ids->first;
    n = n < ids->size / 4 ? n : ids->size / 4;
    convert->symbols.id_functions =
        calloc(n + 1, sizeof(*convert->symbols.id_functions));
    if (convert->symbols.id_functions == NULL) {
        return failure_memory(failure);
    }
    convert->symbols.num_id_functions = n;
    return 0;
}

static int read_module(struct pdb_convert *convert,
                       const struct dbi_module *module,
                       struct failure *failure)
{
    uint64_t size;
    const uint8_t *data;

    if (module->stream == MSF_NO_STREAM) {
        return 0;
    }
    size = (uint64_t)module->symbol_bytes + module->c13_bytes;
    if (!msf_stream_exists(&convert->msf, module->stream) ||
        size > msf_stream_size(&convert->msf, module->stream)) {
        return failure_at(failure, module->stream, size,
                          "module is shorter than the DBI stream says");
    }
    if (module->c11_bytes > 0) {
        return failure_at(failure, module->stream, module->symbol_bytes,
                          "line records of the old C11 form");
    }
    /* a linker gives each module its own stream, so all of them together are
     * smaller than the file */
    convert->module_bytes += size;
    if (convert->module_bytes > 2 * convert->msf.size) {
        return failure_set(failure, FAILURE_LIMIT,
                           "has modules that share their streams");
    }
    data = msf_view(&convert->msf, module->stream, 0, (uint32_t)size,
                    &convert->module);
    if (data == NULL) {
        return failure_at(failure, module->stream, 0,
                          "module outside of the file, or no memory");
    }
    if (lines_open(&convert->lines, data + module->symbol_bytes,
                   module->c13_bytes) != 0) {
        return failure_at(failure, module->stream, module->symbol_bytes,
                          "line information (C13)");
    }
    convert->symbols.stream = module->stream;
    return pdb_symbols_read(&convert->symbols, data, module->symbol_bytes,
                            failure);
}

/*
 * Prefetches what is read first of the next modules: where their symbols
 * begin, and the headers of their line information.  Each of these tells where
 * the next one is, so those of several modules are awaited together.
 */
static void expect_modules(const struct pdb_convert *convert, size_t first)
{
    size_t i, n = convert->dbi.num_modules - first;
    unsigned header;
    uint32_t size, left[MODULES_AHEAD];
    const uint8_t *p, *at[MODULES_AHEAD];
    const struct dbi_module *module;

    n = n < MODULES_AHEAD ? n : MODULES_AHEAD;
    for (i = 0; i < n; i++) {
        module = &convert->dbi.modules[first + i];
        p = msf_piece(&convert->msf, module->stream, 0, &size);
        prefetch(p, 0);
        prefetch(p, 64);
        at[i] = msf_run(&convert->msf, module->stream, module->symbol_bytes,
                        module->c13_bytes, &left[i]);
        left[i] = at[i] != NULL ? left[i] : 0;
        prefetch(at[i], 0);
    }
    for (header = 0; header < HEADERS_AHEAD; header++) {
        for (i = 0; i < n; i++) {
            if (left[i] >= 8 && le32(at[i] + 4) <= left[i] - 8) {
                size = 8 + le32(at[i] + 4);
                left[i] -= size;
                at[i] += size;
                prefetch(at[i], 0);
            }
        }
    }
}

static int read_all(struct pdb_convert *convert, struct failure *failure)
{
    size_t i;

    if (prepare_streams(convert, failure) != 0 ||
        prepare_id_functions(convert, failure) != 0) {
        return -1;
    }
    supplement_undecorate(&convert->writer, pdb_arch(convert->dbi.machine));
    convert->writer.has_calls_without_lines =
        !supplement_get()->is_like_symbolic;
    for (i = 0; i < convert->dbi.num_modules; i++) {
        if (i % MODULES_AHEAD == 0) {
            expect_modules(convert, i);
        }
        if (read_module(convert, &convert->dbi.modules[i], failure) != 0) {
            return -1;
        }
    }
    return publics_read(&convert->msf, convert->dbi.symbol_stream,
                        &convert->addresses, &convert->writer, failure);
}

/* Frees what only reading needs, before the writer needs memory to sort. */
static void free_readers(struct pdb_convert *convert)
{
    pdb_symbols_free(&convert->symbols);
    function_name_free(&convert->names);
    lines_free(&convert->lines);
    source_files_free(&convert->sources);
    srcsrv_free(&convert->srcsrv);
    address_free(&convert->addresses);
    msf_buffer_free(&convert->module);
}

static int write_all(struct pdb_convert *convert, const struct symc_sink *sink,
                     struct debuginfo_result *result, struct failure *failure)
{
    struct symc_identity identity;

    memcpy(identity.guid, convert->info.guid, sizeof(identity.guid));
    identity.age =
        convert->dbi.age != 0 ? convert->dbi.age : convert->info.age;
    identity.arch = pdb_arch(convert->dbi.machine);
    if (convert->info.is_fastlink) {
        snprintf(result->note, sizeof(result->note),
                 "a partial PDB (/DEBUG:FASTLINK): lines and private symbols "
                 "are in the object files");
    }
    result->is_pdb = convert->info.version >= INFO_FIRST_GUID;
    result->publics_only = (convert->dbi.flags & DBI_STRIPPED) != 0;
    result->has_links = info_stream_has_links(&convert->msf);
    return format_finish(&convert->writer, &identity, sink, result, failure);
}

/*
 * Keeps all arrays on the heap, which grows a few times and never shrinks.
 * For a small file, mapping and unmapping pages takes a tenth of the time.
 */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 2 * SYMC_ARRAY_LARGE);
    mallopt(M_TRIM_THRESHOLD, 64 * SYMC_ARRAY_LARGE);
    mallopt(M_TOP_PAD, 4 * SYMC_ARRAY_LARGE);
}

static int convert_pdb(const uint8_t *data, size_t size,
                       const struct symc_sink *sink,
                       struct debuginfo_result *result,
                       struct failure *failure)
{
    int rc;
    char text[256];
    struct pdb_convert *convert;
    enum msf_status status;

    if (size <= SMALL_FILE) {
        keep_memory();
    }
    convert = calloc(1, sizeof(*convert));
    if (convert == NULL) {
        return failure_memory(failure);
    }
    supplement_begin_writer(&convert->writer);
    status = msf_open(&convert->msf, data, size, text, sizeof(text));
    if (status != MSF_OK) {
        rc = pdb_open_failed(status, text, failure);
    } else {
        rc = read_all(convert, failure);
    }
    free_readers(convert);
    if (rc == 0) {
        rc = write_all(convert, sink, result, failure);
    }
    symc_writer_free(&convert->writer);
    dbi_free(&convert->dbi);
    info_stream_free(&convert->info);
    msf_close(&convert->msf);
    free(convert);
    return rc;
}

static const struct debuginfo_maker pdb_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_pdb},
    {.output = SYMCACHE_KIND_CFICACHE, .read_cfi = pdb_cfi_read},
    {.output = SYMCACHE_KIND_SOURCECACHE, .convert = pdb_convert_sources},
};

const struct debuginfo_format pdb_format = {
    .sniff = msf_sniff,
    .makes = pdb_makes,
    .num_makes = COUNT(pdb_makes),
};
