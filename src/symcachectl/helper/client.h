/*
 * Copyright (C) the ngx_symcache authors
 *
 * Requests to the helper's socket, HTTP/1.1.
 */
#pragma once

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "symcachectl/settings.h"

/* /v1/<page>/<store>/<name>/<id>?version=...&wait=..., escaped */
#define CLIENT_PATH_MAX 2048

/* The limit of an answer; those of the helper are much smaller. */
#define CLIENT_BODY_MAX (64u << 20)

struct client_answer {
    long status; /* 0: there was no answer, see error */
    bool is_denied; /* then: by the permissions of the socket */
    unsigned retry_after;
    char reason[32];
    char version[24];
    char *body; /* NUL-terminated, or NULL */
    size_t size;
    char error[CURL_ERROR_SIZE];
};

struct client;

/* The option --socket, in addition to SETTINGS_OPTIONS. */
#define CLIENT_OPTIONS(s)                                                     \
    SETTINGS_OPTIONS(s),                                                      \
    {                                                                         \
        "--socket", NULL, &(s).socket                                         \
    }

/* CLIENT_OPTIONS, and the option --peers of what json_request_show() shows. */
#define CLIENT_PEERS_OPTIONS(s)                                               \
    CLIENT_OPTIONS(s),                                                        \
    {                                                                         \
        "--peers", NULL, &(s).peers                                           \
    }

/* Has a request trust the certificates in SSL_CERT_FILE, as symcached does. */
void client_trust(CURL *request);

/* Returns NULL after printing what is wrong. */
struct client *client_new(const struct settings *settings);
void client_free(struct client *client);

/* The address of the helper, for messages. */
const char *client_address(const struct client *client);

/* The name of the daemon that is asked, for messages. */
const char *client_daemon(const struct client *client);

/* Seconds within which most pages must answer. */
#define CLIENT_SECONDS 60
#define CLIENT_ANSWER_SECONDS 900 /* of symbolicated */

/* Prints the path of a page about a module; without id, about all its
 * builds; without name, about a store. */
void client_path(char buf[CLIENT_PATH_MAX], const char *page,
                 const char *store, const char *name, const char *id);

/* Appends a query to a path. */
void client_query(char buf[CLIENT_PATH_MAX], const char *name,
                  const char *value);

/*
 * Makes a request for a multi handle, without starting it.  Its answer is
 * filled as it arrives.  seconds is the time limit for the answer.
 */
CURL *client_request(struct client *client, const char *method,
                     const char *path, long seconds,
                     struct client_answer *answer);

/* Performs a request, which may take long: a person sees how long it takes.
 * Then as client_finish(). */
void client_perform(const struct client *client, CURL *request);

/* Completes the answer and frees the request. */
void client_finish(CURL *request, CURLcode code);
void client_clear(struct client_answer *answer);

/* Prints "error: detail" into buf, for an answer that is an error. */
void client_error(const struct client_answer *answer, char *buf, size_t size);
