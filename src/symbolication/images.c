/*
 * Copyright (C) the ngx_symcache authors
 */
#include "images.h"

#include <stdlib.h>

static int compare_images(const void *a, const void *b)
{
    const struct image *x = a, *y = b;

    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

void images_sort(struct image *images, size_t count)
{
    size_t i;

    if (count > 0) {
        qsort(images, count, sizeof(*images), compare_images);
    }
    for (i = 0; i + 1 < count; i++) {
        if (images[i].size == 0) {
            images[i].size = images[i + 1].address - images[i].address;
        }
    }
}

const struct image *images_find(const struct image *images, size_t count,
                                uint64_t address)
{
    size_t low, high, middle;
    const struct image *image;

    low = 0;
    high = count;
    while (low < high) {
        middle = low + (high - low) / 2;
        if (images[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    image = &images[low - 1];
    return image->size == 0 || address - image->address <= image->size ? image
                                                                       : NULL;
}
