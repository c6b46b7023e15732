/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests to the helper's socket, HTTP/1.1.
 */
#ifndef SYMCACHECTL_CLIENT_H
#define SYMCACHECTL_CLIENT_H

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stddef.h>

#include "identity.h"
#include "settings.h"

/* /v1/<page>/<store>/<name>/<id>?version=...&wait=..., escaped */
#define CLIENT_PATH_MAX 2048

/* Of an answer; the helper's are much smaller */
#define CLIENT_BODY_MAX (64u << 20)

struct client_answer {
    long status; /* 0: none came, error says why */
    unsigned retry_after;
    char reason[32];
    char version[24];
    char *body; /* ends with NUL; or NULL */
    size_t size;
    char error[CURL_ERROR_SIZE];
};

struct client;

/* Option --socket, beside SETTINGS_OPTIONS */
#define CLIENT_OPTIONS(s)                                                     \
    SETTINGS_OPTIONS(s),                                                      \
    {                                                                         \
        "--socket", NULL, &(s).socket                                         \
    }

/* NULL after having said what is wrong. */
struct client *client_new(const struct settings *settings);
void client_free(struct client *client);

/* Where the helper is, for messages. */
const char *client_address(const struct client *client);

/* Until an answer must be there, of most pages. */
#define CLIENT_SECONDS 60

/* Path of a page about a module, of all builds without id, or of a store
 * without name. */
void client_path(char buf[CLIENT_PATH_MAX], const char *page,
                 const char *store, const char *name, const char *id);

/* Appends a query to a path. */
void client_query(char buf[CLIENT_PATH_MAX], const char *name,
                  const char *value);

/*
 * A request that is not made yet, for a multi handle; its answer is filled
 * meanwhile.  seconds: until an answer must be there.
 */
CURL *client_request(struct client *client, const char *method,
                     const char *path, long seconds,
                     struct client_answer *answer);

/* Completes the answer, and frees the request. */
void client_finish(CURL *request, CURLcode code);
void client_clear(struct client_answer *answer);

/* "error: detail" of an answer that is none, for people. */
void client_error(const struct client_answer *answer, char *buf, size_t size);

/*
 * Asks for a JSON object and prints it: as it is, or for people by print.
 * judge, if any, tells the exit code of an answer.  Returns an exit code,
 * after having said what is wrong.
 */
int client_show(const struct settings *settings, const char *method,
                const char *path, long seconds,
                void (*print)(const cJSON *answer),
                int (*judge)(const cJSON *answer));

#endif
