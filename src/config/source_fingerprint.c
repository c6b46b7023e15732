/*
 * Copyright (C) the ngx_symcache authors
 */

#include "source_fingerprint.h"

#include <stdlib.h>
#include <string.h>
#include "fingerprint.h"

uint64_t source_fingerprint_source(const cJSON *source,
                                   const struct source_type *type)
{
    cJSON *copy = cJSON_Duplicate(source, true), *child, *next;
    const struct config_field *field;
    uint64_t hash = FINGERPRINT_BASIS;
    char *text;

    for (child = copy != NULL ? copy->child : NULL; child != NULL;
         child = next) {
        next = child->next;
        field = source_type_key(type, child->string);
        if ((field->flags & (CONFIG_SECRET | CONFIG_ACCESS)) != 0) {
            cJSON_Delete(cJSON_DetachItemViaPointer(copy, child));
        }
    }
    text = cJSON_PrintUnformatted(copy);
    if (text != NULL) {
        hash = fingerprint(hash, text, strlen(text));
    }
    free(text);
    cJSON_Delete(copy);
    return hash;
}

uint64_t source_fingerprint_store(const struct store_config *store)
{
    const struct transcoder_config *transcoder;
    const struct source_config *source;
    uint64_t hash = FINGERPRINT_BASIS;
    const char *place;
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        source = store->sources[i];
        hash = fingerprint(hash, source->name, strlen(source->name) + 1);
        hash = fingerprint(hash, &source->fingerprint,
                           sizeof(source->fingerprint));
        if (source->tier != NULL) {
            place = source->tier->url != NULL ? source->tier->url
                                              : source->tier->path;
            hash = fingerprint(hash, place, strlen(place) + 1);
        }
    }
    for (i = 0; i < store->ntranscoders; i++) {
        transcoder = &store->transcoders[i];
        if (transcoder->command != NULL) {
            hash = fingerprint(hash, &transcoder->version,
                               sizeof(transcoder->version));
            hash = fingerprint(hash, &transcoder->inputs,
                               sizeof(transcoder->inputs));
            if (transcoder->makes != SYMCACHE_KIND_SYMCACHE) {
                hash = fingerprint(hash, &transcoder->makes,
                                   sizeof(transcoder->makes));
            }
        }
    }
    return hash;
}
