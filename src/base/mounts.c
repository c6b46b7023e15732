/*
 * Copyright (C) the ngx_symcache authors
 */
#include "mounts.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* a machine with more than some ten thousand mounts has no local path here */
#define MOUNTS_TEXT_MAX (1u << 20)

#define MOUNTS_FIELD_POINT 4 /* of a line, from 0 */

static const char *const local_mount_types[] = {
    "bcachefs", "btrfs", "ext2",  "ext3", "ext4", "f2fs",
    "overlay",  "ramfs", "tmpfs", "xfs",  "zfs"};

static bool is_local_mount_type(const char *type, size_t len)
{
    size_t i;

    for (i = 0; i < sizeof(local_mount_types) / sizeof(local_mount_types[0]);
         i++) {
        if (strlen(local_mount_types[i]) == len &&
            memcmp(local_mount_types[i], type, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes a field, in which blanks and backslashes are octal. */
static bool unescape_mount(char *to, size_t size, const char *from, size_t len)
{
    size_t i, n = 0;

    for (i = 0; i < len; i++) {
        if (n + 1 >= size) {
            return false;
        }
        if (from[i] == '\\' && len - i > 3) {
            to[n++] = (char)((from[i + 1] - '0') * 64 +
                             (from[i + 2] - '0') * 8 + (from[i + 3] - '0'));
            i += 3;
        } else {
            to[n++] = from[i];
        }
    }
    to[n] = '\0';
    return true;
}

/* Is path `inner` the path `outer`, or beneath it? */
static bool mount_contains_path(const char *outer, const char *inner)
{
    size_t len = strlen(outer);

    while (len > 0 && outer[len - 1] == '/') {
        len--;
    }
    return strncmp(outer, inner, len) == 0 &&
           (inner[len] == '/' || inner[len] == '\0');
}

/* Writes the mount point of a line, and whether its type is a local one. */
static bool read_mount_line(const char *line, size_t len, char *point,
                            size_t size, bool *local)
{
    const char *end = line + len, *field = line, *type;
    int i;

    for (i = 0; i < MOUNTS_FIELD_POINT; i++) {
        field = memchr(field, ' ', (size_t)(end - field));
        if (field == NULL) {
            return false;
        }
        field++;
    }
    type = memmem(field, (size_t)(end - field), " - ", 3);
    if (type == NULL) {
        return false;
    }
    type += 3;
    *local = is_local_mount_type(type, strcspn(type, " \n"));
    return unescape_mount(point, size, field, strcspn(field, " "));
}

bool mounts_text_is_local(const char *text, const char *path)
{
    const char *line = text, *end;
    bool is_local = false, local;
    char point[PATH_MAX];
    size_t longest = 0;

    /* these would have to be resolved */
    if (strstr(path, "//") != NULL || strstr(path, "/.") != NULL) {
        return false;
    }
    for (; *line != '\0'; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        if (!read_mount_line(line, (size_t)(end - line), point, sizeof(point),
                             &local)) {
            return false;
        }
        /* of several at one point the last one is seen */
        if (mount_contains_path(point, path) && strlen(point) >= longest) {
            longest = strlen(point);
            is_local = local;
        } else if (!local && mount_contains_path(path, point)) {
            return false;
        }
    }
    return is_local;
}

/* Reads the file anew; NULL if it cannot be read, or not whole. */
static char *read_mounts_text(int fd)
{
    char *text = malloc(MOUNTS_TEXT_MAX);
    size_t len = 0;
    ssize_t n = 1;

    while (text != NULL && n > 0 && len + 1 < MOUNTS_TEXT_MAX) {
        n = pread(fd, text + len, MOUNTS_TEXT_MAX - 1 - len, (off_t)len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (text != NULL && n == 0) {
        text[len] = '\0';
        return realloc(text, len + 1);
    }
    free(text);
    return NULL;
}

bool mounts_is_local(const char *path)
{
    static int fd = -1;
    static char *text;
    struct pollfd changed = {.events = POLLPRI};

    if (fd < 0) {
        fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    }
    changed.fd = fd;
    if (fd >= 0 && (text == NULL || poll(&changed, 1, 0) != 0)) {
        free(text);
        text = read_mounts_text(fd);
    }
    return text != NULL && mounts_text_is_local(text, path);
}
