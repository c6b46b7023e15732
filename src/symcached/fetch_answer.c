/*
 * Copyright (C) the ngx_symcache authors
 */
#include "fetch_answer.h"

#include <string.h>
#include <strings.h>

#include "header_line.h"
#include "proto/symcache_header.h"

#define FETCH_ANSWER_RETRY_AFTER 600 /* at most */

void fetch_answer_clear(struct fetch_answer *answer)
{
    answer->status = 0;
    answer->retry_after = 0;
    answer->again = false;
    answer->type[0] = '\0';
    answer->reason[0] = '\0';
    answer->body[0] = '\0';
}

void fetch_answer_line(struct fetch_answer *answer, const char *line,
                       size_t len)
{
    header_line_value(line, len, "Content-Type", answer->type,
                      sizeof(answer->type));
    header_line_value(line, len, SYMCACHE_HEADER_REASON, answer->reason,
                      sizeof(answer->reason));
    answer->again |= len > 12 && strncasecmp(line, "Retry-After:", 12) == 0;
}

/* Its start, as a text. */
void fetch_answer_body(struct fetch_answer *answer, const char *data,
                       size_t len)
{
    size_t used = strlen(answer->body), room = sizeof(answer->body) - 1 - used;

    len = strnlen(data, len < room ? len : room);
    memcpy(answer->body + used, data, len);
    answer->body[used + len] = '\0';
}

void fetch_answer_end(struct fetch_answer *answer, CURL *easy)
{
    curl_off_t seconds = 0;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > FETCH_ANSWER_RETRY_AFTER) {
        seconds = FETCH_ANSWER_RETRY_AFTER;
    }
    answer->retry_after = seconds > 0 ? (unsigned)seconds : 0;
}
