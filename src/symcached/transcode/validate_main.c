/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process that checks a file before it is published.
 */
#include "validate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "derived/derived.h"
#include "sandbox/sandbox.h"
#include "symcached/intake/intake.h"

#define VALIDATE_FD CHILD_FD
#define VALIDATE_SECONDS 60 /* of the processor */
#define VALIDATE_HEAD 512
#define VALIDATE_MEMORY (256ull * 1024 * 1024) /* beside the mapping */

static int validate_say(int code, const char *what)
{
    fprintf(stderr, "%s\n", what);
    return code;
}

/*
 * Is this something that servers send in place of a file by mistake?  Only if
 * so, sets *what to its name.
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

static int validate_answer(enum symc_verify_status status, const char *error)
{
    switch (status) {
    case SYMC_SOUND:
        return 0;
    case SYMC_VIOLATED:
        return validate_say(1, error);
    default:
        return validate_say(2, "out of memory");
    }
}

/* A file that is in no format that is read here. */
static int validate_foreign(const struct derived_type *type, const uint8_t *p,
                            size_t size, const char *origin)
{
    const char *what;

    if (!type->has_foreign) {
        fprintf(stderr, "not a %s\n", type->name);
        return 1;
    }
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
    const struct derived_type *type;
    symcache_kind_e kind;
    symcache_key_t key;
    struct stat st;
    char error[512];
    void *map;

    if (argc < 4 || !symcache_kind_parse(argv[3], strlen(argv[3]), &kind) ||
        symcache_id_parse(argv[2], strlen(argv[2]), &key) != SYMCACHE_OK) {
        return validate_say(2, SANDBOX_PROGRAM
                            ": --validate is for symcached itself");
    }
    key.kind = (uint8_t)kind;
    type = derived_type(kind);
    if (type == NULL) {
        return validate_say(2, "nothing can check a file of this kind");
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

    if (!type->sniff(map, (size_t)st.st_size)) {
        return validate_foreign(type, map, (size_t)st.st_size, origin);
    }
    return validate_answer(
        derived_check(map, (size_t)st.st_size, &key,
                      strcmp(origin, VALIDATE_RECEIVED) == 0, error,
                      sizeof(error)),
        error);
}
