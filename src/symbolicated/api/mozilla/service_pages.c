/*
 * Copyright (C) the ngx_symcache authors
 *
 * What Mozilla's service answers whatever is asked: errors, CORS, its pages.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "symbolicated/api/protocols.h"

#define PAGE_JSON_TYPE "application/json"

/*
 * How much a client that sent this Accept wants a media type: 0 to 1000.  The
 * most specific range counts.
 */
static unsigned page_preference(const char *accept, const char *type)
{
    size_t major = strcspn(type, "/") + 1, len;
    unsigned best = 0, rank, found = 0;
    const char *q;

    for (; *accept != '\0'; accept += strcspn(accept, ",")) {
        accept += strspn(accept, ", \t");
        len = strcspn(accept, ",; \t");
        rank = len == strlen(type) && strncasecmp(accept, type, len) == 0 ? 3
               : len == major + 1 && accept[major] == '*' &&
                       strncasecmp(accept, type, major) == 0
                   ? 2
                   : (len == 3 && strncmp(accept, "*/*", 3) == 0);
        if (rank > found) {
            found = rank;
            q = strstr(accept, ";q=");
            best = q != NULL && q < accept + strcspn(accept, ",")
                       ? (unsigned)(strtod(q + 3, NULL) * 1000)
                       : 1000;
        }
    }
    return best;
}

/*
 * The form of an error, as the framework of their service chooses it: the type
 * that is wanted most, the first of equals; else what a suffix tells; else
 * NULL.
 */
static const char *service_error_type(const struct api_request *request)
{
    static const char *const types[] = {PAGE_JSON_TYPE, "text/xml",
                                        "application/xml"};
    const char *accept = request->header(request, "Accept"), *type = NULL;
    unsigned most = 0, wanted;
    size_t i;

    if (accept == NULL || *accept == '\0') {
        return PAGE_JSON_TYPE;
    }
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        wanted = page_preference(accept, types[i]);
        if (wanted > most) {
            most = wanted;
            type = types[i];
        }
    }
    if (type != NULL) {
        return type;
    }
    return strcasestr(accept, "+json") != NULL  ? PAGE_JSON_TYPE
           : strcasestr(accept, "+xml") != NULL ? "application/xml"
                                                : NULL;
}

/* No text of a title needs an escape in XML. */
static void service_write_xml(struct api_reply *reply, const char *title)
{
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                     "<error><title>%s</title></error>",
                     title);

    json_write_raw(reply->body, text, (size_t)n);
}

void mozilla_error(const struct api_request *request, struct api_reply *reply,
                   int status, const char *format, ...)
{
    const char *type = service_error_type(request);
    char title[256];
    va_list args;

    va_start(args, format);
    vsnprintf(title, sizeof(title), format, args);
    va_end(args);

    reply->status = status;
    reply->type = type != NULL ? type : PAGE_JSON_TYPE;
    api_reply_header(reply, "Vary", "Accept");
    if (type != NULL && strcmp(type, PAGE_JSON_TYPE) != 0) {
        service_write_xml(reply, title);
    } else if (type != NULL) {
        reply->body->is_python = true;
        json_write_open(reply->body, '{');
        json_put_text(reply->body, "title", title);
        json_write_close(reply->body, '}');
    }
}

static void service_answer_preflight(const struct api_request *request,
                                     const char *method,
                                     struct api_reply *reply)
{
    const char *headers =
        request->header(request, "Access-Control-Request-Headers");

    api_reply_header(reply, "Access-Control-Allow-Methods", method);
    api_reply_header(reply, "Access-Control-Allow-Headers",
                     headers != NULL ? headers : "*");
    api_reply_header(reply, "Access-Control-Max-Age", "86400");
}

/* Any page may be read by any site: there is nothing here but symbols. */
static bool service_add_cors(const struct api_request *request,
                             struct api_reply *reply)
{
    if (request->header(request, "Origin") == NULL) {
        return false;
    }
    api_reply_header(reply, "Access-Control-Allow-Origin", "*");
    api_reply_header(reply, "Access-Control-Expose-Headers",
                     "accept, accept-encoding, authorization, content-type, "
                     "dnt, origin, user-agent, x-csrftoken, "
                     "x-requested-with");
    return true;
}

bool mozilla_service(const struct api_request *request, const char *method,
                     struct api_reply *reply)
{
    bool post = strcmp(method, "POST") == 0;
    bool cors = service_add_cors(request, reply);

    if (request->method == API_OPTIONS) {
        reply->status = 200;
        reply->type = PAGE_JSON_TYPE;
        if (cors && request->header(request,
                                    "Access-Control-Request-Method") != NULL) {
            service_answer_preflight(request, method, reply);
        } else {
            api_reply_header(reply, "Allow", method);
        }
        return true;
    }
    if (request->method != (post ? API_POST : API_GET)) {
        api_reply_header(reply, "Allow",
                         post ? "POST, OPTIONS" : "GET, OPTIONS");
        mozilla_error(request, reply, 405, "405 Method Not Allowed");
        return true;
    }
    return false;
}

/* Unknown paths are answered as the service does to which they look most
 * alike. */
static bool service_looks_like_ours(const struct api_request *request)
{
    return !request->config->symbolicator.enabled ||
           strncmp(request->path, "/__", 3) == 0 ||
           strncmp(request->path, "/symbolicate/v", 14) == 0;
}

/*
 * A web page asks other services than these (/asm/v1) and has to
 * see that there are none.  Without these headers its browser reports a
 * network error, and after a preflight that fails as well.
 */
static void service_answer_unknown(const struct api_request *request,
                                   struct api_reply *reply)
{
    bool cors = service_add_cors(request, reply);

    if (cors && request->method == API_OPTIONS &&
        request->header(request, "Access-Control-Request-Method") != NULL) {
        reply->status = 200;
        reply->type = PAGE_JSON_TYPE;
        service_answer_preflight(request, "GET, POST", reply);
    } else if (service_looks_like_ours(request)) {
        mozilla_error(request, reply, 404, "404 Not Found");
    } else {
        reply->status = 404;
    }
}

void mozilla_page(const struct api_request *request, struct api_reply *reply)
{
    bool version = strcmp(request->path, "/__version__") == 0;

    if (!version && strcmp(request->path, "/__heartbeat__") != 0 &&
        strcmp(request->path, "/__lbheartbeat__") != 0) {
        service_answer_unknown(request, reply);
        return;
    }
    if (mozilla_service(request, "GET", reply)) {
        return;
    }
    if (request->is_cut_off && strcmp(request->path, "/__heartbeat__") == 0) {
        mozilla_error(request, reply, 503, "503 Service Unavailable");
        return;
    }
    reply->status = 200;
    reply->type = version ? PAGE_JSON_TYPE : PAGE_JSON_TYPE "; charset=utf-8";
    if (version) {
        json_write_raw(reply->body, "{}", 2);
    }
}
