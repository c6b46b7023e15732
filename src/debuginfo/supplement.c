/*
 * Copyright (C) the ngx_symcache authors
 */
#include "supplement.h"

static struct supplement current;

void supplement_set(const struct supplement *supplement)
{
    current = *supplement;
}

const struct supplement *supplement_get(void)
{
    return &current;
}
