/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a whole conversion.  The input is a list of parts that replace
 * those of a valid image (see image_parse()), so that mutations affect records
 * and not the container around them.  The mutator changes one part at a time.
 */
#include <string.h>

#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                 const uint8_t *data2, size_t size2,
                                 uint8_t *out, size_t max_size,
                                 unsigned int seed);

/* Weak because only libFuzzer defines it; AFL++ mutates by itself. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size,
                                              size_t max_size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;

    image_init(&image);
    image_parse(&image, data, size);
    image_convert(&image);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned int seed)
{
    size_t n;
    struct image image;
    struct image_bytes *part;
    static uint8_t copy[0x10000];
    static uint8_t printed[0x100000];

    if (LLVMFuzzerMutate == NULL) {
        return size;
    }
    if (seed % 16 == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    image_init(&image);
    image_parse(&image, data, size);
    part = &image.parts[seed / 16 % IMAGE_PARTS];
    n = part->size;
    if (n > 0) {
        memcpy(copy, part->data, n);
    }
    part->data = copy;
    part->size = (uint32_t)LLVMFuzzerMutate(copy, n, sizeof(copy) - 1);
    if (seed % 64 == 1) {
        image.shuffle = seed >> 8 & 3;
    }
    max_size = max_size < sizeof(printed) ? max_size : sizeof(printed);
    n = image_print(&image, printed, max_size);
    if (n == 0) {
        return size;
    }
    memcpy(data, printed, n);
    return n;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                 const uint8_t *data2, size_t size2,
                                 uint8_t *out, size_t max_size,
                                 unsigned int seed)
{
    uint32_t i;
    struct image one, two;

    image_init(&one);
    image_init(&two);
    image_parse(&one, data1, size1);
    image_parse(&two, data2, size2);
    for (i = 0; i < IMAGE_PARTS; i++) {
        if (seed >> i & 1) {
            one.parts[i] = two.parts[i];
        }
    }
    return image_print(&one, out, max_size);
}
