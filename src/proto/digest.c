
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "digest.h"

#include <string.h>

#define SYMCACHE_DIGEST_KEY     "sha-256"
#define SYMCACHE_DIGEST_START   "sha-256=:"

/* SHA-256 in base64, without the final "=". */
#define SYMCACHE_DIGEST_BASE64  43

#define SYMCACHE_SECOND         1000000000  /* in nanoseconds */

/* "<key>=<value>;<parameters>": a member of an RFC 8941 dictionary. */

typedef struct {
    const char  *key;
    size_t       key_len;
    const char  *value;
    size_t       value_len;
} digest_member_t;

static const char *digest_member_end(const char *p, const char *last);
static const char *digest_member_next(const char *p, const char *last,
    digest_member_t *member);
static int digest_member_is(const digest_member_t *member);

int
symcache_digest_wanted(const char *value, size_t len)
{
    size_t            i;
    int               wanted, weight;
    const char       *p, *last;
    digest_member_t   member;

    wanted = 0;
    p = value;
    last = value + len;

    while (p < last) {
        p = digest_member_next(p, last, &member);

        if (!digest_member_is(&member)) {
            continue;
        }

        /* the last member of this name counts; 0 means "not this one" */

        weight = 0;

        for (i = 0; i < member.value_len; i++) {
            if (member.value[i] < '0' || member.value[i] > '9') {
                weight = 0;
                break;
            }

            weight |= member.value[i] != '0';
        }

        wanted = weight;
    }

    return wanted;
}

int
symcache_digest_read(const char *value, size_t len,
    char text[SYMCACHE_DIGEST_TEXT + 1])
{
    int               found;
    size_t            n, i;
    const char       *p, *last, *v;
    digest_member_t   member;

    found = 0;
    p = value;
    last = value + len;

    while (p < last) {
        p = digest_member_next(p, last, &member);

        v = member.value;
        n = member.value_len;

        /* Some clients omit the "=" at the end of base64. */

        if (!digest_member_is(&member)
            || n < SYMCACHE_DIGEST_BASE64 + 2
            || n > SYMCACHE_DIGEST_BASE64 + 3
            || v[0] != ':' || v[n - 1] != ':'
            || (n == SYMCACHE_DIGEST_BASE64 + 3 && v[n - 2] != '='))
        {
            continue;
        }

        for (i = 1; i <= SYMCACHE_DIGEST_BASE64; i++) {
            if (!((v[i] >= 'A' && v[i] <= 'Z') || (v[i] >= 'a' && v[i] <= 'z')
                  || (v[i] >= '0' && v[i] <= '9')
                  || v[i] == '+' || v[i] == '/'))
            {
                break;
            }
        }

        if (i <= SYMCACHE_DIGEST_BASE64) {
            continue;
        }

        n = sizeof(SYMCACHE_DIGEST_START) - 1;

        memcpy(text, SYMCACHE_DIGEST_START, n);
        memcpy(text + n, v + 1, SYMCACHE_DIGEST_BASE64);
        memcpy(text + n + SYMCACHE_DIGEST_BASE64, "=:", 3);

        found = 1;
    }

    return found;
}

int
symcache_digest_holds(const symcache_digest_t *digest, size_t len,
    const symcache_digest_times_t *times)
{
    char                            text[SYMCACHE_DIGEST_TEXT + 1];
    int64_t                         late;
    const symcache_digest_times_t  *kept;

    kept = &digest->times;

    if (len != sizeof(*digest)
        || !symcache_digest_read(digest->text, SYMCACHE_DIGEST_TEXT, text)
        || memcmp(digest->text, text, sizeof(text)) != 0
        || kept->mtime != times->mtime || kept->mtime_nsec != times->mtime_nsec
        || kept->ctime > times->ctime || kept->ctime < times->ctime - 1
        || kept->ctime_nsec < 0 || kept->ctime_nsec >= SYMCACHE_SECOND)
    {
        return 0;
    }

    /* Writing the attribute changes ctime, too, but soon after. */

    late = (times->ctime - kept->ctime) * SYMCACHE_SECOND
           + times->ctime_nsec - kept->ctime_nsec;

    return late >= 0 && late < SYMCACHE_SECOND;
}

/* Finds the next comma that is not in a string. */

static const char *
digest_member_end(const char *p, const char *last)
{
    int  quoted;

    quoted = 0;

    for (/* void */; p < last && (quoted || *p != ','); p++) {
        if (*p == '"') {
            quoted = !quoted;

        } else if (*p == '\\' && quoted && p + 1 < last) {
            p++;
        }
    }

    return p;
}

/* Returns where the next member begins. */

static const char *
digest_member_next(const char *p, const char *last,
    digest_member_t *member)
{
    const char  *end, *next;

    end = digest_member_end(p, last);
    next = end < last ? end + 1 : last;

    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }

    member->key = p;

    while (p < end && *p != '=' && *p != ';') {
        p++;
    }

    member->key_len = p - member->key;
    member->value = p;

    if (p < end && *p == '=') {
        member->value = ++p;

        while (p < end && *p != ';' && *p != ' ' && *p != '\t') {
            p++;
        }
    }

    member->value_len = p - member->value;

    return next;
}

static int
digest_member_is(const digest_member_t *member)
{
    return member->key_len == sizeof(SYMCACHE_DIGEST_KEY) - 1
           && memcmp(member->key, SYMCACHE_DIGEST_KEY, member->key_len) == 0;
}
