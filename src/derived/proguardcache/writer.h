/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds a ProguardCache from what a mapping says, in its order.
 */
#pragma once

#include "base/hash_table.h"
#include "derived/symcache/symcache.h"
#include "format.h"

/* A position in an outline, and the line of the caller that it stands for. */
struct proguardcache_pair {
    uint32_t position;
    uint32_t line;
    uint32_t number; /* for the caller's own use */
};

/* A method; its class is NULL unless it is another one's.  First and last lines
 * are in order, or PROGUARDCACHE_NONE. */
struct proguardcache_method {
    struct symc_text name;
    struct symc_text renamed;
    struct symc_text arguments;
    struct symc_text class;
    uint32_t lines[2];
    uint32_t originals[2];
};

/* A member as it is written, but for what is only known at the end. */
struct proguardcache_record {
    uint32_t renamed;
    uint32_t lines[2];
    uint32_t class; /* the receiver, whether the mapping has it or not */
    uint32_t name;
    uint32_t originals[2];
    uint32_t arguments;
    uint32_t extra;
    uint32_t flags;
};

/* A class with the members that stand below it in the mapping, in which it may
 * occur several times. */
struct proguardcache_header {
    uint32_t renamed;
    uint32_t original;
    uint32_t file;
    uint32_t first;
    uint32_t count;
    bool is_synthesized;
};

struct proguardcache_extra {
    uint32_t first_pair;
    uint32_t num_pairs;
    uint32_t first_rule;
    uint32_t num_rules;
};

struct proguardcache_rule_record {
    uint32_t descriptor;
    uint32_t removed;
};

/* A method by receiver, name and arguments, with flags. */
struct proguardcache_marked {
    uint32_t class;
    uint32_t name;
    uint32_t arguments;
    uint32_t flags;
};

/* Must be all zero at the beginning, but for the functions. */
struct proguardcache_writer {
    /* Where the largest parts are: set by the owner. */
    void *(*allocate)(size_t size);
    void (*release)(void *memory);
    struct symc_string_table strings;
    struct proguardcache_header *headers;
    size_t num_headers;
    size_t header_room;
    struct proguardcache_record **members; /* in pieces, which do not move */
    size_t num_members;
    size_t piece_room;
    size_t num_pieces;
    struct proguardcache_extra *extras;
    size_t num_extras;
    size_t extra_room;
    struct proguardcache_pair *pairs;
    size_t num_pairs;
    size_t pair_room;
    struct proguardcache_rule_record *rules;
    size_t num_rules;
    size_t rule_room;
    struct proguardcache_marked *marked;
    size_t num_marked;
    size_t marked_room;
    struct table marks; /* index in marked + 1 */
    uint32_t renamed;   /* the last name, as neighbours often have the same */
    const char *renamed_text;
    uint32_t renamed_size;
};

void proguardcache_writer_free(struct proguardcache_writer *writer);

/* Begins a class. */
enum symc_status
proguardcache_writer_class(struct proguardcache_writer *writer,
                           struct symc_text original,
                           struct symc_text renamed);

/* Set the file of the class, and that it is made by the compiler. */
enum symc_status
proguardcache_writer_file(struct proguardcache_writer *writer,
                          struct symc_text name);
void proguardcache_writer_synthesized_class(
    struct proguardcache_writer *writer);

/* Adds a method to the class.  The text of its renamed name must stay where it
 * is until the next one is added. */
enum symc_status
proguardcache_writer_method(struct proguardcache_writer *writer,
                            const struct proguardcache_method *method);

/* The method was inlined into the next one: it is not found by parameters. */
void proguardcache_writer_inlined(struct proguardcache_writer *writer);

/* Sets flags of the method, wherever it occurs. */
enum symc_status
proguardcache_writer_mark(struct proguardcache_writer *writer, uint32_t flags);

/* Sets the pairs of the method, which are in order. */
enum symc_status
proguardcache_writer_pairs(struct proguardcache_writer *writer,
                           const struct proguardcache_pair *pairs, size_t n);

/* Adds a rule: where the exception is thrown, this many frames go. */
enum symc_status
proguardcache_writer_rule(struct proguardcache_writer *writer,
                          struct symc_text descriptor, uint32_t removed);

/* Ends the input and writes the file.  Afterwards the writer can only be
 * freed. */
enum symc_status
proguardcache_writer_finish(struct proguardcache_writer *writer,
                            const struct symc_sink *sink);
