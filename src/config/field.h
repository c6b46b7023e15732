/*
 * Copyright (C) the ngx_symcache authors
 *
 * Readers for the values of the configuration, one for each type of value.
 * They check limits, and their errors name the place in the file.  An object
 * is read with a table of its keys.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "json_file.h"
#include "proto/header.h"

#define CONFIG_PATH_MAX 1024
#define CONFIG_NAME_MAX SYMCACHE_STORE_MAX

struct config_reader {
    const struct json_file *json;
    const struct source_type *const *types; /* as for config_read() */
    struct config *config; /* being filled */
    char *error;
    size_t size;
};

struct config_field;

/* Properties of a key. */
enum config_flag {
    CONFIG_REQUIRED = 1 << 0,
    CONFIG_SECRET = 1 << 1, /* a secret, or an object that contains some */
    CONFIG_ACCESS = 1 << 2  /* how a source is asked, not where it looks */
};

/* Stores the value of item at `at`.  Returns 0, or -1 with error set. */
typedef int config_read_fn(struct config_reader *r, const cJSON *item,
                           const struct config_field *field, void *at);

struct config_field {
    const char *key;
    config_read_fn *read;
    size_t offset; /* of the value, in the struct that the object fills */
    uint64_t min;
    uint64_t max;
    unsigned flags; /* enum config_flag */
};

/* Writes the reason, and the place of item, to the reader's error.  Always
 * returns -1. */
int field_error(struct config_reader *r, const cJSON *item, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* Some of the keys of an object, and the struct that they fill. */
struct config_part {
    const struct config_field *fields;
    size_t n;
    void *at;
};

/* Returns the field of a key, or NULL if there is none. */
const struct config_field *field_find(const struct config_field *fields,
                                      size_t n, const char *key);

/* Reads an object whose keys are those of n parts.  Unknown, repeated and
 * missing required keys are errors.  Returns 0, or -1 with error set. */
int field_parts(struct config_reader *r, const cJSON *item,
                const struct config_part *parts, size_t n);

/* The same for an object with a single part. */
int field_object(struct config_reader *r, const cJSON *item,
                 const struct config_field *fields, size_t n, void *at);

/*
 * Returns the text of a string item, or NULL with error set.  If example is not
 * NULL, the error shows it; it is written as in the file, with its quotes.
 */
const char *field_text(struct config_reader *r, const cJSON *item,
                       const char *example);

/*
 * Returns which of n words a string item is, or -1 with an error that lists
 * them.  The words are short: the list is cut to 255 bytes.
 */
int field_word(struct config_reader *r, const cJSON *item,
               const char *const *words, size_t n);

/* Checks a name that is used in URLs and paths: letters, digits and "._-". */
int field_name(struct config_reader *r, const cJSON *item, const char *name);

config_read_fn field_string; /* char * */
/* An http or https URL, without a slash at its end; char * */
config_read_fn field_url;
/* A path to append to a URL: "a b/" becomes "/a%20b", "/" becomes ""; char * */
config_read_fn field_url_path;
config_read_fn field_path; /* char * */
/* "unix:/path" or "address:port", as listener_open() takes it; char * */
config_read_fn field_listen;
config_read_fn field_listen_unix;
/* A key that is read before or after all others. */
config_read_fn field_read_apart;
config_read_fn field_bool;
config_read_fn field_count; /* unsigned */
/* "90s", "1h30m", "7d"; seconds as unsigned */
config_read_fn field_duration;
/* "512k", "15g"; bytes as uint64_t */
config_read_fn field_size;
/* "3.1.0", at least 1.0.0; symcache_version_t */
config_read_fn field_version;

/* Wipes and frees the texts that these fields have read with field_string(),
 * field_path(), field_url(), field_url_path() and field_secret(). */
void field_clear(const struct config_field *fields, size_t n, void *at);

/* Whether one folder lies in the other, or is the same.  That is an error where
 * each is cleaned by its own rules. */
bool config_paths_overlap(const char *a, const char *b);

/* Either text may be NULL. */
bool config_same_text(const char *a, const char *b);
