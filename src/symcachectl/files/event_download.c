/*
 * Copyright (C) the ngx_symcache authors
 */
#include "event_download.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/percent.h"
#include "base/secret.h"
#include "symcachectl/command.h"
#include "symcachectl/helper/client.h"
#include "symcachectl/terminal/printable.h"

#define URL_SIZE 4096
#define PART_MAX 200 /* bytes of a slug or an id */
#define JSON_MAX (64u << 20)
#define ATTACHMENT_MAX (1ull << 30)
#define CONNECT_SECONDS 30
#define STALL_SECONDS 60
#define REDIRECTS 5

struct event_download {
    FILE *file;
    uint64_t size;
    uint64_t most;
    char token[SECRET_MAX + 1];
};

static size_t event_on_body(char *data, size_t size, size_t n, void *arg)
{
    struct event_download *download = arg;

    download->size += size * n;
    return download->size > download->most
               ? 0
               : fwrite(data, size, n, download->file);
}

/* Sets what a request needs.  A redirect to another host gets no token. */
static void prepare_request(CURL *curl, struct event_download *download,
                            const char *url, char *error)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    client_trust(curl);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "symcachectl");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, event_on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, download);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    if (download->token[0] != '\0') {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, download->token);
    }
}

/* Fetches a URL into a temporary file.  Returns NULL after printing why not.
 */
static FILE *fetch_event(struct event_download *download, const char *url,
                         uint64_t most)
{
    char error[CURL_ERROR_SIZE] = "", reason[CURL_ERROR_SIZE + 40];
    CURL *curl = curl_easy_init();
    long status = 0;
    CURLcode rc;

    download->file = tmpfile();
    download->size = 0;
    download->most = most;
    if (curl == NULL || download->file == NULL) {
        curl_easy_cleanup(curl);
        (void)command_fail(COMMAND_IO, url, strerror(errno));
        return NULL;
    }
    prepare_request(curl, download, url, error);
    rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    if (download->size > most) {
        snprintf(reason, sizeof(reason), "larger than %llu MiB",
                 (unsigned long long)(most >> 20));
    } else if (rc != CURLE_OK) {
        snprintf(reason, sizeof(reason), "%s",
                 error[0] != '\0' ? error : curl_easy_strerror(rc));
    } else if (status != 200) {
        snprintf(reason, sizeof(reason), "the server answers %ld%s", status,
                 status == 401 || status == 403
                     ? ": the token is not allowed to read the event"
                     : "");
    } else if (fflush(download->file) == 0) {
        rewind(download->file);
        return download->file;
    } else {
        snprintf(reason, sizeof(reason), "%s", strerror(errno));
    }
    (void)command_fail(COMMAND_IO, url, reason);
    fclose(download->file);
    return NULL;
}

/* URL/api/0/projects/ORG/PROJECT/events/ID/TAIL */
static void event_print_url(char url[URL_SIZE],
                            const struct sentry_event *event, const char *id,
                            const char *tail)
{
    char org[3 * PART_MAX + 1], project[3 * PART_MAX + 1];
    char name[3 * PART_MAX + 1];
    size_t size = strlen(event->url);

    while (size > 0 && event->url[size - 1] == '/') {
        size--;
    }
    percent_encode_path(org, event->org);
    percent_encode_path(project, event->project);
    percent_encode_path(name, id);
    snprintf(url, URL_SIZE, "%.*s/api/0/projects/%s/%s/events/%s/%s",
             (int)size, event->url, org, project, name, tail);
}

static cJSON *read_json(FILE *file, size_t size)
{
    char *text = malloc(size + 1);
    cJSON *json = NULL;

    if (text == NULL) {
        command_no_memory();
    }
    if (fread(text, 1, size, file) == size) {
        text[size] = '\0';
        json = cJSON_ParseWithLength(text, size);
    }
    free(text);
    return json;
}

/* The id of the first attachment that is a minidump or a report; "": there is
 * none. */
static void find_attachment(const cJSON *list, char id[PART_MAX + 1])
{
    const cJSON *item;
    const char *type;

    id[0] = '\0';
    cJSON_ArrayForEach(item, list)
    {
        type = printable_field(item, "type");
        if (id[0] == '\0' && (strcmp(type, "event.minidump") == 0 ||
                              strcmp(type, "event.applecrashreport") == 0)) {
            snprintf(id, PART_MAX + 1, "%s", printable_field(item, "id"));
        }
    }
}

/* A list that is not available is reported, and counts as empty: the token
 * might only allow to read events. */
static void ask_attachments(struct event_download *download,
                            const struct sentry_event *event, const char *id,
                            char attachment[PART_MAX + 1])
{
    char url[URL_SIZE];
    cJSON *list;

    attachment[0] = '\0';
    event_print_url(url, event, id, "attachments/");
    if (fetch_event(download, url, JSON_MAX) != NULL) {
        list = read_json(download->file, (size_t)download->size);
        find_attachment(list, attachment);
        cJSON_Delete(list);
        fclose(download->file);
    }
}

static int read_token(const struct sentry_event *event,
                      struct event_download *download)
{
    const char *text = event->token;
    char error[300];

    if (text == NULL) {
        text = getenv("SENTRY_AUTH_TOKEN") != NULL ? "$SENTRY_AUTH_TOKEN" : "";
    }
    if (text[0] != '\0' &&
        secret_expand_option(text, download->token, sizeof(download->token),
                             error, sizeof(error)) != 0) {
        return command_fail(COMMAND_IO, "--token", error);
    }
    if (download->token[0] != '\0' && !secret_is_token(download->token)) {
        return command_fail(COMMAND_USAGE, "--token", "is no token");
    }
    return COMMAND_OK;
}

FILE *event_download(const struct sentry_event *event, const char *id,
                     int *code)
{
    struct event_download download = {0};
    char url[URL_SIZE], attachment[PART_MAX + 1], tail[3 * PART_MAX + 40];
    char name[3 * PART_MAX + 1];
    FILE *file = NULL;

    if (strlen(event->org) > PART_MAX || strlen(event->project) > PART_MAX ||
        strlen(id) > PART_MAX || strlen(event->url) > URL_SIZE / 4) {
        *code = command_usage("symbolicate", "too long", NULL);
        return NULL;
    }
    *code = read_token(event, &download);
    if (*code == COMMAND_OK) {
        *code = COMMAND_IO;
        event_print_url(url, event, id, "json/");
        file = fetch_event(&download, url, JSON_MAX);
    }
    if (file != NULL) {
        ask_attachments(&download, event, id, attachment);
        if (attachment[0] != '\0') {
            fclose(file);
            percent_encode_path(name, attachment);
            snprintf(tail, sizeof(tail), "attachments/%s/?download=1", name);
            event_print_url(url, event, id, tail);
            file = fetch_event(&download, url, ATTACHMENT_MAX);
        }
    }
    explicit_bzero(download.token, sizeof(download.token));
    return file;
}
