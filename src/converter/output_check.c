/*
 * Copyright (C) the ngx_symcache authors
 */
#include "output_check.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "derived/derived.h"
#include "proto/key.h"
#include "sandbox/sandbox.h"

#define CHECK_SECONDS 60                    /* of the processor */
#define CHECK_MEMORY (256ull * 1024 * 1024) /* beside the mapping */

bool output_check_read(struct output_check *check, const char *value)
{
    symcache_key_t key;
    char *end;
    long fd;

    if (value == NULL) {
        return false;
    }
    fd = strtol(value, &end, 10);
    if (*end != ':' || fd <= STDERR_FILENO || fd > INT_MAX ||
        symcache_debug_id_parse(end + 1, strlen(end + 1), &key) !=
            SYMCACHE_OK ||
        fcntl((int)fd, F_GETFL) < 0) {
        return false;
    }
    check->fd = (int)fd;
    memcpy(check->guid, key.guid, sizeof(check->guid));
    check->age = key.age;
    return true;
}

static bool output_is_sound(const struct output_check *check, const void *map,
                            size_t size, symcache_kind_e output)
{
    symcache_key_t key = {.id_type = SYMCACHE_ID_DEBUG, .age = check->age};
    char error[512];

    key.kind = (uint8_t)output;
    memcpy(key.guid, check->guid, sizeof(key.guid));
    return derived_check(map, size, &key, false, error, sizeof(error)) ==
           SYMC_SOUND;
}

/* Writes the report on a sound output and its input. */
static const char *to_say(const struct output_check *check,
                          const struct debuginfo_result *result)
{
    if (!result->is_pdb || result->age != check->age ||
        memcmp(result->guid, check->guid, sizeof(check->guid)) != 0) {
        return CHECK_SOUND;
    }
    if (result->has_links) {
        return result->publics_only ? CHECK_SOUND CHECK_PUBLICS CHECK_LINKS
                                    : CHECK_SOUND CHECK_FULL CHECK_LINKS;
    }
    return result->publics_only ? CHECK_SOUND CHECK_PUBLICS
                                : CHECK_SOUND CHECK_FULL;
}

/* Libseccomp without memory crashes, or computes without end.  The output has
 * its name already: as of one that is not sound, nothing is said of it. */
static void output_on_lack(size_t size)
{
    _exit(FAILURE_NONE);
}

void output_check_run(const struct output_check *check, int fd,
                      const struct debuginfo_result *result)
{
    const char *text = to_say(check, result);
    const size_t len = strlen(text);
    struct sandbox_limits limits = {.cpu_seconds = CHECK_SECONDS};
    char error[512];
    off_t size = lseek(fd, 0, SEEK_END);
    void *map = MAP_FAILED;

    if (size > 0) {
        map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    limits.memory = (uint64_t)size + CHECK_MEMORY;
    allocation_must_succeed(output_on_lack);
    if (map == MAP_FAILED ||
        sandbox_enter(&limits, NULL, error, sizeof(error)) != 0 ||
        !output_is_sound(check, map, (size_t)size, result->output)) {
        return;
    }
    if (write(check->fd, text, len) != (ssize_t)len) {
        return; /* which says nothing, as of one that is not sound */
    }
}
