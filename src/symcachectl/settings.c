/*
 * Copyright (C) the ngx_symcache authors
 */

#include "settings.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/secret.h"
#include "command.h"
#include "config/config.h"
#include "symcachectl/terminal/printable.h"

/* The configuration, once it was read. */
static struct json_file settings_file;

static const char *settings_config_name(const struct settings *s)
{
    return s->config != NULL ? s->config : SETTINGS_CONFIG;
}

static void settings_complain(const char *error)
{
    fputs("symcachectl: ", stderr);
    printable_put(stderr, error);
    fputc('\n', stderr);
}

/* Returns false, after a message with the place of the item. */
static bool settings_fail(const cJSON *item, const char *reason)
{
    char error[1024];

    json_file_error(&settings_file, item, reason, error, sizeof(error));
    settings_complain(error);
    return false;
}

/*
 * Reads the configuration.  Returns NULL if there is none, after a message if
 * it is needed.  Only "symcached -t" checks it completely.
 */
static const cJSON *settings_read_config(const struct settings *s,
                                         bool is_needed)
{
    char error[1024];

    if (settings_file.root == NULL &&
        json_file_read(settings_config_name(s), &settings_file, error,
                       sizeof(error)) != 0 &&
        (is_needed || s->config != NULL)) {
        settings_complain(error);
    }
    return settings_file.root;
}

/* Reads a text of a section; NULL: it has none.  Returns false after a message
 * if that is no text. */
static bool settings_text(const cJSON *section, const char *key,
                          const char **text)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(section, key);

    *text = cJSON_GetStringValue(item);
    if (section != NULL && !cJSON_IsObject(section)) {
        return settings_fail(section, "must be an object");
    }
    if (item != NULL && *text == NULL) {
        return settings_fail(item, "must be a string");
    }
    return *text == NULL || **text != '\0' ||
           settings_fail(item, "must not be empty");
}

const char *settings_store(const struct settings *settings)
{
    return settings->store != NULL ? settings->store : SETTINGS_STORE;
}

static const struct {
    const char *name;
    const char *section; /* of the configuration; NULL: the top */
    const char *socket;  /* unless it names another */
} daemons[] = {
    [SETTINGS_SYMCACHED] = {"symcached", NULL, SETTINGS_SOCKET},
    [SETTINGS_SYMBOLICATED] = {"symbolicated", "symbolication",
                               "unix:/run/symcached/symbolicated.sock"},
};

const char *settings_daemon_name(const struct settings *settings)
{
    return daemons[settings->daemon].name;
}

const char *settings_socket(const struct settings *settings)
{
    const char *listen = NULL, *section = daemons[settings->daemon].section;
    const char *socket = daemons[settings->daemon].socket;
    const cJSON *item;

    if (settings->socket != NULL) {
        return settings->socket;
    }
    item = settings_read_config(settings, false);
    if (item == NULL) {
        return settings->config == NULL ? socket : NULL;
    }
    if (section == NULL && !settings_text(item, "admin_listen", &listen)) {
        return NULL;
    }
    if (section != NULL) {
        item = cJSON_GetObjectItemCaseSensitive(item, section);
    }
    if (listen == NULL && !settings_text(item, "listen", &listen)) {
        return NULL;
    }
    return listen != NULL ? listen : socket;
}

int settings_token(const struct settings *settings, const char **token)
{
    static char secret[SECRET_MAX + 1];
    char error[1024];
    const cJSON *config;
    const char *text;

    *token = NULL;
    if (settings->daemon != SETTINGS_SYMCACHED ||
        (settings->socket != NULL && settings->config == NULL)) {
        return 0;
    }
    config = settings_read_config(settings, false);
    if (config == NULL) {
        return settings->config == NULL ? 0 : -1;
    }
    if (!settings_text(config, "listen_token", &text)) {
        return -1;
    }
    if (text == NULL ||
        (settings->socket == NULL &&
         cJSON_GetObjectItemCaseSensitive(config, "admin_listen") != NULL)) {
        return 0;
    }
    if (secret_expand(text, secret, sizeof(secret), error, sizeof(error)) !=
        0) {
        command_fail(COMMAND_IO, "listen_token", error);
        return -1;
    }
    *token = secret;
    return 0;
}

/* The folder "root" of a section, which is what. */
static const char *settings_folder(const struct settings *settings,
                                   const cJSON *section, const char *what,
                                   int *code)
{
    const char *root;

    *code = COMMAND_IO;
    if (!settings_text(section, "root", &root)) {
        return NULL;
    }
    if (root == NULL) {
        *code =
            command_fail(COMMAND_USAGE, settings_config_name(settings), what);
    }
    return root;
}

const char *settings_uploads(const struct settings *settings, int *code)
{
    const cJSON *config;

    if (settings->root != NULL) {
        return settings->root;
    }
    config = settings_read_config(settings, true);
    if (config == NULL) {
        *code = COMMAND_IO;
        return NULL;
    }
    return settings_folder(
        settings, cJSON_GetObjectItemCaseSensitive(config, "uploads"),
        "has no \"uploads\" with a root", code);
}

const char *settings_root(const struct settings *settings, int *code)
{
    const cJSON *config, *stores;
    char what[160];

    if (settings->root != NULL) {
        return settings->root;
    }
    config = settings_read_config(settings, true);
    if (config == NULL) {
        fprintf(stderr, "-c names a configuration, --root a store's folder\n");
        *code = COMMAND_IO;
        return NULL;
    }
    stores = cJSON_GetObjectItemCaseSensitive(config, "stores");
    snprintf(what, sizeof(what), "has no store \"%.64s\" with a root",
             settings_store(settings));
    return settings_folder(settings,
                           cJSON_GetObjectItemCaseSensitive(
                               stores, settings_store(settings)),
                           what, code);
}
