/*
 * Copyright (C) the ngx_symcache authors
 */
#include "script_ids.h"

#include <stdint.h>
#include <string.h>

#include "proto/key.h"

/* An item of "[NAME=]ID[,...]", of which id and name are parts. */
struct script_id {
    struct symc_string name; /* a script's URL ends with it; "": of any */
    struct symc_string id;
};

/* Returns what follows the item, or NULL at the end. */
static const char *next_id(const char *ids, struct script_id *item)
{
    size_t size = strcspn(ids, ",");
    const char *equals = memrchr(ids, '=', size);

    item->name.data = ids;
    item->name.size = equals != NULL ? (size_t)(equals - ids) : 0;
    item->id.data = equals != NULL ? equals + 1 : ids;
    item->id.size = (size_t)(ids + size - item->id.data);
    return ids[size] == ',' ? ids + size + 1 : NULL;
}

bool script_ids_are_valid(const char *ids)
{
    struct script_id item;
    uint8_t guid[16];
    uint32_t age;

    while (ids != NULL) {
        ids = next_id(ids, &item);
        if (!symcache_debug_id_read(item.id.data, item.id.size, guid, &age)) {
            return false;
        }
    }
    return true;
}

struct symc_string script_ids_find(const char *ids,
                                   const struct jstrace_frame *of)
{
    const struct symc_string none = {NULL, 0};
    struct script_id item;
    size_t size = 0;

    while (size < of->url.size && of->url.data[size] != '?' &&
           of->url.data[size] != '#') {
        size++;
    }
    while (ids != NULL) {
        ids = next_id(ids, &item);
        if (item.name.size <= size &&
            memcmp(of->url.data + size - item.name.size, item.name.data,
                   item.name.size) == 0) {
            return item.id;
        }
    }
    return none;
}
