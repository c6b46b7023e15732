/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which module of a process an address belongs to.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct image {
    uint64_t address; /* where it was loaded; 0: not known */
    uint64_t size;    /* 0: up to the next image, or to the end */
    uint32_t index;   /* the caller's; breaks ties */
};

/*
 * Sorts images by address, those with the same one by index, and gives those
 * without a size the distance to the next one.
 */
void images_sort(struct image *images, size_t count);

/*
 * The image that an address belongs to, or NULL.  It is the last one that
 * begins at or below the address; if it ends before that, no other image is
 * looked at.  As Symbolicator has it, the first address after an image
 * belongs to it, because it is the return address of a call that ends it.
 */
const struct image *images_find(const struct image *images, size_t count,
                                uint64_t address);
