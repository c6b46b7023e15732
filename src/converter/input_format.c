/*
 * Copyright (C) the ngx_symcache authors
 */
#include "input_format.h"

#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/pe/pe.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "debuginfo/proguard/proguard.h"
#include "debuginfo/sourcebundle/sourcebundle.h"
#include "debuginfo/symbfile/symbfile.h"
#include "debuginfo/wasm/wasm.h"

#define THREAD_LEAST ((size_t)32 << 20)

/* To add a format, add its folder to debuginfo/ and a line here. */
static const struct debuginfo_format *const formats[] = {
    &pdb_format,      &breakpad_format,    &elf_format,
    &macho_format,    &portablepdb_format, &embedded_pdb_format,
    &pe_format, /* if there is no portable PDB in it */
    &wasm_format,     &symbfile_format,    &sourcebundle_format,
    &proguard_format, /* text without a magic */
};

static const struct debuginfo_maker *
find_maker(const struct debuginfo_format *format,
           const symcache_kind_e *wanted)
{
    unsigned i;

    for (i = 0; i < format->num_makes; i++) {
        if (wanted == NULL || format->makes[i].output == *wanted) {
            return &format->makes[i];
        }
    }
    return NULL;
}

const struct debuginfo_maker *input_maker(const uint8_t *data, size_t size,
                                          const symcache_kind_e *wanted)
{
    size_t i;
    bool is_known = false;
    const struct debuginfo_maker *maker = NULL;

    for (i = 0; i < sizeof(formats) / sizeof(formats[0]) && maker == NULL;
         i++) {
        if (formats[i]->sniff(data, size)) {
            is_known = true;
            maker = find_maker(formats[i], wanted);
        }
    }
    return is_known ? maker : find_maker(formats[0], wanted);
}

bool input_has_compressed_parts(const uint8_t *data, size_t size)
{
    return size >= INPUT_COMPRESSED_LEAST && elf_format.sniff(data, size);
}

bool input_wants_thread(const uint8_t *data, size_t size)
{
    return input_has_compressed_parts(data, size) ||
           (size >= THREAD_LEAST && (macho_format.sniff(data, size) ||
                                     pe_format.sniff(data, size)));
}
