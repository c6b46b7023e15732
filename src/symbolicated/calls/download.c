/*
 * Copyright (C) the ngx_symcache authors
 */
#include "download.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/event.h"
#include "base/fd_close.h"
#include "json/json.h"
#include "worker_pool/worker_pool.h"

#define DOWNLOAD_ANSWER_MAX 4096
#define FAILED "download failed: symcached did not answer"

struct download {
    struct event *readable;
    int socket;
    int file; /* -1: none has come */
    size_t size;
    char answer[DOWNLOAD_ANSWER_MAX + 1];
    download_fn fn;
    void *arg;
};

static void end_download(struct download *download, const char *text,
                         bool is_good)
{
    struct spool *body = NULL;

    event_del(download->readable);
    if (is_good) {
        body = spool_adopt(download->file);
        download->file = -1;
        text = body != NULL ? text : "download failed: too many crash reports";
    }
    download->fn(download->arg, body, text);
}

/* The value of a member of the answer, with a NUL; or NULL. */
static char *download_member(struct json *json, const char *name)
{
    uint32_t value = json_member(json, 0, name);
    struct json_value *v = &json->values[value];

    if (value == 0 || v->type != JSON_STRING) {
        return NULL;
    }
    json->text[v->at + v->size] = '\0'; /* where its quote was */
    return json->text + v->at;
}

static void on_download_end(struct download *download)
{
    char *body = strstr(download->answer, "\r\n\r\n");
    struct json json = {0};
    struct json_error error;
    const char *failed = NULL, *coding = NULL;

    if (body != NULL && strncmp(download->answer, "HTTP/1.1 200", 12) == 0 &&
        json_read(&json, body + 4, strlen(body + 4), 64, &error) != 0) {
        failed = download_member(&json, "failed");
        coding = download_member(&json, "coding");
    }
    json_free(&json);
    if (coding != NULL && download->file != -1) {
        end_download(download, coding, true);
    } else {
        end_download(download, failed != NULL ? failed : FAILED, false);
    }
}

static void on_download_readable(evutil_socket_t fd, short what, void *arg)
{
    struct download *download = arg;
    size_t nfds = download->file == -1;
    ssize_t n = work_message_receive(fd, download->answer + download->size,
                                     DOWNLOAD_ANSWER_MAX - download->size,
                                     &download->file, &nfds);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n == -1 || download->size + (size_t)n == DOWNLOAD_ANSWER_MAX) {
        end_download(download, FAILED, false);
        return;
    }
    download->size += (size_t)n;
    download->answer[download->size] = '\0';
    if (n == 0) {
        on_download_end(download);
    }
}

/* The request fits into the buffer of a new socket. */
static bool ask_for_download(int fd, const char *url, const char *token)
{
    struct json_writer w = {0};
    char *text = NULL;
    bool is_sent;
    int n;

    json_write_open(&w, '{');
    json_put_text(&w, "url", url);
    json_put_known(&w, "token", token);
    json_write_close(&w, '}');
    n = w.has_failed
            ? -1
            : asprintf(&text,
                       "POST /v1/fetch HTTP/1.1\r\nHost: symcached\r\n"
                       "Connection: close\r\nContent-Length: %zu\r\n\r\n"
                       "%.*s",
                       w.size, (int)w.size, w.data);
    is_sent = n > 0 && send(fd, text, (size_t)n, MSG_NOSIGNAL) == n;
    if (n > 0) {
        explicit_bzero(text, (size_t)n);
        free(text);
    }
    json_write_forget(&w);
    return is_sent;
}

static int connect_download(const struct symcached_client_address *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd != -1 && (address->address.ss_family != AF_UNIX ||
                     connect(fd, (const struct sockaddr *)&address->address,
                             address->size) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

struct download *download_start(struct event_base *base,
                                const struct symcached_client_address *address,
                                const char *url, const char *token,
                                download_fn fn, void *arg)
{
    struct download *download = calloc(1, sizeof(*download));

    if (download == NULL) {
        return NULL;
    }
    download->fn = fn;
    download->arg = arg;
    download->file = -1;
    download->socket = connect_download(address);
    download->readable =
        event_new(base, download->socket, EV_READ | EV_PERSIST,
                  on_download_readable, download);
    if (download->socket == -1 || download->readable == NULL ||
        event_add(download->readable, NULL) != 0 ||
        !ask_for_download(download->socket, url, token)) {
        download_free(download);
        return NULL;
    }
    return download;
}

void download_free(struct download *download)
{
    if (download == NULL) {
        return;
    }
    event_drop(download->readable);
    fd_close(download->socket);
    fd_close(download->file);
    free(download);
}
