/*
 * Copyright (C) the ngx_symcache authors
 *
 * A hash table.  It holds only hashes and values; the caller has the keys, and
 * compares them:
 *
 *   at = 0;
 *   while ((job = (struct job *)table_next(&jobs, hash, &at)) != NULL) {
 *       if (strcmp(job->id, id) == 0) {
 *           return job;
 *       }
 *   }
 *
 * src/derived/symcache has tables of its own, because a conversion spends most
 * of its time in them: their slots have four bytes, and they prefetch memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint64_t hash;
    uintptr_t value; /* 0: the slot is free */
};

struct table {
    struct table_slot *slots; /* at least half of them are free */
    size_t num_slots;         /* 0, or a power of two */
    size_t count;
};

/* Frees the slots.  The table is all zero afterwards, which is an empty one. */
void table_free(struct table *table);

/*
 * Returns a hash of some bytes.  Clients and files choose the keys, so the seed
 * must be something that they do not know, such as an address.  For a key of
 * several parts the seed is the hash of the part before.
 */
uint64_t table_hash(uint64_t seed, const void *data, size_t size);

/* table_hash() of a text, seeded with the address of the table, which must
 * stay the same. */
uint64_t table_hash_text(const struct table *table, const char *text);

/* Returns a hash that no other number has in this table, so that whoever finds
 * it need not compare the numbers. */
uint64_t table_hash_number(const struct table *table, uint64_t number);

/* Adds a value that is not 0.  Returns 0, or -1 when out of memory. */
int table_add(struct table *table, uint64_t hash, uintptr_t value);

/* Removes a value, if it was added with that hash.  A search with table_next()
 * must not be continued afterwards, as entries may have moved. */
void table_remove(struct table *table, uint64_t hash, uintptr_t value);

/* Returns the next value that was added with this hash, or 0 if there is none.
 * *at is 0 before the first call. */
static inline uintptr_t table_next(const struct table *table, uint64_t hash,
                                   size_t *at)
{
    const struct table_slot *slot;

    if (table->num_slots == 0) {
        return 0;
    }
    do {
        slot = &table->slots[(hash + (*at)++) & (table->num_slots - 1)];
    } while (slot->value != 0 && slot->hash != hash);
    return slot->value;
}
