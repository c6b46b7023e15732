/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's configuration: one JSON file with comments, which is read into
 * structs that do not change afterwards.  A reload makes a second struct
 * config; running jobs hold a reference to the one that they started with.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/build_list.h"
#include "proto/key.h"
#include "proto/version.h"
#include "bucket.h"
#include "original_format.h"
#include "secret_field.h"
#include "source_type.h"
#include "warnings.h"
#include "watch.h"

enum source_layout {
    LAYOUT_SYMSTORE, /* or two-tier, if index2.txt is found */
    LAYOUT_TWO_TIER,
    LAYOUT_SSQP,
    LAYOUT_UNIFIED,
    LAYOUT_FLAT,
    LAYOUT_BREAKPAD,
    LAYOUT_DEBUGINFOD,
    LAYOUT_BUILD_ID,     /* /usr/lib/debug/.build-id, as gdb knows it */
    LAYOUT_SYMBFILE,     /* of Elastic's symbol store */
    LAYOUT_SLASHSYMBOLS, /* "<name>/<code id>/symbols", as tools of the PS5 */
    LAYOUT_NATIVE        /* each where the debuggers of its system look */
};

/* what may be at a place of a layout */
enum layout_form {
    FORM_PLAIN,   /* foo.pdb or foo.sym; its content may be compressed */
    FORM_PACKED,  /* foo.pd_ or foo.sym.gz */
    FORM_POINTER, /* file.ptr */
    FORM_INDEX    /* index2.txt, whose presence means two tiers */
};
#define LAYOUT_FORMS 3 /* all forms of an original, thus not FORM_INDEX */

enum source_casing { CASING_DEFAULT, CASING_LOWER, CASING_UPPER };

/* maps "\\\\srv\\sym" or "X:\\" in a file.ptr to a local directory */
struct map_config {
    char *from;
    char *to;
};

/* PCRE2 pattern for the name of a key */
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
 * Signs a request for url that is about to be sent with the given headers, each
 * "Name: value".  Returns the headers, to which some may have been added.
 * When out of memory, frees them and returns NULL.  If another URL must be
 * asked instead, stores it in *instead, and the caller frees it.
 */
typedef struct curl_slist *(*transport_sign_fn)(const void *settings,
                                                const char *method,
                                                const char *url,
                                                struct curl_slist *headers,
                                                char **instead);

/* The requests that may connect to private, loopback and link-local
 * addresses. */
enum transport_internal {
    TRANSPORT_OUTSIDE,         /* none */
    TRANSPORT_INTERNAL,        /* the source, and whom it redirects to */
    TRANSPORT_INTERNAL_ORIGIN, /* requests to the source's own origin */
};

enum transport_http {
    TRANSPORT_HTTP_ANY, /* HTTP/2 if an https server offers it */
    TRANSPORT_HTTP_1_1,
    TRANSPORT_HTTP_2 /* also over http, without an upgrade */
};

struct header_config {
    char *name;
    char *value; /* secret */
};

#define TRANSPORT_WRITTEN 3

/* How a source is asked.  All texts may be NULL. */
struct transport_config {
    struct header_config *headers;
    size_t nheaders;
    enum transport_auth auth;
    char *user;     /* basic */
    char *password; /* basic; secret */
    char *token;    /* bearer; secret */
    transport_sign_fn sign;
    const void *sign_settings; /* of the source or the tier, which owns them */
    char *sigv4;    /* provider, region and service, as libcurl wants them */
    char *written[TRANSPORT_WRITTEN]; /* how the file has user, password and
                                         session token of a bucket */
    unsigned renewals; /* how often these three have changed since */
    char *ca;       /* files */
    char *certificate;
    char *key;
    char *key_password; /* secret */
    char *proxy;        /* URL; secret, as it may have a password */
    char *user_agent;
    enum transport_http http;
    enum transport_internal internal;
    unsigned long long id; /* of its connections: no other one has it or the
                              next number, in this configuration or another */
};

enum tier_kind { TIER_S3, TIER_GCS, TIER_FILESYSTEM, TIER_SYMCACHE };

/*
 * Storage shared by several machines, asked after the disk of each, see
 * symcached/tier/tier.h.
 */
struct tier_config {
    char *name;
    enum tier_kind kind;
    struct bucket_config bucket; /* s3, gcs */
    char *url;  /* s3, gcs, symcache: without a slash at its end */
    char *path; /* filesystem */
    struct transport_config transport;
    char *generation;    /* the first part of each name */
    unsigned lifetime;   /* seconds; 0: objects are never refreshed */
    uint64_t max_object; /* bytes of a file that is stored or taken */
    uint64_t part_size;  /* s3, gcs: what is larger is stored in such parts */
    char *mac_key;       /* secret, or NULL */
    char *written;       /* how the file has it, as JSON; may have secrets */
    bool read_only;
    /* s3: clients may get uploaded files there by a URL that is good for so
     * many seconds, below the other URL; or 0 */
    unsigned redirect;
    char *redirect_endpoint; /* as the bucket's endpoint, or NULL */
    char *redirect_url;
};

struct source_config {
    char *name;
    char *group; /* the symbol path that it is a part of; or NULL */
    const struct source_type *type;
    void *settings; /* filled from the type's own keys */
    enum source_layout layout;
    enum source_casing casing;
    enum layout_form forms[LAYOUT_FORMS]; /* in the order to ask for them */
    size_t nforms;                        /* 0 = all */
    char *path;                           /* filesystem: absolute directory */
    bool copies; /* filesystem: its files are copied and never used in place */
    struct tier_config *tier; /* of uploads: what path may lack; or NULL */
    const char *tier_path;    /* and where that is there, below "uploads/" */
    char *url;    /* base URL, no trailing slash; NULL: filesystem */
    char *origin; /* of url or path, for limits; see origin.h */
    symcache_version_t version;    /* symcache: the version to ask for */
    bool ppdbcaches;               /* symcache: it has PpdbCaches, too */
    struct patterns_config only;   /* none = every name */
    struct patterns_config except; /* wins over only */
    struct patterns_config paths; /* "<name>/<id>" of files of which nothing
                                     else is known; none = the usual ones */
    struct transport_config transport;
    bool is_scraper; /* its headers are for URLs that a client names directly,
                        and for no others */
    struct map_config *map; /* Windows locations in file.ptr */
    size_t nmap;
    uint64_t fingerprint; /* source_fingerprint_source() */
};

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
    char **command; /* argv with {pdb} and {out}, NULL-terminated; NULL: only
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

struct store_config {
    char *name;
    char *root;
    struct transcoder_config *transcoders; /* at most one command per input,
                                              kind and major version */
    size_t ntranscoders;
    struct source_config **sources; /* the best first; not owned */
    size_t nsources;
    char **source_names; /* as written: one may stand for several sources */
    size_t nsource_names;
    bool gzip;           /* gzip files are made */
    struct tier_config *tier; /* not owned; or NULL */
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
    unsigned first_byte_patience; /* seconds of silence after which a host is
                                     left alone; 0 = any */
    unsigned search_time;     /* seconds that debuginfod clients wait for a
                                 file to be found; 0 = as others */
    unsigned stall_time;      /* seconds below 1 KiB/s */
    unsigned attempts;        /* tries for one file */
    unsigned downloads_per_host;
    unsigned slow_downloads_per_host; /* in addition to these */
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
    uint64_t downloads_max_size; /* of originals alone; likewise */
    uint64_t total_size; /* with all that is being received; likewise */
    uint64_t min_free;         /* bytes, if min_free_percent is 0 */
    unsigned min_free_percent; /* of the file system */
};

/* A client that may upload. */
struct upload_token {
    char *token;   /* secret, without "-" */
    char *user;    /* for the log and the answer */
    bool only_try; /* may not upload what is not a try build */
};

/* The names of the sources that "uploads" makes, and its folders below root. */
#define UPLOADS_SOURCE "uploads"
#define UPLOADS_SOURCE_TRY "uploads-try"
#define UPLOADS_TRY ".try"

/* Bundles of scripts are files _/hash-<SHA-1>/_.artifacts there. */
#define UPLOADS_BUNDLE_SUM 20 /* bytes */
#define UPLOADS_BUNDLE_END ".artifacts"

#define UPLOADS_INDEX                                                         \
    ".index" /* their ids, see symcached/upload_index/upload_index.h */
#define UPLOADS_SPOOL ".spool"

/* How long builds of uploads are kept, of those that a pattern matches. */
struct uploads_keep {
    struct build_pattern pattern; /* without a build */
    unsigned builds;  /* the last ones of each branch; 0 = all */
    unsigned max_age; /* seconds since the last upload of it; 0 = any */
};

/* Original files that clients send. */
struct uploads_config {
    char *root;  /* the files, as in a symbol store; NULL: there are none */
    char *spool; /* where nginx puts the bodies of requests */
    char *listen; /* "unix:/path" of a socket for uploads alone, or NULL */
    struct upload_token *tokens;
    size_t ntokens;
    bool needs_token; /* otherwise nginx knows who may upload */
    bool replace;     /* may a zip replace what is there? */
    uint64_t max_size; /* bytes of all files of a request, unpacked */
    unsigned max_unused_for; /* seconds; 0 = for ever */
    unsigned try_max_age;    /* seconds, of files of try builds */
    unsigned parts_kept;     /* seconds, of parts of symbfiles */
    struct tier_config *tier; /* of the stores that have them; or NULL */
    char **peers; /* address:port or unix:/path of other machines' sockets */
    size_t npeers;
    struct uploads_keep *keep; /* the first one that matches a build counts */
    size_t nkeep;
};

/* The answer of Mozilla's protocol for a module if an upstream failed. */
enum mozilla_on_failure {
    MOZILLA_ON_FAILURE_FALSE, /* no symbols, as if no source had it */
    MOZILLA_ON_FAILURE_503    /* the client must repeat the whole request */
};

struct mozilla_config {
    bool enabled;
    bool lenient; /* a bad name of a module fails that module only */
    bool source;  /* texts of source files are given to who asks */
    bool code;    /* and instructions of programs, */
    uint64_t code_size; /* of that many bytes of machine code at a time */
    enum mozilla_on_failure on_failure;
    unsigned wait; /* seconds that an answer waits for conversions */
    unsigned requests; /* that may run */
};

/* How "sources" in a request of Symbolicator's protocol is treated. */
enum symbolicator_sources {
    SYMBOLICATOR_SOURCES_CONFIGURED, /* only configured names are allowed */
    SYMBOLICATOR_SOURCES_IGNORE,
    SYMBOLICATOR_SOURCES_REFUSE,
    SYMBOLICATOR_SOURCES_ALLOW /* a client may bring its own */
};

/*
 * Stores of sources that clients bring: for each scope and the private sources
 * of a list, and for each public source.
 */
struct tenants_config {
    char *root;     /* their folders are in it; NULL: there are none */
    unsigned count; /* at a time */
    uint64_t size;  /* bytes of one, of a scope */
    uint64_t public_size; /* of one that is for all scopes */
    unsigned idle;  /* seconds until one that is not asked is removed */
    char **hosts;   /* "name:port" that may be at an internal address */
    size_t nhosts;
    struct tier_config *tier; /* of their files, or NULL */
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
    CORRECTION_CONSTANT_SP,
    CORRECTION_PACKED_DUMPS,
    CORRECTION_APPLE_REGISTERS,
    CORRECTION_APPLE_IMAGES,
    CORRECTION_APPLE_HEADERS,
    CORRECTION_APPLE_NAMES,
    CORRECTION_MAP_LINES,
    CORRECTION_PDB_LINKS,
    CORRECTIONS
};

struct symbolicator_config {
    bool enabled;
    unsigned corrections; /* a set of 1 << enum symbolicator_correction */
    enum symbolicator_sources sources;
    bool candidates;    /* clients may know where modules were looked for */
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
    uint64_t body_size;   /* bytes of a request */
    uint64_t crash_size;  /* the same of a crash report */
    uint64_t spool_size;  /* bytes of all crash reports */
    uint64_t receiving_size; /* bytes of all bodies that are not whole yet */
    uint64_t answer_size; /* bytes of an answer */
    unsigned frames;      /* of a request */
    unsigned modules;     /* of a request; that one holds at a time */
    unsigned batch_pairs; /* addresses of a request for many files */
    unsigned batch_files; /* and its files */
    uint64_t running_size; /* bytes of all requests that run */
    unsigned files;       /* mapped at a time; 0: what the machine allows */
    uint64_t files_size;  /* their bytes */
};

/* symbolicated's own section */
struct symbolication_config {
    char *listen;
    unsigned threads;                   /* 0 = one for each processor */
    const struct store_config **stores; /* in the order to ask them */
    size_t nstores;
    char *spool;                        /* folder of large bodies, or NULL */
    struct symbolication_limits_config limits;
    struct mozilla_config mozilla;
    struct symbolicator_config symbolicator;
    struct symbolize_config symbolize;
    struct profile_config profile;
    struct javascript_config javascript;
};

struct config {
    atomic_uint refs;
    char *file;
    uint64_t fingerprint; /* of the bytes of the file */
    const struct source_type *const *types; /* that it was read with */
    char *listen;       /* "unix:/path" or "address:port" */
    char *listen_token; /* secret that requests there need, or NULL */
    char *admin_listen; /* "unix:/path", or NULL */
    char *downloads;
    struct store_config *stores;
    size_t nstores;
    struct source_config *sources;
    size_t nsources;
    struct tier_config *tiers;
    size_t ntiers;
    struct limits_config limits;
    struct cache_config cache;
    struct uploads_config uploads;
    struct symbolication_config symbolication;
};

/*
 * Reads and checks a configuration file.  types are the types that a source
 * may have, and end with NULL.  A program that asks no sources passes types =
 * NULL: then sources and transcoders are skipped, and so are their secrets.
 * Returns 0, and *config has one reference; or -1, and error is "file:line:
 * path.to.key: reason" (cut to size, with a NUL).
 */
int config_read(const char *file, const struct source_type *const *types,
                struct config **config, char *error, size_t size);

struct config *config_ref(struct config *config);
void config_unref(struct config *config);

/* The keys of a bucket: user, password and session token, or NULL. */
struct bucket_keys {
    char *text[TRANSPORT_WRITTEN];
};

/* Reads keys again from their "@file" texts, because another program may renew
 * these files.  May block.  Returns 0, or -1 with the reason in error. */
int config_keys_read(const struct bucket_keys *written,
                     struct bucket_keys *keys, char *error, size_t size);

/* Uses other keys from the next request on, and counts that in
 * transport->renewals if they are others. */
void config_keys_use(struct transport_config *transport,
                     struct bucket_keys *keys);

void config_keys_clear(struct bucket_keys *keys); /* wipes them */

/* Returns false if "only" or "except" exclude the key's name from a source. */
bool config_source_serves(const struct source_config *source,
                          const symcache_key_t *key);

/*
 * Maps a Windows location by the longest prefix in the table that ends at a
 * component boundary.  Case is ignored, and "/" and "\" are equal.  A relative
 * location is below `base`, or an error if that is NULL.  Sets *root to the
 * local directory, and rel to the rest with "/" between its components, none of
 * which is empty, "." or "..".  Returns NULL, or the reason why it failed.
 */
const char *config_map_location(const struct map_config *map, size_t nmap,
                                const char *base, const char *location,
                                const char **root, char *rel);

/* Returns the tier of that name, or NULL. */
struct tier_config *config_tier(const struct config *config,
                                const char *name);

const char *config_tier_kind(enum tier_kind kind);

const char *config_form_name(enum layout_form form);

/* Of one that has been read, so that it is not PROFILE_DEFAULT. */
const char *config_profile_name(enum transcoder_profile profile);

/* Frees a list of strings that ends with NULL; or NULL. */
void config_free_list(char **list);

/* Returns the set of formats that the originals at the places of a layout may
 * have. */
unsigned config_layout_formats(enum source_layout layout);

/* The formats that a source may have. */
unsigned config_source_formats(const struct source_config *source);

/* Returns whether a source has places for the original of a key, by its layout;
 * a directory can be searched for a program without a name. */
bool config_source_has_key(const struct source_config *source,
                           const symcache_key_t *key);

/* Returns the version that a SymCache server is asked for of files of this
 * kind, or NULL if it is not asked for them. */
const symcache_version_t *
config_source_version(const struct source_config *source,
                      symcache_kind_e kind);

/* Returns whether the files that a source has for a key are published as they
 * are: those of a SymCache server, and files at URLs. */
bool config_source_is_ready_made(const struct source_config *source,
                                 const symcache_key_t *key);

/* Returns the version of the file that a source has ready-made for a key, or
 * NULL if it has no such files. */
const symcache_version_t *
config_source_ready_made(const struct source_config *source,
                         const symcache_key_t *key);

/* Returns whether a layout has places of that form. */
bool config_layout_has_form(enum source_layout layout, enum layout_form form);

/*
 * Returns whether a source of the store is ever asked: it has SymCaches, or a
 * transcoder takes the format of its originals.
 */
bool config_store_asks(const struct store_config *store,
                       const struct source_config *source);

/*
 * Returns why nothing can be made for a store, or NULL if something can.  A
 * store for which nothing can be made still serves the files that it has.
 */
const char *config_store_idle(const struct store_config *store);

/* Returns whether a store has uploads, of try builds or of others, among its
 * sources. */
bool config_source_is_uploads(const struct source_config *source);
bool config_store_has_uploads(const struct store_config *store, bool is_try);

/* Returns whether two configurations have the same tenants, and let clients
 * bring sources or not. */
bool config_same_tenants(const struct symbolicator_config *a,
                         const struct symbolicator_config *b);

/* Returns whether the host of a URL that a client names may be at a private,
 * loopback or link-local address. */
bool tenants_may_reach(const struct tenants_config *config, const char *url);

/* Returns the store of a name, or NULL if there is none. */
const struct store_config *config_store(const struct config *config,
                                        const char *name, size_t len);

#endif
