/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbfile_push.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>
#include <nettle/base64.h>

#include "base/digest.h"
#include "base/secret.h"
#include "file_body.h"
#include "short_reply.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

#define ATTEMPTS 5
#define RETRY_SECONDS 5
#define RETRY_MAX 60

#define ID_BYTES 16
#define ID_PART 4096 /* of the head and of the tail */

struct symbfile_push_request {
    CURL *curl;
    struct curl_slist *headers;
    char url[2048];
    struct file_body body;
    struct short_reply reply;
};

/* the id ------------------------------------------------------------------ */

/* Adds size bytes of a file from an offset.  Returns false if that fails. */
static bool push_add_bytes(struct digest *digest, FILE *file, long offset,
                           size_t size)
{
    char bytes[ID_PART];

    if (fseek(file, offset, SEEK_SET) != 0 ||
        fread(bytes, 1, size, file) != size) {
        return false;
    }
    digest_add(digest, bytes, size);
    return true;
}

static void push_write_id(struct digest *digest, char id[SYMBFILE_ID_SIZE])
{
    char hex[DIGEST_HEX + 1], text[32];
    unsigned char bytes[ID_BYTES];
    unsigned i, byte = 0;

    digest_hex(digest, hex);
    for (i = 0; i < ID_BYTES; i++) {
        (void)sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
    }
    base64_encode_raw(text, ID_BYTES, bytes);
    for (i = 0; i < SYMBFILE_ID_SIZE - 1; i++) {
        id[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    }
    id[i] = '\0';
}

int symbfile_id(const char *path, char id[SYMBFILE_ID_SIZE])
{
    FILE *file = fopen(path, "re");
    struct digest *digest = digest_new();
    struct stat st;
    unsigned i;
    size_t part;
    char size[8];
    bool is_read;

    if (digest == NULL) {
        command_no_memory();
    }
    is_read = file != NULL && fstat(fileno(file), &st) == 0;
    if (is_read) {
        part = st.st_size < ID_PART ? (size_t)st.st_size : ID_PART;
        for (i = 0; i < sizeof(size); i++) {
            size[i] = (char)((uint64_t)st.st_size >> (56 - 8 * i));
        }
        is_read =
            push_add_bytes(digest, file, 0, part) &&
            push_add_bytes(digest, file, (long)st.st_size - (long)part, part);
        digest_add(digest, size, sizeof(size));
    }
    if (is_read) {
        push_write_id(digest, id);
    }
    digest_free(digest);
    i = (unsigned)errno;
    if (file != NULL) {
        fclose(file);
    }
    return is_read ? COMMAND_OK
                   : command_fail(COMMAND_IO, path, strerror((int)i));
}

/* one part ---------------------------------------------------------------- */

static void push_add_header(struct symbfile_push_request *push,
                            const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void push_add_header(struct symbfile_push_request *push,
                            const char *format, ...)
{
    char line[2 * SECRET_MAX + 32];
    struct curl_slist *list;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    list = curl_slist_append(push->headers, line);
    if (list == NULL) {
        command_no_memory();
    }
    push->headers = list;
}

/* Adds the key, encoded unless it is.  Returns an exit code. */
static int push_add_key(struct symbfile_push_request *push, const char *key)
{
    char secret[SECRET_MAX + 1], error[256];
    char encoded[BASE64_ENCODE_RAW_LENGTH(SECRET_MAX) + 1];
    size_t n;

    if (key == NULL) {
        return COMMAND_OK;
    }
    if (secret_expand_option(key, secret, sizeof(secret), error,
                             sizeof(error)) != 0) {
        return command_fail(COMMAND_IO, "--api-key", error);
    }
    if (strchr(secret, ':') != NULL) {
        n = strlen(secret);
        base64_encode_raw(encoded, n, (const uint8_t *)secret);
        encoded[BASE64_ENCODE_RAW_LENGTH(n)] = '\0';
        push_add_header(push, "Authorization: APIKey %s", encoded);
    } else {
        push_add_header(push, "Authorization: APIKey %s", secret);
    }
    return COMMAND_OK;
}

/* Posts a part of a file.  Returns the status, or 0 with a reason. */
static long post_symbfile(struct symbfile_push_request *push, FILE *file,
                          off_t begin, off_t size, char *reason,
                          size_t reason_size)
{
    CURL *curl = push->curl;
    CURLcode code;
    long status = 0;

    short_reply_begin(&push->reply, curl, push->url, push->headers);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    file_body_begin(&push->body, curl, file, begin, size);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
        short_reply_failure(&push->reply, code, reason, reason_size);
        return 0;
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* The server says what is wrong as {"uuid": ..., "error": {"Text": ...}}. */
static void push_read_reason(const struct symbfile_push_request *push,
                             long status, char *reason, size_t size)
{
    cJSON *answer = cJSON_Parse(push->reply.text);
    const char *text = printable_field(cJSON_GetObjectItemCaseSensitive(
                                           answer, "error"), "Text");
    const char *uuid = printable_field(answer, "uuid");

    snprintf(reason, size, "%s (HTTP %ld%s%s)",
             text[0] != '\0' ? text : "no reason given", status,
             uuid[0] != '\0' ? ", " : "", uuid);
    cJSON_Delete(answer);
}

/* A page of a portal answers 200 as well. */
static bool push_is_taken(const struct symbfile_push_request *push)
{
    cJSON *answer = cJSON_Parse(push->reply.text);
    bool is_true =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "success"));

    cJSON_Delete(answer);
    return is_true;
}

/* Waits as long as the server says. */
static void push_pause_before(const struct symbfile_push_request *push)
{
    curl_off_t seconds = 0;

    curl_easy_getinfo(push->curl, CURLINFO_RETRY_AFTER, &seconds);
    seconds = seconds <= 0 ? RETRY_SECONDS : seconds;
    sleep(seconds > RETRY_MAX ? RETRY_MAX : (unsigned)seconds);
}

/* Sends a part, again and again where that can help.  Returns an exit code. */
static int push_send_part(struct symbfile_push_request *push, FILE *file,
                          off_t begin, off_t size)
{
    char reason[512] = "";
    long status = 0;
    unsigned attempt;

    for (attempt = 1; attempt <= ATTEMPTS; attempt++) {
        if (attempt > 1) {
            push_pause_before(push);
        }
        status =
            post_symbfile(push, file, begin, size, reason, sizeof(reason));
        if (status == 200 && push_is_taken(push)) {
            return COMMAND_OK;
        }
        if (status == 200) {
            snprintf(reason, sizeof(reason),
                     "the answer is not that of a server for symbfiles: it is "
                     "that of another page, or of a portal (HTTP 200)");
        } else if (status != 0) {
            push_read_reason(push, status, reason, sizeof(reason));
        }
        if (status != 0 && status != 429 && status <= 500) {
            break;
        }
    }
    fputs("symcachectl symbfile push: ", stderr);
    printable_put_address(stderr, push->url);
    fputs(": ", stderr);
    printable_put(stderr, reason);
    fputc('\n', stderr);
    return status >= 300 && status < 500 && status != 429 ? COMMAND_NOT_FOUND
                                                          : COMMAND_IO;
}

/* Sends a file in parts of the same size; the last one can be larger. */
static int push_send_file(const struct symbfile_push *push, const char *page,
                          const char *path)
{
    FILE *file = fopen(path, "re");
    struct symbfile_push_request request = {.curl = curl_easy_init()};
    struct stat st;
    unsigned i, parts;
    off_t begin;
    int code;

    if (request.curl == NULL) {
        command_no_memory();
    }
    if (file == NULL || fstat(fileno(file), &st) != 0) {
        return command_fail(COMMAND_IO, path, strerror(errno));
    }
    snprintf(request.url, sizeof(request.url), "%s/api/symbols-%s", push->url,
             page);
    parts = st.st_size < push->parts ? 1 : push->parts;
    for (i = 0, code = COMMAND_OK; i < parts && code == COMMAND_OK; i++) {
        push_add_header(&request, "Expect:");
        push_add_header(&request, "Content-Type: application/octet-stream");
        push_add_header(&request, "FileID: %s", push->file_id);
        push_add_header(&request, "FilePart: %u", i);
        push_add_header(&request, "FileParts: %u", parts);
        code = push_add_key(&request, push->api_key);
        if (code == COMMAND_OK) {
            begin = st.st_size / parts * i;
            code = push_send_part(&request, file, begin,
                                  i + 1 < parts ? st.st_size / parts
                                                : st.st_size - begin);
        }
        curl_slist_free_all(request.headers);
        request.headers = NULL;
    }
    curl_easy_cleanup(request.curl);
    fclose(file);
    return code;
}

int symbfile_push(const struct symbfile_push *push, const char *ranges,
                  const char *pads)
{
    int code = push_send_file(push, "ranges", ranges);

    if (code == COMMAND_OK && pads != NULL) {
        code = push_send_file(push, "returnpads", pads);
    }
    if (code != COMMAND_OK) {
        return code;
    }
    printf("ranges%s sent as %s\n", pads != NULL ? " and return pads" : "",
           push->file_id);
    return command_finish(COMMAND_OK);
}
