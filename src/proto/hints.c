
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "hints.h"

#include <string.h>

static int symcache_hint_is_url(const char *value, size_t len);
static int symcache_hint_is_since(const char *value, size_t len);
static int symcache_hint_is_scraped(const char *value, size_t len);
static int symcache_hint_is_artifacts(const char *value, size_t len);
static int symcache_hint_is_file(const char *value, size_t len);
static int symcache_hint_is_checksum(const char *value, size_t len);
static int symcache_hint_is_stamp(const char *value, size_t len);
static int symcache_hint_is_code_id(const char *value, size_t len);
static int symcache_hint_is_code_file(const char *value, size_t len);
static int symcache_hint_is_sources(const char *value, size_t len);

static const struct {
    const char  *name;
    int        (*check)(const char *value, size_t len);
    const char  *syntax;
} symcache_hint_rules[SYMCACHE_HINTS] = {
    [SYMCACHE_HINT_URL] = {
        "url", symcache_hint_is_url,
        "url= must be a URL of http or https in its normal form"
    },
    [SYMCACHE_HINT_SINCE] = {
        "since", symcache_hint_is_since,
        "since= must be seconds since 1970"
    },
    [SYMCACHE_HINT_SCRAPED] = {
        "scraped", symcache_hint_is_scraped,
        "scraped= must be 1"
    },
    [SYMCACHE_HINT_SCRIPT] = {
        "script", symcache_hint_is_file,
        "script= must be <name>/hash-<hex>"
    },
    [SYMCACHE_HINT_MAP] = {
        "map", symcache_hint_is_file,
        "map= must be <name>/hash-<hex>"
    },
    [SYMCACHE_HINT_ARTIFACTS] = {
        "artifacts", symcache_hint_is_artifacts,
        "artifacts= must be a UUID, or release-<hex>"
    },
    [SYMCACHE_HINT_CHECKSUM] = {
        "checksum", symcache_hint_is_checksum,
        "checksum= must be <algorithm>:<hex>, joined by \";\""
    },
    [SYMCACHE_HINT_CODE_ID] = {
        "code_id", symcache_hint_is_code_id,
        "code_id= must be buildid-<hex>, or time stamp and size of an image"
    },
    [SYMCACHE_HINT_CODE_FILE] = {
        "code_file", symcache_hint_is_code_file,
        "code_file= must be the name of a file without folders"
    },
    [SYMCACHE_HINT_STAMP] = {
        "stamp", symcache_hint_is_stamp,
        "stamp= must be 1 to 8 hex digits"
    },
    [SYMCACHE_HINT_SOURCES] = {
        "sources", symcache_hint_is_sources,
        "sources= must be names of sources, joined by \",\""
    },
};

const char *
symcache_hint_name(symcache_hint_e hint)
{
    return symcache_hint_rules[hint].name;
}

const char *
symcache_hint_syntax(symcache_hint_e hint)
{
    return symcache_hint_rules[hint].syntax;
}

static int
symcache_hint_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
           || (c >= 'a' && c <= 'z');
}

/* Characters without a meaning in a query are left as they are. */

static int
symcache_hint_is_plain(char c)
{
    return symcache_hint_is_alnum(c)
           || (c != '\0' && strchr("-._~:/?@=,", c) != NULL);
}

/* Returns 0 if more than max bytes come of it. */

static size_t
symcache_hint_encode(char *buf, size_t max, const char *value, size_t len)
{
    static const char  digits[] = "0123456789ABCDEF";

    size_t         i, n, size;
    unsigned char  c;

    n = 0;

    for (i = 0; i < len; i++) {
        size = symcache_hint_is_plain(value[i]) ? 1 : 3;

        if (size > max - n) {
            return 0;
        }

        if (size == 1) {
            buf[n++] = value[i];
            continue;
        }

        c = (unsigned char) value[i];
        buf[n++] = '%';
        buf[n++] = digits[c >> 4];
        buf[n++] = digits[c & 0xf];
    }

    return n;
}

static unsigned
symcache_hint_digit(char c)
{
    return (unsigned) (c <= '9' ? c - '0' : c - 'A' + 10);
}

/* Reads what symcache_hint_encode() has written. */

static void
symcache_hint_decode(char *value, const char *p, size_t len)
{
    size_t  i;

    for (i = 0; i < len; i++) {

        if (p[i] == '%' && len - i > 2) {
            *value++ = (char) (symcache_hint_digit(p[i + 1]) << 4
                               | symcache_hint_digit(p[i + 2]));
            i += 2;

        } else {
            *value++ = p[i];
        }
    }

    *value = '\0';
}

int
symcache_hint_add(char hints[SYMCACHE_HINTS_MAX + 1], symcache_hint_e hint,
    const char *value, size_t len)
{
    char        *p, *last;
    size_t       n, max, size;
    const char  *name;

    max = hint == SYMCACHE_HINT_URL ? SYMCACHE_URL_MAX : SYMCACHE_HINT_MAX;

    if (len > max || !symcache_hint_rules[hint].check(value, len)) {
        return 0;
    }

    name = symcache_hint_rules[hint].name;
    size = strlen(name);

    last = hints + strlen(hints);
    p = last;

    if (p != hints) {
        *p++ = '&';
    }

    memcpy(p, name, size);
    p += size;
    *p++ = '=';

    n = symcache_hint_encode(p, hint == SYMCACHE_HINT_URL ? 3 * max : max,
                             value, len);
    if (n == 0) {
        *last = '\0';
        return 0;
    }

    p[n] = '\0';

    return 1;
}

static void
symcache_hint_find(const char *hints, symcache_hint_e hint, char *value)
{
    size_t       len, size;
    const char  *p, *name;

    name = symcache_hint_rules[hint].name;
    size = strlen(name);

    for (p = hints; *p != '\0'; p += len + (p[len] == '&')) {
        len = strcspn(p, "&");

        if (len > size && p[size] == '=' && memcmp(p, name, size) == 0) {
            symcache_hint_decode(value, p + size + 1, len - size - 1);
            return;
        }
    }

    value[0] = '\0';
}

void
symcache_hint_get(const char *hints, symcache_hint_e hint,
    char value[SYMCACHE_HINT_MAX + 1])
{
    value[0] = '\0';

    if (hint != SYMCACHE_HINT_URL) {
        symcache_hint_find(hints, hint, value);
    }
}

void
symcache_hint_get_url(const char *hints, char url[SYMCACHE_URL_MAX + 1])
{
    symcache_hint_find(hints, SYMCACHE_HINT_URL, url);
}

int
symcache_hints_proved(const char *hints)
{
    const char  *next;

    if (strncmp(hints, "artifacts=", 10) == 0) {
        return strchr(hints, '&') == NULL;
    }

    if (strncmp(hints, "url=", 4) != 0) {
        return 0;
    }

    /* those that may follow come in their order */

    next = strchr(hints, '&');

    if (next != NULL && strncmp(next, "&since=", 7) == 0) {
        next = strchr(next + 1, '&');
    }

    return next == NULL || strcmp(next, "&scraped=1") == 0;
}

/* One text for each URL, as the id of the key is the hash of it. */

static int
symcache_hint_is_url(const char *value, size_t len)
{
    char  text[SYMCACHE_URL_MAX + 1];

    return symcache_url_normalise(text, value, len) == len
           && memcmp(text, value, len) == 0;
}

/* A number without zeros before it, one text for each. */

static int
symcache_hint_is_since(const char *value, size_t len)
{
    size_t  i;

    for (i = 0; i < len && value[i] >= '0' && value[i] <= '9'; i++) {
        /* void */
    }

    return len > 0 && len <= 12 && i == len && value[0] != '0';
}

/* Returns 0 if there is no number of at most 18 digits, without zeros before
 * it, that ends with the given character. */

static int
symcache_hint_number(const char **p, char end, uint64_t *number)
{
    size_t  n;

    *number = 0;

    for (n = 0; n < 18 && (*p)[n] >= '0' && (*p)[n] <= '9'; n++) {
        *number = *number * 10 + (uint64_t) ((*p)[n] - '0');
    }

    if (n == 0 || (*p)[n] != end || ((*p)[0] == '0' && n > 1)) {
        return 0;
    }

    *p += n + 1;

    return 1;
}

/* Writes a character and what symcache_hint_number() reads. */

static char *
symcache_hint_print_number(char *p, char begin, uint64_t number)
{
    char    digits[20];
    size_t  n;

    *p++ = begin;
    n = 0;

    do {
        digits[n++] = (char) ('0' + number % 10);
        number /= 10;
    } while (number > 0);

    while (n > 0) {
        *p++ = digits[--n];
    }

    *p = '\0';

    return p;
}

void
symcache_hint_print_file(char value[SYMCACHE_HINT_MAX + 1],
    const symcache_hint_file_t *file)
{
    const symcache_key_t  *key = &file->key;

    char  *p;

    memcpy(value, key->name, key->name_len);
    p = value + key->name_len;
    *p++ = '/';
    p += symcache_id_print(p, key);

    if (key->kind == SYMCACHE_KIND_SOURCECACHE) {
        p = symcache_hint_print_number(p, '@', file->offset);
        (void) symcache_hint_print_number(p, '-', file->size);
    }
}

/* One text for each file. */

static int
symcache_hint_is_file(const char *value, size_t len)
{
    char                  text[SYMCACHE_HINT_MAX + 1];
    char                  copy[SYMCACHE_HINT_MAX + 1];
    symcache_hint_file_t  file;

    if (len > SYMCACHE_HINT_MAX || memchr(value, '\0', len) != NULL) {
        return 0;
    }

    memcpy(copy, value, len);
    copy[len] = '\0';

    if (!symcache_hint_file(copy, &file)) {
        return 0;
    }

    symcache_hint_print_file(text, &file);

    return strcmp(text, copy) == 0;
}

int
symcache_hint_file(const char *value, symcache_hint_file_t *file)
{
    size_t       len;
    const char  *slash, *p;

    slash = strchr(value, '/');
    if (slash == NULL) {
        return 0;
    }

    len = strcspn(slash + 1, "@");

    if (symcache_name_parse(value, (size_t) (slash - value), &file->key)
           != SYMCACHE_OK
        || symcache_id_parse(slash + 1, len, &file->key) != SYMCACHE_OK
        || file->key.id_type != SYMCACHE_ID_HASH)
    {
        return 0;
    }

    file->key.kind = SYMCACHE_KIND_SOURCE;
    file->offset = file->size = 0;

    p = slash + 1 + len;
    if (*p == '\0') {
        return 1;
    }

    p++;
    file->key.kind = SYMCACHE_KIND_SOURCECACHE;

    return symcache_hint_number(&p, '-', &file->offset)
           && symcache_hint_number(&p, '\0', &file->size);
}

static int
symcache_hint_is_scraped(const char *value, size_t len)
{
    return len == 1 && value[0] == '1';
}

static int
symcache_hint_is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F')
           || (c >= 'a' && c <= 'f');
}

/* The name of a folder, too, so nothing else may be in it. */

static int
symcache_hint_is_artifacts(const char *value, size_t len)
{
    static const char  release[] = "release-";
    static const char  uuid[] = "00000000-0000-0000-0000-000000000000";

    size_t  i, start;

    start = len == sizeof(release) - 1 + 64 ? sizeof(release) - 1 : 0;

    if (start == 0 ? len != sizeof(uuid) - 1
                   : memcmp(value, release, start) != 0)
    {
        return 0;
    }

    for (i = start; i < len; i++) {

        if (start == 0 && uuid[i] == '-' ? value[i] != '-'
                                         : !symcache_hint_is_hex(value[i])
                                           || value[i] < '0'
                                           || (value[i] >= 'A'
                                               && value[i] <= 'F'))
        {
            return 0;
        }
    }

    return 1;
}

static int
symcache_hint_is_stamp(const char *value, size_t len)
{
    size_t  i;

    for (i = 0; i < len && symcache_hint_is_hex(value[i]); i++) {
        /* void */
    }

    return len > 0 && len <= 8 && i == len;
}

/* It becomes a header, so nothing else may be in it. */

static int
symcache_hint_is_checksum(const char *value, size_t len)
{
    const char  *p, *last, *start;

    p = value;
    last = value + len;

    do {
        p += p != value;

        for (start = p; p < last && (symcache_hint_is_alnum(*p) || *p == '-');
             p++)
        {
            /* void */
        }

        if (p == start || p == last || *p != ':') {
            return 0;
        }

        for (start = ++p; p < last && symcache_hint_is_hex(*p); p++) {
            /* void */
        }

        if (p == start) {
            return 0;
        }

    } while (p < last && *p == ';');

    return p == last;
}

static int
symcache_hint_is_code_file(const char *value, size_t len)
{
    symcache_key_t  key;

    return symcache_name_parse(value, len, &key) == SYMCACHE_OK;
}

/* One text for each id, so that all clients with that id wait for the same
 * job. */

static int
symcache_hint_is_code_id(const char *value, size_t len)
{
    char            text[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_key_t  key;

    return symcache_id_parse(value, len, &key) == SYMCACHE_OK
           && key.id_type != SYMCACHE_ID_DEBUG
           && symcache_id_print(text, &key) == len
           && memcmp(text, value, len) == 0;
}

static int
symcache_hint_is_sources(const char *value, size_t len)
{
    size_t  i;

    for (i = 0; i < len; i++) {
        if (!symcache_hint_is_alnum(value[i])
            && strchr("._-:,", value[i]) == NULL)
        {
            return 0;
        }
    }

    return len > 0 && value[0] != ',' && value[len - 1] != ',';
}
