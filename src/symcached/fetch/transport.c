/*
 * Copyright (C) the ngx_symcache authors
 */
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRANSPORT_AGENT "Microsoft-Symbol-Server/10.0.0.0 (symcached)"

/* Bytes that are read at a time.  With its own 16 KB libcurl asks the kernel
 * hundreds of times for one PDB. */
#define TRANSPORT_BUFFER 131072L

/*
 * Older versions of libcurl cannot use a connection of HTTP/2 without TLS a
 * second time.
 */
#define TRANSPORT_H2C_KEPT 0x080000

/* The addresses of a name are used for this time: libcurl's own. */
#define TRANSPORT_NAME_SECONDS 60L

/* Sets *rc to the first failure of several options. */
#define TRANSPORT_SET(rc, easy, option, value)                                \
    do {                                                                      \
        CURLcode code_ = curl_easy_setopt(easy, option, value);               \
        rc = rc == CURLE_OK ? code_ : rc;                                     \
    } while (0)

void transport_prepare(CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, TRANSPORT_BUFFER);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A transfer that is ended during a name lookup does not wait for that
     * lookup. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    /*
     * This is not in the list of headers, because those are signed, and
     * proxies in front of an object store change this one.
     */
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
    curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
                     (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static CURLcode set_auth(const struct transport_config *transport, CURL *easy,
                         bool credentials)
{
    enum transport_auth auth =
        credentials ? transport->auth : TRANSPORT_NO_AUTH;
    const char *user = NULL, *password = NULL, *token = NULL;
    const char *sigv4 = NULL;
    unsigned long kind = CURLAUTH_NONE;
    CURLcode rc = CURLE_OK;

    switch (auth) {
    case TRANSPORT_NO_AUTH:
    case TRANSPORT_SIGN: /* see set_request() */
    case TRANSPORT_NEGOTIATE: /* is a header of ours, because libcurl would
                                 wait for the KDC */
        break;
    case TRANSPORT_BASIC:
        kind = CURLAUTH_BASIC;
        user = transport->user != NULL ? transport->user : "";
        password = transport->password;
        break;
    case TRANSPORT_BEARER:
        kind = CURLAUTH_BEARER;
        token = transport->token;
        break;
    case TRANSPORT_SIGV4:
        kind = CURLAUTH_AWS_SIGV4;
        sigv4 = transport->sigv4;
        user = transport->user;
        password = transport->password;
        break;
    }

    TRANSPORT_SET(rc, easy, CURLOPT_AWS_SIGV4, sigv4);
    TRANSPORT_SET(rc, easy, CURLOPT_HTTPAUTH, kind);
    TRANSPORT_SET(rc, easy, CURLOPT_USERNAME, user);
    TRANSPORT_SET(rc, easy, CURLOPT_PASSWORD, password);
    TRANSPORT_SET(rc, easy, CURLOPT_XOAUTH2_BEARER, token);

    return rc;
}

/* What libcurl is: it prints that anew for each call. */
static const curl_version_info_data *transport_built(void)
{
    static const curl_version_info_data *built;

    if (built == NULL) {
        built = curl_version_info(CURLVERSION_NOW);
    }
    return built;
}

/* Does the connection serve this request only? */
static bool connects(const struct transport_config *transport, long version,
                     bool credentials)
{
    if (version == CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE &&
        transport_built()->version_num < TRANSPORT_H2C_KEPT) {
        return true;
    }
    /* Some servers authenticate the connection and not the request. */
    return credentials && transport->auth == TRANSPORT_NEGOTIATE;
}

static CURLcode set_tls(const struct transport_config *transport, CURL *easy,
                        bool credentials)
{
    const curl_version_info_data *built = transport_built();
    const char *file = getenv("SSL_CERT_FILE"); /* as OpenSSL and curl do */
    const char *directory = NULL;
    CURLcode rc = CURLE_OK;

    if (built->age >= CURLVERSION_SEVENTH) {
        file = file == NULL ? built->cainfo : file;
        directory = built->capath;
    }
    if (transport->ca != NULL) {
        /* Other origins may have certificates of the public authorities. */
        file = transport->ca;
        directory = credentials ? NULL : directory;
    }
    if (file != NULL) {
        TRANSPORT_SET(rc, easy, CURLOPT_CAINFO, file);
        TRANSPORT_SET(rc, easy, CURLOPT_CAPATH, directory);
    }

    TRANSPORT_SET(rc, easy, CURLOPT_SSLCERT,
                  credentials ? transport->certificate : NULL);
    TRANSPORT_SET(rc, easy, CURLOPT_SSLKEY,
                  credentials ? transport->key : NULL);
    TRANSPORT_SET(rc, easy, CURLOPT_KEYPASSWD,
                  credentials ? transport->key_password : NULL);
    return rc;
}

static long transport_version(enum transport_http http, const char *url)
{
    switch (http) {
    case TRANSPORT_HTTP_1_1:
        return CURL_HTTP_VERSION_1_1;
    case TRANSPORT_HTTP_2:
        return strncmp(url, "http:", 5) == 0
                   ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
                   : CURL_HTTP_VERSION_2TLS;
    default:
        return CURL_HTTP_VERSION_2TLS;
    }
}

static CURLcode set_request(const struct transport_config *transport,
                            CURL *easy, const char *method, const char *url,
                            struct curl_slist **headers, bool credentials)
{
    CURLcode rc = CURLE_OK;
    char *instead = NULL;

    if (credentials && transport->auth == TRANSPORT_SIGN) {
        *headers = transport->sign(transport->sign_settings, method, url,
                                   *headers, &instead);
        if (*headers == NULL) {
            return CURLE_OUT_OF_MEMORY;
        }
    }
    TRANSPORT_SET(rc, easy, CURLOPT_HTTPHEADER, *headers);
    TRANSPORT_SET(rc, easy, CURLOPT_URL, instead != NULL ? instead : url);
    secret_free(instead);
    return rc;
}

CURLcode transport_apply(const struct transport_config *transport, CURL *easy,
                         const char *method, const char *url,
                         struct curl_slist **headers, bool credentials,
                         bool again)
{
    const char *agent = transport->user_agent, *proxy = transport->proxy;
    long version = transport_version(transport->http, url);
    bool own = connects(transport, version, credentials);
    CURLcode rc = CURLE_OK;

    TRANSPORT_SET(rc, easy, CURLOPT_USERAGENT,
                  agent != NULL ? agent : TRANSPORT_AGENT);
    TRANSPORT_SET(rc, easy, CURLOPT_HTTP_VERSION, version);
    TRANSPORT_SET(rc, easy, CURLOPT_FRESH_CONNECT, (long)(own || again));
    TRANSPORT_SET(rc, easy, CURLOPT_FORBID_REUSE, (long)own);
    /* The name may have got other addresses since libcurl noted them. */
    TRANSPORT_SET(rc, easy, CURLOPT_DNS_CACHE_TIMEOUT,
                  again ? 0L : TRANSPORT_NAME_SECONDS);

    /* With "", libcurl ignores the proxies of the environment. */
    TRANSPORT_SET(rc, easy, CURLOPT_PROXY, proxy != NULL ? proxy : "");
    TRANSPORT_SET(rc, easy, CURLOPT_NOPROXY, "");
    TRANSPORT_SET(rc, easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);

    if (rc == CURLE_OK) {
        rc = set_tls(transport, easy, credentials);
    }
    if (rc == CURLE_OK) {
        rc = set_auth(transport, easy, credentials);
    }
    if (rc == CURLE_OK) {
        rc = set_request(transport, easy, method, url, headers, credentials);
    }
    return rc;
}

static struct curl_slist *transport_header(const struct header_config *header,
                                           struct curl_slist *list)
{
    size_t size = strlen(header->name) + strlen(header->value) + 3;
    struct curl_slist *more = NULL;
    char *line = malloc(size);

    if (line != NULL) {
        /* To libcurl, "Name;" is a header without a value. */
        snprintf(line, size, header->value[0] == '\0' ? "%s;" : "%s: %s",
                 header->name, header->value);
        more = curl_slist_append(list, line);
        secret_free(line);
    }
    if (more == NULL) {
        curl_slist_free_all(list);
    }
    return more;
}

struct curl_slist *transport_headers(const struct header_config *headers,
                                     size_t n, struct curl_slist *list)
{
    size_t i;

    for (i = 0; list != NULL && i < n; i++) {
        list = transport_header(&headers[i], list);
    }
    return list;
}

bool transport_reaches_internal(const struct transport_config *transport,
                                bool own)
{
    return transport->internal == TRANSPORT_INTERNAL ||
           (transport->internal == TRANSPORT_INTERNAL_ORIGIN && own);
}
