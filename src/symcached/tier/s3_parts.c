/*
 * Copyright (C) the ngx_symcache authors
 *
 * An object that is stored in parts, as a bucket takes 5 GiB in one request at
 * the most (S3's multipart uploads):
 *
 *   POST ?uploads= --> a thread computes the digest of a part, which is PUT,
 *     and so on --> POST ?uploadId=, with the list of parts
 *
 * Until then there is no object.  Parts of an upload that failed are removed
 * (DELETE ?uploadId=); those of a process that was killed stay until a rule of
 * the bucket removes them.
 */
#include "s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/percent.h"
#include "base/task.h"
#include "config/config.h"
#include "sha256_task.h"
#include "s3_headers.h"

#define ID_MAX 512 /* bytes of the id of an upload */
#define PARTS_MAX 10000

struct s3_parts {
    struct tier_call *call;
    char id[3 * ID_MAX + 1]; /* of the upload, encoded; "" if there is none */
    uint64_t size;           /* of a part but the last */
    uint64_t at;             /* where the present one begins */
    unsigned n;              /* its number, from 1 */
    char sha256[DIGEST_HEX + 1];
    FILE *list; /* what completes the upload, */
    char *text; /* which is written here */
    size_t text_size;
    int body; /* the same in a file, or -1 */
    struct task *task;
    struct send *send;
    enum tier_reply reply; /* how it ends, when its parts have been removed */
    char detail[300];
};

static void parts_free(struct s3_parts *parts)
{
    if (parts->list != NULL) {
        fclose(parts->list);
    }
    fd_close(parts->body);
    free(parts->text);
    free(parts);
}

static void cancel_parts(void *task)
{
    struct s3_parts *parts = task;

    task_cancel(parts->task);
    if (parts->send != NULL) {
        send_cancel(parts->send);
    }
    parts_free(parts);
}

/* ends --------------------------------------------------------------------- */

static int send_about(struct s3_parts *parts, const char *method, int fd,
                      uint64_t size, const char *sha256, send_done_fn done);

static void end_parts(struct s3_parts *parts, enum tier_reply reply,
                      const char *detail)
{
    struct tier_call *call = parts->call;
    char text[300];

    snprintf(text, sizeof(text), "%s", detail);
    parts_free(parts);
    tier_call_end(call, reply, "%s", text);
}

static void on_aborted(void *arg, const struct send_result *result)
{
    struct s3_parts *parts = arg;

    (void)result; /* a rule of the bucket is the other way */
    parts->send = NULL;
    end_parts(parts, parts->reply, parts->detail);
}

/* Removes the parts and ends the call. */
static void fail_parts(struct s3_parts *parts, enum tier_reply reply,
                       const char *detail)
{
    parts->reply = reply;
    snprintf(parts->detail, sizeof(parts->detail), "%s", detail);
    if (parts->id[0] == '\0' ||
        send_about(parts, "DELETE", -1, 0, BUCKET_BODY_EMPTY, on_aborted) !=
            0) {
        end_parts(parts, reply, parts->detail);
    }
}

/* Returns true if the answer is a success; otherwise it has ended the call. */
static bool is_done(struct s3_parts *parts, const struct send_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = parts->call;
    char code[TIER_CODE_MAX], detail[300];
    enum tier_reply reply;

    tier_s3_code(code, response);
    reply = tier_s3_judge(response, code);
    if (reply == TIER_REPLY_DONE && code[0] == '\0') {
        return true;
    }
    if (reply == TIER_REPLY_DONE) {
        reply = TIER_REPLY_FAULT; /* it failed after its status was sent */
    } else if (reply == TIER_REPLY_ABSENT) {
        reply = TIER_REPLY_DENIED; /* a PUT needs no object */
    }
    tier_s3_take_status(call, response, code);
    if ((reply == TIER_REPLY_DENIED && call->refusal == 0) ||
        parts->id[0] == '\0') {
        /* keys that are refused cannot remove parts either */
        parts_free(parts);
        tier_s3_refuse(call, reply, result->detail, response);
        return false;
    }
    snprintf(detail, sizeof(detail), "%.200s%s%s",
             reply == TIER_REPLY_EXISTS ? "is there" : result->detail,
             code[0] != '\0' ? " " : "", code);
    fail_parts(parts, reply, detail);
    return false;
}

/* steps -------------------------------------------------------------------- */

/* A request about the upload as a whole. */
static int send_about(struct s3_parts *parts, const char *method, int fd,
                      uint64_t size, const char *sha256, send_done_fn done)
{
    struct s3_headers headers = {.n = 0};
    char query[sizeof(parts->id) + 16];
    struct tier_s3_request request = {.method = method,
                                      .query = query,
                                      .headers = &headers,
                                      .fd = fd,
                                      .size = size,
                                      .waits_for =
                                          size > 0 ? parts->call->size : 0};

    snprintf(query, sizeof(query), "?uploadId=%s", parts->id);
    s3_headers_add_body(&headers, parts->call, sha256);
    /* Google knows no condition for an upload in parts */
    if (size > 0 && !parts->call->replace &&
        parts->call->config->kind == TIER_S3) {
        s3_headers_add_absent(&headers, parts->call);
    }
    parts->send = tier_s3_send(parts->call, &request, done, parts);
    return parts->send != NULL ? 0 : -1;
}

static void s3_on_completed(void *arg, const struct send_result *result)
{
    struct s3_parts *parts = arg;

    parts->send = NULL;
    if (is_done(parts, result)) {
        parts->call->status = result->response->status;
        end_parts(parts, TIER_REPLY_DONE, "stored");
    }
}

/* All parts are there. */
static void complete_parts(struct s3_parts *parts)
{
    struct digest *digest = digest_new();
    bool good;

    fputs("</CompleteMultipartUpload>", parts->list);
    good = fclose(parts->list) == 0 && digest != NULL;
    parts->list = NULL;
    parts->body = memfd_create("parts", MFD_CLOEXEC);
    if (good && parts->body >= 0 &&
        write(parts->body, parts->text, parts->text_size) ==
            (ssize_t)parts->text_size) {
        digest_add(digest, parts->text, parts->text_size);
        digest_hex(digest, parts->sha256);
        good = send_about(parts, "POST", parts->body, parts->text_size,
                          parts->sha256, s3_on_completed) == 0;
    } else {
        good = false;
    }
    digest_free(digest);
    if (!good) {
        fail_parts(parts, TIER_REPLY_FAILED, "the parts cannot be joined");
    }
}

static void begin_part(struct s3_parts *parts);

static void s3_on_part(void *arg, const struct send_result *result)
{
    const char *etag = result->response->etag;
    struct s3_parts *parts = arg;

    parts->send = NULL;
    if (!is_done(parts, result)) {
        return;
    }
    if (etag[0] == '\0' || strpbrk(etag, "<>&") != NULL) {
        fail_parts(parts, TIER_REPLY_FAILED, "a part has no ETag");
        return;
    }
    fprintf(parts->list,
            "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>",
            parts->n, etag);
    parts->at += parts->size;
    begin_part(parts);
}

static void s3_on_sum(void *arg, const struct checksum *sum)
{
    struct s3_parts *parts = arg;
    struct tier_call *call = parts->call;
    struct s3_headers headers = {.n = 0};
    char query[sizeof(parts->id) + 48];
    struct tier_s3_request request = {.method = "PUT",
                                      .query = query,
                                      .headers = &headers,
                                      .fd = call->fd,
                                      .from = parts->at,
                                      .size = sum->size[0]};

    parts->task = NULL;
    if (sum->errnum != 0) {
        fail_parts(parts, TIER_REPLY_FAILED, strerror(sum->errnum));
        return;
    }
    snprintf(query, sizeof(query), "?partNumber=%u&uploadId=%s", ++parts->n,
             parts->id);
    memcpy(parts->sha256, sum->sha256[0], sizeof(parts->sha256));
    s3_headers_add_body(&headers, call, parts->sha256);
    parts->send = tier_s3_send(call, &request, s3_on_part, parts);
    if (parts->send == NULL) {
        fail_parts(parts, TIER_REPLY_FAILED, strerror(errno));
    }
}

static void begin_part(struct s3_parts *parts)
{
    struct tier_call *call = parts->call;

    if (parts->at >= call->size) {
        complete_parts(parts);
        return;
    }
    parts->task = checksum_part_start(call->tiers->base, call->fd, parts->at,
                                      parts->size, s3_on_sum, parts);
    if (parts->task == NULL) {
        fail_parts(parts, TIER_REPLY_FAILED, strerror(errno));
    }
}

/* Reads the <UploadId> of an answer. */
static bool s3_read_id(struct s3_parts *parts,
                       const struct fetch_response *response)
{
    static const char before[] = "<UploadId>";
    const char *p = strstr(response->body, before);
    const char *end;
    char id[ID_MAX + 1];
    size_t n;

    if (p == NULL) {
        return false;
    }
    p += sizeof(before) - 1;
    end = strchr(p, '<');
    n = end != NULL ? (size_t)(end - p) : 0;
    if (n == 0 || n > ID_MAX || memchr(p, '&', n) != NULL) {
        return false;
    }
    memcpy(id, p, n);
    id[n] = '\0';
    percent_encode(parts->id, id);
    return true;
}

static void on_begun(void *arg, const struct send_result *result)
{
    struct s3_parts *parts = arg;

    parts->send = NULL;
    if (!is_done(parts, result)) {
        return;
    }
    if (!s3_read_id(parts, result->response)) {
        fail_parts(parts, TIER_REPLY_FAILED, "an upload in parts has no id");
        return;
    }
    begin_part(parts);
}

int tier_s3_put_parts(struct tier_call *call)
{
    struct s3_headers headers = {.n = 0};
    struct tier_s3_request request = {
        .method = "POST", .query = "?uploads=", .headers = &headers, .fd = -1};
    struct s3_parts *parts = calloc(1, sizeof(*parts));
    uint64_t least = call->size / PARTS_MAX + 1;

    if (parts == NULL) {
        return -1;
    }
    parts->call = call;
    parts->body = -1;
    parts->size =
        call->config->part_size > least ? call->config->part_size : least;
    parts->list = open_memstream(&parts->text, &parts->text_size);
    s3_headers_add_type(&headers, call);
    s3_headers_add_meta(&headers, call);
    s3_headers_add_body(&headers, call, BUCKET_BODY_EMPTY);
    call->renewals = call->config->transport.renewals;
    if (parts->list != NULL) {
        fputs("<CompleteMultipartUpload>", parts->list);
        parts->send = tier_s3_send(call, &request, on_begun, parts);
    }
    if (parts->send == NULL) {
        parts_free(parts);
        errno = ENOMEM;
        return -1;
    }
    call->task = parts;
    call->task_cancel = cancel_parts;
    return 0;
}
