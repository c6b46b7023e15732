/*
 * Copyright (C) the ngx_symcache authors
 */
#include "slice_choice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "debuginfo/macho/macho.h"
#include "derived/symcache/symcache.h"
#include "proto/key.h"

static bool is_meant(const struct slice_choice *choice,
                     const struct macho_slice *slice)
{
    uint8_t id[16];

    return (choice->arch == NULL ||
            strcmp(choice->arch, symc_arch_name(slice->arch)) == 0) &&
           (choice->id == NULL ||
            (symcache_guid_parse(choice->id, strlen(choice->id), id) ==
                 SYMCACHE_OK &&
             slice->has_uuid && memcmp(id, slice->uuid, sizeof(id)) == 0));
}

/* Prints architectures and ids of all slices, as many as there is room for. */
static void list_slices(const struct macho_identity *identity, char *text,
                        size_t size)
{
    unsigned i, k;
    const struct macho_slice *slice;
    char id[33];

    for (i = 0; i < identity->num_slices; i++) {
        slice = &identity->slices[i];
        hex_print(id, slice->uuid, 16, HEX_UPPER);
        k = (unsigned)snprintf(text, size, "%s%s %s", i == 0 ? "" : ", ",
                               symc_arch_name(slice->arch),
                               slice->has_uuid ? id : "(no id)");
        if (k >= size) {
            return;
        }
        text += k;
        size -= k;
    }
}

int slice_choose(const struct slice_choice *choice, const uint8_t **data,
                 size_t *size, struct failure *failure)
{
    bool has_choice = choice->arch != NULL || choice->id != NULL;
    char text[400];
    unsigned i, count = 0;
    const struct macho_slice *found = NULL;
    struct macho_identity identity;

    if (!macho_sniff(*data, *size)) {
        return has_choice
                   ? failure_set(failure, FAILURE_USAGE,
                                 "is not a Mach-O file, of which an image "
                                 "could be chosen")
                   : 0;
    }
    if (macho_identity_read(*data, *size, &identity, text, sizeof(text)) !=
        0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", text);
    }
    for (i = 0; i < identity.num_slices; i++) {
        if (is_meant(choice, &identity.slices[i])) {
            found = &identity.slices[i];
            count++;
        }
    }
    if (count != 1) {
        list_slices(&identity, text, sizeof(text));
        return failure_set(failure, FAILURE_USAGE, "%s: %s",
                           count == 0 ? "has no such image, but"
                                      : "has several images, choose one by "
                                        "--arch or --id",
                           text);
    }
    if (!found->is_sound && identity.is_fat) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "has a library of objects instead of an image for "
                           "%s, or a damaged one",
                           symc_arch_name(found->arch));
    }
    *data += found->offset;
    *size = (size_t)found->size;
    return 0;
}
