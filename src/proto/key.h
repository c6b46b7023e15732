
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The key of a file of the cache: a kind of artefact, a name and an id.  Its
 * texts on disk and on the helper's socket are read and printed here.  The
 * paths of clients are read with it, see request.h and symbol_path.h.  Pure
 * functions on (pointer, length): no I/O, no allocation, no globals.
 *
 * Text of an id, which is also the name of its folder:
 *
 *   debug id    <GUID, 32 upper hex><age, 1..8 upper hex>, as symbol servers
 *               have it; a portable PDB has the age FFFFFFFF
 *   PE code id  <time stamp, 8 upper hex><size of image, 1..8 lower hex>, as
 *               symbol servers have it
 *   build id    buildid-<2..128 lower hex>
 *   hash        hash-<32..64 lower hex>, of what has no other id: a URL
 *
 * The first two are told apart by their lengths, 33..40 and 9..16 digits.  A
 * build id may have any length: the usual 20 bytes are 40 digits, as many as a
 * debug id with a large age has.  Therefore it has a prefix, in which there are
 * letters that no hex digit is.  The prefix does not say "elf-", because the
 * UUIDs of Mach-O and the build ids of WebAssembly are of this type, too.  A
 * hash has a prefix for the same reason.
 *
 * A build id needs no name.  Where there is none, "_" stands for it in the key
 * as in every text, as in the paths "_.debug/..." of symbol servers, so that no
 * part of a path is ever empty.
 */


#ifndef _SYMCACHE_KEY_H_INCLUDED_
#define _SYMCACHE_KEY_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>
#include "kind.h"


#define SYMCACHE_NAME_MAX       255

/* The name of a key that has none. */
#define SYMCACHE_NAME_NONE      "_"

#define SYMCACHE_BUILD_ID_MAX   64    /* bytes */

#define SYMCACHE_HASH_MIN       16    /* bytes */
#define SYMCACHE_HASH_MAX       32

/* The longest text of an id, "buildid-<128 hex digits>", without a NUL. */
#define SYMCACHE_ID_TEXT_MAX    (8 + 2 * SYMCACHE_BUILD_ID_MAX)

/* "<kind>:<name>/<id>", without a NUL. */
#define SYMCACHE_KEY_TEXT_MAX   (SYMCACHE_KIND_TEXT_MAX + 1                   \
                                 + SYMCACHE_NAME_MAX + 1                      \
                                 + SYMCACHE_ID_TEXT_MAX)


typedef enum {
    SYMCACHE_OK = 0,
    SYMCACHE_BAD_PATH,           /* number of path segments */
    SYMCACHE_BAD_VERSION,
    SYMCACHE_BAD_NAME,
    SYMCACHE_BAD_ID,
    SYMCACHE_BAD_AGE
} symcache_status_e;


typedef enum {
    SYMCACHE_ID_DEBUG = 0,
    SYMCACHE_ID_PE,
    SYMCACHE_ID_BUILD,
    SYMCACHE_ID_HASH
} symcache_id_e;


typedef struct {
    uint32_t            name_len;
    uint8_t             kind;         /* symcache_kind_e */
    uint8_t             id_type;      /* symcache_id_e */
    uint8_t             build_len;    /* 1..64; of a hash 16..32 */

    union {
        struct {                      /* SYMCACHE_ID_DEBUG */
            uint8_t     guid[16];     /* in text order, not in PDB file order */
            uint32_t    age;
        };

        struct {                      /* SYMCACHE_ID_PE */
            uint32_t    timestamp;
            uint32_t    image_size;
        };

        /* SYMCACHE_ID_BUILD, SYMCACHE_ID_HASH */
        uint8_t         build[SYMCACHE_BUILD_ID_MAX];
    };

    char                name[SYMCACHE_NAME_MAX + 1];  /* lower case, NUL-
                                                         terminated */
} symcache_key_t;


/*
 * Returns 1 if files with this type of id, or for this key are made and
 * stored.  The other ones are only defined so far, and the helper refuses them.
 */
int symcache_id_supported(symcache_id_e type);
int symcache_key_supported(const symcache_key_t *key);

/* Returns 1 if the key is that of a file at a URL. */
int symcache_key_is_url(const symcache_key_t *key);

/*
 * Returns 1 if the key is that of a bundle of scripts and source maps, or of
 * what is made of it: by the hash of its URL, or by its SHA-1 as an upload.
 */
int symcache_key_is_bundle(const symcache_key_t *key);

/* The kind of what is in a packed file; of other keys, their own. */
symcache_kind_e symcache_key_unpacked(const symcache_key_t *key);

/*
 * Returns 1 if the file of a key lies among the downloads: that of an original,
 * or one that is served as such.  A file at a URL, of which nothing is made,
 * lies in the store.
 */
int symcache_key_is_download(const symcache_key_t *key);

/*
 * Begins a key: checks a name (percent-decoded UTF-8, 1..255 bytes) and copies
 * it in lower case, which changes ASCII letters only.  Names that begin with a
 * dot are refused: files that a daemon keeps next to the folders of keys have
 * such names.  The kind is set to SymCache, and the type of the id to debug
 * id; the id is left as it is.  On an error the name in *key is undefined.
 */
symcache_status_e symcache_name_parse(const char *p, size_t len,
    symcache_key_t *key);

/* Reads 32 hex digits, or the form 8-4-4-4-12, which may be in {} or (). */
symcache_status_e symcache_guid_parse(const char *p, size_t len,
    uint8_t guid[16]);

/*
 * Reads a debug id as the services of Sentry do: 8-4-4-4-12 hex digits, or 32,
 * and an age of up to 8 digits, behind a hyphen if the rest has hyphens;
 * further digits are passed over.  No age is 0.  Returns 0 if it is none.
 */
int symcache_debug_id_read(const char *p, size_t len, uint8_t guid[16],
    uint32_t *age);

/* The longest one that the next function writes, without a NUL. */
#define SYMCACHE_DEBUG_TEXT_MAX 45

/*
 * Writes a debug id as those services do, and a NUL: 8-4-4-4-12 hex digits in
 * lower case, and behind one more hyphen an age that is not 0.  Returns the
 * length without the NUL.
 */
size_t symcache_debug_id_write(char *buf, const uint8_t guid[16],
    uint32_t age);

/* Reads a decimal number 0..4294967295. */
symcache_status_e symcache_age_parse(const char *p, size_t len, uint32_t *age);

/*
 * Reads the text of an id, in upper or lower case, and sets its type.  Numbers
 * with leading zeros are refused, because they would be another path.
 */
symcache_status_e symcache_id_parse(const char *p, size_t len,
    symcache_key_t *key);

/* The same of a build id in hexadecimal digits alone. */
symcache_status_e symcache_build_id_parse(const char *p, size_t len,
    symcache_key_t *key);

/* The same of a code id: time stamp and size of an image, or else, of more than
 * 16 digits, a build id in hexadecimal digits alone. */
symcache_status_e symcache_code_id_parse(const char *p, size_t len,
    symcache_key_t *key);

/* The same for debug ids only. */
symcache_status_e symcache_debug_id_parse(const char *p, size_t len,
    symcache_key_t *key);

/*
 * Writes the text of the id and a NUL into buf, which has room for
 * SYMCACHE_ID_TEXT_MAX + 1 bytes.  Returns the length without the NUL.
 */
size_t symcache_id_print(char *buf, const symcache_key_t *key);

/*
 * Writes "<name>/<id>" for a SymCache, "<kind>:<name>/<id>" for the other
 * kinds, and a NUL into buf, which has room for SYMCACHE_KEY_TEXT_MAX + 1
 * bytes.  No name has a colon.  Returns the length without the NUL.
 */
size_t symcache_key_print(char *buf, const symcache_key_t *key);

/* Returns 1 if both have the same name and id, whatever their kinds are. */
int symcache_key_same_module(const symcache_key_t *a,
    const symcache_key_t *b);

/* Returns 1 if both have the same id, whatever their names are. */
int symcache_key_same_id(const symcache_key_t *a, const symcache_key_t *b);

/* Returns 1 if both have the same kind, name and id. */
int symcache_key_equal(const symcache_key_t *a, const symcache_key_t *b);

/*
 * Orders keys by kind and id.  Negative, 0 or positive; 0: the same, whatever
 * the names are.
 */
int symcache_key_cmp_id(const symcache_key_t *a, const symcache_key_t *b);

/* Copies a key, of which only as much as its name needs may be allocated. */
void symcache_key_copy(symcache_key_t *to, const symcache_key_t *from);

/* A short English text for a log line. */
const char *symcache_status_text(symcache_status_e status);


#endif /* _SYMCACHE_KEY_H_INCLUDED_ */
