/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "debuginfo/breakpad/breakpad.h"
#include "debuginfo/pdb/pdb.h"
#include "debuginfo/portablepdb/portablepdb.h"

/* A file, and what is found out about it. */
struct candidate {
    const uint8_t *data;
    size_t size;
    const char *const *parts;
    bool packed;
    struct upload_place *place;
    char *error;
    size_t error_size;
};

#define FAIL(c, ...)                                                          \
    (snprintf((c)->error, (c)->error_size, __VA_ARGS__), false)

/* Is the second part this debug id? */
static bool has_debug_id(struct candidate *c, const uint8_t guid[16],
                         uint32_t age)
{
    symcache_key_t *key = &c->place->ids[0], path = {0};
    char got[SYMCACHE_ID_TEXT_MAX + 1];

    key->id_type = SYMCACHE_ID_DEBUG;
    memcpy(key->guid, guid, sizeof(key->guid));
    key->age = age;
    c->place->nids = 1;
    symcache_id_print(got, key);
    if (symcache_debug_id_parse(c->parts[1], strlen(c->parts[1]), &path) !=
            SYMCACHE_OK ||
        memcmp(path.guid, guid, sizeof(path.guid)) != 0 || path.age != age) {
        return FAIL(c, "has the id %s, and not %.136s", got, c->parts[1]);
    }
    snprintf(c->place->id, sizeof(c->place->id), "%s", got);
    return true;
}

/* Is the third part this name, or for a packed file that of a packed one?  This
 * is the last letter replaced by "_", or ".gz" behind it. */
static bool has_file(struct candidate *c, const char *name)
{
    const char *file = c->parts[2];
    size_t len = strlen(name);
    bool is_same = strcasecmp(file, name) == 0;

    if (!is_same && c->packed) {
        is_same = (strlen(file) == len && file[len - 1] == '_' &&
                   strncasecmp(file, name, len - 1) == 0) ||
                  (strncasecmp(file, name, len) == 0 &&
                   strcasecmp(file + len, ".gz") == 0);
    }
    if (!is_same) {
        return FAIL(c, "is called %s there, and not %.255s", name, file);
    }
    snprintf(c->place->file, sizeof(c->place->file), "%s", name);
    return true;
}

static bool is_pdb(struct candidate *c)
{
    struct pdb_identity got;

    return pdb_identity_read(c->data, c->size, &got, c->error,
                             c->error_size) == 0 &&
           has_debug_id(c, got.guid, got.age) && has_file(c, c->place->name);
}

static bool is_portable_pdb(struct candidate *c)
{
    struct portablepdb_identity got;

    return portablepdb_identity_read(c->data, c->size, &got, c->error,
                                     c->error_size) == 0 &&
           has_debug_id(c, got.guid, PORTABLEPDB_AGE) &&
           has_file(c, c->place->name);
}

/* crash.sym of crash.pdb, libc.so.6.sym of libc.so.6 */
static bool is_breakpad(struct candidate *c)
{
    const char *name = c->place->name;
    size_t len = strlen(name), stem = len;
    struct breakpad_identity got;
    char file[SYMCACHE_NAME_MAX + 8];

    if (breakpad_identity_read(c->data, c->size, &got, c->error,
                               c->error_size) != 0 ||
        !has_debug_id(c, got.guid, got.age)) {
        return false;
    }
    if (got.name_size > 0 &&
        (got.name_size != len || strncasecmp(got.name, name, len) != 0)) {
        return FAIL(c, "is of %.*s, and not of %s", (int)got.name_size,
                    got.name, name);
    }
    /* text does not say how long it is, but it ends with a line */
    if (c->data[c->size - 1] != '\n') {
        return FAIL(c, "is cut off in its last line");
    }
    if (len > 4 && strcmp(name + len - 4, ".pdb") == 0) {
        stem = len - 4;
    }
    snprintf(file, sizeof(file), "%.*s.sym", (int)stem, name);
    return strlen(file) <= SYMCACHE_NAME_MAX
               ? has_file(c, file)
               : FAIL(c, "has a name that is too long");
}

static const struct {
    const char *magic;
    size_t len;
    bool (*is)(struct candidate *c);
} kinds[] = {
    {"Microsoft C/C++ MSF 7.00\r\n", 26, is_pdb},
    {"MODULE ", 7, is_breakpad},
    {"BSJB", 4, is_portable_pdb},
};

bool upload_identify(const uint8_t *data, size_t size,
                     const char *const parts[3], bool packed,
                     struct upload_place *place, char *error,
                     size_t error_size)
{
    struct candidate c = {.data = data,
                          .size = size,
                          .parts = parts,
                          .packed = packed,
                          .place = place,
                          .error = error,
                          .error_size = error_size};
    symcache_key_t key;
    size_t i;

    memset(place, 0, sizeof(*place));
    if (symcache_name_parse(parts[0], strlen(parts[0]), &key) !=
            SYMCACHE_OK ||
        parts[0][0] == '.') {
        return FAIL(&c, "has a name that is not allowed");
    }
    memcpy(place->name, key.name, key.name_len + 1);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (size > kinds[i].len &&
            memcmp(data, kinds[i].magic, kinds[i].len) == 0) {
            return kinds[i].is(&c);
        }
    }
    return FAIL(&c, "is no file whose identity can be read: neither a PDB nor "
                    "Breakpad text");
}
