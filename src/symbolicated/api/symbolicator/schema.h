/*
 * Copyright (C) the ngx_symcache authors
 *
 * Objects of a JSON request whose members and their types are known, as the
 * deserializer of Symbolicator takes them: members that it does not know are
 * passed over, one that comes twice is an error, and an array may stand for
 * an object, with the values of the members in their order.
 */
#pragma once

#include "derived/symcache/symcache.h"
#include "json/json.h"

#define SCHEMA_PATH_MAX 8

enum schema_type {
    SCHEMA_ANY,
    SCHEMA_STRING,
    SCHEMA_STRINGS, /* a list of them */
    SCHEMA_BOOL,
    SCHEMA_U32,
    SCHEMA_U64,
    SCHEMA_HEX, /* see schema_hex() */
    SCHEMA_LIST,
    SCHEMA_OBJECT,     /* or a list in its place */
    SCHEMA_MAP,        /* an object, its names are data */
    SCHEMA_ENUMERATION /* one of texts */
};

enum schema_presence { SCHEMA_OPTIONAL, SCHEMA_NULLABLE, SCHEMA_REQUIRED };

struct schema_member {
    const char *name;
    enum schema_type type;
    enum schema_presence presence;
    const char *const *texts; /* NULL at the end */
};

/* The values of "frame_order", which ends with NULL. */
extern const char *const schema_frame_orders[];

/* Where the walk is, for errors: "stacktraces[0].frames[1].trust". */
struct schema_walk {
    const struct json *json;
    struct {
        const char *name; /* NULL: an item */
        size_t index;
    } path[SCHEMA_PATH_MAX];
    size_t depth;
    bool is_bare; /* errors have no place */
    char *error;
    size_t error_size;
};

/*
 * Reads the text of a body into what is to be walked.  takes_rest: anything
 * may follow the JSON.  Returns 0; or a status, after writing what is wrong to
 * error.
 */
int schema_read(struct schema_walk *walk, struct json *json, char *body,
                size_t size, size_t most, bool takes_rest);

void schema_enter(struct schema_walk *walk, const char *name, size_t index);
void schema_leave(struct schema_walk *walk);

/*
 * Goes to the first item of a list that is a member, if *item is 0, or else
 * from *item to the next one.  Returns false after the last one, and if list
 * is 0.
 */
bool schema_next(struct schema_walk *walk, const char *name, uint32_t list,
                 uint32_t *item);

/* Writes "PATH: REASON" to error and returns false. */
bool schema_fail(struct schema_walk *walk, const char *reason);

/* The same of a member of what the walk is in. */
bool schema_fail_member(struct schema_walk *walk, const char *name,
                        const char *reason);

/*
 * Finds the members of an object and checks them.  found[i] is the value of
 * member i, or 0 if it is absent, or is null and may be.
 */
bool schema_object(struct schema_walk *walk, uint32_t value,
                   const struct schema_member *members, size_t count,
                   uint32_t *found);

/* The same of an object that is a member itself.  All of found is 0 if value
 * is. */
bool schema_part(struct schema_walk *walk, const char *name, uint32_t value,
                 const struct schema_member *members, size_t count,
                 uint32_t *found);

/* A string; its data is NULL if value is 0. */
struct symc_string schema_text(const struct json *json, uint32_t value);

/* An integer, which may be negative and is two's complement then, "0x1f" or
 * "31". */
bool schema_hex(const struct json *json, uint32_t value, uint64_t *hex);
