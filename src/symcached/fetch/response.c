/*
 * Copyright (C) the ngx_symcache authors
 */
#include "response.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/header.h"
#include "proto/properties.h"

#define FETCH_RESPONSE_RETRY_AFTER 600 /* seconds at most */

/* Bytes of header and trailers at most.  libcurl, which keeps all of them in
 * memory, takes 300 KiB of a header, and trailers without a limit. */
#define FETCH_RESPONSE_LINES (512 * 1024)

/* Since 8.3.0 (curl's pull request 11756) libcurl takes a stream of HTTP/2 that
 * is reset without an error for one that has ended: without a length, nothing
 * tells then whether a body is whole. */
#define RESPONSE_RESET_ENDS 0x080300

/*
 * If line is "name: value", as libcurl hands it over, writes value to buf, cut
 * to size, with "?" for each byte outside printable ASCII, and returns true.
 */
static bool response_read_value(const char *line, size_t len, const char *name,
                                char *buf, size_t size)
{
    size_t n = strlen(name), i = 0;

    if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':') {
        return false;
    }
    for (n++; n < len && (line[n] == ' ' || line[n] == '\t'); n++) {
    }
    while (len > n && (unsigned char)line[len - 1] <= ' ') {
        len--;
    }
    for (; n < len && i + 1 < size; n++) {
        buf[i++] = line[n] >= ' ' && line[n] < 0x7f ? line[n] : '?';
    }
    buf[i] = '\0';
    return true;
}

/* Texts are ended and not set to zero: they are 8 KB, most of them empty. */
void fetch_response_clear(struct fetch_response *response)
{
    char *const texts[] = {
        response->type,           response->coding,     response->range,
        response->ranges,         response->etag,       response->modified,
        response->date,           response->transfer,   response->digest,
        response->content_digest, response->meta,       response->reason,
        response->source_map,     response->debuginfod, response->body,
        response->next,
    };
    size_t i;

    response->status = 0;
    response->retry_after = 0;
    response->bytes = 0;
    response->lines_size = 0;
    response->whole = response->again = response->framed = response->verified =
        false;
    response->may_be_reset = false;
    response->length = -1;
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        texts[i][0] = '\0';
    }
}

/* A line may contain digests of other algorithms as well. */
static void fetch_response_digest(const char *line, size_t len,
                                  const char *name,
                                  char text[SYMCACHE_DIGEST_TEXT + 1])
{
    char value[1024];

    if (response_read_value(line, len, name, value, sizeof(value))) {
        (void)symcache_digest_read(value, strlen(value), text);
    }
}

/* Keeps a line of metadata; a line that does not fit is left out as a
 * whole. */
static void fetch_response_meta(struct fetch_response *response,
                                const char *line, size_t len)
{
    static const char *const starts[] = {"x-amz-meta-symcache-",
                                         "x-goog-meta-symcache-"};
    bool is_google = len > 2 && tolower((unsigned char)line[2]) == 'g';
    const char *start = starts[is_google];
    const size_t n = strlen(start), used = strlen(response->meta);
    const char *colon = memchr(line, ':', len);
    char name[32], value[256];

    if (colon == NULL || len <= n || strncasecmp(line, start, n) != 0 ||
        colon < line + n || (size_t)(colon - line) - n >= sizeof(name)) {
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(colon - line - (ptrdiff_t)n),
             line + n);
    if (response_read_value(line + n, len - n, name, value, sizeof(value)) &&
        used + strlen(name) + strlen(value) + 4 < sizeof(response->meta)) {
        snprintf(response->meta + used, sizeof(response->meta) - used,
                 "%s: %s\n", name, value);
    }
}

/* Keeps a line that describes a file with a build id; a line that does not fit
 * is left out as a whole. */
static void fetch_response_debuginfod(struct fetch_response *response,
                                      const char *line, size_t len)
{
    static const char *const names[] = {SYMCACHE_PROPERTY_DEBUGINFOD "file",
                                        SYMCACHE_PROPERTY_DEBUGINFOD "archive",
                                        SYMCACHE_PROPERTY_DEBUGINFOD
                                        "imasignature"};
    const size_t used = strlen(response->debuginfod);
    const size_t space = sizeof(response->debuginfod) - used;
    char value[FETCH_RESPONSE_DEBUGINFOD];
    size_t i;
    int n;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (response_read_value(line, len, names[i], value, sizeof(value)) &&
            value[0] != '\0' &&
            strstr(response->debuginfod, names[i]) == NULL) {
            n = snprintf(response->debuginfod + used, space, "%s: %s\n",
                         names[i], value);
            if (n < 0 || (size_t)n >= space) {
                response->debuginfod[used] = '\0';
            }
        }
    }
}

/* The name without "X-" is the newer one, and counts. */
static void fetch_response_source_map(struct fetch_response *response,
                                      const char *line, size_t len)
{
    char value[FETCH_RESPONSE_SOURCE_MAP];
    bool is_new =
        response_read_value(line, len, "SourceMap", value, sizeof(value));

    if ((is_new || (response->source_map[0] == '\0' &&
                    response_read_value(line, len, "X-SourceMap", value,
                                        sizeof(value)))) &&
        strlen(value) < sizeof(value) - 1) {
        memcpy(response->source_map, value, sizeof(value));
    }
}

/* A line may have several links, <URL>; rel="...".  The URLs repeat that of the
 * request and can be long. */
static void fetch_response_next(struct fetch_response *response,
                                const char *line, size_t len)
{
    const char *end = line + len, *at = line, *url;

    if (len <= 5 || strncasecmp(line, "Link:", 5) != 0) {
        return;
    }
    while ((at = memchr(at, '>', (size_t)(end - at))) != NULL) {
        url = memchr(at, '<', (size_t)(end - at));
        len = (size_t)((url != NULL ? url : end) - at);
        if (memmem(at, len, "rel=\"next\"", 10) != NULL) {
            snprintf(response->next, sizeof(response->next), "%.*s", (int)len,
                     at);
        }
        at += len;
    }
}

bool fetch_response_line(struct fetch_response *response, const char *line,
                         size_t len)
{
    const struct {
        const char *name;
        char *value;
        size_t size;
    } lines[] = {
        {"Content-Type", response->type, sizeof(response->type)},
        {"Content-Encoding", response->coding, sizeof(response->coding)},
        {"Content-Range", response->range, sizeof(response->range)},
        {"Accept-Ranges", response->ranges, sizeof(response->ranges)},
        {"ETag", response->etag, sizeof(response->etag)},
        {"Last-Modified", response->modified, sizeof(response->modified)},
        {"Date", response->date, sizeof(response->date)},
        {"Transfer-Encoding", response->transfer, sizeof(response->transfer)},
        {SYMCACHE_HEADER_REASON, response->reason, sizeof(response->reason)},
    };
    size_t i, lines_size = response->lines_size + len;

    if (response->bytes == 0 && len > 5 &&
        strncasecmp(line, "HTTP/", 5) == 0) {
        /* After a 100 or 103, the header of the real answer follows. */
        fetch_response_clear(response);
        response->lines_size = lines_size;
        return lines_size <= FETCH_RESPONSE_LINES;
    }
    response->lines_size = lines_size;
    if (response->whole || lines_size > FETCH_RESPONSE_LINES) {
        return lines_size <= FETCH_RESPONSE_LINES;
    }
    if (len > 0 && (line[0] == '\r' || line[0] == '\n')) {
        response->whole = true;
        return true;
    }

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        response_read_value(line, len, lines[i].name, lines[i].value,
                            lines[i].size);
    }
    fetch_response_meta(response, line, len);
    fetch_response_source_map(response, line, len);
    fetch_response_next(response, line, len);
    fetch_response_debuginfod(response, line, len);
    fetch_response_digest(line, len, SYMCACHE_HEADER_DIGEST, response->digest);
    fetch_response_digest(line, len, SYMCACHE_HEADER_CONTENT_DIGEST,
                          response->content_digest);
    response->again |= len > 12 && strncasecmp(line, "Retry-After:", 12) == 0;
    return true;
}

bool fetch_response_coded(const struct fetch_response *response)
{
    return response->coding[0] != '\0' &&
           strcasecmp(response->coding, "identity") != 0;
}

/* The beginning of the body, as a text. */
void fetch_response_body(struct fetch_response *response, const char *data,
                         size_t len)
{
    size_t used = strlen(response->body),
           left = sizeof(response->body) - 1 - used;

    len = strnlen(data, len < left ? len : left);
    memcpy(response->body + used, data, len);
    response->body[used + len] = '\0';
}

/*
 * HTTP/1.0 has no chunks: a proxy that spoke it has passed the chunk sizes on
 * as part of the body.  In HTTP/2 and later, the end of each answer is marked.
 */
static bool fetch_response_framed(const struct fetch_response *response,
                                  CURL *easy)
{
    size_t len = strlen(response->transfer);
    long version = 0;

    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    if (version >= CURL_HTTP_VERSION_2_0) {
        return true;
    }
    if (len == 0) {
        return response->length >= 0;
    }
    return version == CURL_HTTP_VERSION_1_1 && len >= 7 &&
           strcasecmp(response->transfer + len - 7, "chunked") == 0;
}

/* A type that no symbol file has, whatever parameters it came with. */
static bool type_is_page(const char *type)
{
    static const char *const pages[] = {
        "text/html",         "multipart/",      "application/json",
        "application/xhtml", "application/xml", "text/xml"};
    size_t i;

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strncasecmp(type, pages[i], strlen(pages[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Can its end be a reset of its stream, too? */
static bool response_may_be_reset(const struct fetch_response *response,
                                  CURL *easy)
{
    long version = 0;

    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    return version >= CURL_HTTP_VERSION_2_0 && response->length < 0 &&
           curl_version_info(CURLVERSION_NOW)->version_num >=
               RESPONSE_RESET_ENDS;
}

bool fetch_response_is_whole(const struct fetch_response *response,
                             char *detail, size_t size)
{
    if (type_is_page(response->type)) {
        snprintf(detail, size, "200 with a page: \"%.100s\"", response->type);
    } else if (fetch_response_coded(response)) {
        snprintf(detail, size,
                 "200 with Content-Encoding, which was not asked for: \"%s\"",
                 response->coding);
    } else if (response->range[0] != '\0') {
        snprintf(detail, size, "200 with a part: Content-Range \"%s\"",
                 response->range);
    } else if ((!response->framed || response->may_be_reset) &&
               !response->verified) {
        snprintf(detail, size,
                 "200 without a length, so its end is not known");
    } else {
        return true;
    }
    return false;
}

void fetch_response_end(struct fetch_response *response, CURL *easy)
{
    curl_off_t seconds = 0, length = -1;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &response->status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    response->length = length;
    if (response->again) {
        curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    }
    if (seconds > FETCH_RESPONSE_RETRY_AFTER) {
        seconds = FETCH_RESPONSE_RETRY_AFTER;
    }
    response->retry_after = seconds > 0 ? (unsigned)seconds : 0;
    response->framed = fetch_response_framed(response, easy);
    response->may_be_reset = response_may_be_reset(response, easy);
}

int fetch_response_version(const char *type, symcache_version_t *version)
{
    const char *p = type, *value;
    size_t len;
    int found = 0;

    while ((p = strchr(p, ';')) != NULL) {
        p += 1 + strspn(p + 1, " \t");
        if (strncasecmp(p, "version=", 8) != 0) {
            continue;
        }
        value = p + 8;
        len = strcspn(value, "; \t");
        if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
            value++;
            len -= 2;
        }
        if (found != 0 || !symcache_version_parse(value, len, version)) {
            return -1;
        }
        found = 1;
    }
    return found;
}
