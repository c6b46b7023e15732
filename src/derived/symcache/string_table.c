/*
 * Copyright (C) the ngx_symcache authors
 */

#include "string_table.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

#define MAX_SECTION 0xFFFFFF00u
#define MAX_SLOTS ((size_t)1 << 31)
#define FIRST_SLOTS 1024
#define HIGH_BITS 0x8080808080808080u /* set in bytes that are not ASCII */

void symc_string_table_forget(struct symc_string_table *strings)
{
    free(strings->slots);
    free(strings->lossy);
    strings->slots = NULL;
    strings->lossy = NULL;
    free(strings->hashes);
    strings->hashes = NULL;
    strings->num_slots = strings->slot_room = 0;
    strings->lossy_room = strings->hash_room = 0;
    if (!strings->refers) { /* else they tell the sizes of the texts */
        free(strings->offsets);
        strings->offsets = NULL;
        strings->offset_room = 0;
    }
}

void symc_string_table_free(struct symc_string_table *strings)
{
    strings->refers = false;
    symc_string_table_forget(strings);
    arena_free(&strings->repaired);
    free(strings->texts);
    free(strings->data);
    memset(strings, 0, sizeof(*strings));
}

static int repair(struct symc_string_table *strings, const uint8_t *text,
                  size_t len, size_t *out_len)
{
    int n;
    uint32_t c;
    size_t i, out;

    if (len > SIZE_MAX / 4 ||
        array_need(&strings->lossy, &strings->lossy_room, 3 * len, 1) != 0) {
        return -1;
    }
    out = 0;
    for (i = 0; i < len;) {
        n = utf8_decode(text + i, len - i, &c);
        if (n > 0) {
            memcpy(strings->lossy + out, text + i, (size_t)n);
            out += (size_t)n;
            i += (size_t)n;
        } else {
            memcpy(strings->lossy + out, "\xEF\xBF\xBD", 3);
            out += 3;
            i += (size_t)-n;
        }
    }
    *out_len = out;
    return 0;
}

static inline uint64_t eight(const uint8_t *p)
{
    uint64_t bytes;

    memcpy(&bytes, p, sizeof(bytes));
    return bytes;
}

/* Reads up to 8 bytes.  Some may be read twice: a copy of so few, whose number
 * the compiler does not know, takes longer than hashing them does. */
static inline uint64_t few(const uint8_t *p, size_t len)
{
    uint32_t first, last;

    if (len < 4) {
        return len == 0 ? 0
                        : (uint64_t)p[0] << 16 | (uint64_t)p[len / 2] << 8 |
                              p[len - 1];
    }
    memcpy(&first, p, sizeof(first));
    memcpy(&last, p + len - sizeof(last), sizeof(last));
    return (uint64_t)first << 32 | last;
}

/* Never returns 0, which means "no hash yet" in struct symc_name. */
static uint32_t hash_bytes(uint64_t seed, const uint8_t *p, size_t len,
                           int *is_ascii)
{
    size_t i;
    uint64_t h, w, all;

    h = seed ^ (len * 0x9E3779B97F4A7C15u);
    all = 0;
    for (i = 0; i + 8 < len; i += 8) {
        w = eight(p + i);
        h = (h ^ w) * 0xBF58476D1CE4E5B9u;
        h ^= h >> 29;
        all |= w;
    }
    w = len < 8 ? few(p, len) : eight(p + len - 8);
    h = (h ^ w) * 0x94D049BB133111EBu;
    h ^= h >> 31;
    *is_ascii = ((all | w) & HIGH_BITS) == 0;
    h ^= h >> 32;
    return (uint32_t)h == 0 ? 1 : (uint32_t)h;
}

const uint8_t *symc_string_table_text(const struct symc_string_table *strings,
                                      size_t number, size_t *size)
{
    unsigned shift = 7;
    size_t next = number + 1 < strings->count ? strings->offsets[number + 1]
                                              : strings->size;

    /* of what is between two offsets, the length has a byte for 7 bits */
    for (*size = next - strings->offsets[number] - 1; *size >> shift != 0;
         --*size) {
        shift += 7;
    }
    return strings->texts[number];
}

/* Returns the text of a string, and its length in *len. */
static const uint8_t *string_text_of(const struct symc_string_table *strings,
                                     size_t number, size_t *len)
{
    unsigned shift;
    const uint8_t *p;

    if (strings->refers) {
        return symc_string_table_text(strings, number, len);
    }
    p = strings->data + strings->offsets[number];
    *len = 0;
    for (shift = 0;; shift += 7) {
        *len |= (size_t)(*p & 0x7F) << shift;
        if ((*p++ & 0x80) == 0) {
            return p;
        }
    }
}

/* The address of s is the seed.  It differs from run to run, so a file whose
 * strings all collide cannot be made in advance. */
static uint32_t hash_text(const struct symc_string_table *strings,
                          const uint8_t *text, size_t len, int *is_ascii)
{
    return hash_bytes((uint64_t)(uintptr_t)strings * 0x9E3779B97F4A7C15u, text,
                      len, is_ascii);
}

/* The bits of the hash that a slot has above the number of its string, which
 * is below num_slots. */
static uint32_t tag_of(const struct symc_string_table *strings, uint32_t hash)
{
    return hash & ~(uint32_t)(strings->num_slots - 1);
}

static void put_string_slot(struct symc_string_table *strings, uint32_t hash,
                            size_t number)
{
    size_t i;

    i = (size_t)hash & (strings->num_slots - 1);
    while (strings->slots[i] != 0) {
        i = (i + 1) & (strings->num_slots - 1);
    }
    strings->slots[i] = tag_of(strings, hash) | (uint32_t)(number + 1);
}

static bool string_table_is_full(const struct symc_string_table *strings,
                                 size_t count)
{
    return count >= strings->num_slots / 4 * 3;
}

/* Makes room for more than this number of strings. */
static int grow_strings(struct symc_string_table *strings, size_t count)
{
    size_t i, n;

    n = strings->num_slots == 0 ? FIRST_SLOTS : 2 * strings->num_slots;
    for (; n / 4 * 3 <= count && n <= MAX_SLOTS; n *= 2) {
    }
    if (n > MAX_SLOTS || array_zeroed(&strings->slots, &strings->slot_room, n,
                                      sizeof(*strings->slots)) != 0) {
        return -1;
    }
    strings->num_slots = n;
    for (i = 0; i < strings->count; i++) {
        put_string_slot(strings, strings->hashes[i], i);
    }
    return 0;
}

size_t symc_string_table_length(uint8_t *to, size_t size)
{
    size_t n = 0;

    for (; size >= 0x80; size >>= 7) {
        to[n++] = (uint8_t)(size | 0x80);
    }
    to[n++] = (uint8_t)size;
    return n;
}

static int refer(struct symc_string_table *strings, const uint8_t *text,
                 size_t len)
{
    void *copy;

    if (array_need(&strings->texts, &strings->text_room, strings->count + 1,
                   sizeof(*strings->texts)) != 0) {
        return -1;
    }
    if (text == strings->lossy) {
        copy = arena_take(&strings->repaired, len);
        if (copy == NULL) {
            return -1;
        }
        text = memcpy(copy, text, len);
    }
    strings->texts[strings->count] = text;
    return 0;
}

static int append_string(struct symc_string_table *strings,
                         const uint8_t *text, size_t len)
{
    uint8_t length[10];
    size_t n = symc_string_table_length(length, len);

    if (len > MAX_SECTION ||
        strings->size > MAX_SECTION - len - sizeof(length)) {
        return -1;
    }
    if (strings->refers) {
        if (refer(strings, text, len) != 0) {
            return -1;
        }
    } else {
        if (array_need(&strings->data, &strings->room, strings->size + n + len,
                       1) != 0) {
            return -1;
        }
        memcpy(strings->data + strings->size, length, n);
        memcpy(strings->data + strings->size + n, text, len);
    }
    strings->size += n + len;
    return 0;
}

/* Finds a text and returns true with its offset, or returns false with the
 * free slot for it. */
static bool find_string(const struct symc_string_table *strings, uint32_t hash,
                        const uint8_t *text, size_t len, size_t *slot,
                        uint32_t *offset)
{
    size_t i, n, mask, number;
    uint32_t tag;
    const uint8_t *other;

    mask = strings->num_slots - 1;
    tag = tag_of(strings, hash);
    for (i = (size_t)hash & mask; strings->slots[i] != 0; i = (i + 1) & mask) {
        if ((strings->slots[i] & ~mask) == tag) {
            number = (strings->slots[i] & mask) - 1;
            *offset = strings->offsets[number];
            other = string_text_of(strings, number, &n);
            if (n == len && memcmp(other, text, len) == 0) {
                return true;
            }
        }
    }
    *slot = i;
    return false;
}

int symc_string_table_reserve(struct symc_string_table *strings, size_t count)
{
    return string_table_is_full(strings, count) ? grow_strings(strings, count)
                                                : 0;
}

void symc_string_table_expect(const struct symc_string_table *strings,
                              struct symc_name *name)
{
    name->hash = hash_text(strings, (const uint8_t *)name->data, name->size,
                           &name->is_ascii);
    if (strings->num_slots > 0) {
        __builtin_prefetch(
            &strings->slots[name->hash & (strings->num_slots - 1)], 1);
    }
}

/* The text must be UTF-8. */
static int insert_string(struct symc_string_table *strings,
                         const uint8_t *text, size_t len, uint32_t hash,
                         uint32_t *offset)
{
    size_t slot;

    if (string_table_is_full(strings, strings->count) &&
        grow_strings(strings, strings->count) != 0) {
        return -1;
    }
    if (find_string(strings, hash, text, len, &slot, offset)) {
        return 0;
    }
    *offset = (uint32_t)strings->size;
    if (array_need(&strings->offsets, &strings->offset_room,
                   strings->count + 1, sizeof(*strings->offsets)) != 0 ||
        array_need(&strings->hashes, &strings->hash_room, strings->count + 1,
                   sizeof(*strings->hashes)) != 0 ||
        append_string(strings, text, len) != 0) {
        return -1;
    }
    strings->offsets[strings->count] = *offset;
    strings->hashes[strings->count++] = hash;
    strings->slots[slot] = tag_of(strings, hash) | (uint32_t)strings->count;
    return 0;
}

static int insert_hashed(struct symc_string_table *strings,
                         const uint8_t *text, size_t len, uint32_t hash,
                         int is_ascii, uint32_t *offset)
{
    if (!is_ascii && utf8_valid(text, len) != len) {
        if (repair(strings, text, len, &len) != 0) {
            return -1;
        }
        text = strings->lossy;
        hash = hash_text(strings, text, len, &is_ascii);
    }
    return insert_string(strings, text, len, hash, offset);
}

int symc_string_table_insert(struct symc_string_table *strings,
                             const char *chars, size_t len, uint32_t *offset)
{
    int is_ascii;
    uint32_t hash;
    const uint8_t *text;

    text = (const uint8_t *)chars;
    hash = hash_text(strings, text, len, &is_ascii);
    return insert_hashed(strings, text, len, hash, is_ascii, offset);
}

int symc_string_table_insert_name(struct symc_string_table *strings,
                                  const struct symc_name *name,
                                  uint32_t *offset)
{
    return insert_hashed(strings, (const uint8_t *)name->data, name->size,
                         name->hash, name->is_ascii, offset);
}
