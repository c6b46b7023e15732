/*
 * Copyright (C) the ngx_symcache authors
 *
 * A hash table.  It holds hashes and values; keys stay with the caller, who
 * compares them:
 *
 *   at = 0;
 *   while ((job = (struct job *)table_next(&jobs, hash, &at)) != NULL) {
 *       if (strcmp(job->id, id) == 0) {
 *           return job;
 *       }
 *   }
 *
 * Apart from it are the tables of src/symcache, which are the time that a
 * conversion takes: they have slots of four bytes and fetch memory ahead.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

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

/* Starts from all zero, and is all zero again afterwards. */
void table_free(struct table *table);

/*
 * A hash of some bytes.  Keys are chosen by clients and by files, so the seed
 * is something that those do not know, such as an address; or the hash of what
 * comes before, where a key has several parts.
 */
uint64_t table_hash(uint64_t seed, const void *data, size_t size);

/* table_hash() of a text, seeded with the address of the table, which must
 * stay the same. */
uint64_t table_hash_text(const struct table *table, const char *text);

/* A hash of a number that no other number has: who finds it needs not
 * compare. */
uint64_t table_hash_number(const struct table *table, uint64_t number);

/* Adds a value that is not 0.  Returns 0, or -1 without memory. */
int table_add(struct table *table, uint64_t hash, uintptr_t value);

/* Removes a value, if it is there under that hash.  Ends a table_next() that
 * was under way. */
void table_remove(struct table *table, uint64_t hash, uintptr_t value);

/* The next value that was added with this hash, or 0 if there is no more.  *at
 * is 0 for the first. */
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

#endif
