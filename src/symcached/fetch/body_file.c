/*
 * Copyright (C) the ngx_symcache authors
 */
#include "body_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/disk_full.h"
#include "base/digest.h"
#include "metrics/metrics.h"
#include "base/async_unlink.h"
#include "symcached/space/space.h"

#define BODY_FILE_GATHERED (256 * 1024)
#define BODY_FILE_SPACE_STEP (4 * 1024 * 1024) /* between two checks */
#define BODY_FILE_TOTAL_SHARE 64

static bool body_file_fail(struct body_file *body_file,
                           enum body_file_problem problem, const char *reason)
{
    body_file->problem = problem;
    snprintf(body_file->reason, sizeof(body_file->reason), "%s", reason);
    return false;
}

/* The bytes between two checks, fewer where all files together have a limit. */
static uint64_t body_file_step(const struct body_file *body_file)
{
    uint64_t most = body_file->cache->total_size / BODY_FILE_TOTAL_SHARE;

    return most == 0 || most > BODY_FILE_SPACE_STEP ? BODY_FILE_SPACE_STEP
                                                    : most;
}

/* With 0 bytes for as many as come until it is called again. */
static bool body_file_reserve(struct body_file *body_file, uint64_t bytes)
{
    char reason[sizeof(body_file->reason)];

    body_file->looked = body_file->resume.have;
    if (total_left(body_file->cache) <
        (bytes > 0 ? bytes : body_file_step(body_file))) {
        metrics_add(METRIC_FETCH_NO_SPACE, 1);
        return body_file_fail(body_file, BODY_FILE_NO_SPACE, TOTAL_NONE);
    }
    if (disk_space_reserve(body_file->fd, bytes, body_file->cache, reason,
                           sizeof(reason)) != 0) {
        metrics_add(METRIC_FETCH_NO_SPACE, 1);
        return body_file_fail(body_file, BODY_FILE_NO_SPACE, reason);
    }
    return true;
}

static bool body_file_rewind(struct body_file *body_file)
{
    return ftruncate(body_file->fd, 0) == 0 &&
           lseek(body_file->fd, 0, SEEK_SET) == 0;
}

/* Takes over the digests that the answer announces, if any. */
static bool body_file_expect(struct body_file *body_file,
                             const struct fetch_response *response)
{
    memcpy(body_file->expected, response->digest, sizeof(body_file->expected));
    memcpy(body_file->expected_content, response->content_digest,
           sizeof(body_file->expected_content));

    digest_free(body_file->digest);
    body_file->digest = NULL;
    if (response->digest[0] != '\0' || response->content_digest[0] != '\0') {
        body_file->digest = digest_new();
        return body_file->digest != NULL;
    }
    return true;
}

static bool body_file_open(struct body_file *body_file)
{
    char reason[sizeof(body_file->reason)];

    if (body_file->fd < 0) {
        body_file->fd = body_file->open(body_file->open_arg);
    }
    if (body_file->fd < 0) {
        snprintf(reason, sizeof(reason), "open: %s", strerror(errno));
        return body_file_fail(body_file, BODY_FILE_FAILED, reason);
    }
    return true;
}

/* A complete body begins. */
static bool begin(struct body_file *body_file,
                  const struct fetch_response *response, CURL *easy)
{
    curl_off_t length = -1; /* not known */
    char *url = NULL;

    curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    if (length > 0 && (uint64_t)length > body_file->max) {
        return body_file_fail(body_file, BODY_FILE_TOO_LARGE, "");
    }
    if (!body_file_open(body_file)) {
        return false;
    }
    if (!body_file_rewind(body_file)) {
        return body_file_fail(body_file, BODY_FILE_FAILED, strerror(errno));
    }
    body_file->rest = false;
    body_file->ngathered = 0;
    resume_begin(&body_file->resume, response, url, length);
    if (!body_file_expect(body_file, response)) {
        return body_file_fail(body_file, BODY_FILE_FAILED, "out of memory");
    }
    return body_file_reserve(body_file, length > 0 ? (uint64_t)length : 0);
}

/* The rest of a body begins, with status 206. */
static bool body_go_on(struct body_file *body_file,
                       const struct fetch_response *response)
{
    body_file->rest = true;
    if (!resume_fits(&body_file->resume, response)) {
        return body_file_fail(body_file, BODY_FILE_RANGE,
                              "not the range that was asked for");
    }
    if (response->digest[0] != '\0' && body_file->digest != NULL &&
        strcmp(response->digest, body_file->expected) != 0) {
        return body_file_fail(body_file, BODY_FILE_RANGE,
                              "the rest of a file with another SHA-256");
    }
    return true;
}

static bool body_file_write_failed(struct body_file *body_file, int errnum)
{
    char reason[sizeof(body_file->reason)];

    if (!disk_is_full(errnum)) {
        return body_file_fail(body_file, BODY_FILE_FAILED, strerror(errnum));
    }
    metrics_add(METRIC_FETCH_NO_SPACE, 1);
    disk_space_want_for(body_file->fd, 2 * body_file->resume.have);
    snprintf(reason, sizeof(reason), "no room: %s", strerror(errnum));
    return body_file_fail(body_file, BODY_FILE_NO_SPACE, reason);
}

/* Bytes that cannot be written are dropped and not counted as received: they
 * come again with the rest. */
static bool flush(struct body_file *body_file)
{
    const unsigned char *p = body_file->gathered;
    size_t len = body_file->ngathered;
    ssize_t written;

    body_file->ngathered = 0;
    while (len > 0) {
        written = write(body_file->fd, p, len);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return body_file_write_failed(body_file, errno);
        }
        digest_add(body_file->digest, p, (size_t)written);
        p += written;
        len -= (size_t)written;
        body_file->resume.have += (uint64_t)written;
    }
    return true;
}

/*
 * libcurl hands over 16 KiB at a time.  To gather them takes less than to write
 * them one by one, which makes many small pieces in the page cache.
 */
static bool gather(struct body_file *body_file, const void *data, size_t len)
{
    if (body_file->gathered == NULL) {
        body_file->gathered = malloc(BODY_FILE_GATHERED);
    }
    if (body_file->gathered == NULL) {
        return body_file_fail(body_file, BODY_FILE_FAILED, "out of memory");
    }
    while (len > 0) {
        size_t left = BODY_FILE_GATHERED - body_file->ngathered;
        size_t n = len < left ? len : left;

        memcpy(body_file->gathered + body_file->ngathered, data, n);
        body_file->ngathered += n;
        data = (const char *)data + n;
        len -= n;
        if (body_file->ngathered == BODY_FILE_GATHERED && !flush(body_file)) {
            return false;
        }
    }
    return true;
}

static bool take(struct body_file *body_file, const void *data, size_t len)
{
    const struct resume *resume = &body_file->resume;
    uint64_t have = resume->have + body_file->ngathered;

    if (len > body_file->max - have) {
        return body_file_fail(body_file, BODY_FILE_TOO_LARGE, "");
    }
    if (body_file->rest && len > resume->total - have) {
        return body_file_fail(body_file, BODY_FILE_RANGE,
                              "more than the range that was asked for");
    }
    if (resume->have - body_file->looked >= body_file_step(body_file) &&
        !body_file_reserve(body_file, 0)) {
        return false;
    }
    return gather(body_file, data, len);
}

struct curl_slist *body_file_headers(struct body_file *body_file,
                                     const char *url, struct curl_slist *list)
{
    if (!flush(body_file)) {
        body_file->problem = BODY_FILE_GOOD; /* the next try may have others */
    }
    return resume_headers(&body_file->resume, url, list);
}

bool body_file_receive(struct body_file *body_file,
                       const struct fetch_response *response, CURL *easy,
                       bool rest, const void *data, size_t len)
{
    if (response->bytes == len && !(rest ? body_go_on(body_file, response)
                                         : begin(body_file, response, easy))) {
        return false;
    }
    return take(body_file, data, len);
}

bool body_file_awaits_space(const struct body_file *body_file)
{
    return body_file->problem == BODY_FILE_NO_SPACE && async_unlink_works();
}

void body_file_judge(const struct body_file *body_file,
                     struct classification *class)
{
    if (body_file->problem == BODY_FILE_TOO_LARGE) {
        classify_say(class, SOURCE_UNUSABLE, false, "");
        snprintf(class->detail, sizeof(class->detail),
                 "larger than %" PRIu64 " bytes", body_file->max);
    } else {
        bool is_range = body_file->problem == BODY_FILE_RANGE;

        classify_say(class, is_range ? SOURCE_FAILED : SOURCE_FAILED_HERE,
                     is_range || body_file_awaits_space(body_file),
                     body_file->reason);
    }
}

/*
 * Does the content have the announced digests?  Notes the result in the
 * answer.
 */
static bool body_file_is_sound(struct body_file *body_file,
                               struct fetch_response *response)
{
    char text[SYMCACHE_DIGEST_TEXT + 1];

    if (body_file->digest == NULL) {
        return true;
    }
    digest_text(body_file->digest, text);
    response->verified = (body_file->expected[0] == '\0' ||
                          strcmp(body_file->expected, text) == 0) &&
                         (body_file->expected_content[0] == '\0' ||
                          strcmp(body_file->expected_content, text) == 0);
    metrics_add(
        response->verified ? METRIC_DIGEST_MATCH : METRIC_DIGEST_DIFFER, 1);
    return response->verified;
}

static void body_file_finish_empty(struct body_file *body_file, bool rest,
                                   struct classification *class)
{
    if (rest) {
        body_file->problem = BODY_FILE_RANGE;
        classify_say(class, SOURCE_FAILED, true, "206, empty body");
        return;
    }
    resume_drop(&body_file->resume);
    if (!body_file_open(body_file)) {
        body_file_judge(body_file, class);
        return;
    }
    (void)body_file_rewind(body_file);
    classify_say(class,
                 body_file->may_be_empty ? SOURCE_FOUND : SOURCE_UNUSABLE,
                 false, "200, empty body");
}

void body_file_finish(struct body_file *body_file,
                      struct fetch_response *response, bool rest,
                      struct classification *class)
{
    struct resume *resume = &body_file->resume;

    if (response->bytes == 0) {
        body_file_finish_empty(body_file, rest, class);
        return;
    }
    if (!flush(body_file)) {
        body_file_judge(body_file, class);
        return;
    }
    free(body_file->gathered); /* a job may keep the lookup for long */
    body_file->gathered = NULL;
    if (rest && resume->have != resume->total) {
        classify_say(class, SOURCE_FAILED, true, "206, less than the rest");
        return;
    }
    if (!body_file_is_sound(body_file, response)) {
        resume_drop(resume);
        classify_say(class, SOURCE_FAILED, true,
                     "damaged on the way: its SHA-256 is another one");
        return;
    }
    if (rest) {
        resume_finish(resume, response);
    }
    classify_say(class, SOURCE_FOUND, false, "200");
}

void body_file_free(struct body_file *body_file)
{
    resume_drop(&body_file->resume);
    digest_free(body_file->digest);
    free(body_file->gathered);
}
