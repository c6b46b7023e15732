/*
 * Copyright (C) the ngx_symcache authors
 *
 * The key "transcoders" of a store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/key.h"
#include "proto/version.h"

#include "field.h"

/* A variable of a transcoder's environment. */
struct env_config {
    char *name;
    char *value; /* may be a secret */
};

/* The permissions of a transcoder, see symcached/transcode/confine.h. */
enum transcoder_profile {
    PROFILE_DEFAULT, /* while the file is read */
    PROFILE_STRICT,
    PROFILE_WINE,
    PROFILE_NONE
};

/* A program that makes SymCache files of a version for a store. */
struct transcoder_config {
    symcache_version_t version;
    unsigned inputs; /* the set of formats that it accepts */
    symcache_kind_e makes;
    bool is_implied; /* of another one: our converter makes this kind, too */
    char **command;  /* argv with {pdb} and {out}, NULL-terminated; NULL: only
                        a "symcache" source of the store has this version */
    struct env_config *env;
    size_t nenv;
    bool fixed_input; /* the program never gets the name of a PDB */
    enum transcoder_profile profile;
    bool network;      /* unless PROFILE_NONE: it may open connections */
    char **read;       /* what it may read beside the system's programs and
                          libraries; NULL-terminated absolute paths, or NULL */
    char *user;        /* that it runs as if symcached is root; or NULL */
    unsigned time;     /* seconds */
    uint64_t memory;   /* bytes of address space, of each process */
    uint64_t disk;     /* bytes, unless PROFILE_NONE */
    unsigned parallel; /* runs at a time; 0 = limits.transcodes alone */
};

/* A config_read_fn that fills the transcoders of a struct store_config. */
config_read_fn config_transcoders;

void config_transcoder_clear(struct transcoder_config *transcoder);

/* Of one that has been read, so that it is not PROFILE_DEFAULT. */
const char *config_profile_name(enum transcoder_profile profile);

/* Frees a list of strings that ends with NULL; or NULL. */
void config_free_list(char **list);
