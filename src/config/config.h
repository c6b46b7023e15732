/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's configuration: one JSON file with comments, read once into
 * structs that nobody changes afterwards.  Defaults live in config.c only.
 * A reload makes a second struct config; jobs that run keep the one they
 * started with by a reference.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/key.h"
#include "proto/version.h"
#include "format.h"
#include "secret.h"
#include "source_type.h"
#include "warnings.h"

enum source_layout {
    LAYOUT_SYMSTORE, /* or two-tier, if index2.txt is found */
    LAYOUT_TWO_TIER,
    LAYOUT_SSQP,
    LAYOUT_UNIFIED,
    LAYOUT_FLAT,
    LAYOUT_BREAKPAD
};

/* what may lie at a place of a layout */
enum layout_form {
    FORM_PLAIN,   /* foo.pdb or foo.sym, whatever packs its body */
    FORM_PACKED,  /* foo.pd_ or foo.sym.gz */
    FORM_POINTER, /* file.ptr */
    FORM_INDEX    /* index2.txt, whose presence means two tiers */
};
#define LAYOUT_FORMS 3 /* of an original */

enum source_casing { CASING_DEFAULT, CASING_LOWER, CASING_UPPER };

/* "\\\\srv\\sym" or "X:\\" -> directory, for file.ptr of this source */
struct map_config {
    char *from;
    char *to;
};

/* PCRE2 patterns over a PDB name */
struct pattern_config {
    char *text;
    struct pcre2_real_code_8 *code;
};

struct patterns_config {
    struct pattern_config *list;
    size_t n;
};

enum transport_auth {
    TRANSPORT_NO_AUTH,
    TRANSPORT_BASIC,
    TRANSPORT_BEARER,
    TRANSPORT_NEGOTIATE, /* needs a header of its own, see spnego.h */
    TRANSPORT_SIGV4,     /* of S3 and GCS; user and password are its keys */
    TRANSPORT_SIGN       /* by the sign function of the source's type */
};

struct curl_slist;

/*
 * Signs a GET of url with those headers, "Name: value", and nothing else, as
 * it is about to be sent.  Returns the headers, more of them perhaps, or NULL
 * when out of memory, and they are freed.  A URL to ask instead, to be freed,
 * is left in *instead.
 */
typedef struct curl_slist *(*transport_sign_fn)(const void *settings,
                                                const char *url,
                                                struct curl_slist *headers,
                                                char **instead);

enum transport_http {
    TRANSPORT_HTTP_ANY, /* 2 where an https server offers it */
    TRANSPORT_HTTP_1_1,
    TRANSPORT_HTTP_2 /* on http without asking first */
};

struct header_config {
    char *name;
    char *value; /* secret */
};

/* All texts may be NULL. */
struct transport_config {
    struct header_config *headers;
    size_t nheaders;
    enum transport_auth auth;
    char *user;     /* basic */
    char *password; /* basic; secret */
    char *token;    /* bearer; secret */
    transport_sign_fn sign;
    const void *sign_settings; /* of the source's type; owned by the source */
    char *sigv4;    /* provider, region and service, as libcurl wants them */
    char *ca;       /* files */
    char *certificate;
    char *key;
    char *key_password; /* secret */
    char *proxy;        /* URL; secret, as it may have a password */
    char *user_agent;
    enum transport_http http;
    bool internal; /* may connect to private and loopback addresses */
};

struct source_config {
    char *name;
    char *group; /* name in the file, if that stands for several; or NULL */
    const struct source_type *type;
    void *settings; /* of the type's own keys */
    enum source_layout layout;
    enum source_casing casing;
    enum layout_form forms[LAYOUT_FORMS]; /* in the order to ask for them */
    size_t nforms;                        /* 0 = all */
    char *path;                           /* filesystem: absolute directory */
    char *url;    /* base URL, no trailing slash; NULL: filesystem */
    char *origin; /* whose lookups are limited: of url or path, see origin.h */
    symcache_version_t version;    /* symcache: what is asked for */
    struct patterns_config only;   /* none = every name */
    struct patterns_config except; /* wins over only */
    struct transport_config transport;
    struct map_config *map; /* Windows locations in file.ptr */
    size_t nmap;
    uint64_t fingerprint; /* source_fingerprint_source() */
};

/* A variable of a transcoder's environment. */
struct env_config {
    char *name;
    char *value; /* may be a secret */
};

/* What makes SymCache files of a version for a store. */
struct transcoder_config {
    symcache_version_t version;
    unsigned inputs; /* a bit 1 << FORMAT_... for each that it takes */
    symcache_kind_e makes;
    char **command; /* argv with {pdb} and {out}, NULL-terminated; NULL: only
                       a "symcache" source of the store has this version */
    struct env_config *env;
    size_t nenv;
    bool fixed_input; /* the name of a PDB is never handed over */
};

struct store_config {
    char *name;
    char *root;
    struct transcoder_config *transcoders; /* at most one command per input,
                                              kind and major version */
    size_t ntranscoders;
    struct source_config **sources; /* order = quality order; not owned */
    size_t nsources;
    char **source_names; /* as written: one may stand for several sources */
    size_t nsource_names;
    bool gzip;       /* has gzip files */
    uint64_t fingerprint; /* source_fingerprint_store() */
};

struct limits_config {
    unsigned downloads;
    unsigned transcodes;
    unsigned queue;
    uint64_t download_size;   /* bytes, on the wire and unpacked */
    unsigned download_time;   /* seconds, one file, retries included */
    unsigned connect_time;    /* seconds, one connection */
    unsigned first_byte_time; /* seconds, connecting included */
    unsigned stall_time;      /* seconds below 1 KiB/s */
    unsigned attempts;        /* of one file */
    unsigned downloads_per_host;
    unsigned slow_downloads_per_host; /* in addition */
    unsigned breaker_failures; /* in a row; 0 = off */
    unsigned breaker_window;   /* seconds */
    unsigned breaker_pause;    /* seconds */
    unsigned look_ahead_after; /* seconds; 0 = never */
    unsigned transcode_time;   /* seconds */
    uint64_t transcode_memory; /* bytes */
};

struct cache_config {
    unsigned max_unused_for; /* all in seconds */
    unsigned retry_misses_after;
    unsigned retry_malformed_after;
    unsigned retry_errors_after;
    unsigned downloads_max_unused_for;
    unsigned clean_every;
    uint64_t max_size;         /* bytes; 0 = no limit */
    uint64_t min_free;         /* bytes, if min_free_percent is 0 */
    unsigned min_free_percent; /* of the file system */
};

/* What Mozilla's protocol says of a module that an upstream failed for. */
enum mozilla_on_failure {
    MOZILLA_ON_FAILURE_FALSE, /* no symbols, as for one that nobody has */
    MOZILLA_ON_FAILURE_503    /* the whole request is to be sent again */
};

struct mozilla_config {
    bool enabled;
    bool lenient; /* a bad name of a module fails that module only */
    enum mozilla_on_failure on_failure;
    unsigned wait; /* seconds that an answer waits for conversions */
};

/* What a request of Symbolicator's protocol may say of sources. */
enum symbolicator_sources {
    SYMBOLICATOR_SOURCES_CONFIGURED, /* names of those of the stores */
    SYMBOLICATOR_SOURCES_IGNORE,
    SYMBOLICATOR_SOURCES_REFUSE
};

struct symbolicator_config {
    bool enabled;
    enum symbolicator_sources sources;
    unsigned requests;  /* at a time */
    unsigned node;      /* the first four digits of a request's id */
    uint64_t kept_size; /* bytes of requests whose answer is to be fetched */
};

struct symbolication_limits_config {
    uint64_t body_size;   /* bytes of a request */
    uint64_t answer_size; /* bytes of an answer */
    unsigned frames;      /* of a request */
    unsigned modules;     /* of a request */
    unsigned files;       /* mapped at a time */
    uint64_t files_size;  /* their bytes */
};

/* symbolicated's own section */
struct symbolication_config {
    char *listen;
    unsigned threads;                   /* 0 = one for each processor */
    const struct store_config **stores; /* order = who is asked first */
    size_t nstores;
    struct symbolication_limits_config limits;
    struct mozilla_config mozilla;
    struct symbolicator_config symbolicator;
};

struct config {
    atomic_uint refs;
    char *file;
    char *listen; /* "unix:/path" or "address:port" */
    char *downloads;
    struct store_config *stores;
    size_t nstores;
    struct source_config *sources;
    size_t nsources;
    struct limits_config limits;
    struct cache_config cache;
    struct symbolication_config symbolication;
};

/*
 * Reads and checks a configuration file.  types are those that a source may
 * have, and NULL behind them; or NULL for a program that asks no source: then
 * sources and transcoders are passed over, and with them all secrets, which
 * are neither needed nor looked for.  On success *config has one
 * reference and 0 is returned.  Otherwise -1, *config is untouched and error
 * holds "file:line: path.to.key: reason" (truncated to size, with a NUL).
 */
int config_read(const char *file, const struct source_type *const *types,
                struct config **config, char *error, size_t size);

struct config *config_ref(struct config *config);
void config_unref(struct config *config);

/* false if "only" or "except" keep the source from being asked for a name. */
bool config_source_serves(const struct source_config *source,
                          const symcache_key_t *key);

/*
 * Maps a location by the longest prefix of the table, without case, "/" and
 * "\" equal, at component boundaries.  A relative location goes below `base`,
 * unless that is NULL.  Sets *root to the local directory and rel to the rest
 * with "/" between its components, none of which is empty, "." or "..".
 * Returns NULL, or why there is no such place.
 */
const char *config_map_location(const struct map_config *map, size_t nmap,
                                const char *base, const char *location,
                                const char **root, char *rel);

const char *config_form_name(enum layout_form form);

/* What lies at the places of a layout. */
enum original_format config_layout_format(enum source_layout layout);

/* Has a layout places of that form? */
bool config_layout_has_form(enum source_layout layout, enum layout_form form);

/*
 * Why nothing can be made for a store, which then serves what is there; NULL
 * if something can.
 */
const char *config_store_idle(const struct store_config *store);

/* NULL if there is no such store. */
const struct store_config *config_store(const struct config *config,
                                        const char *name, size_t len);

#endif
