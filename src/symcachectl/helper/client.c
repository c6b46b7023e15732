/*
 * Copyright (C) the ngx_symcache authors
 */

#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symcachectl/terminal/bar.h"
#include "base/percent.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "proto/header.h"

#define CONNECT_SECONDS 5

struct client {
    const char *daemon;  /* its name */
    const char *address; /* as configured */
    const char *path;    /* of a Unix socket, or NULL */
    const char *token;   /* to be sent, or NULL */
    bool is_url;         /* the address is one, below which paths are */
};

struct client *client_new(const struct settings *settings)
{
    struct client *client = calloc(1, sizeof(*client));

    if (client == NULL) {
        command_no_memory();
    }
    client->daemon = settings_daemon_name(settings);
    client->address = settings_socket(settings);
    if (client->address != NULL && client->address[0] == '\0') {
        fputs("symcachectl: --socket or --peers: an address is empty\n",
              stderr);
        client->address = NULL;
    }
    if (client->address == NULL ||
        settings_token(settings, &client->token) != 0) {
        free(client);
        return NULL;
    }
    if (strstr(client->address, "://") != NULL) {
        client->is_url = true;
    } else if (strncmp(client->address, "unix:", 5) == 0) {
        client->path = client->address + 5;
    } else if (strchr(client->address, '/') != NULL ||
               strchr(client->address, ':') == NULL) {
        client->path = client->address;
    }
    return client;
}

void client_free(struct client *client)
{
    free(client);
}

const char *client_address(const struct client *client)
{
    return client->address;
}

const char *client_daemon(const struct client *client)
{
    return client->daemon;
}

/* A longer name cannot belong to a key, and neither can what is cut off
 * from it, so the helper refuses it. */
#define CLIENT_TEXT_MAX 300

/* Returns the new end of buf. */
static size_t client_append_url(char *buf, size_t at, const char *text)
{
    char part[CLIENT_TEXT_MAX];

    snprintf(part, sizeof(part), "%s", text);
    return (size_t)(percent_encode(buf + at, part) - buf);
}

void client_path(char buf[CLIENT_PATH_MAX], const char *page,
                 const char *store, const char *name, const char *id)
{
    size_t at;

    at = (size_t)snprintf(buf, 64, "/v1/%.32s/", page);
    at = client_append_url(buf, at, store);
    if (name != NULL) {
        buf[at++] = '/';
        at = client_append_url(buf, at, name);
    }
    if (id != NULL) {
        snprintf(buf + at, CLIENT_PATH_MAX - at, "/%s", id);
    }
}

void client_query(char buf[CLIENT_PATH_MAX], const char *name,
                  const char *value)
{
    size_t at = strlen(buf);

    at += (size_t)snprintf(buf + at, CLIENT_PATH_MAX - at,
                           "%c%.32s=", strchr(buf, '?') == NULL ? '?' : '&',
                           name);
    client_append_url(buf, at, value);
}

/* "": there is no such header. */
static const char *client_header_of(CURL *request, const char *name)
{
    struct curl_header *header;

    return curl_easy_header(request, name, 0, CURLH_HEADER, -1, &header) ==
                   CURLHE_OK
               ? header->value
               : "";
}

static void client_take_headers(CURL *request, struct client_answer *answer)
{
    const char *seconds = client_header_of(request, "Retry-After");

    if (*seconds >= '0' && *seconds <= '9') {
        answer->retry_after = (unsigned)strtoul(seconds, NULL, 10);
    }
    snprintf(answer->reason, sizeof(answer->reason), "%s",
             client_header_of(request, SYMCACHE_HEADER_REASON));
    snprintf(answer->version, sizeof(answer->version), "%s",
             client_header_of(request, SYMCACHE_HEADER_VERSION));
}

static size_t client_on_body(char *data, size_t unit, size_t n, void *arg)
{
    struct client_answer *answer = arg;
    char *body;

    if (n > CLIENT_BODY_MAX - answer->size) {
        return 0;
    }
    body = realloc(answer->body, answer->size + n + 1);
    if (body == NULL) {
        return 0;
    }
    memcpy(body + answer->size, data, n);
    answer->body = body;
    answer->size += n;
    body[answer->size] = '\0';
    return n;
}

void client_trust(CURL *request)
{
    const char *file = getenv("SSL_CERT_FILE"); /* which libcurl ignores */

    if (file != NULL) {
        curl_easy_setopt(request, CURLOPT_CAINFO, file);
        curl_easy_setopt(request, CURLOPT_CAPATH, NULL);
    }
}

CURL *client_request(struct client *client, const char *method,
                     const char *path, long seconds,
                     struct client_answer *answer)
{
    const char *base = client->path != NULL ? "localhost" : client->address;
    char url[CLIENT_PATH_MAX + 300];
    CURL *request = curl_easy_init();
    size_t len = strnlen(base, 255);

    if (request == NULL) {
        command_no_memory();
    }
    memset(answer, 0, sizeof(*answer));
    while (client->is_url && len > 0 && base[len - 1] == '/') {
        len--; /* the path has one */
    }
    snprintf(url, sizeof(url), "%s%.*s%s", client->is_url ? "" : "http://",
             (int)len, base, path);
    curl_easy_setopt(request, CURLOPT_URL, url);
    curl_easy_setopt(request, CURLOPT_UNIX_SOCKET_PATH, client->path);
    curl_easy_setopt(request, CURLOPT_PROXY, client->is_url ? NULL : "");
    curl_easy_setopt(request, CURLOPT_PROTOCOLS_STR, "http,https");
    client_trust(request);
    if (client->token != NULL) {
        curl_easy_setopt(request, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(request, CURLOPT_XOAUTH2_BEARER, client->token);
    }
    curl_easy_setopt(request, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(request, CURLOPT_USERAGENT, "symcachectl");
    curl_easy_setopt(request, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(request, CURLOPT_TIMEOUT, seconds);
    curl_easy_setopt(request, CURLOPT_ERRORBUFFER, answer->error);
    curl_easy_setopt(request, CURLOPT_WRITEFUNCTION, client_on_body);
    curl_easy_setopt(request, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(request, CURLOPT_PRIVATE, answer);
    if (strcmp(method, "POST") == 0) {
        curl_easy_setopt(request, CURLOPT_POST, 1L);
        curl_easy_setopt(request, CURLOPT_POSTFIELDSIZE, 0L);
    }
    return request;
}

void client_finish(CURL *request, CURLcode code)
{
    struct client_answer *answer;
    char *private = NULL;
    long errnum = 0;

    curl_easy_getinfo(request, CURLINFO_PRIVATE, &private);
    answer = (struct client_answer *)private;
    answer->status = 0;
    answer->is_denied = false;
    if (code == CURLE_OK) {
        curl_easy_getinfo(request, CURLINFO_RESPONSE_CODE, &answer->status);
        client_take_headers(request, answer);
    } else if (code == CURLE_COULDNT_CONNECT &&
               curl_easy_getinfo(request, CURLINFO_OS_ERRNO, &errnum) ==
                   CURLE_OK &&
               errnum != 0) {
        /* libcurl's message names the host of the URL and not the socket. */
        snprintf(answer->error, sizeof(answer->error), "cannot connect: %s",
                 strerror((int)errnum));
        answer->is_denied = errnum == EACCES;
    } else if (answer->error[0] == '\0') {
        snprintf(answer->error, sizeof(answer->error), "%s",
                 curl_easy_strerror(code));
    }
    /* The handle has a pointer to the buffer, so it is freed first. */
    curl_easy_cleanup(request);
}

void client_clear(struct client_answer *answer)
{
    free(answer->body);
    answer->body = NULL;
    answer->size = 0;
}

void client_error(const struct client_answer *answer, char *buf, size_t size)
{
    const char *error, *detail, *said;
    cJSON *object = NULL;

    if (answer->body != NULL) {
        object = cJSON_Parse(answer->body);
    }
    error = printable_field(object, "error");
    detail = printable_field(object, "detail");
    if (object == NULL && answer->body != NULL && answer->body[0] != '<') {
        said = answer->body; /* no page of a server in front */
    } else if (printable_field(object, "title")[0] != '\0') {
        said = printable_field(object, "title");
    } else if (object == NULL && answer->status == 502) {
        said = "the web server does not reach the daemon behind it";
    } else if (object == NULL &&
               (answer->status == 404 || answer->status == 405)) {
        said = "this server has no location for such requests";
    } else {
        said = detail;
    }
    if (answer->status == 0) {
        snprintf(buf, size, "%s", answer->error);
    } else if (error[0] != '\0') {
        snprintf(buf, size, "%s%s%s", error, detail[0] != '\0' ? ": " : "",
                 detail);
    } else {
        snprintf(buf, size, "answered %ld%s%s", answer->status,
                 said[0] != '\0' ? ": " : "", said);
    }
    cJSON_Delete(object);
}

/* A request that takes long, as one for which symcached makes files. */
struct client_progress {
    struct bar bar;
    const char *daemon;
    uint64_t started;
};

/* libcurl calls this once a second while nothing moves. */
static int client_on_progress(void *arg, curl_off_t all, curl_off_t received,
                              curl_off_t all_up, curl_off_t sent)
{
    struct client_progress *progress = arg;
    unsigned seconds = (unsigned)((bar_clock() - progress->started) / 1000);
    char text[80];

    if (seconds > 0) {
        snprintf(text, sizeof(text), "waiting for %s, %u s", progress->daemon,
                 seconds);
        bar_draw(&progress->bar, 0, 0, text);
    }
    return 0;
}

void client_perform(const struct client *client, CURL *request)
{
    struct client_progress progress = {.daemon = client->daemon,
                                       .started = bar_clock()};
    CURLcode code;

    bar_init(&progress.bar);
    curl_easy_setopt(request, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(request, CURLOPT_XFERINFOFUNCTION, client_on_progress);
    curl_easy_setopt(request, CURLOPT_XFERINFODATA, &progress);
    code = curl_easy_perform(request);
    bar_clear(&progress.bar);
    client_finish(request, code);
}
