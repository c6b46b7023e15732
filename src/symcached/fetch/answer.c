/*
 * Copyright (C) the ngx_symcache authors
 */
#include "answer.h"

#include <string.h>
#include <strings.h>

#include "base/header_line.h"
#include "proto/header.h"

#define FETCH_ANSWER_RETRY_AFTER 600 /* seconds at most */

void fetch_answer_clear(struct fetch_answer *answer)
{
    struct fetch_answer clean = {.length = -1, .moved = answer->moved};

    memcpy(clean.moved_type, answer->moved_type, sizeof(clean.moved_type));
    *answer = clean;
}

/* A line may contain digests of other algorithms as well. */
static void fetch_answer_digest(const char *line, size_t len, const char *name,
                                char text[SYMCACHE_DIGEST_TEXT + 1])
{
    char value[1024];

    if (header_line_value(line, len, name, value, sizeof(value))) {
        (void)symcache_digest_read(value, strlen(value), text);
    }
}

void fetch_answer_line(struct fetch_answer *answer, const char *line,
                       size_t len)
{
    const struct {
        const char *name;
        char *value;
        size_t size;
    } lines[] = {
        {"Content-Type", answer->type, sizeof(answer->type)},
        {"Content-Encoding", answer->coding, sizeof(answer->coding)},
        {"Content-Range", answer->range, sizeof(answer->range)},
        {"Accept-Ranges", answer->ranges, sizeof(answer->ranges)},
        {"ETag", answer->etag, sizeof(answer->etag)},
        {"Last-Modified", answer->modified, sizeof(answer->modified)},
        {"Date", answer->date, sizeof(answer->date)},
        {"Transfer-Encoding", answer->transfer, sizeof(answer->transfer)},
        {SYMCACHE_HEADER_REASON, answer->reason, sizeof(answer->reason)},
    };
    size_t i;

    if (answer->bytes == 0 && len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        /* After a 100 or 103, the header of the real answer follows. */
        fetch_answer_clear(answer);
        return;
    }
    if (answer->whole) {
        return;
    }
    if (len > 0 && (line[0] == '\r' || line[0] == '\n')) {
        answer->whole = true;
        return;
    }

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        header_line_value(line, len, lines[i].name, lines[i].value,
                          lines[i].size);
    }
    fetch_answer_digest(line, len, SYMCACHE_HEADER_DIGEST, answer->digest);
    fetch_answer_digest(line, len, SYMCACHE_HEADER_CONTENT_DIGEST,
                        answer->content_digest);
    answer->again |= len > 12 && strncasecmp(line, "Retry-After:", 12) == 0;
}

bool fetch_answer_coded(const struct fetch_answer *answer)
{
    return answer->coding[0] != '\0' &&
           strcasecmp(answer->coding, "identity") != 0;
}

/* The beginning of the body, as a text. */
void fetch_answer_body(struct fetch_answer *answer, const char *data,
                       size_t len)
{
    size_t used = strlen(answer->body), left = sizeof(answer->body) - 1 - used;

    len = strnlen(data, len < left ? len : left);
    memcpy(answer->body + used, data, len);
    answer->body[used + len] = '\0';
}

/*
 * HTTP/1.0 has no chunks: a proxy that spoke it has passed the chunk sizes on
 * as part of the body.  In HTTP/2 and later, the end of each answer is marked.
 */
static bool fetch_answer_framed(const struct fetch_answer *answer, CURL *easy)
{
    size_t len = strlen(answer->transfer);
    long version = 0;

    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    if (version >= CURL_HTTP_VERSION_2_0) {
        return true;
    }
    if (len == 0) {
        return answer->length >= 0;
    }
    return version == CURL_HTTP_VERSION_1_1 && len >= 7 &&
           strcasecmp(answer->transfer + len - 7, "chunked") == 0;
}

void fetch_answer_end(struct fetch_answer *answer, CURL *easy)
{
    curl_off_t seconds = 0, length = -1;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    answer->length = length;
    if (answer->again) {
        curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    }
    if (seconds > FETCH_ANSWER_RETRY_AFTER) {
        seconds = FETCH_ANSWER_RETRY_AFTER;
    }
    answer->retry_after = seconds > 0 ? (unsigned)seconds : 0;
    answer->framed = fetch_answer_framed(answer, easy);
}
