/*
 * Copyright (C) the ngx_symcache authors
 *
 * What an object store means by an answer: a status has several reasons, told
 * by the <Code> of a small XML body.
 */
#include <stdio.h>
#include <string.h>

#include "steps.h"

#define BUCKET_CODE 64

/* "" if there is none */
static void bucket_code(char code[BUCKET_CODE], const char *body)
{
    const char *p = strstr(body, "<Code>");
    size_t len;

    code[0] = '\0';
    if (p == NULL) {
        return;
    }
    p += strlen("<Code>");
    len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    if (len > 0 && len < BUCKET_CODE && p[len] == '<') {
        snprintf(code, BUCKET_CODE, "%.*s", (int)len, p);
    }
}

enum source_outcome source_bucket_judge(const struct source_config *source,
                                        const struct fetch_result *result,
                                        char *detail, size_t size)
{
    const struct fetch_answer *answer = result->answer;
    char code[BUCKET_CODE];

    snprintf(detail, size, "%s", result->detail);
    if (answer->status < 300 || answer->moved) {
        return result->outcome;
    }

    bucket_code(code, answer->body);
    snprintf(detail, size, "%s%s%s", result->detail,
             code[0] != '\0' ? " " : "", code);

    switch (answer->status) {
    case 404:
        /* a bucket that is not there is a fault of the configuration */
        return strcmp(code, "NoSuchBucket") == 0 ? SOURCE_FAILED
                                                 : result->outcome;
    case 403:
        /* what is missing, to who may not list; and what is forbidden */
        return strcmp(code, "AccessDenied") == 0 &&
                       source->bucket.denied_is_absent
                   ? SOURCE_NOT_FOUND
                   : SOURCE_FAILED;
    case 400:
        return strcmp(code, "KeyTooLongError") == 0 ? SOURCE_NOT_FOUND
                                                    : SOURCE_FAILED;
    default:
        return result->outcome;
    }
}
