/*
 * Copyright (C) the ngx_symcache authors
 */
#include "input.h"

#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/portablepdb/portablepdb.h"

/* To add a format, add its folder to debuginfo/ and a line here. */
static const struct debuginfo_format *const formats[] = {
    &pdb_format,
    &breakpad_format,
    &portablepdb_format,
};

const struct debuginfo_format *input_format(const uint8_t *data, size_t size)
{
    size_t i;

    for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (formats[i]->sniff(data, size)) {
            return formats[i];
        }
    }
    return formats[0];
}
