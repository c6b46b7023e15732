/*
 * Copyright (C) the ngx_symcache authors
 */
#include "mapping_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "symcachectl/command.h"

#define HEAD 4096 /* bytes of a mapping, in which its comments are */
#define DIGITS 64 /* of a SHA-256; a shorter id is its begin */
#define DIGITS_MIN 7

static struct {
    char id[DIGITS + 1];
    char path[PATH_MAX]; /* "": not found yet */
} wanted;

/* Reads an id, of which others may have only the first digits.  Returns how
 * many there are. */
static size_t read_id(const char *p, const char *end, char id[DIGITS + 1])
{
    size_t n = 0;

    while (p < end && n < DIGITS &&
           strchr("0123456789abcdefABCDEF", *p) != NULL && *p != '\0') {
        id[n++] = *p++;
    }
    id[n] = '\0';
    return n;
}

static bool is_same(const char *a, const char *b)
{
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return n >= DIGITS_MIN && strncasecmp(a, b, n) == 0;
}

/* "# pg_map_id: 0123abc" or "# pg_map_hash: SHA-256 <hex>" */
static bool has_id(const char *head, size_t size)
{
    static const char *const lines[] = {"pg_map_id: ",
                                        "pg_map_hash: SHA-256 "};
    const char *at, *end = head + size;
    char id[DIGITS + 1];
    size_t i;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        at = memmem(head, size, lines[i], strlen(lines[i]));
        if (at != NULL && read_id(at + strlen(lines[i]), end, id) > 0 &&
            is_same(id, wanted.id)) {
            return true;
        }
    }
    return false;
}

static int look_at_mapping(const char *path, const struct stat *st, int type,
                           struct FTW *ftw)
{
    char head[HEAD];
    ssize_t n = -1;
    int fd =
        type == FTW_F ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

    if (fd >= 0) {
        n = read(fd, head, sizeof(head));
        close(fd);
    }
    if (n > 0 && has_id(head, (size_t)n)) {
        snprintf(wanted.path, sizeof(wanted.path), "%s", path);
        return 1;
    }
    return 0;
}

int mapping_folder_find(const char *folder, const char *trace, size_t size,
                        char path[PATH_MAX])
{
    static const char mark[] = "r8-map-id-";
    const char *p = trace, *end = trace + size;
    char id[DIGITS + 1], text[160];

    wanted.id[0] = '\0';
    while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1)) !=
           NULL) {
        p += sizeof(mark) - 1;
        if (read_id(p, end, id) < DIGITS_MIN) {
            continue;
        }
        if (wanted.id[0] != '\0' && !is_same(id, wanted.id)) {
            snprintf(text, sizeof(text),
                     "the trace names several mappings, r8-map-id-%.20s and "
                     "%.20s",
                     wanted.id, id);
            return command_fail(COMMAND_NOT_FOUND, folder, text);
        }
        if (strlen(id) > strlen(wanted.id)) {
            memcpy(wanted.id, id, sizeof(id));
        }
    }
    if (wanted.id[0] == '\0') {
        return command_fail(COMMAND_NOT_FOUND, folder,
                            "the trace names no mapping in it: no frame has "
                            "r8-map-id-<hex> as its file");
    }
    wanted.path[0] = '\0';
    (void)nftw(folder, look_at_mapping, 16, FTW_PHYS);
    if (wanted.path[0] == '\0') {
        snprintf(text, sizeof(text), "no mapping in it has the id %s",
                 wanted.id);
        return command_fail(COMMAND_NOT_FOUND, folder, text);
    }
    snprintf(path, PATH_MAX, "%s", wanted.path);
    return COMMAND_OK;
}
