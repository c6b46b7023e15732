/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl watch: follows the transactions that symstore.exe writes into the
 * folder 000Admin of a store, and has the helper forget what it knew to be
 * absent of each key that was added.  A share has no inotify, so it looks every
 * ten seconds.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_request.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

#define SECONDS 10
#define LINE_SIZE 4096
#define ADMIN "000Admin"

struct watch {
    struct settings settings;
    const char *folder;
    char last_path[4096]; /* of lastid.txt */
    int is_once;
    unsigned long last; /* transaction that was followed */
};

/* lastid.txt names a transaction when its file is whole.  Returns false if it
 * cannot be read. */
static bool watch_read_last(const struct watch *watch, unsigned long *last)
{
    char text[32] = "";
    FILE *f = fopen(watch->last_path, "re");

    if (f == NULL) {
        return false;
    }
    if (fgets(text, sizeof(text), f) == NULL) {
        text[0] = '\0';
    }
    fclose(f);
    if (!isdigit((unsigned char)text[0])) {
        errno = EINVAL;
        return false;
    }
    *last = strtoul(text, NULL, 10);
    return true;
}

/* Reads name and key of a line '"name\key","source"'. */
static bool watch_read_line(char *line, char **name, char **id)
{
    char *end;

    if (line[0] != '"' || (end = strchr(line + 1, '"')) == NULL) {
        return false;
    }
    *end = '\0';
    *name = line + 1;
    *id = strchr(*name, '\\');
    if (*id == NULL || *id == *name) {
        return false;
    }
    *(*id)++ = '\0';
    return **id != '\0' && strchr(*id, '\\') == NULL;
}

static void watch_print_forgotten(const cJSON *answer)
{
    double n = printable_number(answer, "forgotten");

    printf(": %.0f %s forgotten\n", n, n == 1 ? "entry" : "entries");
}

static int forget_key(const struct watch *watch, const char *name,
                      const char *id)
{
    char path[CLIENT_PATH_MAX];

    if (!watch->settings.is_json) {
        printable_put(stdout, name);
        putchar(' ');
        printable_put(stdout, id);
    }
    client_path(path, "forget", settings_store(&watch->settings), name, id);
    return json_request_show(&watch->settings, "POST", path, CLIENT_SECONDS,
                             watch_print_forgotten, NULL);
}

/* A transaction that was taken back is not there any more, and has nothing to
 * be forgotten.  Returns an exit code. */
static int follow_transaction(const struct watch *watch, unsigned long id)
{
    char path[4096], line[LINE_SIZE], *name, *key;
    int code = COMMAND_OK, one;
    FILE *f;

    snprintf(path, sizeof(path), "%s/" ADMIN "/%010lu", watch->folder, id);
    f = fopen(path, "re");
    if (f == NULL) {
        return errno == ENOENT
                   ? COMMAND_OK
                   : command_fail(COMMAND_IO, path, strerror(errno));
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        if (watch_read_line(line, &name, &key)) {
            one = forget_key(watch, name, key);
            code = one > code ? one : code;
        }
    }
    fclose(f);
    return code;
}

/* Returns an exit code; transactions after one that failed wait. */
static int look_for_transactions(struct watch *watch)
{
    unsigned long last;
    int code;

    if (!watch_read_last(watch, &last)) {
        return command_fail(COMMAND_IO, watch->last_path, strerror(errno));
    }
    while (watch->last < last) {
        code = follow_transaction(watch, watch->last + 1);
        if (code != COMMAND_OK) {
            return code;
        }
        watch->last++;
    }
    fflush(stdout);
    return COMMAND_OK;
}

int watch_command(int argc, char **argv)
{
    struct watch watch = {0};
    const char *after = NULL;
    char reason[128];
    unsigned number = 0;
    const struct option_spec specs[] = {CLIENT_OPTIONS(watch.settings),
                                        {"--after", NULL, &after},
                                        {"--once", &watch.is_once, NULL}};
    int code;

    argc = options_parse("watch", specs, COUNT(specs), argc, argv);
    if (argc != 1) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage("watch", "one folder", NULL);
    }
    if (options_number("watch", "--after", after, 0, 4000000000u, &number) !=
        0) {
        return COMMAND_USAGE;
    }
    watch.folder = argv[0];
    snprintf(watch.last_path, sizeof(watch.last_path),
             "%s/" ADMIN "/lastid.txt", watch.folder);
    watch.last = number;
    if (after == NULL && !watch_read_last(&watch, &watch.last)) {
        snprintf(reason, sizeof(reason), "%s%s", strerror(errno),
                 errno == ENOENT ? "; the folder must be a symbol store of "
                                   "symstore.exe"
                                 : "");
        return command_fail(COMMAND_IO, watch.last_path, reason);
    }
    for (code = look_for_transactions(&watch); !watch.is_once;
         code = look_for_transactions(&watch)) {
        sleep(SECONDS);
    }
    return command_finish(code);
}
