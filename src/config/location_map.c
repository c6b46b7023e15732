/*
 * Copyright (C) the ngx_symcache authors
 *
 * The "map" of a source says where the shares and drives that Windows programs
 * write into a file.ptr are on this machine.
 */
#include "location_map.h"

#include <stdbool.h>
#include <string.h>

static char location_fold(char c)
{
    if (c == '\\') {
        return '/';
    }
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Returns the part of a location after its prefix "\\?\UNC\", "\\?\" or "\\".
 * *unc tells whether it is on a share, and thus begins with the host. */
static const char *location_plain(const char *location, bool *unc)
{
    size_t i;

    static const char longs[] = "//?/unc/";

    for (i = 0; longs[i] != '\0' && location_fold(location[i]) == longs[i];
         i++) {
        continue;
    }

    *unc = false;
    if (longs[i] == '\0') {
        *unc = true;
        return location + i;
    }
    if (i >= 4) {
        return location + 4;
    }
    if (i >= 2) {
        *unc = true;
        return location + 2;
    }
    return location;
}

static bool location_is_on_drive(const char *location)
{
    char c = location_fold(location[0]);

    return c >= 'a' && c <= 'z' && location[1] == ':';
}

/* Returns the length of prefix in location, or 0 if that does not begin with it
 * and a separator. */
static size_t covers_location(const char *prefix, const char *location)
{
    size_t len = strlen(prefix), i;

    while (len > 0 && location_fold(prefix[len - 1]) == '/') {
        len--;
    }
    if (len == 0) {
        return 0;
    }

    for (i = 0; i < len; i++) {
        if (location_fold(prefix[i]) != location_fold(location[i])) {
            return 0;
        }
    }

    return location_fold(location[len]) == '/' ? len : 0;
}

/* Checks the components of a path, and writes them with "/" between them.
 * Returns NULL, or the reason why the path is refused. */
static const char *split_location(const char *p, char *rel)
{
    size_t len, n = 0;

    for (;;) {
        for (len = 0; p[len] != '\0' && location_fold(p[len]) != '/'; len++) {
            if (p[len] == ':') {
                return "a component of the location has a colon";
            }
        }

        if (len == 0) {
            return "the location has an empty component";
        }
        if (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.'))) {
            return "the location has a dot component";
        }

        memcpy(rel + n, p, len);
        n += len;
        if (p[len] == '\0') {
            break;
        }
        rel[n++] = '/';
        p += len + 1;
    }

    rel[n] = '\0';
    return NULL;
}

static const char *map_relative(const char *base, const char *location,
                                const char **root, char *rel)
{
    if (base == NULL) {
        return "the location is relative";
    }

    while (location[0] == '.' && location_fold(location[1]) == '/') {
        location += 2;
    }

    *root = base;
    return split_location(location, rel);
}

const char *config_map_location(const struct map_config *map, size_t nmap,
                                const char *base, const char *location,
                                const char **root, char *rel)
{
    const struct map_config *best = NULL;
    const char *plain, *from;
    size_t i, len, best_len = 0;
    bool unc, from_unc;

    plain = location_plain(location, &unc);

    if (!unc && !location_is_on_drive(plain)) {
        if (location_fold(plain[0]) == '/' || plain != location) {
            return "the location is neither a share nor on a drive";
        }
        return map_relative(base, plain, root, rel);
    }

    for (i = 0; i < nmap; i++) {
        from = location_plain(map[i].from, &from_unc);
        len = from_unc == unc ? covers_location(from, plain) : 0;
        if (len > best_len) {
            best = &map[i];
            best_len = len;
        }
    }

    if (best == NULL) {
        return "no mapping for the location";
    }

    *root = best->to;
    return split_location(plain + best_len + 1, rel);
}
