/*
 * Copyright (C) the ngx_symcache authors
 */
#include "via_header.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "base/hash_table.h"

#define VIA_STEP (VIA_ID + 2)
#define VIA_SEPARATORS ", \t"

const char *via_self(char id[VIA_ID + 1], const char *store)
{
    static uint64_t seed;

    if (seed == 0 && getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        seed = ((uint64_t)time(NULL) << 32) ^ (uint64_t)getpid();
    }
    snprintf(id, VIA_ID + 1, "%016llx",
             (unsigned long long)table_hash(seed, store, strlen(store)));
    return id;
}

/* Returns the next id of the list at *p, or NULL at its end. */
static const char *next_via(const char **p, size_t *len)
{
    const char *id = *p + strspn(*p, VIA_SEPARATORS);

    *len = strcspn(id, VIA_SEPARATORS);
    *p = id + *len;
    return *len > 0 ? id : NULL;
}

static bool has_via(const char *list, const char *id, size_t len)
{
    const char *other;
    size_t n;

    while ((other = next_via(&list, &n)) != NULL) {
        if (n == len && memcmp(other, id, len) == 0) {
            return true;
        }
    }
    return false;
}

bool via_loops(const char *list, const char *store)
{
    const char *p = list, *id;
    char self[VIA_ID + 1];
    size_t len;

    if (strlen(list) >= VIA_MAX) {
        return true;
    }
    while ((id = next_via(&p, &len)) != NULL) {
        if (len != VIA_ID || strspn(id, "0123456789abcdef") < VIA_ID) {
            return true;
        }
    }
    return has_via(list, via_self(self, store), VIA_ID);
}

bool via_has_all(const char *list, const char *ids)
{
    const char *id;
    size_t len;

    while ((id = next_via(&ids, &len)) != NULL) {
        if (!has_via(list, id, len)) {
            return false;
        }
    }
    return true;
}

bool via_precedes(const char *way, const char *other, const char *store)
{
    const char *first = way, *second = other, *a, *b;
    char self[VIA_ID + 1];
    bool is_any = false;
    size_t len, n;
    int cmp;

    while ((a = next_via(&first, &len)) != NULL) {
        b = next_via(&second, &n);
        cmp = memcmp(a, b != NULL ? b : via_self(self, store), VIA_ID);
        if (cmp != 0 || b == NULL) {
            return cmp < 0;
        }
        is_any = true;
    }
    /* the same way is no news */
    return is_any && next_via(&second, &n) != NULL;
}

/* Takes the id at p out of a list that via_join() has made. */
static void drop_via(char *list, char *p)
{
    if (p[VIA_ID] != '\0') {
        memmove(p, p + VIA_STEP, strlen(p + VIA_STEP) + 1);
    } else {
        p[p > list ? VIA_ID - VIA_STEP : 0] = '\0';
    }
}

static void add_via(char *to, const char *id)
{
    size_t used = strlen(to), at;

    for (at = 0; at < used; at += VIA_STEP) {
        if (memcmp(to + at, id, VIA_ID) == 0) {
            drop_via(to, to + at);
            break;
        }
    }
    while ((used = strlen(to)) + VIA_STEP >= VIA_MAX) {
        drop_via(to, to);
    }
    snprintf(to + used, VIA_MAX - used, "%s%.*s", used > 0 ? ", " : "", VIA_ID,
             id);
}

void via_join(char *to, const char *more)
{
    const char *id;
    size_t len;

    while ((id = next_via(&more, &len)) != NULL) {
        if (len == VIA_ID) {
            add_via(to, id);
        }
    }
}
