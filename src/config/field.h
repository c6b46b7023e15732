/*
 * Copyright (C) the ngx_symcache authors
 *
 * One value of the configuration, by its type: reading, limits, and the error
 * that names the place.  Objects are read by a table of their keys.
 */
#ifndef CONFIG_FIELD_H
#define CONFIG_FIELD_H

#include <stdbool.h>
#include <stdint.h>
#include "json_file.h"
#include "proto/header.h"

#define CONFIG_PATH_MAX 1024
#define CONFIG_NAME_MAX SYMCACHE_STORE_MAX

struct config;
struct source_type;

struct config_reader {
    const struct json_file *json;
    const struct source_type *const *types; /* ends with NULL; or NULL: what
                                               has secrets is passed over */
    struct config *config; /* being filled */
    char *error;
    size_t size;
};

struct config_field;

/* What a key is, beside its value. */
enum config_flag {
    CONFIG_REQUIRED = 1 << 0,
    CONFIG_SECRET = 1 << 1, /* a secret, or an object that holds some */
    CONFIG_ACCESS = 1 << 2  /* how a source is asked, not where it looks */
};

/* Stores the value of item at `at`.  Returns 0, or -1 with error set. */
typedef int (*config_read_fn)(struct config_reader *r, const cJSON *item,
                              const struct config_field *field, void *at);

struct config_field {
    const char *key;
    config_read_fn read;
    size_t offset; /* in the struct that the object fills */
    uint64_t min;
    uint64_t max;
    unsigned flags; /* enum config_flag */
};

/* Always returns -1. */
int config_error(struct config_reader *r, const cJSON *item,
                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Keys of an object, and the struct that they fill. */
struct config_part {
    const struct config_field *fields;
    size_t n;
    void *at;
};

/* NULL if none of the fields has that key. */
const struct config_field *config_field_find(const struct config_field *fields,
                                        size_t n, const char *key);

/* Refuses unknown and repeated keys and missing required ones. */
int config_parts(struct config_reader *r, const cJSON *item,
                 const struct config_part *parts, size_t n);

/* The same for an object of one part. */
int config_object(struct config_reader *r, const cJSON *item,
                  const struct config_field *fields, size_t n, void *at);

/*
 * The text of a string item, or NULL with error set.  example: what such a
 * string looks like, as it stands in the file; NULL: anything.
 */
const char *config_text(struct config_reader *r, const cJSON *item,
                        const char *example);

/* The names that appear in URLs and paths: letters, digits and "._-". */
int config_name(struct config_reader *r, const cJSON *item, const char *name);

int config_string(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at); /* char * */
/* An http or https URL, without a slash at its end; char * */
int config_url(struct config_reader *r, const cJSON *item,
               const struct config_field *field, void *at);
/* "/a%20b" of "a b/", to be put behind a URL, "" of "/"; char * */
int config_url_path(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at);
int config_path(struct config_reader *r, const cJSON *item,
                const struct config_field *field, void *at); /* char * */
/* "unix:/path" or "address:port", as listener_open() takes it; char * */
int config_listen(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at);
int config_bool(struct config_reader *r, const cJSON *item,
                const struct config_field *field, void *at);
int config_count(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at); /* unsigned */
/* "90s", "1h30m", "7d"; seconds as unsigned */
int config_duration(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at);
/* "512k", "15g"; bytes as uint64_t */
int config_size(struct config_reader *r, const cJSON *item,
                const struct config_field *field, void *at);
/* "3.1.0", from 1.0.0 on; symcache_version_t */
int config_version(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at);

/* Wipes and frees the texts that were read: those with a char * above, and
 * those of config_secret(). */
void config_clear(const struct config_field *fields, size_t n, void *at);

#endif
