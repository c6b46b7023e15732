/*
 * Copyright (C) the ngx_symcache authors
 */
#include "demangle.h"

#include "msvc_parser.h"

bool demangle(const struct symc_string *name, uint32_t language, char *room,
              struct symc_string *readable)
{
    size_t size;

    *readable = *name;
    if (name->size > 0 && name->data[0] == '?') {
        return msvc_demangle(name, room, readable);
    }
    if (!linkage_sniff(name, language) ||
        !linkage_ask(name, language, room, &size)) {
        return false;
    }
    readable->data = room;
    readable->size = size;
    return true;
}
