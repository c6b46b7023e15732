/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process that checks a SymCache or a PpdbCache.
 */
#include "validate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "derived/ppdbcache/ppdbcache.h"
#include "sandbox/sandbox.h"
#include "derived/symcache/symcache.h"
#include "symcached/intake/intake.h"

#define VALIDATE_FD CHILD_FD
#define VALIDATE_SECONDS 60 /* of the processor */
#define VALIDATE_HEAD 512
#define VALIDATE_MEMORY (256ull * 1024 * 1024) /* beside the mapping */

static const char validate_magic[4] = {'S', 'Y', 'M', 'C'};

static int validate_say(int code, const char *what)
{
    fprintf(stderr, "%s\n", what);
    return code;
}

/*
 * Is this something that servers send in place of a file by mistake?  Only if
 * so, *what says what it is.
 */
static bool validate_is_other(const uint8_t *p, size_t len, const char **what)
{
    size_t i, n = len < VALIDATE_HEAD ? len : VALIDATE_HEAD;
    enum body_kind kind = body_sniff(p, len, what);

    /* zlib data begins with two bytes that a file of another format may have */
    if (kind != BODY_ZLIB &&
        (kind != BODY_OTHER || strcmp(*what, BODY_UNKNOWN) != 0)) {
        return true;
    }

    for (i = 0; i < n; i++) {
        if ((p[i] < ' ' && (p[i] < '\t' || p[i] > '\r')) || p[i] == 0x7f) {
            return false;
        }
    }
    *what = "text";
    return true;
}

/*
 * Readers ignore what follows the strings.  Newer files have one more part
 * there and say so; in a file that does not, these bytes are from elsewhere.
 */
static bool validate_is_longer(const void *map, size_t size)
{
    struct symfile_reader reader;
    char error[512];

    return symfile_reader_open(&reader, map, size, error, sizeof(error)) ==
               SYMFILE_OPENED &&
           reader.size > reader.strings + reader.string_bytes &&
           reader.data[SYMFILE_AT_VARIABLES] == 0;
}

static int validate_answer(enum symfile_verify_status status,
                            const char *error)
{
    switch (status) {
    case SYMFILE_SOUND:
        return 0;
    case SYMFILE_VIOLATED:
        return validate_say(1, error);
    default:
        return validate_say(2, "out of memory");
    }
}

/* A file that is in another format than the open one. */
static int validate_foreign(const uint8_t *p, size_t size, const char *origin)
{
    const char *what;

    if (strcmp(origin, VALIDATE_OURS) == 0) {
        return validate_say(1, "is in a format that pdb2symcache does not "
                               "write");
    }
    return strcmp(origin, VALIDATE_RECEIVED) == 0 &&
                   validate_is_other(p, size, &what)
               ? validate_say(1, what)
               : 0;
}

int validate_main(int argc, char **argv)
{
    const char *origin = argc > 4 ? argv[4] : "";
    struct sandbox_limits limits = {0, 0, VALIDATE_SECONDS};
    symcache_kind_e kind = SYMCACHE_KIND_SYMCACHE;
    symcache_key_t key;
    struct stat st;
    char error[512];
    void *map;

    if (argc < 4 || !symcache_kind_parse(argv[3], strlen(argv[3]), &kind) ||
        symcache_id_parse(argv[2], strlen(argv[2]), &key) != SYMCACHE_OK) {
        return validate_say(2, CHILD_SANDBOXED
                            ": --validate is for symcached itself");
    }
    if (fstat(VALIDATE_FD, &st) != 0 || st.st_size <= 0) {
        return validate_say(2, "nothing to check");
    }
    map =
        mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, VALIDATE_FD, 0);
    if (map == MAP_FAILED) {
        return validate_say(2, strerror(errno));
    }

    limits.memory = (uint64_t)st.st_size + VALIDATE_MEMORY;
    if (sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        return validate_say(2, error);
    }

    if (kind == SYMCACHE_KIND_PPDBCACHE) {
        return validate_answer(ppdbcache_check(map, (size_t)st.st_size,
                                               key.guid, error,
                                               sizeof(error)),
                               error);
    }
    if ((size_t)st.st_size < sizeof(validate_magic) ||
        memcmp(map, validate_magic, sizeof(validate_magic)) != 0) {
        return validate_foreign(map, (size_t)st.st_size, origin);
    }
    if (strcmp(origin, VALIDATE_RECEIVED) == 0 &&
        validate_is_longer(map, (size_t)st.st_size)) {
        return validate_say(1, "something else follows the SymCache");
    }
    return validate_answer(symfile_check(map, (size_t)st.st_size,
                                         key.id_type == SYMCACHE_ID_DEBUG
                                             ? key.guid
                                             : NULL,
                                         error, sizeof(error)),
                           error);
}
