/*
 * Copyright (C) the ngx_symcache authors
 */
#include "systemd_unit.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "symcached.service"

struct systemd_unit {
    bool is_ours; /* this process runs in it: the kernel knows the answer */
    bool loaded;
    bool strict;   /* ProtectSystem=strict */
    bool no_homes; /* ProtectHome=yes */
    char user[64];
    char *writable; /* ReadWritePaths=, separated by blanks */
    char own[512];  /* its folders below /var and /run, likewise */
};

/* The folders of RuntimeDirectory= and its like, systemd.exec(5). */
static const struct {
    const char *property;
    const char *parent;
} folders[] = {
    {"RuntimeDirectory", "/run"},
    {"StateDirectory", "/var/lib"},
    {"CacheDirectory", "/var/cache"},
    {"LogsDirectory", "/var/log"},
};

static void take_unit_folders(struct systemd_unit *unit, const char *parent,
                              char *names)
{
    char *name, *rest = NULL;
    size_t len;

    for (name = strtok_r(names, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        len = strlen(unit->own);
        snprintf(unit->own + len, sizeof(unit->own) - len, " %s/%s", parent,
                 name);
    }
}

static void take_unit_setting(struct systemd_unit *unit, const char *name,
                              char *value)
{
    size_t i;

    if (strcmp(name, "LoadState") == 0) {
        unit->loaded = strcmp(value, "loaded") == 0;
    } else if (strcmp(name, "ProtectSystem") == 0) {
        unit->strict = strcmp(value, "strict") == 0;
    } else if (strcmp(name, "ProtectHome") == 0) {
        unit->no_homes = strcmp(value, "yes") == 0;
    } else if (strcmp(name, "User") == 0) {
        snprintf(unit->user, sizeof(unit->user), "%s", value);
    } else if (strcmp(name, "ReadWritePaths") == 0) {
        free(unit->writable);
        unit->writable = strdup(value);
    }
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strcmp(name, folders[i].property) == 0) {
            take_unit_folders(unit, folders[i].parent, value);
        }
    }
}

struct systemd_unit *systemd_unit_read(void)
{
    struct systemd_unit *unit = calloc(1, sizeof(*unit));
    char *line = NULL, *value;
    size_t room = 0;
    FILE *f;

    if (unit == NULL) {
        return NULL;
    }
    unit->is_ours = getenv("CACHE_DIRECTORY") != NULL; /* systemd.exec(5) */
    if (unit->is_ours) {
        return unit;
    }
    f = popen("systemctl show " NAME " 2>/dev/null", "re");
    if (f != NULL) {
        while (getline(&line, &room, f) > 0) {
            line[strcspn(line, "\n")] = '\0';
            value = strchr(line, '=');
            if (value != NULL) {
                *value = '\0';
                take_unit_setting(unit, line, value + 1);
            }
        }
        free(line);
        (void)pclose(f);
    }
    if (!unit->loaded) {
        systemd_unit_free(unit);
        return NULL;
    }
    return unit;
}

static bool unit_is_below(const char *path, const char *folder, size_t len)
{
    return strncmp(path, folder, len) == 0 &&
           (path[len] == '\0' || path[len] == '/');
}

/* Is a path in one of the folders of a list?  systemd allows each a prefix. */
static bool is_in(const char *path, const char *list)
{
    size_t len;

    for (; list != NULL && *list != '\0'; list += len) {
        list += strspn(list, " -+");
        len = strcspn(list, " ");
        if (len > 0 && unit_is_below(path, list, len)) {
            return true;
        }
    }
    return false;
}

/* Can this user write to a folder with that owner and mode?  Only the first
 * group is checked. */
static bool unit_may_write(const struct passwd *user, const struct stat *st)
{
    if (user->pw_uid == 0) {
        return true;
    }
    if (st->st_uid == user->pw_uid) {
        return (st->st_mode & S_IWUSR) != 0;
    }
    return (st->st_mode & (st->st_gid == user->pw_gid ? S_IWGRP : S_IWOTH)) !=
           0;
}

/* Writes the deepest part of a path that is there. */
static void find_unit_there(const char *path, char *there, struct stat *st)
{
    char *slash;

    snprintf(there, PATH_MAX, "%s", path);
    while (stat(there, st) != 0 && errno == ENOENT &&
           (slash = strrchr(there, '/')) != NULL) {
        slash[slash == there] = '\0';
    }
}

bool systemd_unit_can_write(const struct systemd_unit *unit, const char *path,
                            char *why, size_t size)
{
    struct stat st = {0};
    struct passwd *user;
    char there[PATH_MAX];

    find_unit_there(path, there, &st);
    if (unit->is_ours) {
        if (access(there, W_OK) == 0) {
            return true;
        }
        snprintf(why, size, "%s: %s", there, strerror(errno));
        return false;
    }
    if (unit->no_homes && is_in(path, "/home /root /run/user")) {
        snprintf(why, size,
                 NAME " sees nothing of it: it must be outside of "
                      "/home, /root and /run/user");
        return false;
    }
    if (unit->strict && !is_in(path, unit->own) &&
        !is_in(path, unit->writable)) {
        snprintf(why, size,
                 NAME " sees it read-only: put it into "
                      "ReadWritePaths= of a drop-in, such as "
                      "symcached.service.d/folders.conf of the "
                      "examples");
        return false;
    }
    user = unit->user[0] != '\0' ? getpwnam(unit->user) : NULL;
    if (user != NULL && !is_in(path, unit->own) &&
        !unit_may_write(user, &st)) {
        snprintf(why, size,
                 "user %s of " NAME " cannot write to %s: install "
                 "-d -o %s -g %s %s",
                 unit->user, there, unit->user, unit->user, path);
        return false;
    }
    return true;
}

bool systemd_unit_makes(const struct systemd_unit *unit, const char *path)
{
    return unit != NULL && is_in(path, unit->own);
}

void systemd_unit_free(struct systemd_unit *unit)
{
    if (unit != NULL) {
        free(unit->writable);
        free(unit);
    }
}
