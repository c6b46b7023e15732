/*
 * Copyright (C) the ngx_symcache authors
 *
 * Random access to the records of the type (TPI) and id (IPI) streams by
 * index.  Places of records are learned by one walk, only as far as indices
 * are asked for.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "debuginfo/failure.h"
#include "msf.h"

#define TPI_STREAM 2
#define IPI_STREAM 4
#define TYPES_FIRST 0x1000

enum types_status {
    TYPES_OK = 0,
    TYPES_MISSING, /* no such index */
    TYPES_BROKEN,  /* damaged, or no memory */
    TYPES_DAMAGED  /* a bad length; used only in types.c */
};

/* A piece of the stream that is contiguous in the file. */
struct types_piece {
    const uint8_t *data;
    uint32_t at; /* its place in the stream */
    uint32_t size;
};

/* Linkers write a stream in one piece, or two around a block of the map of
 * free blocks. */
#define TYPES_PIECES 2

struct types {
    const struct msf *msf;
    uint32_t stream;
    uint32_t size;  /* of the stream */
    uint32_t first; /* index; 0 when the stream is empty */
    uint32_t end;
    uint32_t *places; /* offsets of the records found so far */
    size_t num_places;
    size_t room;
    size_t known;                 /* the reference has passed lower ones */
    struct types_damage *damages; /* bad lengths, ascending */
    size_t num_damages;
    size_t damage_room;
    uint32_t next; /* place of the next record to walk */
    struct types_piece pieces[TYPES_PIECES]; /* those at the beginning */
    struct types_piece last;                 /* the other one used last */
};

/* A record, which begins with its kind. */
struct types_record {
    const uint8_t *data;
    uint32_t size;
};

/* Opens a stream.  Returns 0, or -1 with failure set.  The caller must call
 * types_free() in either case. */
int types_open(struct types *types, const struct msf *msf, uint32_t stream,
               struct failure *failure);
void types_free(struct types *types);

/* Finds a record with an index >= TYPES_FIRST.  A record that is scattered in
 * the file is copied into the arena. */
enum types_status types_find(struct types *types, uint32_t index,
                             struct arena *arena, struct types_record *record);
