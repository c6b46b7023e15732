/*
 * Copyright (C) the ngx_symcache authors
 */

#include "settings.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/secret.h"
#include "command.h"

#define CONFIG_MAX (16 << 20)

/* Returns NULL with errno on failure. */
static char *settings_read_text(const char *file)
{
    FILE *f = fopen(file, "re");
    char *text = NULL;
    size_t n = 0;
    struct stat st;

    if (f == NULL) {
        return NULL;
    }
    if (fstat(fileno(f), &st) != 0) {
        fclose(f);
        return NULL;
    }
    if (st.st_size > CONFIG_MAX || !S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EFBIG;
    } else {
        text = malloc((size_t)st.st_size + 1);
    }
    if (text != NULL) {
        n = fread(text, 1, (size_t)st.st_size, f);
        text[n] = '\0';
    }
    fclose(f);
    return text;
}

/*
 * Reads the configuration.  Returns NULL if there is none, after a message if
 * it is needed.  Only "symcached -t" checks it completely.
 */
static cJSON *settings_read_config(const struct settings *s, int is_needed)
{
    const char *file = s->config != NULL ? s->config : SETTINGS_CONFIG;
    char *text = settings_read_text(file);
    cJSON *config;

    is_needed |= s->config != NULL;
    if (text == NULL) {
        if (is_needed) {
            command_fail(COMMAND_IO, file, strerror(errno));
        }
        return NULL;
    }
    cJSON_Minify(text);
    config = cJSON_Parse(text);
    free(text);
    if (config == NULL && is_needed) {
        command_fail(COMMAND_IO, file,
                     "no configuration: see what symcached -t says of it");
    }
    return config;
}

const char *settings_store(const struct settings *settings)
{
    return settings->store != NULL ? settings->store : SETTINGS_STORE;
}

static const char *copy_setting(const char *text)
{
    text = strdup(text);
    if (text == NULL) {
        command_no_memory();
    }
    return text;
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

/* Returns a text of a section of the configuration, or NULL. */
static const char *settings_text(const cJSON *section, const char *key)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(section, key));
}

const char *settings_socket(const struct settings *settings)
{
    static const char *known[sizeof(daemons) / sizeof(daemons[0])];
    const char *listen, *section = daemons[settings->daemon].section;
    const char *socket = daemons[settings->daemon].socket;
    cJSON *config;
    const cJSON *item;

    if (settings->socket != NULL) {
        return settings->socket;
    }
    if (known[settings->daemon] != NULL) {
        return known[settings->daemon];
    }
    config = settings_read_config(settings, 0);
    if (config == NULL) {
        return settings->config == NULL ? socket : NULL;
    }
    item = section == NULL
               ? config
               : cJSON_GetObjectItemCaseSensitive(config, section);
    listen = section == NULL ? settings_text(item, "admin_listen") : NULL;
    if (listen == NULL) {
        listen = settings_text(item, "listen");
    }
    known[settings->daemon] = copy_setting(listen != NULL ? listen : socket);
    cJSON_Delete(config);
    return known[settings->daemon];
}

int settings_token(const struct settings *settings, const char **token)
{
    static char secret[SECRET_MAX + 1];
    char error[1024] = "";
    cJSON *config;
    const char *text;

    *token = NULL;
    if (settings->daemon != SETTINGS_SYMCACHED ||
        (settings->socket != NULL && settings->config == NULL)) {
        return 0;
    }
    config = settings_read_config(settings, 0);
    if (config == NULL) {
        return settings->config == NULL ? 0 : -1;
    }
    text = settings_text(config, "listen_token");
    if (text != NULL && (settings->socket != NULL ||
                         settings_text(config, "admin_listen") == NULL)) {
        if (secret_expand(text, secret, sizeof(secret), error,
                          sizeof(error)) == 0) {
            *token = secret;
        } else {
            command_fail(COMMAND_IO, "listen_token", error);
        }
    }
    cJSON_Delete(config);
    return error[0] == '\0' ? 0 : -1;
}

const char *settings_uploads(const struct settings *settings, int *code)
{
    static const char *root;
    cJSON *config;

    if (settings->root != NULL) {
        return settings->root;
    }
    config = settings_read_config(settings, 1);
    if (config == NULL) {
        *code = COMMAND_IO;
        return NULL;
    }
    root = settings_text(cJSON_GetObjectItemCaseSensitive(config, "uploads"),
                         "root");
    if (root == NULL) {
        *code = command_fail(COMMAND_USAGE,
                             settings->config != NULL ? settings->config
                                                      : SETTINGS_CONFIG,
                             "has no \"uploads\" with a root");
    } else {
        root = copy_setting(root);
    }
    cJSON_Delete(config);
    return root;
}

const char *settings_root(const struct settings *settings, int *code)
{
    static const char *root;
    const cJSON *item;
    char what[160];
    cJSON *config;

    if (settings->root != NULL) {
        return settings->root;
    }
    config = settings_read_config(settings, 1);
    if (config == NULL) {
        fprintf(stderr, "-c names a configuration, --root a store's folder\n");
        *code = COMMAND_IO;
        return NULL;
    }
    item = cJSON_GetObjectItemCaseSensitive(config, "stores");
    item = cJSON_GetObjectItemCaseSensitive(item, settings_store(settings));
    root =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "root"));
    if (root == NULL) {
        snprintf(what, sizeof(what), "has no store \"%.64s\" with a root",
                 settings_store(settings));
        *code = command_fail(COMMAND_USAGE,
                             settings->config != NULL ? settings->config
                                                      : SETTINGS_CONFIG,
                             what);
    } else {
        root = copy_setting(root);
    }
    cJSON_Delete(config);
    return root;
}
