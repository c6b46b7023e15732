
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "symbol_path.h"

#include <string.h>

/* Two characters of at most four bytes are the folder of the first tier. */
#define SYMCACHE_TIER_MAX  8

#define SYMCACHE_PARTS     4

typedef struct {
    const char  *data;
    size_t       len;
} symcache_part_t;

#define SYMCACHE_PART(text)  { text, sizeof(text) - 1 }

/* Ids of SSQP; with a name, that is the name of all such files. */

static const struct {
    symcache_part_t  prefix;
    symcache_part_t  name;
} symcache_ssqp_ids[] = {
    { SYMCACHE_PART("elf-buildid-sym-"), SYMCACHE_PART("_.debug") },
    { SYMCACHE_PART("mach-uuid-sym-"), SYMCACHE_PART("_.dwarf") },
    { SYMCACHE_PART("elf-buildid-"), { NULL, 0 } },
    { SYMCACHE_PART("mach-uuid-"), { NULL, 0 } }
};

#define SYMCACHE_SSQP_IDS                                                     \
    (sizeof(symcache_ssqp_ids) / sizeof(symcache_ssqp_ids[0]))

static const symcache_version_t  symcache_original_version = { 1, 0, 0 };

static char
symcache_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

static int
symcache_part_begins(const symcache_part_t *part, const symcache_part_t *with)
{
    size_t  i;

    if (part->len < with->len) {
        return 0;
    }

    for (i = 0; i < with->len; i++) {
        if (symcache_lower(part->data[i]) != symcache_lower(with->data[i])) {
            return 0;
        }
    }

    return 1;
}

static int
symcache_part_equal(const symcache_part_t *a, const symcache_part_t *b)
{
    return a->len == b->len && symcache_part_begins(a, b);
}

static int
symcache_part_is(const symcache_part_t *part, const char *text)
{
    symcache_part_t  other;

    other.data = text;
    other.len = strlen(text);

    return symcache_part_equal(part, &other);
}

static int
symcache_part_ends(const symcache_part_t *part, const char *text)
{
    symcache_part_t  end;

    end.len = strlen(text);

    if (part->len <= end.len) {
        return 0;
    }

    end.data = part->data + part->len - end.len;

    return symcache_part_is(&end, text);
}

/* The parts between slashes, without empty ones; 0 if there are too many. */

static size_t
symcache_parts(const char *p, size_t len, symcache_part_t *parts)
{
    size_t       n;
    const char  *last, *slash;

    n = 0;
    last = p + len;

    while (p < last) {
        slash = memchr(p, '/', (size_t) (last - p));

        if (slash == NULL) {
            slash = last;
        }

        if (slash > p) {
            if (n == SYMCACHE_PARTS) {
                return 0;
            }

            parts[n].data = p;
            parts[n++].len = (size_t) (slash - p);
        }

        p = slash + 1;
    }

    return n;
}

/* Reads hex digits with the prefix that a build id has in a key. */

static int
symcache_symbol_build_id(const symcache_part_t *digits, symcache_key_t *key)
{
    char  text[SYMCACHE_ID_TEXT_MAX];

    if (digits->len > 2 * SYMCACHE_BUILD_ID_MAX) {
        return 0;
    }

    memcpy(text, "buildid-", 8);
    memcpy(text + 8, digits->data, digits->len);

    return symcache_id_parse(text, 8 + digits->len, key) == SYMCACHE_OK;
}

static int
symcache_symbol_name(const symcache_part_t *name, symcache_request_t *req)
{
    req->name = name->data;

    return symcache_name_parse(name->data, name->len, &req->key)
           == SYMCACHE_OK;
}

static int
symcache_symbol_unnamed(symcache_request_t *req)
{
    static const symcache_part_t  none = SYMCACHE_PART(SYMCACHE_NAME_NONE);

    return symcache_symbol_name(&none, req);
}

/* Takes off the zeros with which SSQP fills a short id. */

static void
symcache_ssqp_unfill(symcache_key_t *key)
{
    static const uint8_t  zeros[12];

    if (key->build_len != 20) {
        return;
    }

    if (memcmp(key->build + 8, zeros, 12) == 0) {
        key->build_len = 8;

    } else if (memcmp(key->build + 16, zeros, 4) == 0) {
        key->build_len = 16;
    }
}

static int
symcache_symbol_ssqp(const symcache_part_t *parts, symcache_request_t *req)
{
    size_t                  i;
    symcache_part_t         digits;
    const symcache_part_t  *prefix, *name;

    for (i = 0; i < SYMCACHE_SSQP_IDS; i++) {
        prefix = &symcache_ssqp_ids[i].prefix;

        if (symcache_part_begins(&parts[1], prefix)) {
            break;
        }
    }

    if (i == SYMCACHE_SSQP_IDS || !symcache_part_equal(&parts[2], &parts[0])) {
        return 0;
    }

    name = &symcache_ssqp_ids[i].name;

    if (name->data) {
        if (!symcache_part_equal(&parts[0], name)
            || !symcache_symbol_unnamed(req))
        {
            return 0;
        }

    } else if (!symcache_symbol_name(&parts[0], req)) {
        return 0;
    }

    req->key.kind = name->data ? SYMCACHE_KIND_DEBUGINFO
                               : SYMCACHE_KIND_EXECUTABLE;

    digits.data = parts[1].data + prefix->len;
    digits.len = parts[1].len - prefix->len;

    if (!symcache_symbol_build_id(&digits, &req->key)) {
        return 0;
    }

    symcache_ssqp_unfill(&req->key);

    return 1;
}

/* crash.sym of crash.pdb, libc.so.6.sym of libc.so.6 */

static int
symcache_symbol_is_sym(const symcache_part_t *name,
    const symcache_part_t *file)
{
    symcache_part_t  stem;

    stem.data = name->data;
    stem.len = symcache_part_ends(name, ".pdb") ? name->len - 4 : name->len;

    return file->len == stem.len + 4 && symcache_part_ends(file, ".sym")
           && symcache_part_begins(file, &stem);
}

/* "<name>/<id>/<file>" */

static int
symcache_symbol_store(const symcache_part_t *parts, symcache_request_t *req)
{
    symcache_key_t  *key;

    key = &req->key;

    if (symcache_symbol_ssqp(parts, req)) {
        return 1;
    }

    if (!symcache_symbol_name(&parts[0], req)
        || symcache_id_parse(parts[1].data, parts[1].len, key) != SYMCACHE_OK
        || key->id_type == SYMCACHE_ID_BUILD)
    {
        return 0;
    }

    if (symcache_part_equal(&parts[2], &parts[0])) {

        if (key->id_type == SYMCACHE_ID_DEBUG) {
            key->kind = SYMCACHE_KIND_DEBUGINFO;
            return 1;
        }

        /* PDB 2.0 has ids that look like those of images; it is not read */

        key->kind = SYMCACHE_KIND_EXECUTABLE;
        return !symcache_part_ends(&parts[0], ".pdb");
    }

    key->kind = SYMCACHE_KIND_SYM;

    return key->id_type == SYMCACHE_ID_DEBUG
           && symcache_symbol_is_sym(&parts[0], &parts[2]);
}

/* "buildid/<hex>/debuginfo" */

static int
symcache_symbol_debuginfod(const symcache_part_t *parts,
    symcache_request_t *req)
{
    if (!symcache_part_is(&parts[0], "buildid")
        || !symcache_symbol_unnamed(req)
        || !symcache_symbol_build_id(&parts[1], &req->key))
    {
        return 0;
    }

    if (symcache_part_is(&parts[2], "debuginfo")) {
        req->key.kind = SYMCACHE_KIND_DEBUGINFO;
        return 1;
    }

    req->key.kind = SYMCACHE_KIND_EXECUTABLE;

    return symcache_part_is(&parts[2], "executable");
}

symcache_symbol_e
symcache_symbol_parse(const char *p, size_t len, symcache_request_t *req)
{
    size_t           n;
    symcache_part_t  parts[SYMCACHE_PARTS];

    n = symcache_parts(p, len, parts);
    req->version = symcache_original_version;

    if (n == 3) {
        return symcache_symbol_debuginfod(parts, req)
               ? SYMCACHE_SYMBOL_BUILD_ID
               : symcache_symbol_store(parts, req) ? SYMCACHE_SYMBOL_STORE
                                                   : SYMCACHE_SYMBOL_NONE;
    }

    return n == 4 && parts[0].len <= SYMCACHE_TIER_MAX
           && symcache_part_begins(&parts[1], &parts[0])
           && symcache_symbol_store(parts + 1, req)
           ? SYMCACHE_SYMBOL_TWO_TIER : SYMCACHE_SYMBOL_NONE;
}
