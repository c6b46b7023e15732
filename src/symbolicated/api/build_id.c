/*
 * Copyright (C) the ngx_symcache authors
 */
#include "build_id.h"

#include <string.h>
#include "base/le.h"
#include "proto/hints.h"

int build_id_module(struct api_module *module, const symcache_key_t *id)
{
    char hints[SYMCACHE_HINTS_MAX + 1], text[SYMCACHE_ID_TEXT_MAX + 1];
    uint8_t bytes[16] = {0};
    size_t n;

    module->key = *id;
    module->key.kind = SYMCACHE_KIND_SYMCACHE;
    if (id->id_type != SYMCACHE_ID_BUILD) {
        return 0;
    }
    n = symcache_id_print(text, id);
    hints[0] = '\0';
    (void)symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, text, n);
    memcpy(bytes, id->build, id->build_len < 16 ? id->build_len : 16);
    module->key.id_type = SYMCACHE_ID_DEBUG;
    le_guid(module->key.guid, bytes);
    module->key.age = 0;
    module->hints = strdup(hints);
    return module->hints != NULL ? 0 : -1;
}
