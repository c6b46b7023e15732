/*
 * Copyright (C) the ngx_symcache authors
 */
#include "resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/*
 * RFC 9110, 8.8.2.2: Last-Modified is a strong validator only if the answer is
 * that much younger, because a file may change twice within a second.
 */
#define RESUME_STRONG_SECONDS 60

/* The URL without the parts that a signature changes in each redirect. */
static char *resume_place(const char *url)
{
    return strndup(url, strcspn(url, "?#"));
}

/* Returns the strong validator of an answer, or NULL. */
static const char *resume_validator(const struct fetch_response *response)
{
    size_t len = strlen(response->etag);
    time_t date, modified;

    if (len >= 2 && len < sizeof(response->etag) - 1 &&
        response->etag[0] == '"' && response->etag[len - 1] == '"') {
        return response->etag;
    }

    date = curl_getdate(response->date, NULL);
    modified = curl_getdate(response->modified, NULL);
    if (response->etag[0] == '\0' && date != -1 && modified != -1 &&
        date - modified >= RESUME_STRONG_SECONDS) {
        return response->modified;
    }
    return NULL;
}

void resume_begin(struct resume *resume, const struct fetch_response *response,
                  const char *url, int64_t length)
{
    const char *validator = resume_validator(response);

    resume_drop(resume);
    if (validator == NULL || length <= 0 || fetch_response_coded(response) ||
        strcasecmp(response->ranges, "bytes") != 0) {
        return;
    }

    resume->place = resume_place(url);
    if (resume->place != NULL) {
        snprintf(resume->validator, sizeof(resume->validator), "%s",
                 validator);
        memcpy(resume->type, response->type, sizeof(resume->type));
        resume->total = (uint64_t)length;
    }
}

struct curl_slist *resume_headers(struct resume *resume, const char *url,
                                  struct curl_slist *list)
{
    struct curl_slist *more;
    char line[FETCH_RESPONSE_VALUE + 16], *place;
    bool same;

    resume->asked = false;
    if (resume->have == 0 || resume->have >= resume->total ||
        resume->place == NULL || list == NULL) {
        return list;
    }

    place = resume_place(url);
    same = place != NULL && strcmp(place, resume->place) == 0;
    free(place);
    if (!same) {
        return list;
    }

    snprintf(line, sizeof(line), "Range: bytes=%" PRIu64 "-", resume->have);
    more = curl_slist_append(list, line);
    if (more != NULL) {
        snprintf(line, sizeof(line), "If-Range: %s", resume->validator);
        more = curl_slist_append(more, line);
    }
    if (more == NULL) {
        curl_slist_free_all(list);
    }
    resume->asked = more != NULL;
    return more;
}

bool resume_fits(const struct resume *resume,
                 const struct fetch_response *response)
{
    char wanted[sizeof(response->range)];
    const char *validator;

    if (fetch_response_coded(response)) {
        return false;
    }

    snprintf(wanted, sizeof(wanted), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
             resume->have, resume->total - 1, resume->total);
    if (strcasecmp(response->range, wanted) != 0) {
        return false;
    }

    /* The server need not repeat the validator, but it must not send
     * another. */
    validator =
        resume->validator[0] == '"' ? response->etag : response->modified;
    return validator[0] == '\0' || strcmp(validator, resume->validator) == 0;
}

void resume_finish(const struct resume *resume,
                   struct fetch_response *response)
{
    response->range[0] = '\0';
    response->framed = true;
    memcpy(response->type, resume->type, sizeof(response->type));
}

void resume_drop(struct resume *resume)
{
    free(resume->place);
    resume->place = NULL;
    resume->validator[0] = '\0';
    resume->total = 0;
    resume->have = 0;
}
