/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section "symbolication" of the configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field.h"
#include "tenants.h"

/* The answer of Mozilla's protocol for a module if an upstream failed. */
enum mozilla_on_failure {
    MOZILLA_ON_FAILURE_FALSE, /* no symbols, as if no source had it */
    MOZILLA_ON_FAILURE_503    /* the client must repeat the whole request */
};

struct mozilla_config {
    bool enabled;
    bool lenient;       /* a bad name of a module fails that module only */
    bool source;        /* texts of source files are given to who asks */
    bool code;          /* and instructions of programs, */
    uint64_t code_size; /* of that many bytes of machine code at a time */
    enum mozilla_on_failure on_failure;
    unsigned wait;     /* seconds that an answer waits for conversions */
    unsigned requests; /* that may run */
};

/* How "sources" in a request of Symbolicator's protocol is treated. */
enum symbolicator_sources {
    SYMBOLICATOR_SOURCES_CONFIGURED, /* only configured names are allowed */
    SYMBOLICATOR_SOURCES_IGNORE,
    SYMBOLICATOR_SOURCES_REFUSE,
    SYMBOLICATOR_SOURCES_ALLOW /* a client may bring its own */
};

/* One kind of event. */
struct event_config {
    bool enabled;
    unsigned requests; /* at a time */
};

/* Deviations from Symbolicator: docs/minidumps.md, docs/apple.md,
 * docs/javascript.md. */
enum symbolicator_correction {
    CORRECTION_ALL,
    CORRECTION_ARM_CFI,
    CORRECTION_ARM64_PE_CFI,
    CORRECTION_CFI_EXPRESSIONS,
    CORRECTION_CONSTANT_SP,
    CORRECTION_PACKED_DUMPS,
    CORRECTION_APPLE_REGISTERS,
    CORRECTION_APPLE_IMAGES,
    CORRECTION_APPLE_HEADERS,
    CORRECTION_APPLE_NAMES,
    CORRECTION_APPLE_EXCEPTION,
    CORRECTION_MAP_LINES,
    CORRECTION_PDB_LINKS,
    CORRECTIONS
};

struct symbolicator_config {
    bool enabled;
    unsigned corrections; /* a set of 1 << enum symbolicator_correction */
    enum symbolicator_sources sources;
    bool candidates; /* clients may know where modules were looked for */
    bool links; /* source code that debug information links to is fetched */
    char **debuginfod; /* URLs of servers that are asked for source code */
    size_t ndebuginfod;
    bool tokens;        /* a function_id of .NET may be a whole token */
    unsigned requests;  /* at a time */
    unsigned node;      /* the first four digits of a request's id */
    uint64_t kept_size; /* bytes of all kept requests */
    struct tenants_config tenants;
    struct event_config minidump;
    struct event_config apple;
    struct event_config jvm;
    struct event_config js;
};

/* Scripts. */
struct javascript_config {
    bool scraping; /* files that frames name may be fetched from the web */
};

/* POST /symbolize/v1 */
struct symbolize_config {
    bool enabled;
    unsigned requests; /* at a time */
    unsigned wait;     /* seconds that a round waits for conversions */
};

/* POST /profile */
struct profile_config {
    bool enabled;
    unsigned requests; /* at a time */
    unsigned wait;     /* seconds that an answer waits for conversions */
};

struct symbolication_limits_config {
    uint64_t body_size;      /* bytes of a request */
    uint64_t crash_size;     /* the same of a crash report */
    uint64_t spool_size;     /* bytes of all crash reports */
    uint64_t receiving_size; /* bytes of all bodies that are not whole yet */
    uint64_t answer_size;    /* bytes of an answer */
    unsigned frames;         /* of a request */
    unsigned modules;        /* of a request; that one holds at a time */
    unsigned batch_pairs;    /* addresses of a request for many files */
    unsigned batch_files;    /* and its files */
    uint64_t running_size;   /* bytes of all requests that run */
    unsigned files;          /* mapped at a time; 0: what the machine allows */
    uint64_t files_size;     /* their bytes */
};

/* symbolicated's own section */
struct symbolication_config {
    char *listen;
    unsigned threads;                   /* 0 = one for each processor */
    const struct store_config **stores; /* in the order to ask them */
    size_t nstores;
    char *spool; /* folder of large bodies, or NULL */
    struct symbolication_limits_config limits;
    struct mozilla_config mozilla;
    struct symbolicator_config symbolicator;
    struct symbolize_config symbolize;
    struct profile_config profile;
    struct javascript_config javascript;
};

/*
 * Reads the section into the reader's config, whose stores must be known.  If
 * the file has no such section, item is NULL, and everything gets its default.
 * Returns 0, or -1 with error set.
 */
int config_symbolication(struct config_reader *r, const cJSON *item);

/* Frees the members of the struct. */
void config_symbolication_clear(struct symbolication_config *symbolication);

/* Returns whether two configurations have the same tenants, and let clients
 * bring sources or not. */
bool config_same_tenants(const struct symbolicator_config *a,
                         const struct symbolicator_config *b);
