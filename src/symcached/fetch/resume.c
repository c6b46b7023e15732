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

#include "header_line.h"

/*
 * RFC 9110, 8.8.2.2: a time is a strong validator if the answer is that much
 * younger; a file may change twice in a second.
 */
#define RESUME_STRONG_SECONDS 60

void resume_line(struct resume *resume, const char *line, size_t len)
{
    struct resume_head *head = &resume->head;

    if (len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        memset(head, 0, sizeof(*head));
        return;
    }
    header_line_value(line, len, "ETag", head->etag, sizeof(head->etag));
    header_line_value(line, len, "Last-Modified", head->modified,
                      sizeof(head->modified));
    header_line_value(line, len, "Date", head->date, sizeof(head->date));
    header_line_value(line, len, "Accept-Ranges", head->accept,
                      sizeof(head->accept));
    header_line_value(line, len, "Content-Range", head->range,
                      sizeof(head->range));
    header_line_value(line, len, "Content-Encoding", head->coding,
                      sizeof(head->coding));
}

/* The URL without what a signature changes from one redirect to the next. */
static char *resume_place(const char *url)
{
    return strndup(url, strcspn(url, "?#"));
}

static bool resume_coded(const struct resume_head *head)
{
    return head->coding[0] != '\0' &&
           strcasecmp(head->coding, "identity") != 0;
}

/* Returns the strong validator of an answer, or NULL. */
static const char *resume_validator(const struct resume_head *head)
{
    size_t len = strlen(head->etag);
    time_t date, modified;

    if (len >= 2 && len < sizeof(head->etag) - 1 && head->etag[0] == '"' &&
        head->etag[len - 1] == '"') {
        return head->etag;
    }

    date = curl_getdate(head->date, NULL);
    modified = curl_getdate(head->modified, NULL);
    if (head->etag[0] == '\0' && date != -1 && modified != -1 &&
        date - modified >= RESUME_STRONG_SECONDS) {
        return head->modified;
    }
    return NULL;
}

void resume_begin(struct resume *resume, const char *url, int64_t length)
{
    const char *validator = resume_validator(&resume->head);

    resume_drop(resume);
    if (validator == NULL || length <= 0 || resume_coded(&resume->head) ||
        strcasecmp(resume->head.accept, "bytes") != 0) {
        return;
    }

    resume->place = resume_place(url);
    if (resume->place != NULL) {
        snprintf(resume->validator, sizeof(resume->validator), "%s",
                 validator);
        resume->total = (uint64_t)length;
    }
}

struct curl_slist *resume_headers(struct resume *resume, const char *url,
                                  struct curl_slist *list)
{
    struct curl_slist *more;
    char line[RESUME_VALUE + 16], *place;
    bool same;

    resume->asked = false;
    if (resume->have == 0 || resume->place == NULL || list == NULL) {
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

bool resume_fits(const struct resume *resume)
{
    const struct resume_head *head = &resume->head;
    char wanted[sizeof(head->range)];
    const char *validator;

    if (resume_coded(head)) {
        return false;
    }

    snprintf(wanted, sizeof(wanted), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
             resume->have, resume->total - 1, resume->total);
    if (strcasecmp(head->range, wanted) != 0) {
        return false;
    }

    /* a server need not repeat it, but must not give another */
    validator = resume->validator[0] == '"' ? head->etag : head->modified;
    return validator[0] == '\0' || strcmp(validator, resume->validator) == 0;
}

void resume_drop(struct resume *resume)
{
    free(resume->place);
    resume->place = NULL;
    resume->validator[0] = '\0';
    resume->total = 0;
    resume->have = 0;
}
