
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "symbol_path.h"

#include <string.h>

/* Two characters of at most four bytes are the folder of the first tier. */
#define SYMBOL_TIER_MAX  8

#define SYMBOL_PARTS     4

typedef struct {
    const char  *data;
    size_t       len;
} symbol_part_t;

#define SYMBOL_PART(text)  { text, sizeof(text) - 1 }

/* Ids of SSQP; with a name, that is the name of all such files. */

static const struct {
    symbol_part_t  prefix;
    symbol_part_t  name;
} symbol_ssqp_ids[] = {
    { SYMBOL_PART("elf-buildid-sym-"), SYMBOL_PART("_.debug") },
    { SYMBOL_PART("mach-uuid-sym-"), SYMBOL_PART("_.dwarf") },
    { SYMBOL_PART("elf-buildid-"), { NULL, 0 } },
    { SYMBOL_PART("mach-uuid-"), { NULL, 0 } }
};

/* Words that only our own keys have. */

static const symbol_part_t  symbol_own_words[] = {
    SYMBOL_PART("buildid-"), SYMBOL_PART("hash-")
};

#define SYMBOL_SSQP_IDS                                                       \
    (sizeof(symbol_ssqp_ids) / sizeof(symbol_ssqp_ids[0]))

static const symcache_version_t  symbol_original_version = { 1, 0, 0 };

static char
symbol_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

static inline int
symbol_part_begins(const symbol_part_t *part, const symbol_part_t *with)
{
    size_t  i;

    if (part->len < with->len) {
        return 0;
    }

    for (i = 0; i < with->len; i++) {
        if (symbol_lower(part->data[i]) != symbol_lower(with->data[i])) {
            return 0;
        }
    }

    return 1;
}

static int
symbol_part_equal(const symbol_part_t *a, const symbol_part_t *b)
{
    /* as most clients write the name of a file: alike both times */

    return a->len == b->len
           && (memcmp(a->data, b->data, a->len) == 0
               || symbol_part_begins(a, b));
}

/* The length of a literal is known where it is compared. */

static inline int
symbol_part_is(const symbol_part_t *part, const char *text)
{
    symbol_part_t  other;

    other.data = text;
    other.len = strlen(text);

    return symbol_part_equal(part, &other);
}

static int
symbol_part_ends(const symbol_part_t *part, const char *text)
{
    symbol_part_t  end;

    end.len = strlen(text);

    if (part->len <= end.len) {
        return 0;
    }

    end.data = part->data + part->len - end.len;

    return symbol_part_is(&end, text);
}

/* Takes the next part between slashes that is not empty; 0 at the end. */

static int
symbol_part_next(const char **p, const char *last, symbol_part_t *part)
{
    const char  *slash;

    while (*p < last && **p == '/') {
        (*p)++;
    }

    if (*p == last) {
        return 0;
    }

    slash = memchr(*p, '/', (size_t) (last - *p));

    part->data = *p;
    *p = slash ? slash : last;
    part->len = (size_t) (*p - part->data);

    return 1;
}

/* All parts; 0 if there are too many. */

static size_t
symbol_parts(const char *p, size_t len, symbol_part_t *parts)
{
    size_t         n;
    const char    *last;
    symbol_part_t  part;

    n = 0;
    last = p + len;

    while (symbol_part_next(&p, last, &part)) {

        if (n == SYMBOL_PARTS) {
            return 0;
        }

        parts[n++] = part;
    }

    return n;
}

static int
symcache_symbol_name(const symbol_part_t *name, symcache_request_t *req)
{
    req->name = name->data;

    return symcache_name_parse(name->data, name->len, &req->key)
           == SYMCACHE_OK;
}

static int
symcache_symbol_unnamed(symcache_request_t *req)
{
    static const symbol_part_t  none = SYMBOL_PART(SYMCACHE_NAME_NONE);

    return symcache_symbol_name(&none, req);
}

/* Takes off the zeros with which SSQP fills a short id. */

static void
symbol_ssqp_unfill(symcache_key_t *key)
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
symcache_symbol_ssqp(const symbol_part_t *parts, symcache_request_t *req)
{
    size_t                i;
    symbol_part_t         digits;
    const symbol_part_t  *prefix, *name;

    for (i = 0; i < SYMBOL_SSQP_IDS; i++) {
        prefix = &symbol_ssqp_ids[i].prefix;

        if (symbol_part_begins(&parts[1], prefix)) {
            break;
        }
    }

    if (i == SYMBOL_SSQP_IDS || !symbol_part_equal(&parts[2], &parts[0])) {
        return 0;
    }

    name = &symbol_ssqp_ids[i].name;

    if (name->data) {
        if (!symbol_part_equal(&parts[0], name)
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

    if (symcache_build_id_parse(digits.data, digits.len, &req->key)
        != SYMCACHE_OK)
    {
        return 0;
    }

    symbol_ssqp_unfill(&req->key);

    return 1;
}

static int symcache_symbol_word(const symbol_part_t *parts,
    symcache_request_t *req);

/* crash.sym of crash.pdb, libc.so.6.sym of libc.so.6 */

static int
symcache_symbol_is_sym(const symbol_part_t *name,
    const symbol_part_t *file)
{
    symbol_part_t  stem;

    stem.data = name->data;
    stem.len = symbol_part_ends(name, ".pdb") ? name->len - 4 : name->len;

    return file->len == stem.len + 4 && symbol_part_ends(file, ".sym")
           && symbol_part_begins(file, &stem);
}

/* crash.pd_ of crash.pdb: one character of UTF-8 is replaced */

static int
symcache_symbol_is_cabinet(const symbol_part_t *name,
    const symbol_part_t *file)
{
    size_t         i;
    symbol_part_t  stem;

    if (file->len < 2 || file->data[file->len - 1] != '_'
        || name->len < file->len)
    {
        return 0;
    }

    stem.data = file->data;
    stem.len = file->len - 1;

    for (i = file->len; i < name->len; i++) {
        if (((unsigned char) name->data[i] & 0xc0) != 0x80) {
            return 0;
        }
    }

    return ((unsigned char) name->data[stem.len] & 0xc0) != 0x80
           && symbol_part_begins(name, &stem);
}

/* Sets the kind of a packed file, or returns 0. */

static int
symcache_symbol_packed(const symbol_part_t *name, const symbol_part_t *file,
    symcache_key_t *key)
{
    symbol_part_t  inner;

    inner = *file;

    if (symcache_symbol_is_cabinet(name, file)) {
        key->kind = SYMCACHE_KIND_CABINET;
        return 1;
    }

    if (!symbol_part_ends(file, ".gz")) {
        return 0;
    }

    inner.len -= 3;

    if (symbol_part_equal(&inner, name)) {
        key->kind = SYMCACHE_KIND_GZIP;
        return 1;
    }

    key->kind = SYMCACHE_KIND_SYMGZIP;

    return key->id_type == SYMCACHE_ID_DEBUG
           && symcache_symbol_is_sym(name, &inner);
}

/* "<name>/<id>/<file>" */

static int
symcache_symbol_store(const symbol_part_t *parts, symcache_request_t *req)
{
    symcache_key_t  *key;

    key = &req->key;

    if (symcache_symbol_ssqp(parts, req) || symcache_symbol_word(parts, req)) {
        return 1;
    }

    if (!symcache_symbol_name(&parts[0], req)
        || symcache_id_parse(parts[1].data, parts[1].len, key) != SYMCACHE_OK
        || key->id_type == SYMCACHE_ID_BUILD
        || key->id_type == SYMCACHE_ID_HASH)
    {
        return 0;
    }

    if (symbol_part_equal(&parts[2], &parts[0])) {

        if (key->id_type == SYMCACHE_ID_DEBUG) {
            key->kind = SYMCACHE_KIND_DEBUGINFO;
            return 1;
        }

        /* PDB 2.0 has ids that look like those of images; it is not read */

        key->kind = SYMCACHE_KIND_EXECUTABLE;
        return !symbol_part_ends(&parts[0], ".pdb");
    }

    key->kind = SYMCACHE_KIND_SYM;

    if (key->id_type == SYMCACHE_ID_DEBUG
        && symcache_symbol_is_sym(&parts[0], &parts[2]))
    {
        return 1;
    }

    return symcache_symbol_packed(&parts[0], &parts[2], key)
           && (key->id_type == SYMCACHE_ID_DEBUG
               || !symbol_part_ends(&parts[0], ".pdb"));
}

/* "buildid/<hex>/debuginfo" */

static int
symcache_symbol_debuginfod(const symbol_part_t *parts,
    symcache_request_t *req)
{
    if (!symbol_part_is(&parts[0], "buildid")
        || !symcache_symbol_unnamed(req)
        || symcache_build_id_parse(parts[1].data, parts[1].len, &req->key)
           != SYMCACHE_OK)
    {
        return 0;
    }

    if (symbol_part_is(&parts[2], "debuginfo")) {
        req->key.kind = SYMCACHE_KIND_DEBUGINFO;
        return 1;
    }

    req->key.kind = SYMCACHE_KIND_EXECUTABLE;

    return symbol_part_is(&parts[2], "executable");
}

/* Bytes that stand for themselves in the name of a key. */

static int
symbol_name_plain(char c, int first)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
           || c == '-' || c == '+' || c == '~'
           || (!first && (c == '_' || c == '.'));
}

/*
 * Appends a part to the name of a key, and "/" in front of it if it is one of
 * a path.  Returns the new length, or 0 if that is too long.
 */

static size_t
symbol_name_escape(char *name, size_t n, const symbol_part_t *part,
    int slash)
{
    char               c;
    size_t             i;
    static const char  hex[] = "0123456789abcdef";

    for (i = 0; i < part->len + (slash != 0); i++) {
        c = slash ? (i ? part->data[i - 1] : '/') : part->data[i];

        if (n + 3 > SYMCACHE_NAME_MAX) {
            return 0;
        }

        if (symbol_name_plain(c, n == 0)) {
            name[n++] = c;
            continue;
        }

        name[n++] = '%';
        name[n++] = hex[(unsigned char) c >> 4];
        name[n++] = hex[(unsigned char) c & 0xf];
    }

    return n;
}

/* "", ".", "..", and what has control characters in it */

static int
symbol_part_bad(const symbol_part_t *part)
{
    size_t  i;

    for (i = 0; i < part->len; i++) {
        if ((unsigned char) part->data[i] < 0x20 || part->data[i] == 0x7f) {
            return 1;
        }
    }

    return part->len == 0
           || (part->data[0] == '.'
               && (part->len == 1
                   || (part->len == 2 && part->data[1] == '.')));
}

/* "<path>", or "<name>" of a section */

static int
symcache_symbol_escaped(const char *p, const char *last, symcache_kind_e kind,
    symcache_request_t *req)
{
    char           name[SYMCACHE_NAME_MAX];
    size_t         n;
    symbol_part_t  part;

    n = 0;

    while (symbol_part_next(&p, last, &part)) {

        if (symbol_part_bad(&part)
            || (n && kind == SYMCACHE_KIND_SECTION))
        {
            return 0;
        }

        n = symbol_name_escape(name, n, &part, kind == SYMCACHE_KIND_SOURCE);
        if (n == 0) {
            return 0;
        }
    }

    if (symcache_name_parse(name, n, &req->key) != SYMCACHE_OK) {
        return 0;
    }

    req->name = req->key.name;
    req->key.kind = (uint8_t) kind;

    return 1;
}

/* "buildid/<hex>/source/<path>", "buildid/<hex>/section/<name>" */

static int
symcache_symbol_part_of(const char *p, size_t len, symcache_request_t *req)
{
    const char       *last;
    symcache_kind_e   kind;
    symbol_part_t     part, id;

    last = p + len;

    if (!symbol_part_next(&p, last, &part)
        || !symbol_part_is(&part, "buildid")
        || !symbol_part_next(&p, last, &id)
        || !symbol_part_next(&p, last, &part))
    {
        return 0;
    }

    if (symbol_part_is(&part, "source")) {
        kind = SYMCACHE_KIND_SOURCE;

    } else if (symbol_part_is(&part, "section")) {
        kind = SYMCACHE_KIND_SECTION;

    } else {
        return 0;
    }

    return symcache_symbol_escaped(p, last, kind, req)
           && symcache_build_id_parse(id.data, id.len, &req->key)
              == SYMCACHE_OK;
}

static int
symbol_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The length of "<word>-", of lower-case letters, digits and "-"; or 0. */

static size_t
symbol_file_word(const char *p, size_t len)
{
    size_t  i, n;

    n = 0;

    for (i = 0; i < len && i < SYMCACHE_FILE_WORD_MAX; i++) {

        if (p[i] == '-' && i > 0) {
            n = i + 1;

        } else if (!((p[i] >= 'a' && p[i] <= 'z')
                     || (p[i] >= '0' && p[i] <= '9')))
        {
            break;
        }
    }

    return n;
}

/* Sets the name of the key of a file, "<word>-" and "/<name>", escaped. */

static int
symbol_file_name(const symbol_part_t *word, const symbol_part_t *file,
    symcache_request_t *req)
{
    char           lower[SYMCACHE_NAME_MAX], name[SYMCACHE_NAME_MAX];
    size_t         i, n;
    symbol_part_t  part;

    if (file->len > sizeof(lower)) {
        return 0;
    }

    for (i = 0; i < file->len; i++) {
        lower[i] = symbol_lower(file->data[i]);
    }

    part.data = lower;
    part.len = file->len;

    if (symcache_name_parse(lower, file->len, &req->key) != SYMCACHE_OK) {
        return 0;
    }

    n = symbol_name_escape(name, 0, word, 0);
    n = n ? symbol_name_escape(name, n, &part, 1) : 0;

    req->name = req->key.name;

    return n && symcache_name_parse(name, n, &req->key) == SYMCACHE_OK;
}

/* "sha1-<hex>" of "<name>/sha1-<hex>/<name>", for sources that may have it */

static int
symcache_symbol_word(const symbol_part_t *parts, symcache_request_t *req)
{
    char           text[SYMCACHE_ID_TEXT_MAX], id[SYMCACHE_ID_TEXT_MAX];
    size_t         i, digits;
    symbol_part_t  word;

    if (!symbol_part_equal(&parts[2], &parts[0])
        || parts[1].len > sizeof(text))
    {
        return 0;
    }

    for (i = 0; i < SYMBOL_SSQP_IDS; i++) {
        if (symbol_part_begins(&parts[1], &symbol_ssqp_ids[i].prefix)) {
            return 0;
        }
    }

    for (i = 0; i < 2; i++) {
        if (symbol_part_begins(&parts[1], &symbol_own_words[i])) {
            return 0;
        }
    }

    for (i = 0; i < parts[1].len; i++) {
        text[i] = symbol_lower(parts[1].data[i]);
    }

    word.data = text;
    word.len = symbol_file_word(text, parts[1].len);
    digits = parts[1].len - word.len;

    if (word.len == 0 || digits > 2 * SYMCACHE_HASH_MAX
        || !symbol_file_name(&word, &parts[0], req))
    {
        return 0;
    }

    memcpy(id, "hash-", 5);
    memcpy(id + 5, text + word.len, digits);
    req->key.kind = SYMCACHE_KIND_FILE;

    return symcache_id_parse(id, 5 + digits, &req->key) == SYMCACHE_OK
           && req->key.id_type == SYMCACHE_ID_HASH;
}

/* Decodes the name of a key, and adds a NUL; the length, or 0. */

static size_t
symbol_name_unescape(char *buf, const symcache_key_t *key)
{
    int     high, low;
    size_t  i, n;

    n = 0;

    for (i = 0; i < key->name_len; i++) {
        buf[n] = key->name[i];

        if (buf[n] == '%') {

            if (key->name_len - i < 3) {
                return 0;
            }

            high = symbol_hex_digit(key->name[i + 1]);
            low = symbol_hex_digit(key->name[i + 2]);

            if (high < 0 || low < 0) {
                return 0;
            }

            buf[n] = (char) (high << 4 | low);
            i += 2;
        }

        n++;
    }

    buf[n] = '\0';

    return n;
}

int
symcache_symbol_unescape(char *buf, const symcache_key_t *key)
{
    size_t              n;
    symcache_request_t  req;

    n = symbol_name_unescape(buf, key);

    return n > 0 && (buf[0] == '/') == (key->kind == SYMCACHE_KIND_SOURCE)
           && symcache_symbol_escaped(buf, buf + n,
                                      (symcache_kind_e) key->kind, &req)
           && req.key.name_len == key->name_len
           && memcmp(req.key.name, key->name, key->name_len) == 0;
}

int
symcache_symbol_file(char *name, char *id, const symcache_key_t *key)
{
    char                path[SYMCACHE_NAME_MAX + 1];
    size_t              n, word;
    symbol_part_t       parts[3];
    symcache_request_t  req;

    n = symbol_name_unescape(path, key);
    word = symbol_file_word(path, n);

    if (word == 0 || path[word] != '/' || key->id_type != SYMCACHE_ID_HASH) {
        return 0;
    }

    memcpy(name, path + word + 1, n - word);

    symcache_id_print(id, key);
    memmove(id + word, id + 5, strlen(id + 5) + 1);
    memcpy(id, path, word);

    parts[0].data = name;
    parts[0].len = n - word - 1;
    parts[1].data = id;
    parts[1].len = strlen(id);
    parts[2] = parts[0];

    return symcache_symbol_word(parts, &req)
           && symcache_key_equal(&req.key, key);
}

symcache_symbol_e
symcache_symbol_parse(const char *p, size_t len, symcache_request_t *req)
{
    size_t         n;
    symbol_part_t  parts[SYMBOL_PARTS];

    n = symbol_parts(p, len, parts);
    req->version = symbol_original_version;

    /* most have three; a path or a name of a part would be the fourth */

    if (n == 3) {
        return symcache_symbol_debuginfod(parts, req)
               ? SYMCACHE_SYMBOL_BUILD_ID
               : symcache_symbol_store(parts, req) ? SYMCACHE_SYMBOL_STORE
                                                   : SYMCACHE_SYMBOL_NONE;
    }

    if (symcache_symbol_part_of(p, len, req)) {
        return SYMCACHE_SYMBOL_BUILD_ID;
    }

    if (n == 4 && symbol_part_is(&parts[2], "msfz0")) {
        parts[2] = parts[3];

        return symcache_symbol_store(parts, req)
               && req->key.kind == SYMCACHE_KIND_DEBUGINFO
               && req->key.id_type == SYMCACHE_ID_DEBUG
               ? SYMCACHE_SYMBOL_MSFZ : SYMCACHE_SYMBOL_NONE;
    }

    return n == 4 && parts[0].len <= SYMBOL_TIER_MAX
           && symbol_part_begins(&parts[1], &parts[0])
           && symcache_symbol_store(parts + 1, req)
           ? SYMCACHE_SYMBOL_TWO_TIER : SYMCACHE_SYMBOL_NONE;
}
