/*
 * Copyright (C) the ngx_symcache authors
 */
#include "supplement.h"

#include "derived/symcache/symcache.h"

static struct supplement current;

void supplement_set(const struct supplement *supplement)
{
    current = *supplement;
}

const struct supplement *supplement_get(void)
{
    return &current;
}

void supplement_begin_writer(struct symc_writer *writer)
{
    symc_writer_init(writer);
    writer->transform = current.transform;
}

void supplement_undecorate(struct symc_writer *writer, uint32_t arch)
{
    writer->undecorates = true;
    if (!current.is_like_symbolic) {
        writer->kept = arch == SYMC_ARCH_X86 ? "_Z" : "_";
    }
}
