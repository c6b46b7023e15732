/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a ProguardCache in place: nothing is copied, allocated or changed, and
 * nothing outside of data[0..size) is read, whatever the file says.  What an
 * index or an offset out of bounds refers to is absent or empty; verify.c
 * reports such errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"
#include "format.h"

enum proguardcache_part {
    PROGUARDCACHE_CLASSES,
    PROGUARDCACHE_MEMBERS,
    PROGUARDCACHE_PARAMETERS,
    PROGUARDCACHE_EXTRAS,
    PROGUARDCACHE_PAIRS,
    PROGUARDCACHE_RULES,
    PROGUARDCACHE_STRINGS,
    PROGUARDCACHE_PARTS
};

struct proguardcache_reader {
    const uint8_t *data;
    size_t size;
    uint32_t counts[PROGUARDCACHE_PARTS];
    uint64_t begins[PROGUARDCACHE_PARTS];
};

struct proguardcache_class {
    struct symc_string renamed;
    struct symc_string original;
    struct symc_string file; /* data is NULL: it is not known */
    uint32_t first;             /* of its members */
    uint32_t count;
    uint32_t first_parameter;
    uint32_t num_parameters;
};

struct proguardcache_member {
    const uint8_t *record;
    struct symc_string renamed;
    struct symc_string class; /* data is NULL: the class it stands in */
    struct symc_string file;  /* data is NULL: it is not known */
    struct symc_string name;
    struct symc_string arguments;
    uint32_t lines[2];     /* or PROGUARDCACHE_NONE */
    uint32_t originals[2]; /* the same */
    uint32_t extra;        /* or 0 */
    uint32_t flags;
};

/* Members that follow each other, by index; or places in the parameters. */
struct proguardcache_slice {
    uint32_t first;
    uint32_t count;
};

struct proguardcache_rule {
    struct symc_string descriptor;
    uint32_t removed;
};

/* Does a file begin as a ProguardCache does? */
bool proguardcache_sniff(const uint8_t *data, size_t size);

/* Opens a ProguardCache in memory, which must stay there while the reader is
 * used.  On failure the reader is unchanged and error explains why. */
enum symc_reader_status
proguardcache_reader_open(struct proguardcache_reader *reader,
                          const void *data, size_t size, char *error,
                          size_t error_size);

/* Reads the class or member with an index.  Returns false if there is none. */
bool proguardcache_reader_class(const struct proguardcache_reader *reader,
                                uint32_t index,
                                struct proguardcache_class *class);
bool proguardcache_reader_member(const struct proguardcache_reader *reader,
                                 uint32_t index,
                                 struct proguardcache_member *member);

/* The same for a member in two steps, because most are checked for their lines
 * only: first the numbers, then the texts. */
bool proguardcache_reader_lines(const struct proguardcache_reader *reader,
                                uint32_t index,
                                struct proguardcache_member *member);
void proguardcache_reader_names(const struct proguardcache_reader *reader,
                                struct proguardcache_member *member);

/* Returns the index of the member at a place in the parameters. */
uint32_t
proguardcache_reader_parameter(const struct proguardcache_reader *reader,
                               uint32_t place);

/* Reads the extra with a number: where its pairs and rules are. */
void proguardcache_reader_extra(const struct proguardcache_reader *reader,
                                uint32_t number,
                                struct proguardcache_slice *pairs,
                                struct proguardcache_slice *rules);

/* Reads a rule.  Returns false if there is none. */
bool proguardcache_reader_rule(const struct proguardcache_reader *reader,
                               uint32_t index, struct proguardcache_rule *rule);

/* Finds a class by its renamed name. */
bool proguardcache_reader_find(const struct proguardcache_reader *reader,
                               const char *name, size_t size,
                               struct proguardcache_class *class);

/* Finds the members of a class that a method may be; *members is empty if there
 * are none. */
void proguardcache_reader_methods(const struct proguardcache_reader *reader,
                                  const struct proguardcache_class *class,
                                  const char *name, size_t size,
                                  struct proguardcache_slice *members);

/* Finds the places in the parameters of a method with these arguments. */
void proguardcache_reader_overloads(const struct proguardcache_reader *reader,
                                    const struct proguardcache_class *class,
                                    const char *name, size_t size,
                                    const char *arguments,
                                    size_t arguments_size,
                                    struct proguardcache_slice *places);

/* Finds the line of the caller that a position in an outline stands for. */
bool proguardcache_reader_outlined(const struct proguardcache_reader *reader,
                                   const struct proguardcache_member *member,
                                   uint32_t position, uint32_t *line);

/*
 * Checks whether a ProguardCache complies with the format in full, which is
 * more than reading it needs.  A file is checked before it is published.
 *
 * Checks that reserved bytes are zero, that the parts fill the file, that
 * every string is UTF-8 and every reference within its part, and the order of
 * classes, members, parameters and pairs.  Takes time proportional to the size
 * of the file.  Writes the first violation, and where it is, to error.
 */
enum symc_verify_status
proguardcache_verify(const struct proguardcache_reader *reader, char *error,
                     size_t error_size);
