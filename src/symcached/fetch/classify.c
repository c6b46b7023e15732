/*
 * Copyright (C) the ngx_symcache authors
 */
#include "classify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that must be left when a name could not be looked up, so that
 * its servers are at fault: the C library opens files and sockets for that,
 * and libcurl tells no errno. */
#define CLASSIFY_DESCRIPTORS 8

void classify_say(struct classification *class, enum source_outcome outcome,
                  bool transient, const char *detail)
{
    memset(class, 0, sizeof(*class));
    class->outcome = outcome;
    class->transient = transient;
    snprintf(class->detail, sizeof(class->detail), "%s", detail);
}

void classify_status(struct classification *class, long status,
                     unsigned retry_after)
{
    char text[64];

    snprintf(text, sizeof(text), "%ld%s", status,
             status == 206 ? ", which was not asked for" : "");
    classify_say(class, SOURCE_FAILED, false, text);

    switch (status) {
    case 204:
    case 404:
    case 410:
        class->outcome = SOURCE_NOT_FOUND;
        break;
    case 408:
        class->transient = true;
        break;
    case 429:
        class->retry_after = retry_after;
        class->transient = retry_after == 0;
        break;
    case 503:
        /* With a time it is a request to wait; without one it is a failure. */
        class->retry_after = retry_after;
        class->transient = class->fault = retry_after == 0;
        break;
    case 500:
    case 502:
    case 504:
        class->transient = class->fault = true;
        break;
    default:
        class->fault = status >= 500 && status != 501;
        break;
    }
}

void classify_again(struct classification *class)
{
    size_t len = strlen(class->detail);

    if (class->outcome == SOURCE_NOT_FOUND) {
        class->outcome = SOURCE_FAILED;
        snprintf(class->detail + len, sizeof(class->detail) - len,
                 ", and to be asked again");
    }
}

/* Returns an errno if this machine has no descriptors for a lookup, or 0. */
static int lacks_descriptors(void)
{
    int fds[CLASSIFY_DESCRIPTORS], errnum = 0;
    size_t n = 0;

    while (n < CLASSIFY_DESCRIPTORS && errnum == 0) {
        fds[n] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fds[n] >= 0) {
            n++;
        } else {
            errnum = errno;
        }
    }
    while (n > 0) {
        close(fds[--n]);
    }
    return errnum;
}

static void classify_unresolved(struct classification *class)
{
    int errnum = lacks_descriptors();

    class->fault = errnum == 0;
    if (errnum != 0) {
        class->outcome = SOURCE_FAILED_HERE;
        snprintf(class->detail, sizeof(class->detail), "resolver: %s",
                 strerror(errnum));
    }
}

void classify_error(struct classification *class, CURLcode code,
                    const char *text, long status)
{
    if (code == CURLE_OK) {
        text = "truncated header";
    } else if (code == CURLE_PARTIAL_FILE) {
        text = "truncated body";
    } else if (code == CURLE_OUT_OF_MEMORY) {
        /* libcurl has one code for both */
        text = "out of memory, or a line of the header is too long";
    } else if (text[0] == '\0') {
        text = curl_easy_strerror(code);
    }

    classify_say(class, SOURCE_FAILED, true, text);
    if (status != 0 && status != 200) {
        snprintf(class->detail, sizeof(class->detail), "%ld, %s", status,
                 text);
    }

    switch (code) {
    case CURLE_OUT_OF_MEMORY:
        class->outcome = SOURCE_FAILED_HERE;
        class->transient = false;
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        classify_unresolved(class);
        break;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        /* a limit of ours */
        class->transient = false;
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        class->transient = false;
        class->fault = true;
        break;
    default:
        class->fault = true;
        break;
    }
}

void classify_connection(struct classification *class, CURLcode code,
                         CURL *easy)
{
    long errnum = 0;

    if (code == CURLE_COULDNT_CONNECT) {
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &errnum);
        class->errnum = (int)errnum;
    }
}

/*
 * Does the target have words of a sign-in page in it?  They do not count if
 * the name of the PDB contains them.
 */
static bool classify_leads_to_login(const char *from, const char *to)
{
    static const char *const words[] = {"signin", "sign-in", "sign_in",
                                        "login",  "logon",   "oauth2/",
                                        "adfs/ls"};
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(to, words[i]) != NULL &&
            strcasestr(from, words[i]) == NULL) {
            return true;
        }
    }

    return false;
}

const char *classify_redirect(const char *from, const char *to, bool secure)
{
    bool https = strncmp(to, "https:", 6) == 0;

    if (secure && !https) {
        return "redirect from https to http refused";
    }
    if (!https && strncmp(to, "http:", 5) != 0) {
        return "redirect to another protocol refused";
    }
    if (classify_leads_to_login(from, to)) {
        return "redirect to a login page";
    }
    return NULL;
}
