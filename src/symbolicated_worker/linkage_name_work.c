/*
 * Copyright (C) the ngx_symcache authors
 */
#include "work_kinds.h"

#include "symbolication/symbolication.h"

void name_work(const struct work_body *body)
{
    static char readable[LINKAGE_READABLE_MAX];
    const struct symc_string name = {.data = (const char *)body->data,
                                     .size = (uint32_t)body->size};
    size_t size = 0;

    if (linkage_demangle(&name, body->limit, readable, &size)) {
        work_say(body->service, readable, size);
        work_done(body->service);
    } else {
        work_refuse(body->service, 0);
    }
}
